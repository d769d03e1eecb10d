//! What the session did against another base than a turn's own beginning.

use super::base::Base;
use super::net::Net;
use super::session::Reader;
use crate::content::{Changes, Commit, Content, ContentId, FileChange, GitObjects, Pair, Source};
use crate::session::path::{PathRules, cmp_utf16, escape_name, resolve};
use crate::session::{ChangedFile, ChangesSource, FileStatus};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

impl Reader {
    /// What changed against a base, seen from a turn; none where nothing is known to have changed.
    ///
    /// # Errors
    /// One line: the base is not there, or cannot be read.
    pub fn changes_against(&mut self, turn: u32, base: Base) -> Result<Option<Changes>, String> {
        let turns = self.transcript().turns.len();
        let commit = match base {
            Base::Turn => return self.changes(turn),
            Base::Since => {
                let from = self.transcript().turns.partition_point(|key| key.turn < turn);
                return Ok(self.net(from..turns));
            }
            Base::Session => return Ok(self.net(0..turns)),
            Base::Head => self.objects().head(),
            Base::MergeBase => self.objects().merge_base(),
        };
        commit.map(|commit| self.against(&commit)).map_err(|error| error.to_string())
    }

    /// What turns (by 0-based index) come to: by the trees before the first and behind the last of
    /// them where these tell all, else put together from what each of them changed.
    fn net(&mut self, turns: Range<usize>) -> Option<Changes> {
        if let Some(changes) = self.net_of_trees(turns.clone()) {
            return Some(told(changes));
        }
        let numbers: Vec<u32> = self.records(turns).map(|record| record.turn).collect();
        let mut net = Net::default();
        for turn in numbers {
            match self.changes(turn) {
                Ok(Some(changes)) => net.add(turn, changes),
                Ok(None) => {}
                Err(why) => net.note(format!("turn {turn}: {why}")),
            }
        }
        let (objects, rules) = (self.objects(), self.rules());
        net.finish(&objects, &rules).map(told)
    }

    /// The trees at both ends compared; none where a turn's edits are in no tree, or where a tree
    /// cannot be read.
    fn net_of_trees(&mut self, turns: Range<usize>) -> Option<Changes> {
        let (mut first, mut last) = (None, None);
        for record in self.records(turns) {
            match (&record.tree_before, &record.tree_after) {
                (Some(before), Some(after)) => {
                    first.get_or_insert_with(|| before.clone());
                    last = Some(after.clone());
                }
                _ if record.changes_noticed || record.applied_edits().next().is_some() => {
                    return None;
                }
                _ => {}
            }
        }
        self.between(&first?, &last?).ok()
    }

    /// A commit against the newest that is known of the work tree.
    fn against(&mut self, commit: &Commit) -> Option<Changes> {
        let short = commit.id.get(..7).unwrap_or(&commit.id);
        let name = format!("{} ({short})", commit.name);
        if let Some((turn, tree)) = self.newest_tree()
            && let Ok(mut changes) = self.between(&commit.tree, &tree)
        {
            let note = format!("{name} against the work tree as turn {turn} left it");
            changes.notes.insert(0, note);
            return Some(told(changes));
        }
        let (objects, rules) = (self.objects(), self.rules());
        let touched = self.touched();
        let root = objects.work_tree().map(Path::to_path_buf)?;
        let mut outside = 0;
        let mut files = Vec::new();
        for path in touched {
            match path.strip_prefix(&root) {
                Ok(inside) => files.extend(on_disk(&objects, commit, inside, &path, &rules)),
                Err(_) => outside += 1,
            }
        }
        files.sort_by(|a, b| cmp_utf16(&a.file.display, &b.file.display));
        let mut notes =
            vec![format!("{name} against the files of this session as they are on disk now")];
        if outside > 0 {
            notes.push(format!("{outside} of its files are outside the repository: left out"));
        }
        let cwd = escape_name(rules.cwd.as_os_str());
        let source = ChangesSource::Snapshot;
        Some(told(Changes { source, cwd, snapshot: None, files, notes }))
    }

    /// The tree that the last turn which changed anything left, and that turn.
    fn newest_tree(&mut self) -> Option<(u32, String)> {
        let turns = self.transcript().turns.iter().rev();
        let told: Vec<_> = turns
            .map(|record| {
                let edits = record.changes_noticed || record.applied_edits().next().is_some();
                (record.turn, record.tree_after.clone(), edits)
            })
            .collect();
        for (turn, tree, edits) in told {
            if let Some(tree) = tree {
                return Some((turn, tree));
            }
            if let Some(kept) = self.recorded_trees(turn) {
                return Some((turn, kept.after));
            }
            if edits {
                return None;
            }
        }
        None
    }

    /// Every file that the session is known to have changed; absolute, links followed.
    fn touched(&mut self) -> BTreeSet<PathBuf> {
        let rules = self.rules();
        let (mut spelled, mut others) = (BTreeSet::new(), Vec::new());
        for record in self.transcript().turns.iter() {
            spelled.extend(record.applied_edits().map(|edit| edit.path.clone()));
            others.extend(record.ran_shell().then_some(record.turn));
        }
        for turn in others {
            let changes = self.changes(turn).ok().flatten().into_iter();
            for file in changes.flat_map(|changes| changes.files).map(|change| change.file) {
                spelled.extend(file.old_path);
                spelled.insert(file.path);
            }
        }
        spelled.iter().map(|path| real(&resolve(&rules.cwd, path))).collect()
    }
}

/// Says so where nothing differs: an empty list could as well be one that is not known.
fn told(mut changes: Changes) -> Changes {
    if changes.files.is_empty() {
        changes.notes.push("no file differs from this base".into());
    }
    changes
}

/// The path with links followed, but for its last name: a link is a file of its own.
fn real(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => crate::content::disk::canonical(parent).join(name),
        _ => path.to_path_buf(),
    }
}

/// A file of a commit against the disk; none where both are the same.
fn on_disk(
    objects: &GitObjects,
    commit: &Commit,
    inside: &Path,
    path: &Path,
    rules: &PathRules,
) -> Option<FileChange> {
    let shown = rules.show(path);
    let listed = |status, old, new, note| {
        let file = ChangedFile {
            path: shown.path.clone(),
            display: shown.display.clone(),
            status,
            ..ChangedFile::default()
        };
        Some(FileChange { file, pair: Pair::Sides { old, new }, counted: false, note })
    };
    let new = ContentId::File(path.to_path_buf());
    let old = match objects.find(&commit.tree, inside.as_os_str().as_encoded_bytes()) {
        Ok(old) => old,
        Err(error) => {
            return listed(FileStatus::Modified, ContentId::Absent, new, Some(error.to_string()));
        }
    };
    match (objects.read(&old), objects.read(&new)) {
        (Ok(Content::Absent), Ok(Content::Absent)) => None,
        (Ok(Content::Absent), _) => listed(FileStatus::Added, old, new, None),
        (_, Ok(Content::Absent)) => listed(FileStatus::Deleted, old, ContentId::Absent, None),
        (Ok(Content::Text(before)), Ok(Content::Text(now))) if before == now => None,
        _ => listed(FileStatus::Modified, old, new, None),
    }
}
