//! Real logs of Claude Code, Gemini CLI and pi: turns, edits and files as their manifest says.

use crate::shared::shared;
use handback::log::{FORMATS, LogFormat, Output};
use handback::session::event::{
    EditAction, EditBody, EditOutcome, EditSource, KnownTextSource, Place,
};
use handback::session::transcript::{Transcript, TurnRecord};
use handback::session::{CommandOutcome, TurnState};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

struct Log {
    format: &'static dyn LogFormat,
    bytes: Vec<u8>,
    transcript: Transcript,
    damages: usize,
}

/// The format that takes these bytes, as the tail will choose it.
fn detect(path: &Path, bytes: &[u8]) -> Option<&'static dyn LogFormat> {
    let head = &bytes[..bytes.len().min(4096)];
    let whole = |f: &&&dyn LogFormat| f.whole().is_some_and(|w| w.recognizes(path, head));
    if let Some(format) = FORMATS.iter().find(whole) {
        return Some(*format);
    }
    let rows: Vec<serde_json::Value> = bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(serde_json::Value::is_object)
        .take(10)
        .collect();
    FORMATS.iter().find(|format| format.recognizes(&rows)).copied()
}

fn read(path: &Path) -> Option<Log> {
    let bytes = fs::read(path).unwrap();
    let format = detect(path, &bytes)?;
    Some(read_as(format, path, bytes))
}

fn read_as(format: &'static dyn LogFormat, path: &Path, bytes: Vec<u8>) -> Log {
    let mut out = Output::default();
    if let Some(whole) =
        format.whole().filter(|w| w.recognizes(path, &bytes[..bytes.len().min(4096)]))
    {
        whole.read(path, None, &mut out, &mut |_| true).unwrap();
    } else {
        let mut reader = format.reader_at(path);
        let mut offset = 0;
        for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
            let place = Place { offset, inner: 0, len: line.len() as u64, line: index as u64 + 1 };
            reader.line(place, line, &mut out);
            offset += line.len() as u64 + 1;
        }
        reader.caught_up(&mut out);
    }
    let mut transcript = Transcript::default();
    out.events.into_iter().for_each(|event| transcript.apply(event));
    Log { format, bytes, transcript, damages: out.damages.len() }
}

impl Log {
    fn row(&self, place: Place) -> &[u8] {
        &self.bytes[place.offset as usize..][..place.len as usize]
    }

    fn body(&self, source: &EditSource) -> EditBody {
        match source {
            EditSource::Kept(body) => (**body).clone(),
            EditSource::InLog { call, result } => {
                self.format.edit_body(self.row(*call), result.map(|place| self.row(place)), 0)
            }
        }
    }

    fn counts(&self) -> (usize, usize, usize) {
        let edits = || self.transcript.turns.iter().flat_map(|turn| &turn.edits);
        let ok = edits().filter(|edit| edit.outcome == EditOutcome::Applied).count();
        let bad = |outcome| matches!(outcome, EditOutcome::Failed | EditOutcome::Denied);
        (self.transcript.turns.len(), ok, edits().filter(|edit| bad(edit.outcome)).count())
    }

    /// The files that the successful edits of each turn name, in order, each once.
    fn files(&self) -> Vec<Vec<String>> {
        let of = |turn: &TurnRecord| {
            let mut files: Vec<String> = Vec::new();
            for edit in turn.applied_edits() {
                let path = short(&edit.path);
                if !files.contains(&path) {
                    files.push(path);
                }
            }
            files
        };
        self.transcript.turns.iter().map(of).collect()
    }

    /// The turn with this mark of the script (`[T1]`, …) in its prompt.
    fn turn(&self, mark: &str) -> Option<&TurnRecord> {
        self.transcript.turns.iter().find(|turn| turn.prompt.contains(mark))
    }

