//! Who changed a file: a file tool, a command, both, or somebody outside of the turn's calls.
//!
//! - `tool`: a successful file tool call named the file, and the turn's edits, done one after the
//!   other on what the file held at the baseline, give what it holds at the end. Line endings and a
//!   byte order mark do not count, as logs do not hold them.
//! - `mixed`: a successful call named it, and that does not come out: something else changed it too,
//!   before, between or after the edits. Also where the mode changed or the file was moved, which
//!   those calls do not do. Where the edits cannot be done again (their texts are not in the log,
//!   or the baseline is not known), a command in the turn makes it `mixed`.
//! - `shell`: no call named it, and the turn ran a command, a program or a delegate.
//! - `outside`: no call named it, and the turn ran nothing that could have changed it.

use super::workspace::Workspace;
use crate::content::{Content, ContentId, Pair, Source};
use crate::log::again::LogRows;
use crate::replay::{Replay, State, Texts};
use crate::session::event::{Edit, EditAction, EditBody, EditOutcome, KnownText, KnownTextSource};
use crate::session::transcript::TurnRecord;
use crate::session::{ChangedFile, FileStatus, Origin};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a turn's calls account for.
pub(super) struct Calls {
    ran: bool,
    /// The paths that successful file tool calls named, as shown.
    named: HashSet<String>,
    /// What the edits give, by path as shown; none where they cannot be done again.
    results: HashMap<String, Option<State>>,
    /// Where the edits moved a file from.
    moved: HashMap<String, String>,
    /// How many edits changed a path, as the log itself says.
    changed: HashMap<String, u32>,
}

impl Calls {
    /// Works out what the edits of a turn give. `before` tells what a file held at the baseline.
    pub(super) fn of(
        record: &TurnRecord,
        workspace: &Workspace,
        log: &LogRows,
        before: &dyn Fn(&Path) -> ContentId,
    ) -> Self {
        let texts = Baseline { workspace, log, before };
        let changes = Replay::alone(workspace.rules.clone(), record, &texts);
        let mut calls = Self {
            ran: !record.commands.is_empty(),
            named: HashSet::new(),
            results: HashMap::new(),
            moved: HashMap::new(),
            changed: HashMap::new(),
        };
        for (edit, nth) in with_places(record) {
            let path = workspace.rules.show(&workspace.real_path(&edit.path)).path;
            if log.edit_body(edit, nth).is_some_and(|body| says_change(&body)) {
                *calls.changed.entry(path.clone()).or_default() += 1;
            }
            calls.named.insert(path);
        }
        for change in changes.map(|changes| changes.files).unwrap_or_default() {
            let (path, old_path) = (change.file.path, change.file.old_path);
            let result = match change.pair {
                Pair::Sides { new: ContentId::Bytes(bytes), .. } => Some(State::Text(bytes)),
                Pair::Sides { new: ContentId::Absent, .. } => Some(State::Absent),
                _ => None,
            };
            if let Some(old_path) = old_path {
                calls.named.insert(old_path.clone());
                calls.moved.insert(path.clone(), old_path);
            }
            calls.named.insert(path.clone());
            calls.results.insert(path, result);
        }
        calls
    }

    /// Whether a file that seems unchanged was changed by an edit before it was first looked at:
    /// the edits do not fit what was seen then, or the only one says that it changed the file.
    pub(super) fn came_before_capture(&self, path: &str) -> bool {
        match self.results.get(path) {
            Some(result) => result.is_none(),
            None => self.changed.get(path) == Some(&1),
        }
    }

    /// Who changed a file that holds `content` at the end.
    pub(super) fn origin(&self, file: &ChangedFile, content: &Content) -> Origin {
        let is_named = |path: &String| self.named.contains(path);
        if !is_named(&file.path) && !file.old_path.as_ref().is_some_and(is_named) {
            return if self.ran { Origin::Shell } else { Origin::Outside };
        }
        let moved_alike = file.old_path.as_ref() == self.moved.get(&file.path);
        if !moved_alike || !is_mode_of_edit(file) {
            return Origin::Mixed;
        }
        let fits = match self.results.get(&file.path) {
            Some(Some(result)) => agrees(result, content),
            Some(None) => !self.ran,
            // The edits alone would have changed nothing.
            None => false,
        };
        if fits { Origin::Tool } else { Origin::Mixed }
    }
}

/// The edits that took effect, each with its place among those of its call.
fn with_places(record: &TurnRecord) -> impl Iterator<Item = (&Edit, usize)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    record.edits.iter().filter_map(move |edit| {
        let next = places.entry(&edit.call_id).or_default();
        let place = std::mem::replace(next, *next + 1);
        (edit.outcome == EditOutcome::Applied).then_some((edit, place))
    })
}

/// Whether the log has it that an edit left its file other than it was.
fn says_change(body: &EditBody) -> bool {
    let is_new = matches!(body.action, EditAction::Write { created: Some(true), .. });
    is_new || body.hunks.iter().any(|hunk| hunk.old_text != hunk.new_text)
}

/// Whether a file tool could have left the mode so: it makes plain files and keeps what is there.
fn is_mode_of_edit(file: &ChangedFile) -> bool {
    match (&file.old_mode, &file.new_mode) {
        (Some(old), Some(new)) => old == new,
        (None, Some(new)) => file.status != FileStatus::Added || new == "100644",
        (_, None) => true,
    }
}

