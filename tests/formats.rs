//! Real logs of real agents, told as upstream tells them.

use crate::shared::shared;
use handback::log::Output;
use handback::log::open::{LogError, LogFile, OpenOptions};
use handback::session::event::{EditBody, EditOutcome, EditSource};
use handback::session::transcript::{Transcript, TurnRecord};
use handback::session::{Damage, TurnState};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

struct Told {
    log: LogFile,
    transcript: Transcript,
    damages: Vec<Damage>,
}

fn read(path: &Path) -> Result<Told, LogError> {
    let mut log = LogFile::open(path, &OpenOptions::default())?;
    let mut out = Output::default();
    log.read_all(&mut out)?;
    let mut transcript = Transcript::default();
    out.events.into_iter().for_each(|event| transcript.apply(event));
    Ok(Told { log, transcript, damages: out.damages })
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn state(end: &Value) -> TurnState {
    match end["kind"].as_str() {
        None => TurnState::Open,
        Some("completed") => TurnState::Completed,
        Some("aborted" | "interrupted") => TurnState::Interrupted,
        Some("max-tokens" | "error") => TurnState::Failed,
        Some(other) => panic!("unexpected end {other}"),
    }
}

fn edit_body(told: &Told, source: &EditSource) -> EditBody {
    let EditSource::InLog { call, result } = source else { panic!("kept") };
    let mut rows = told.log.rows().unwrap().unwrap();
    let call = rows.row(call).unwrap();
    let result = result.as_ref().map(|place| rows.row(place).unwrap());
    told.log.format().unwrap().edit_body(&call, result.as_deref(), 0)
}

/// Edits of a turn by call: tool, path, failed, hunks. Those that programs made have no such row upstream.
fn edits(told: &Told, turn: &TurnRecord) -> BTreeMap<String, (String, String, bool, usize)> {
    let made = turn
        .edits
        .iter()
        .filter(|e| e.outcome != EditOutcome::Pending && !e.call_id.contains(":code:"));
    made.map(|edit| {
        let failed = edit.outcome != EditOutcome::Applied;
        let hunks = edit_body(told, &edit.body).hunks.len();
        (edit.call_id.clone(), (edit.tool.clone(), edit.path.clone(), failed, hunks))
    })
    .collect()
}

fn expected_edits(turn: &Value) -> BTreeMap<String, (String, String, bool, usize)> {
    // The expectation lists a `view` of str_replace_editor too, which edits nothing.
    let edits = turn["edits"].as_array().unwrap().iter();
    let named = edits.filter(|edit| edit["path"].is_string() && edit["callId"] != "call_sre_3_0");
    named
        .map(|edit| {
            let text = |key: &str| edit[key].as_str().unwrap().to_owned();
            let hunks = edit["hunks"].as_u64().unwrap_or(0) as usize;
            (text("callId"), (text("tool"), text("path"), edit["isError"] == true, hunks))
        })
        .collect()
}

fn check_session(folder: &Path, id: &str, expected: &Value) {
    let path = folder.join(expected["log"].as_str().unwrap());
    let told = read(&path).unwrap();
    let at = path.display();
    assert_eq!(told.damages, [], "{at}");
    assert_eq!(told.transcript.header.id.as_deref(), Some(id), "{at}");
    assert_eq!(told.transcript.header.cwd.as_deref(), expected["header"]["cwd"].as_str(), "{at}");
    let turns = expected["turns"].as_array().unwrap();
    assert_eq!(told.transcript.turns.len(), turns.len(), "{at}");
    for (turn, expected) in told.transcript.turns.iter().zip(turns) {
        let at = format!("{at} turn {}", turn.turn);
        assert_eq!(u64::from(turn.turn), expected["turn"].as_u64().unwrap(), "{at}");
        assert_eq!(turn.prompt, expected["prompt"].as_str().unwrap_or_default(), "{at}");
        assert_eq!(turn.state, state(&expected["end"]), "{at}");
        assert_eq!(turn.inherited, expected["inherited"] == true, "{at}");
        assert_eq!(turn.changes_noticed, expected["changesSeq"].is_u64(), "{at}");
        assert_eq!(edits(&told, turn), expected_edits(expected), "{at}");
        let presented: Vec<_> = turn
            .presented
            .iter()
            .map(|p| (Some(p.path.as_str()), p.description.as_deref()))
            .collect();
        let wanted = expected["presentedDeduped"].as_array().unwrap();
        let wanted: Vec<_> =
            wanted.iter().map(|p| (p["path"].as_str(), p["description"].as_str())).collect();
        assert_eq!(presented, wanted, "{at}");
    }
}

fn check_folder(folder: &Path) -> usize {
    let expected = json(&folder.join("expected-turns.json"));
    let sessions = expected.as_object().unwrap();
    for (id, session) in sessions {
        check_session(folder, id, session);
    }
    sessions.len()
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("expected-turns.json").is_file()).collect()
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn fixtures() -> Option<PathBuf> {
    let found = shared().map(|shared| shared.join("fixtures/dsh"));
    if found.is_none() {
        eprintln!("skipped: no ../shared");
    }
    found
}

#[test]
fn dsh_sessions_tell_what_upstream_tells() {
    let Some(dir) = fixtures() else { return };
    let seen: usize = folders(&dir).iter().map(|folder| check_folder(folder)).sum();
    assert!(seen >= 13, "{seen} sessions");
}

#[test]
fn dsh_rows_of_the_fourth_generation_tell_the_same() {
    let Some(dir) = fixtures() else { return };
    let seen: usize =
        folders(&dir.join("v4-derived")).iter().map(|folder| check_folder(folder)).sum();
    assert!(seen >= 5, "{seen} sessions");
}

fn only_log(dir: &Path) -> PathBuf {
    let mut dir = dir.to_owned();
    while dir.is_dir() {
        dir = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    }
    dir
}

/// Line and offset of a damage, where they are held to anything.
type Where = (Option<u64>, Option<u64>);

/// Name, number of turns, state of the last, and the one damage.
type Torn = (&'static str, usize, TurnState, Option<Where>);

/// What upstream refuses as a whole is shown here but for the damage, which is told once.
#[test]
fn torn_dsh_logs_show_all_that_is_readable() {
    let Some(dir) = fixtures() else { return };
    // Upstream counts lines without the header; here it is line 1.
    let cases: &[Torn] = &[
        ("zstd-whole", 4, TurnState::Interrupted, None),
        ("zstd-cut-at-frame-boundary", 3, TurnState::Open, None),
        ("zstd-cut-5-bytes-into-frame", 3, TurnState::Open, Some((None, Some(25964)))),
        ("zstd-cut-last-frame-minus-1", 4, TurnState::Interrupted, Some((None, None))),
        ("zstd-bad-checksum-middle", 4, TurnState::Interrupted, Some((None, Some(25964)))),
        ("zstd-header-only", 0, TurnState::Open, None),
        ("raw-whole", 4, TurnState::Interrupted, None),
        ("raw-no-final-newline", 4, TurnState::Interrupted, None),
        ("raw-cut-20", 4, TurnState::Open, Some((Some(310), None))),
        ("raw-corrupt-line-before-turn-end", 4, TurnState::Interrupted, Some((Some(118), None))),
        ("raw-seq-gap-committed", 4, TurnState::Interrupted, Some((Some(118), None))),
        ("raw-crlf", 4, TurnState::Interrupted, None),
        ("raw-unknown-event-ignorable", 4, TurnState::Interrupted, None),
        ("raw-version-1", 4, TurnState::Interrupted, None),
        ("raw-no-delegationDepth", 4, TurnState::Interrupted, None),
        ("raw-opposite-encoding", 4, TurnState::Interrupted, None),
    ];
    for (name, turns, last, damage) in cases {
        let told = read(&only_log(&dir.join("torn").join(name))).unwrap();
        assert_eq!(told.transcript.turns.len(), *turns, "{name}");
        assert_eq!(
            told.transcript.turns.last().map_or(TurnState::Open, |t| t.state),
            *last,
            "{name}"
        );
        assert_eq!(told.damages.len(), usize::from(damage.is_some()), "{name}: {:?}", told.damages);
        for ((line, offset), told) in damage.iter().zip(&told.damages) {
            assert!(line.is_none() || told.line == *line, "{name}: {told:?}");
            assert!(offset.is_none() || told.offset == *offset, "{name}: {told:?}");
        }
    }
    let empty = read(&only_log(&dir.join("torn/zstd-empty")));
    assert!(matches!(empty, Err(LogError::Empty { .. })));
}

#[test]
fn upstream_test_logs_read_without_damage() {
    let Some(dir) = fixtures() else { return };
    let dir = dir.join("upstream-tests");
    let expected = json(&dir.join("expected.json"));
    let logs = expected.as_array().unwrap();
    for expected in logs {
        let name = expected["name"].as_str().unwrap();
        let told = read(&dir.join(name)).unwrap();
        assert_eq!(told.damages, [], "{name}");
        let last = expected["lastTypes"].as_array().unwrap().last().unwrap().as_str().unwrap();
        if let Some((_, kind)) = last.split_once(":turn/end:") {
            let state = state(&serde_json::json!({ "kind": kind }));
            let ended =
                told.transcript.turns.iter().rev().find(|t| t.state != TurnState::Open).unwrap();
            assert_eq!(ended.state, state, "{name}");
        }
    }
    assert!(logs.len() >= 30);
}