    /// The texts before and after a turn of each file that its edits changed.
    fn texts(&self, turn: &TurnRecord) -> BTreeMap<String, (String, String)> {
        let mut texts: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for earlier in self.transcript.turns.iter().take_while(|t| t.turn <= turn.turn) {
            for (index, edit) in earlier.edits.iter().enumerate() {
                for (_, text) in earlier.known_texts.iter().filter(|(at, _)| *at == index) {
                    if let KnownTextSource::InLog(place) = &text.text {
                        let text = self.format.known_text(self.row(*place)).unwrap();
                        known.insert(short(&edit_path(self, earlier, index, &text)), text);
                    }
                }
                if edit.outcome != EditOutcome::Applied {
                    continue;
                }
                let body = self.body(&edit.body);
                let path = short(&edit.path);
                let before = body.before.clone().or_else(|| known.get(&path).cloned());
                let before = before.unwrap_or_default();
                let after = match (&body.after, &body.action) {
                    (Some(after), _) => after.clone(),
                    (None, EditAction::Replace { pairs }) => replaced(&before, pairs),
                    (None, action) => panic!("{path}: {action:?}"),
                };
                if earlier.turn == turn.turn {
                    texts
                        .entry(path.clone())
                        .or_insert((before, String::new()))
                        .1
                        .clone_from(&after);
                }
                known.insert(path, after);
            }
        }
        texts
    }
}

/// The path of the known text that stands before an edit.
fn edit_path(log: &Log, turn: &TurnRecord, before: usize, text: &str) -> String {
    let known = turn.known_texts.iter().filter(|(at, _)| *at == before).find(|(_, known)| {
        matches!(&known.text, KnownTextSource::InLog(place)
            if log.format.known_text(log.row(*place)).as_deref() == Some(text))
    });
    known.unwrap().1.path.clone()
}

fn replaced(text: &str, pairs: &[(String, String, bool)]) -> String {
    pairs.iter().fold(text.to_owned(), |text, (old, new, all)| {
        assert!(text.contains(old.as_str()), "{old:?} does not stand in {text:?}");
        if *all { text.replace(old, new) } else { text.replacen(old, new, 1) }
    })
}

/// A path below the scratch project.
fn short(path: &str) -> String {
    path.rsplit("/proj/").next().unwrap().to_owned()
}

/// Added and deleted lines.
fn counts((old, new): &(String, String)) -> (usize, usize) {
    let diff = similar::TextDiff::from_lines(old.as_str(), new.as_str());
    let of = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (of(similar::ChangeTag::Insert), of(similar::ChangeTag::Delete))
}

fn agents() -> Option<PathBuf> {
    Some(shared()?.join("fixtures/agents"))
}

/// Rows of the manifest: the file, and the turns and edits (ok, failed) that it counts.
fn manifest(agents: &Path) -> Vec<(PathBuf, Option<usize>, usize, usize)> {
    let text = fs::read_to_string(agents.join("MANIFEST.md")).unwrap();
    let (mut agent, mut rows) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            name.clone_into(&mut agent);
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let edits = cells.get(5).and_then(|edits| edits.split_once('/'));
        let Some((ok, failed)) = edits.filter(|_| OURS.contains(&agent.as_str())) else { continue };
        if let (Ok(ok), Ok(failed)) = (ok.parse(), failed.parse()) {
            rows.push((Path::new(&agent).join(cells[1]), cells[4].parse().ok(), ok, failed));
        }
    }
    rows
}

const OURS: &[&str] = &["claude", "gemini", "pi"];

/// Where the manifest's own count is another one, and why ours is right.
const OTHERWISE: &[(&str, usize, &str)] = &[(
    "claude/produced/tui-2.1.332/6dd06ad9-6fb7-4fce-a350-060b3da1984a.jsonl",
    6,
    "it counts the prompt of a branch that a rewind abandoned",
)];

