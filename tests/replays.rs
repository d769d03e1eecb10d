//! A log's edits made into changed files: told by hand, and by real sessions against their host.

use crate::shared::shared;
use handback::content::{Changes, ContentId, FileChange, Pair};
use handback::log::Output;
use handback::log::open::{LogFile, OpenOptions};
use handback::replay::{Replay, State, Texts};
use handback::session::event::{
    AppliedHunk, Edit, EditAction, EditBody, EditOutcome, EditSource, KnownText, KnownTextSource,
    LogEvent, Place, Stamp,
};
use handback::session::path::{PathRules, resolve};
use handback::session::transcript::Transcript;
use handback::session::{ChangesSource, FileStatus, TurnState};
use serde_json::Value;
use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A session told edit by edit.
#[derive(Default)]
struct Told {
    transcript: Transcript,
    turn: u32,
    disk: HashMap<PathBuf, State>,
    base: HashMap<PathBuf, State>,
    read: Cell<usize>,
}

impl Texts for Told {
    fn edit_body(&self, edit: &Edit, _nth: usize) -> Option<Arc<EditBody>> {
        self.read.set(self.read.get() + 1);
        match &edit.body {
            EditSource::Kept(body) => Some(Arc::clone(body)),
            EditSource::InLog { .. } => None,
        }
    }

    fn known_text(&self, known: &KnownText) -> State {
        match &known.text {
            KnownTextSource::Absent => State::Absent,
            KnownTextSource::Kept(text) => state(text),
            _ => State::Unknown,
        }
    }

    fn on_disk(&self, path: &Path) -> State {
        self.disk.get(path).cloned().unwrap_or_default()
    }

    fn at_base(&self, path: &Path) -> State {
        self.base.get(path).cloned().unwrap_or_default()
    }
}

fn state(text: &str) -> State {
    State::Text(text.as_bytes().into())
}

impl Told {
    fn turn(mut self) -> Self {
        self.turn += 1;
        self.transcript.apply(LogEvent::TurnStart { turn: self.turn, at: None });
        self
    }

    fn event(mut self, path: &str, body: EditBody, outcome: EditOutcome) -> Self {
        let call_id = format!("call{}", self.transcript.revision);
        self.transcript.apply(LogEvent::Edit(Edit {
            turn: self.turn,
            call_id,
            tool: "edit".into(),
            path: path.into(),
            outcome,
            body: EditSource::Kept(Arc::new(body)),
            stamp: Stamp::default(),
        }));
        self
    }

    fn body(self, path: &str, body: EditBody) -> Self {
        self.event(path, body, EditOutcome::Applied)
    }

    fn action(self, path: &str, action: EditAction) -> Self {
        self.body(path, EditBody { action, ..EditBody::default() })
    }

    fn create(self, path: &str, content: &str) -> Self {
        self.action(path, EditAction::Write { content: content.into(), created: Some(true) })
    }

    fn write(self, path: &str, content: &str) -> Self {
        self.action(path, EditAction::Write { content: content.into(), created: Some(false) })
    }

    fn replace(self, path: &str, old: &str, new: &str) -> Self {
        self.action(path, EditAction::Replace { pairs: vec![(old.into(), new.into(), false)] })
    }

    fn delete(self, path: &str) -> Self {
        self.action(path, EditAction::Delete)
    }

    fn hunk(self, path: &str, old: &str, new: &str) -> Self {
        let hunk = AppliedHunk {
            old_text: Some(old.into()),
            new_text: Some(new.into()),
            ..AppliedHunk::default()
        };
        self.body(path, EditBody { hunks: vec![hunk], ..EditBody::default() })
    }

    fn read(mut self, path: &str, text: &str) -> Self {
        self.transcript.apply(LogEvent::KnownText(KnownText {
            turn: self.turn,
            path: path.into(),
            text: KnownTextSource::Kept(text.into()),
            stamp: Stamp::default(),
        }));
        self
    }

    fn disk(mut self, path: &str, text: &str) -> Self {
        self.disk.insert(path.into(), state(text));
        self
    }