fn agrees(result: &State, content: &Content) -> bool {
    match (result, content) {
        (State::Absent, Content::Absent) => true,
        (State::Text(wanted), Content::Text(found)) => plain(wanted) == plain(found),
        // Too large or binary at the end: nothing to compare by.
        (State::Text(wanted), Content::Binary { len } | Content::Oversized { len }) => {
            wanted.len() as u64 == *len
        }
        _ => false,
    }
}

/// A text without a byte order mark, its lines ended by LF.
fn plain(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, b"\r\n") {
        plain.extend_from_slice(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    plain
}

/// The texts of one turn that starts from its baseline.
struct Baseline<'a> {
    workspace: &'a Workspace,
    log: &'a LogRows,
    before: &'a dyn Fn(&Path) -> ContentId,
}

impl Texts for Baseline<'_> {
    fn edit_body(&self, edit: &Edit, nth: usize) -> Option<Arc<EditBody>> {
        self.log.edit_body(edit, nth)
    }

    fn known_text(&self, known: &KnownText) -> State {
        match &known.text {
            KnownTextSource::Absent => State::Absent,
            KnownTextSource::Kept(text) => State::Text(Arc::from(text.as_bytes())),
            // What the agent read is what the disk held; the edits must account for the rest.
            KnownTextSource::InLog(_)
            | KnownTextSource::File(_)
            | KnownTextSource::InTree { .. } => State::Unknown,
        }
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        crate::content::disk::canonical(path)
    }

    fn at_base(&self, path: &Path) -> State {
        match self.workspace.objects.read(&(self.before)(path)) {
            Ok(Content::Text(bytes)) => State::Text(bytes),
            Ok(Content::Absent) => State::Absent,
            _ => State::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(ran: bool, results: &[(&str, Option<&str>)]) -> Calls {
        let state = |text: &str| State::Text(Arc::from(text.as_bytes()));
        Calls {
            ran,
            named: results.iter().map(|(path, _)| (*path).to_owned()).collect(),
            results: results.iter().map(|(p, r)| ((*p).to_owned(), r.map(state))).collect(),
            moved: HashMap::new(),
            changed: HashMap::new(),
        }
    }

    fn file(path: &str) -> ChangedFile {
        ChangedFile { path: path.into(), ..ChangedFile::default() }
    }

    fn text(text: &str) -> Content {
        Content::Text(Arc::from(text.as_bytes()))
    }

    #[test]
    fn a_file_that_no_call_named_is_of_the_shell_if_something_ran() {
        assert_eq!(calls(true, &[]).origin(&file("a"), &text("x")), Origin::Shell);
        assert_eq!(calls(false, &[]).origin(&file("a"), &text("x")), Origin::Outside);
    }

    #[test]
    fn a_named_file_is_of_the_tool_if_the_edits_account_for_it() {
        let calls = calls(true, &[("a", Some("one\ntwo\n"))]);
        assert_eq!(calls.origin(&file("a"), &text("one\ntwo\n")), Origin::Tool);
        assert_eq!(calls.origin(&file("a"), &text("\u{feff}one\r\ntwo\r\n")), Origin::Tool);
        assert_eq!(calls.origin(&file("a"), &text("one\nthree\n")), Origin::Mixed);
        assert_eq!(calls.origin(&file("a"), &Content::Absent), Origin::Mixed);
    }

    #[test]
    fn where_the_edits_cannot_be_done_again_a_command_decides() {
        assert_eq!(calls(true, &[("a", None)]).origin(&file("a"), &text("x")), Origin::Mixed);
        assert_eq!(calls(false, &[("a", None)]).origin(&file("a"), &text("x")), Origin::Tool);
    }

    #[test]
    fn an_edit_that_is_seen_nowhere_was_undone_or_came_before_the_capture() {
        let mut calls = calls(false, &[("undone", Some("x")), ("misfit", None), ("twice", None)]);
        calls.results.remove("twice");
        calls.changed = [("once".to_owned(), 1), ("twice".to_owned(), 2)].into();
        let came_before = ["undone", "misfit", "once", "twice", "never"]
            .map(|path| calls.came_before_capture(path));
        assert_eq!(came_before, [false, true, true, false, false]);
    }

    #[test]
    fn a_mode_or_a_move_is_not_of_the_edits() {
        let calls = calls(true, &[("a", Some("x"))]);
        let mode = |old: Option<&str>, new: &str, status| ChangedFile {
            old_mode: old.map(Into::into),
            new_mode: Some(new.into()),
            status,
            ..file("a")
        };
        let changed = mode(Some("100644"), "100755", FileStatus::Modified);
        assert_eq!(calls.origin(&changed, &text("x")), Origin::Mixed);
        let kept = mode(Some("100755"), "100755", FileStatus::Modified);
        assert_eq!(calls.origin(&kept, &text("x")), Origin::Tool);
        let added = mode(None, "100755", FileStatus::Added);
        assert_eq!(calls.origin(&added, &text("x")), Origin::Mixed);
        let moved = ChangedFile { old_path: Some("b".into()), ..file("a") };
        assert_eq!(calls.origin(&moved, &text("x")), Origin::Mixed);
    }
}