#[test]
fn turns_and_edits_are_those_of_the_manifest() {
    let Some(agents) = agents() else { return };
    let rows = manifest(&agents);
    assert!(rows.len() > 40, "the manifest was not understood: {} rows", rows.len());
    let mut wrong = Vec::new();
    for (file, turns, ok, failed) in rows {
        let Some(log) = read(&agents.join(&file)) else {
            // The manifest gives a sample that is no log no format.
            if !file.ends_with("public/slopus__duplicate-assistant-response-2.jsonl") {
                wrong.push(format!("{}: not recognised", file.display()));
            }
            continue;
        };
        let otherwise = OTHERWISE.iter().find(|(path, ..)| Path::new(path) == file);
        let turns = otherwise.map(|(_, turns, _)| *turns).or(turns);
        let (seen_turns, seen_ok, seen_failed) = log.counts();
        let expected = (turns.unwrap_or(seen_turns), ok, failed);
        if (seen_turns, seen_ok, seen_failed) != expected {
            wrong.push(format!("{}: {:?} for {expected:?}", file.display(), log.counts()));
        }
        assert_eq!(log.format.name(), file.iter().next().unwrap().to_str().unwrap());
        // The hand-made edge cases have broken rows; no other log has.
        if !file.ends_with("public/daaain__edge_cases.jsonl") {
            assert_eq!(log.damages, 0, "{}", file.display());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_script_gives_the_same_files_and_texts_with_every_agent() {
    let Some(agents) = agents() else { return };
    let logs = [
        "claude/produced/print-1.0.128/eab48f2b-e50b-447a-995d-0d3bf34e4a8d.jsonl",
        "claude/produced/print-2.0.77/554bf059-235c-489f-ad2c-8598608ff639.jsonl",
        "claude/produced/print-2.1.332/30a48144-545b-42c2-b106-f5c71534b339.jsonl",
        "gemini/produced/print-resume-0.33.2.json",
        "gemini/produced/print-resume-0.61.0.jsonl",
        "pi/produced/print-0.73.1.jsonl",
    ];
    let mut first: Option<BTreeMap<String, (String, String)>> = None;
    for path in logs {
        let log = read(&agents.join(path)).unwrap();
        let turn = |mark| log.texts(log.turn(mark).unwrap());
        let counted = |mark| -> Vec<(String, (usize, usize))> {
            turn(mark).iter().map(|(file, texts)| (file.clone(), counts(texts))).collect()
        };
        let expect = |files: &[(&str, (usize, usize))]| -> Vec<(String, (usize, usize))> {
            files.iter().map(|(file, lines)| ((*file).to_owned(), *lines)).collect()
        };
        assert_eq!(
            counted("[T1]"),
            expect(&[("greet.py", (15, 0)), ("notes.txt", (3, 0))]),
            "{path}"
        );
        // pi cannot replace all places, so one edit of this turn fails there.
        let greet = if path.starts_with("pi") { (1, 1) } else { (5, 5) };
        assert_eq!(counted("[T2]"), expect(&[("greet.py", greet)]), "{path}");
        let multi = [
            ("README.md", (3, 1)),
            ("docs/guide/intro.md", (4, 0)),
            ("src/extra.rs", (3, 0)),
            ("src/lib.rs", (1, 1)),
        ];
        assert_eq!(counted("[T3]"), expect(&multi), "{path}");
        assert!(turn("[T4]").is_empty(), "{path}");
        let texts = turn("[T3]");
        assert_eq!(*first.get_or_insert_with(|| texts.clone()), texts, "{path}");
    }
}

#[test]
fn standard_output_of_one_run_is_read_like_a_log() {
    let Some(agents) = agents() else { return };
    for agent in OURS {
        let log = read(&agents.join("stream").join(format!("{agent}.jsonl"))).unwrap();
        assert_eq!(log.format.name(), *agent);
        let files = ["README.md", "docs/guide/intro.md", "src/lib.rs", "src/extra.rs"];
        assert_eq!(log.files(), [files], "{agent}");
        let turn = &log.transcript.turns[0];
        assert_eq!(turn.state, TurnState::Completed, "{agent}");
        let commands: Vec<_> = turn.commands.iter().map(|c| (c.exit_code, c.outcome)).collect();
        let expected = [(None, CommandOutcome::Passed), (Some(1), CommandOutcome::Failed)];
        assert_eq!(commands, expected, "{agent}");
    }
}

#[test]
fn a_killed_turn_stays_open() {
    let Some(agents) = agents() else { return };
    for agent in OURS {
        let log = read(&agents.join(agent).join("produced/killed-mid-turn.jsonl")).unwrap();
        assert_eq!(log.transcript.turns[0].state, TurnState::Open, "{agent}");
        assert_eq!(log.files(), [["slow.txt"]], "{agent}");
    }
}

/// Rewind, interrupts, rejections, compaction, backups: an interactive session of Claude Code.
#[test]
fn an_interactive_session_follows_the_live_branch() {
    let Some(agents) = agents() else { return };
    let folder = agents.join("claude/produced/tui-2.1.332");
    let log = read(&folder.join("6dd06ad9-6fb7-4fce-a350-060b3da1984a.jsonl")).unwrap();
    let turns = &log.transcript.turns;
    let states: Vec<_> = turns.iter().map(|turn| (&turn.prompt[..4], turn.state)).collect();
    let expected = [
        ("[T1]", TurnState::Interrupted),
        ("[T2]", TurnState::Completed),
        ("[T0]", TurnState::Completed),
        ("[T5]", TurnState::Interrupted),
        ("[T3]", TurnState::Completed),
        ("[T7]", TurnState::Completed),
    ];
    assert_eq!(states, expected);
    let denied = turns[0].edits.iter().filter(|e| e.outcome == EditOutcome::Denied).count();
    assert_eq!(denied, 1);
    // Each backup that was made before a first edit holds what the edit's original shows
    // (but for the CR that the log loses).
    let mut compared = 0;
    for turn in turns {
        for (at, known) in &turn.known_texts {
            let KnownTextSource::File(file) = &known.text else { continue };
            let text = fs::read_to_string(file).unwrap().replace("\r\n", "\n");
            let next = turn.edits[*at..]
                .iter()
                .find(|e| e.path == known.path && e.outcome == EditOutcome::Applied);
            if let Some(edit) = next {
                assert_eq!(log.body(&edit.body).before.as_deref(), Some(text.as_str()), "{file}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 5, "only {compared} backups stand before an edit");
}

/// Files above 10 KiB have no original in the log: their hunks have line numbers and both sides.
#[test]
fn large_files_have_numbered_hunks() {
    let Some(agents) = agents() else { return };
    let log = read(&agents.join("claude/produced/sizes-originalFile-null-2.1.332.jsonl")).unwrap();
    let bodies = log.transcript.turns[0].edits.iter().map(|edit| log.body(&edit.body));
    let large: Vec<_> = bodies.filter(|body| !body.hunks.is_empty()).collect();
    assert_eq!(large.len(), 10);
    for body in &large {
        assert!(body.before.is_none() && body.hunks[0].old_start.is_some());
        if let EditAction::Replace { pairs } = &body.action {
            let (old, new, _) = &pairs[0];
            let hunk = &body.hunks[0];
            let restored = hunk.old_text.as_ref().unwrap().replacen(old, new, 1);
            assert_eq!(Some(&restored), hunk.new_text.as_ref());
        }
    }
}

/// Rows that are cut, glued, doubled or no UTF-8 cost themselves: the rest is read, nothing panics,
/// and what was said of each edit can still be asked for.
#[test]
fn damaged_logs_are_read_as_far_as_they_go() {
    let Some(agents) = agents() else { return };
    for (file, ..) in manifest(&agents)
        .into_iter()
        .filter(|(file, ..)| file.extension().is_some_and(|e| e == "jsonl"))
    {
        let path = agents.join(&file);
        let bytes = fs::read(&path).unwrap();
        let Some(format) = detect(&path, &bytes) else { continue };
        let rows: Vec<&[u8]> = bytes.split(|b| *b == b'\n').filter(|row| !row.is_empty()).collect();
        for step in [3, 5, 7] {
            let mut damaged = Vec::new();
            for (index, row) in rows.iter().enumerate() {
                match index % step {
                    0 if index > 0 => damaged.extend_from_slice(&row[..row.len() / 2]),
                    1 => damaged.extend_from_slice(row),
                    2 => {
                        damaged.extend_from_slice(row);
                        damaged.extend_from_slice(b"\n\xff\xfe{\n");
                        damaged.extend_from_slice(row);
                        damaged.push(b'\n');
                    }
                    _ => {
                        damaged.extend_from_slice(row);
                        damaged.push(b'\n');
                    }
                }
            }
            let log = read_as(format, &path, damaged);
            assert!(rows.len() < 4 || log.damages > 0, "{}", file.display());
            for edit in log.transcript.turns.iter().flat_map(|turn| &turn.edits) {
                log.body(&edit.body);
            }
        }
    }
}

#[test]
fn a_torn_document_gives_the_turns_that_it_still_holds() {
    let Some(agents) = agents() else { return };
    let path = agents.join("gemini/produced/print-resume-0.33.2.json");
    let bytes = fs::read(&path).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let torn = dir.path().join("session-torn.json");
    let mut before = (0, 0, 0);
    for part in 1..=20 {
        fs::write(&torn, &bytes[..bytes.len() * part / 20]).unwrap();
        let log = read(&torn).unwrap();
        let (turns, edits, _) = log.counts();
        assert!((turns, edits) >= (before.0, before.1), "{part} of 20: {turns}, {edits}");
        assert_eq!(log.damages, usize::from(part < 20), "{part} of 20");
        before = (turns, edits, before.2 + usize::from(turns > 0));
    }
    assert!(before.2 >= 18, "turns are there from early on");
    assert_eq!((before.0, before.1), {
        let (turns, edits, _) = read(&path).unwrap().counts();
        (turns, edits)
    });
}