    fn base(mut self, path: &str, text: &str) -> Self {
        self.base.insert(path.into(), state(text));
        self
    }

    fn changes(&self, turn: u32) -> Changes {
        replay().turn(turn, &self.transcript, self).unwrap()
    }

    /// Each changed file on a line: status, display, before → after.
    fn list(&self, turn: u32) -> Vec<String> {
        self.changes(turn).files.iter().map(line).collect()
    }
}

fn replay() -> Replay {
    Replay::new(PathRules { cwd: "/w".into(), root: "/w".into(), home: "/home".into() })
}

fn line(change: &FileChange) -> String {
    let text = |id: &ContentId| match id {
        ContentId::Absent => "-".to_owned(),
        ContentId::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        other => panic!("not from the log: {other:?}"),
    };
    let what = match &change.pair {
        Pair::Sides { old, new } => format!("{} → {}", text(old), text(new)),
        Pair::Hunks(hunks) => hunks
            .iter()
            .map(|hunk| {
                let at = |line: Option<u32>| line.map_or("?".to_owned(), |line| line.to_string());
                let text = |text: &Option<String>| {
                    text.clone().map_or("-".to_owned(), |text| format!("{text:?}"))
                };
                format!(
                    "@{},{} {} → {}",
                    at(hunk.old_start),
                    at(hunk.new_start),
                    text(&hunk.old_text),
                    text(&hunk.new_text)
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
    };
    let from = change.file.old_path.as_ref().map(|old| format!(" from {old}")).unwrap_or_default();
    format!("{:?} {}{from}: {what}", change.file.status, change.file.display)
}

#[test]
fn edits_of_a_created_file_make_whole_sides_net_per_turn() {
    let told = Told::default()
        .turn()
        .create("a", "one\ntwo\n")
        .replace("./a", "two", "2")
        .turn()
        .replace("/w/a", "one", "1")
        .replace("b/../a", "2", "zwei");
    assert_eq!(told.list(1), [r#"Added a: - → "one\n2\n""#]);
    assert_eq!(told.list(2), [r#"Modified a: "one\n2\n" → "1\nzwei\n""#]);
    assert_eq!(told.changes(2).source, ChangesSource::Replayed);
}

#[test]
fn what_was_changed_back_or_made_and_deleted_is_not_listed() {
    let told = Told::default()
        .turn()
        .create("a", "one")
        .create("b", "x")
        .delete("b")
        .turn()
        .replace("a", "one", "two")
        .replace("a", "two", "one")
        .turn()
        .delete("a")
        .turn()
        .create("a", "again");
    assert_eq!(told.list(1), [r#"Added a: - → "one""#]);
    assert!(told.list(2).is_empty());
    assert_eq!(told.list(3), [r#"Deleted a: "one" → -"#]);
    assert_eq!(told.list(4), [r#"Added a: - → "again""#]);
}

#[test]
fn only_applied_edits_count() {
    let edit = |content: &str| EditBody {
        action: EditAction::Write { content: content.into(), created: None },
        ..EditBody::default()
    };
    let told = Told::default()
        .turn()
        .create("a", "1")
        .event("a", edit("2"), EditOutcome::Failed)
        .event("a", edit("3"), EditOutcome::Denied)
        .event("b", edit("4"), EditOutcome::Pending);
    assert_eq!(told.list(1), [r#"Added a: - → "1""#]);
}

#[test]
fn a_full_read_the_base_or_the_disk_give_the_text_that_edits_start_from() {
    let told = Told::default().turn().read("a", "x\ny\n").replace("a", "x", "X");
    assert_eq!(told.list(1), [r#"Modified a: "x\ny\n" → "X\ny\n""#]);
    let told = Told::default().base("/w/a", "x\ny\n").turn().replace("a", "x", "X");
    assert_eq!(told.list(1), [r#"Modified a: "x\ny\n" → "X\ny\n""#]);
    let told = Told::default()
        .disk("/w/a", "1\nX\nZ\n")
        .turn()
        .replace("a", "x", "X")
        .turn()
        .replace("a", "z", "Z");
    assert_eq!(told.list(1), [r#"Modified a: "1\nx\nz\n" → "1\nX\nz\n""#]);
    assert_eq!(told.list(2), [r#"Modified a: "1\nX\nz\n" → "1\nX\nZ\n""#]);
    assert_eq!(told.changes(1).source, ChangesSource::Replayed);
}

#[test]
fn a_disk_that_moved_on_is_not_believed() {
    let told = Told::default()
        .disk("/w/a", "quite\nother\n")
        .turn()
        .replace("a", "x", "X")
        .turn()
        .create("b", "1");
    assert_eq!(told.list(1), [r#"Modified a: @?,? "x" → "X""#]);
    assert_eq!(told.changes(1).source, ChangesSource::Hunks);
    let note = told.changes(1).files[0].note.clone().unwrap();
    assert!(note.contains("not in the log") && !note.contains('\n'), "{note}");
    assert_eq!(told.changes(2).source, ChangesSource::Replayed);
}

#[test]
fn hunks_are_numbered_by_the_one_place_where_they_stand() {
    let told = Told::default()
        .disk("/w/a", "0\nctx\nX\nend\n0\n")
        .turn()
        .hunk("a", "ctx\nx\nend", "ctx\nX\nend")
        .hunk("a", "nowhere", "gone");
    assert_eq!(
        told.list(1),
        [r#"Modified a: @2,2 "ctx\nx\nend" → "ctx\nX\nend"; @?,? "nowhere" → "gone""#]
    );
    let twice =
        Told::default().disk("/w/a", "x\nx\n-\n").turn().hunk("a", "q", "x").hunk("a", "r", "s");
    assert_eq!(twice.list(1), [r#"Modified a: @?,? "q" → "x"; @?,? "r" → "s""#]);
}

#[test]
fn a_step_that_does_not_fit_costs_only_its_own_file_and_turn() {
    let told = Told::default()
        .turn()
        .create("a", "one\n")
        .create("b", "b")
        .turn()
        .replace("a", "two", "2")
        .replace("b", "b", "B")
        .turn()
        .write("a", "whole\n")
        .turn()
        .replace("a", "whole", "new");
    assert_eq!(told.list(2), [r#"Modified a: @?,? "two" → "2""#, r#"Modified b: "b" → "B""#]);
    assert!(told.changes(2).files[0].note.as_ref().unwrap().contains("edit 1 of the turn"));
    assert_eq!(told.changes(2).source, ChangesSource::Hunks);
    assert_eq!(told.list(3), [r#"Modified a: @?,1 - → "whole""#]);
    assert_eq!(told.list(4), [r#"Modified a: "whole\n" → "new\n""#]);
}

#[test]
fn a_text_read_between_edits_shows_what_the_log_did_not_see() {
    let told = Told::default()
        .turn()
        .create("a", "1\n")
        .turn()
        .read("a", "1\nfrom a shell\n")
        .replace("a", "1", "one");
    assert_eq!(told.list(2), [r#"Modified a: "1\nfrom a shell\n" → "one\nfrom a shell\n""#]);
}

#[test]
fn a_read_that_lost_line_ends_does_not_change_the_text() {
    let told = Told::default()
        .base("/w/a", "\u{feff}1\r\n2\r\n")
        .turn()
        .read("a", "1\n2")
        .replace("a", "1\n2", "1\ntwo");
    assert_eq!(
        told.list(1),
        ["Modified a: \"\\u{feff}1\\r\\n2\\r\\n\" → \"\\u{feff}1\\r\\ntwo\\r\\n\""]
    );
}

#[test]
fn a_base_that_the_first_edit_does_not_fit_is_not_believed() {
    // The file was edited by hand since the commit, or is not in it.
    let told = Told::default()
        .base("/w/a", "committed\n")
        .disk("/w/a", "by hand\nX\n")
        .turn()
        .replace("a", "x", "X");
    assert_eq!(told.list(1), [r#"Modified a: "by hand\nx\n" → "by hand\nX\n""#]);
    let mut told = Told::default().disk("/w/a", "by hand\nX\n").turn().replace("a", "x", "X");
    told.base.insert("/w/a".into(), State::Absent);
    assert_eq!(told.list(1), [r#"Modified a: "by hand\nx\n" → "by hand\nX\n""#]);
    told.disk.clear();
    assert_eq!(told.list(1), [r#"Modified a: @?,? "x" → "X""#]);
}

#[test]
fn the_hunks_of_a_write_tell_what_was_there_better_than_the_base() {
    let hunk = AppliedHunk {
        old_text: Some("by hand\nx".into()),
        new_text: Some("by hand\nX".into()),
        ..AppliedHunk::default()
    };
    let write = EditBody {
        action: EditAction::Write { content: "by hand\nX\nend\n".into(), created: Some(false) },
        hunks: vec![hunk],
        ..EditBody::default()
    };
    let told = Told::default().base("/w/a", "committed\n").turn().body("a", write);
    assert_eq!(told.list(1), [r#"Modified a: "by hand\nx\nend\n" → "by hand\nX\nend\n""#]);
}

#[test]
fn a_move_is_a_rename_with_the_text_of_its_origin() {
    let moved = |from: &str, action: EditAction| EditBody {
        moved_from: Some(from.into()),
        action,
        ..EditBody::default()
    };
    let told = Told::default()
        .turn()
        .create("a", "one\n")
        .turn()
        .body("b", moved("a", EditAction::Keep))
        .turn()
        .replace("b", "one", "1")
        .body(
            "c",
            moved("b", EditAction::Replace { pairs: vec![("1".into(), "uno".into(), false)] }),
        )
        .turn()
        .replace("c", "uno", "eins");
    assert_eq!(told.list(2), [r#"Renamed b from a: "one\n" → "one\n""#]);
    assert_eq!(told.list(3), [r#"Renamed c from b: "one\n" → "uno\n""#]);
    assert_eq!(told.list(4), [r#"Modified c: "uno\n" → "eins\n""#]);
    // A circle of moves ends.
    let circle = Told::default()
        .turn()
        .body("b", moved("a", EditAction::Keep))
        .body("a", moved("b", EditAction::Keep));
    circle.changes(1);
}

#[test]
fn files_are_listed_in_display_order() {
    let told = Told::default()
        .turn()
        .create("b", "")
        .create("/home/x", "")
        .create("/z", "")
        .create("A", "");
    let shown: Vec<_> = told.changes(1).files.into_iter().map(|f| f.file.display).collect();
    assert_eq!(shown, ["/z", "A", "b", "~/x"]);
}

#[test]
fn a_replay_grows_with_its_log_and_sees_edits_settle_late() {
    let mut told = Told::default().turn().create("a", "1\n");
    let mut replay = replay();
    let list = |told: &Told, replay: &mut Replay, turn| -> Vec<String> {
        let changes = replay.turn(turn, &told.transcript, told).unwrap();
        let list: Vec<String> = changes.files.iter().map(line).collect();
        // Asked again, of a transcript that has not changed.
        let again = replay.turn(turn, &told.transcript, told).unwrap();
        assert_eq!(again.files.iter().map(line).collect::<Vec<_>>(), list);
        list
    };
    assert_eq!(list(&told, &mut replay, 1), [r#"Added a: - → "1\n""#]);
    assert!(replay.turn(2, &told.transcript, &told).is_none());
    let pending = EditBody {
        action: EditAction::Replace { pairs: vec![("1".into(), "2".into(), false)] },
        ..EditBody::default()
    };
    told = told.event("a", pending, EditOutcome::Pending).turn().replace("a", "1", "one");
    assert_eq!(list(&told, &mut replay, 2), [r#"Modified a: "1\n" → "one\n""#]);
    let call_id = told.transcript.turns[0].edits[1].call_id.clone();
    told.transcript.apply(LogEvent::EditSettled {
        turn: 1,
        call_id,
        outcome: EditOutcome::Applied,
        result: None,
        body: None,
    });
    told.transcript.apply(LogEvent::TurnEnd { turn: 1, at: None, state: TurnState::Completed });
    assert_eq!(list(&told, &mut replay, 1), [r#"Added a: - → "2\n""#]);
    assert_eq!(told.changes(2).files[0].file.status, FileStatus::Modified);
    assert_eq!(list(&told, &mut replay, 2), [r#"Modified a: @?,? "1" → "one""#]);
}

#[test]
fn all_turns_of_a_long_session_are_had_in_either_direction_with_few_reads() {
    const TURNS: u32 = 1000;
    for known in [true, false] {
        let mut told = Told::default();
        for turn in 0..TURNS {
            told = told.turn();
            told = if turn == 0 && known {
                told.create("a", "line 0\n")
            } else {
                told.replace("a", &format!("line {turn}\n"), &format!("line {}\n", turn + 1))
            };
            told = if turn == 0 && known { told.replace("a", "line 0", "line 1") } else { told };
        }
        for newest_first in [true, false] {
            let mut replay = replay();
            told.read.set(0);
            for at in 1..=TURNS {
                let turn = if newest_first { TURNS + 1 - at } else { at };
                let changes = replay.turn(turn, &told.transcript, &told).unwrap();
                assert_eq!(changes.files.len(), 1);
                assert_eq!(changes.source == ChangesSource::Replayed, known);
            }
            let each = told.read.get() / TURNS as usize;
            assert!(each < 200, "{each} rows read for each turn");
        }
    }
}

/// A real session of the real host; texts come from the rows of its log, and from an archive of its
/// work tree where one is given.
struct Real {
    log: LogFile,
    transcript: Transcript,
    disk: Option<PathBuf>,
    /// Whether what the log shows of whole files may be used.
    reads: bool,
}

impl Real {
    fn open(path: &Path) -> Self {
        let mut log = LogFile::open(path, &OpenOptions::default()).unwrap();
        let mut out = Output::default();
        log.read_all(&mut out).unwrap();
        let mut transcript = Transcript::default();
        out.events.into_iter().for_each(|event| transcript.apply(event));
        Self { log, transcript, disk: None, reads: true }
    }

    fn replay(&self) -> Replay {
        let (cwd, root) = (self.cwd().into(), self.cwd().into());
        Replay::new(PathRules { cwd, root, home: "/home/dev".into() })
    }

    fn cwd(&self) -> &Path {
        Path::new(self.transcript.header.cwd.as_deref().unwrap())
    }

    /// The old and new texts of the hunks in the row of an edit's result.
    fn diffs(&self, edit: &Edit) -> Vec<(Option<String>, Option<String>)> {
        let EditSource::InLog { result: Some(place), .. } = &edit.body else { return Vec::new() };
        let row: Value = serde_json::from_slice(&self.row(place)).unwrap();
        let diffs = row["data"]["meta"]["diffs"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(Into::into);
        diffs.iter().map(|diff| (text(&diff["oldText"]), text(&diff["newText"]))).collect()
    }

    fn row(&self, place: &Place) -> Vec<u8> {
        self.log.rows().unwrap().unwrap().row(place).unwrap()
    }
}

impl Texts for Real {
    fn edit_body(&self, edit: &Edit, nth: usize) -> Option<Arc<EditBody>> {
        let EditSource::InLog { call, result } = &edit.body else { panic!("kept") };
        let result = result.as_ref().map(|place| self.row(place));
        let format = self.log.format().unwrap();
        Some(Arc::new(format.edit_body(&self.row(call), result.as_deref(), nth)))
    }

    fn known_text(&self, known: &KnownText) -> State {
        let KnownTextSource::InLog(place) = &known.text else { panic!("kept") };
        if !self.reads {
            return State::Unknown;
        }
        let text = self.log.format().unwrap().known_text(&self.row(place));
        text.map_or(State::Unknown, |text| state(&text))
    }

    fn on_disk(&self, path: &Path) -> State {
        let Some(disk) = &self.disk else { return State::Unknown };
        let Ok(inside) = path.strip_prefix(self.cwd()) else { return State::Unknown };
        match fs::read(disk.join(inside)) {
            Ok(bytes) => State::Text(bytes.into()),
            Err(_) => State::Absent,
        }
    }
}

/// The lines of a text as the host compares them; without a disk, CR LF is lost.
fn lines(id: &ContentId) -> Vec<String> {
    let ContentId::Bytes(bytes) = id else { return Vec::new() };
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if text.is_empty() && bytes.is_empty() {
        Vec::new()
    } else {
        text.split('\n').map(Into::into).collect()
    }
}

/// Whether the host's hunks lead from our text before to our text after, and nothing is left over.
fn leads(hunks: &Value, old: &[String], new: &[String], with_crs: bool) -> bool {
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    for hunk in hunks.as_array().unwrap() {
        let start = usize::try_from(hunk["oldStart"].as_u64().unwrap()).unwrap();
        let start = start.saturating_sub(1);
        if start < at || start > old.len() {
            return false;
        }
        out.extend_from_slice(&old[at..start]);
        at = start;
        for line in hunk["lines"].as_array().unwrap() {
            let (kind, text) = line.as_str().unwrap().split_at(1);
            let text = if with_crs { text } else { text.trim_end_matches('\r') };
            if kind != "+" && old.get(at).map(String::as_str) != Some(text) {
                return false;
            }
            at += usize::from(kind != "+");
            if kind != "-" {
                out.push(text.to_owned());
            }
        }
    }
    out.extend_from_slice(&old[at..]);
    out == new
}

/// A session, its log, the archive of its work tree after its last turn, and what the host served.
struct Recorded {
    name: String,
    log: PathBuf,
    state: Option<PathBuf>,
    served: Vec<Value>,
}

fn sessions() -> Vec<Recorded> {
    let Some(shared) = shared() else { return Vec::new() };
    let json = |path: PathBuf| -> Option<Value> {
        Some(serde_json::from_slice(&fs::read(path).ok()?).unwrap())
    };
    let mut found = Vec::new();
    for folder in fs::read_dir(shared.join("fixtures/dsh")).unwrap() {
        let folder = folder.unwrap().path();
        let Some(served) = json(folder.join("served.json")) else { continue };
        let expected = json(folder.join("expected-turns.json")).unwrap();
        for (id, session) in expected.as_object().unwrap() {
            let last = session["turns"].as_array().unwrap().len();
            let state = folder.join(format!("state/state-{id}-after-{last}.tar.gz"));
            let mine = served.as_array().unwrap().iter().filter(|row| row["sessionId"] == **id);
            found.push(Recorded {
                name: format!("{} {id}", folder.display()),
                log: folder.join(session["log"].as_str().unwrap()),
                state: state.is_file().then_some(state),
                served: mine.cloned().collect(),
            });
        }
    }
    assert!(found.len() > 8, "only {} sessions", found.len());
    found
}

/// What the host served last for a turn.
fn served_for(served: &[Value], turn: u32) -> Option<&Value> {
    served
        .iter()
        .rev()
        .find(|row| row["event"]["data"]["turn"] == turn && row["summary"].is_object())
}

/// Counts the files that are as the host compared them. Where a shell ran in the turn, it may have
/// changed a file behind the tools' back, which no log can tell.
fn agreeing(session: &Recorded, real: &Real) -> usize {
    let mut replay = real.replay();
    let mut agreeing = 0;
    for record in &real.transcript.turns {
        let Some(row) = served_for(&session.served, record.turn) else { continue };
        let changes = replay.turn(record.turn, &real.transcript, real).unwrap();
        for change in &changes.files {
            let Pair::Sides { old, new } = &change.pair else { continue };
            let diffs = row["diffs"].as_array().unwrap();
            let theirs = diffs.iter().find(|diff| diff["path"] == *change.file.path);
            let agrees = theirs.is_some_and(|theirs| {
                theirs["kind"] == "text"
                    && theirs["before"] == (*old != ContentId::Absent)
                    && theirs["after"] == (*new != ContentId::Absent)
                    && leads(&theirs["hunks"], &lines(old), &lines(new), real.disk.is_some())
            });
            let oversized = theirs.is_some_and(|theirs| theirs["kind"] == "oversized");
            agreeing += usize::from(agrees);
            assert!(
                agrees || oversized || record.ran_shell(),
                "{} turn {}: {}\nthe host: {theirs:?}",
                session.name,
                record.turn,
                line(change)
            );
        }
    }
    agreeing
}

#[test]
fn replayed_texts_are_those_that_the_host_compared() {
    let (mut forward, mut with_disk, mut backward, mut archives) = (0, 0, 0, 0);
    for session in sessions() {
        let mut real = Real::open(&session.log);
        forward += agreeing(&session, &real);
        if let Some(state) = &session.state {
            let dir = tempfile::tempdir().unwrap();
            let tar = Command::new("tar").arg("xzf").arg(state).arg("-C").arg(dir.path()).status();
            assert!(tar.unwrap().success());
            real.disk = Some(dir.path().to_path_buf());
            with_disk += agreeing(&session, &real);
            real.reads = false;
            backward += agreeing(&session, &real);
            archives += 1;
        }
    }
    // Fewer than in the recorded sessions would mean that replay gave up where it need not.
    assert!(archives == 0 || (forward >= 90 && with_disk >= 30 && backward >= 30));
}

#[test]
fn without_whole_texts_the_hunks_are_those_of_the_log() {
    let mut compared = 0;
    let sessions = sessions();
    for session in &sessions {
        let mut real = Real::open(&session.log);
        real.reads = false;
        let mut replay = real.replay();
        for record in &real.transcript.turns {
            let changes = replay.turn(record.turn, &real.transcript, &real).unwrap();
            for change in &changes.files {
                let Pair::Hunks(ours) = &change.pair else { continue };
                assert_eq!(changes.source, ChangesSource::Hunks);
                assert!(change.note.is_some());
                let theirs: Vec<_> = record
                    .applied_edits()
                    .filter(|edit| resolve(real.cwd(), &edit.path).ends_with(&change.file.path))
                    .flat_map(|edit| real.diffs(edit))
                    .collect();
                let ours: Vec<_> = ours
                    .iter()
                    .map(|hunk| (hunk.old_text.clone(), hunk.new_text.clone()))
                    .collect();
                if !theirs.is_empty() {
                    assert_eq!(ours, theirs, "{} {}", session.name, change.file.path);
                    compared += 1;
                }
            }
        }
    }
    assert!(sessions.is_empty() || compared >= 30, "only {compared} files were compared");
}

/// The agent's own snapshots show a change: no tool made it.
#[test]
fn what_only_snapshots_show_is_a_commands_or_nobodys() {
    use handback::session::Origin;
    use handback::session::event::{Command as Ran, SNAPSHOT_TOOL};
    let cases =
        [(Some(true), Origin::Shell), (Some(false), Origin::Outside), (None, Origin::Outside)];
    for (is_shell, wanted) in cases {
        let mut transcript = Transcript::default();
        let edit = |path: &str, tool: &str| {
            LogEvent::Edit(Edit {
                turn: 1,
                call_id: format!("{tool} {path}"),
                tool: tool.into(),
                path: path.into(),
                outcome: EditOutcome::Applied,
                body: EditSource::Kept(Arc::new(EditBody {
                    before: Some("a\n".into()),
                    after: Some("b\n".into()),
                    ..EditBody::default()
                })),
                stamp: Stamp::default(),
            })
        };
        transcript.apply(edit("named", "edit"));
        transcript.apply(edit("shown", SNAPSHOT_TOOL));
        if let Some(is_shell) = is_shell {
            let (call_id, command) = ("c".to_owned(), "make".to_owned());
            let stamp = Stamp::default();
            let ran = Ran { turn: 1, call_id, command, is_shell, stamp };
            transcript.apply(LogEvent::Command(ran));
        }
        let rules = PathRules { root: "/w".into(), cwd: "/w".into(), home: "/h".into() };
        let told = Told::default();
        let changes = Replay::new(rules).turn(1, &transcript, &told).unwrap();
        let origins: Vec<_> =
            changes.files.iter().map(|c| (c.file.path.as_str(), c.file.origin)).collect();
        assert_eq!(origins, [("named", Origin::Tool), ("shown", wanted)], "{is_shell:?}");
    }
}
