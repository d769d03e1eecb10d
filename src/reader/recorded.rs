//! What the store has of a session.

use crate::content::{Changes, FileChange};
use crate::store::kept::{KeptFile, KeptSide, KeptTurn};
use crate::store::{SessionKey, SessionStore, Store, StoreError};
use std::path::{Path, PathBuf};

/// The recorded turns of one session, looked at again and again while a recorder may be writing.
#[derive(Default)]
pub(super) struct Recorded {
    root: Option<PathBuf>,
    key: Option<SessionKey>,
    session: Option<SessionStore>,
    problem: Option<String>,
}

impl Recorded {
    /// Of a store that may be missing.
    pub(super) fn new(root: Option<PathBuf>) -> Self {
        Self { root, ..Self::default() }
    }

    /// Looks for what is there by now.
    pub(super) fn look(&mut self, key: SessionKey) {
        let Some(root) = &self.root else { return };
        if self.key.as_ref() != Some(&key) {
            self.session = None;
        }
        let looked = match &mut self.session {
            Some(session) => session.refresh().map(drop),
            None => find(root, &key).map(|found| self.session = found),
        };
        self.problem =
            looked.err().map(|error| format!("what was recorded cannot be read: {error}"));
        self.key = Some(key);
    }

    /// What was recorded of a turn.
    pub(super) fn turn(&self, turn: u32) -> Option<&KeptTurn> {
        self.session.as_ref()?.turns.get(&turn)
    }

    /// Where the contents are.
    pub(super) fn objects(&self) -> Option<&Path> {
        self.session.as_ref().map(|session| session.objects().path())
    }

    /// What could not be read, a line each.
    pub(super) fn problems(&self) -> Vec<String> {
        let damages = self.session.iter().flat_map(|session| &session.damages);
        let damages = damages.map(|damage| match damage.line {
            Some(line) => format!("what was recorded: rows.log line {line}: {}", damage.message),
            None => format!("what was recorded: {}", damage.message),
        });
        self.problem.iter().cloned().chain(damages).collect()
    }
}

fn find(root: &Path, key: &SessionKey) -> Result<Option<SessionStore>, StoreError> {
    Store::open(root)?.session(key)
}

/// Whether a recorded turn tells all that changed; if not, the log may know more.
pub(super) fn is_whole(kept: &KeptTurn) -> bool {
    kept.snapshot.is_some() && !kept.late && kept.skipped.is_empty()
}

/// A recorded turn, with the files that only the log knows of.
pub(super) fn changes(kept: &KeptTurn, log: Option<Changes>, max_file_bytes: u64) -> Changes {
    let mut changes = kept.changes();
    for (change, kept) in changes.files.iter_mut().zip(&kept.files) {
        if is_over(kept, max_file_bytes) && !change.file.oversized {
            // It was counted under a wider limit than that of the viewer.
            change.counted = false;
        }
    }
    let was_missed = |change: &FileChange| {
        kept.late
            || kept.snapshot.is_none()
            || kept.skipped.iter().any(|skipped| skipped.path == change.file.path)
    };
    for mut change in log.into_iter().flat_map(|changes| changes.files) {
        let is_listed = changes.files.iter().any(|listed| listed.file.path == change.file.path);
        if !is_listed && was_missed(&change) {
            change.note.get_or_insert_with(|| "known from the log only".to_owned());
            changes.files.push(change);
        }
    }
    changes.files.sort_by(|a, b| crate::session::path::cmp_utf16(&a.file.display, &b.file.display));
    changes
}

fn is_over(kept: &KeptFile, max_file_bytes: u64) -> bool {
    [&kept.old, &kept.new].iter().any(|side| match side {
        KeptSide::Absent => false,
        KeptSide::Blob { bytes, .. } => *bytes > max_file_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{ChangedFile, TreePair};
    use crate::store::kept::Skipped;

    fn change(path: &str) -> FileChange {
        FileChange {
            file: ChangedFile { path: path.into(), display: path.into(), ..Default::default() },
            pair: crate::content::Pair::Hunks(Vec::new()),
            counted: false,
            note: None,
        }
    }

    fn kept(path: &str, bytes: u64) -> KeptTurn {
        let new = KeptSide::Blob { id: "1".into(), mode: 0o100_644, bytes, not_kept: None };
        let file = change(path).file;
        let file = KeptFile { file, old: KeptSide::Absent, new, counted: true, note: None };
        let snapshot = Some(TreePair { before: "1".into(), after: "2".into() });
        KeptTurn { turn: 1, files: vec![file], snapshot, ..Default::default() }
    }

    fn paths(changes: &Changes) -> Vec<&str> {
        changes.files.iter().map(|change| change.file.path.as_str()).collect()
    }

    fn of_log(paths: &[&str]) -> Changes {
        Changes { files: paths.iter().map(|path| change(path)).collect(), ..Default::default() }
    }

    #[test]
    fn what_a_late_recording_missed_comes_from_the_log() {
        let late = KeptTurn { late: true, ..kept("b", 1) };
        assert!(!is_whole(&late) && is_whole(&kept("b", 1)));
        let joined = changes(&late, Some(of_log(&["a", "b"])), 9);
        assert_eq!(paths(&joined), ["a", "b"]);
        assert_eq!(joined.files[0].note.as_deref(), Some("known from the log only"));
    }

    #[test]
    fn a_file_that_could_not_be_captured_comes_from_the_log_and_no_other() {
        let skipped = vec![Skipped { path: "c".into(), cause: "late".into() }];
        let kept = KeptTurn { skipped, ..kept("b", 1) };
        assert_eq!(paths(&changes(&kept, Some(of_log(&["a", "c"])), 9)), ["b", "c"]);
    }

    #[test]
    fn a_narrower_limit_counts_again() {
        assert!(changes(&kept("b", 9), None, 9).files[0].counted);
        assert!(!changes(&kept("b", 9), None, 8).files[0].counted);
    }
}
