//! The turns that changed a file, under whatever name it had.

use super::session::Reader;
use crate::session::FileStatus;
use crate::session::path::resolve;
use std::path::Path;

/// A turn that changed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The turn's number.
    pub turn: u32,
    /// The file's path in that turn's list, as `ChangedFile::path` spells it.
    pub path: String,
}

impl Reader {
    /// Every turn that changed a file, in order. The file has this path in `turn` (spelled as in a
    /// list, or absolute); earlier and later it may have had others.
    pub fn history(&mut self, turn: u32, path: &str) -> Vec<Touch> {
        let rules = self.rules();
        let name = rules.show(&resolve(&rules.cwd, path)).path;
        let turns: Vec<u32> = self.transcript().turns.keys().map(|key| key.turn).collect();
        let (earlier, later) = turns.split_at(turns.partition_point(|number| *number <= turn));
        let mut touches = Vec::new();
        let mut current = name.clone();
        for turn in earlier.iter().rev() {
            let Some((before, after)) = self.touch(*turn, &current, false) else { continue };
            touches.push(Touch { turn: *turn, path: after });
            current = before;
        }
        touches.reverse();
        current = name;
        for turn in later {
            let Some((_, after)) = self.touch(*turn, &current, true) else { continue };
            touches.push(Touch { turn: *turn, path: after.clone() });
            current = after;
        }
        touches
    }

    /// The file's path before and behind a turn, if that turn changed it. It is named by the first
    /// of the two (`is_before`), or by the second.
    fn touch(&mut self, turn: u32, name: &str, is_before: bool) -> Option<(String, String)> {
        if !self.may_touch(turn, name) {
            return None;
        }
        let files = self.changes(turn).ok()??.files;
        let pairs = files.into_iter().map(|change| change.file).map(|file| {
            let moved = file.old_path.filter(|_| file.status == FileStatus::Renamed);
            (moved.unwrap_or_else(|| file.path.clone()), file.path)
        });
        let mut pairs: Vec<_> = pairs.collect();
        // A file that was moved away goes before another that came to its place.
        pairs.sort_by_key(|(before, after)| before == after);
        pairs.into_iter().find(|(before, after)| (if is_before { before } else { after }) == name)
    }

    /// Whether it is worth asking what a turn changed, found out without comparing anything.
    fn may_touch(&mut self, turn: u32, name: &str) -> bool {
        if self.recorded_trees(turn).is_some() {
            return true;
        }
        let rules = self.rules();
        let path = resolve(&rules.cwd, name);
        let Some(record) = self.transcript().turn(turn) else { return false };
        let (Some(before), Some(after)) = (record.tree_before.clone(), record.tree_after.clone())
        else {
            // A move names its new path only where the edit's text is read.
            return record.applied_edits().next().is_some();
        };
        let objects = self.objects();
        let inside = path.strip_prefix(&rules.root).unwrap_or(Path::new(""));
        let inside = inside.as_os_str().as_encoded_bytes();
        match (objects.find(&before, inside), objects.find(&after, inside)) {
            (Ok(before), Ok(after)) => before != after,
            _ => true,
        }
    }
}
