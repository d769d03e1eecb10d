//! Every sample log of Codex, opencode and ACP: its turns, its edits, the files of its script.

use crate::shared::shared;
use handback::log::{FORMATS, LogFormat, Output, Places};
use handback::session::TurnState;
use handback::session::event::{EditBody, EditOutcome, EditSource, Place, SNAPSHOT_TOOL};
use handback::session::transcript::{Transcript, TurnRecord};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A log read to its end, with its bytes to read edits from.
struct Opened {
    format: &'static dyn LogFormat,
    bytes: Vec<u8>,
    told: Transcript,
    damages: Vec<String>,
}

fn place(bytes: &[u8], line: &[u8], number: usize) -> Place {
    let offset = line.as_ptr() as usize - bytes.as_ptr() as usize;
    Place { offset: offset as u64, inner: 0, len: line.len() as u64, line: number as u64 + 1 }
}

/// The first 4 KiB of a file; nothing of a folder.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        let _ = file.take(4096).read_to_end(&mut head);
    }
    head
}

impl Opened {
    fn read(path: &Path) -> Self {
        let head = head(path);
        let whole = |format: &&&'static dyn LogFormat| {
            format.whole().is_some_and(|whole| whole.recognizes(path, &head))
        };
        match FORMATS.iter().find(whole) {
            Some(format) => Self::read_whole(*format, path, None),
            None => Self::read_lines(fs::read(path).unwrap(), Some(path)),
        }
    }

    fn read_whole(format: &'static dyn LogFormat, path: &Path, session: Option<&str>) -> Self {
        let mut out = Output::default();
        format.whole().unwrap().read(path, session, &mut out, &mut |_| true).unwrap();
        Self::told(format, Vec::new(), out)
    }

    fn read_lines(bytes: Vec<u8>, path: Option<&Path>) -> Self {
        let lines = || bytes.split(|byte| *byte == b'\n');
        let rows: Vec<Value> =
            lines().filter_map(|line| serde_json::from_slice(line).ok()).take(10).collect();
        let format = *FORMATS.iter().find(|format| format.recognizes(&rows)).unwrap();
        let reader = path.map_or_else(|| format.reader(), |path| format.reader_at(path));
        let (mut reader, mut out) = (reader, Output::default());
        for (number, line) in lines().enumerate() {
            reader.line(place(&bytes, line, number), line, &mut out);
        }
        reader.caught_up(&mut out);
        Self::told(format, bytes, out)
    }

    fn told(format: &'static dyn LogFormat, bytes: Vec<u8>, out: Output) -> Self {
        let mut told = Transcript::default();
        out.events.into_iter().for_each(|event| told.apply(event));
        let damages = out.damages.into_iter().map(|damage| damage.message).collect();
        Self { format, bytes, told, damages }
    }

    fn row(&self, place: Place) -> &[u8] {
        &self.bytes[place.offset as usize..][..place.len as usize]
    }

    fn body(&self, turn: &TurnRecord, at: usize) -> EditBody {
        let edit = &turn.edits[at];
        let nth = turn.edits[..at].iter().filter(|e| e.call_id == edit.call_id).count();
        match &edit.body {
            EditSource::Kept(body) => EditBody::clone(body),
            EditSource::InLog { call, result } => {
                self.format.edit_body(self.row(*call), result.map(|r| self.row(r)), nth)
            }
        }
    }

    /// Calls that edited, by whether they took effect; snapshots are no calls.
    fn calls(&self) -> (usize, usize) {
        let mut seen: Vec<(u32, &str, bool)> = Vec::new();
        for turn in &self.told.turns {
            for edit in turn.edits.iter().filter(|edit| edit.tool != SNAPSHOT_TOOL) {
                seen.push((turn.turn, &edit.call_id, edit.outcome == EditOutcome::Applied));
            }
        }
        seen.sort_unstable();
        seen.dedup();
        let applied = seen.iter().filter(|(_, _, applied)| *applied).count();
        (applied, seen.len() - applied)
    }

    /// The files that tools edited in the turn of a script step, without the project's folder.
    fn script_files(&self, step: &str) -> Vec<String> {
        let turns = self.told.turns.iter().filter(|turn| turn.prompt.contains(step));
        let edits = turns.flat_map(TurnRecord::applied_edits);
        let tools = edits.filter(|edit| edit.tool != SNAPSHOT_TOOL);
        let mut files: Vec<String> = tools
            .map(|edit| {
                edit.path.rsplit_once("/proj/").map_or(edit.path.as_str(), |(_, path)| path)
            })
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        files
    }
}

/// Every sample: its turns, the calls that edited and took effect, those that did not.
///
/// The counts differ from those of the samples' own list where its reference reader counts less: it
/// has no failed verification of Codex 0.130 and later (there is no item for one), counts all edits
/// of versions without such items as one number, takes a sub-agent's copy of its parent for the
/// sub-agent's work, counts all sessions of an opencode data base together (a delegated one has a
/// turn and an edit of its own), reads no base of a segment or fork, and misses an ACP call that was refused and never heard of again.
const SAMPLES: &[(&str, usize, usize, usize)] = &[
    ("acp/produced/gemini-bare.ndjson", 7, 14, 3),
    ("acp/produced/gemini-capfs.jsonl", 7, 5, 12),
    ("acp/produced/gemini.jsonl", 7, 14, 3),
    ("acp/produced/opencode-bare.ndjson", 7, 14, 2),
    ("acp/produced/opencode.jsonl", 7, 14, 2),
    // A declined, a failed, an unverified, a cancelled and one that could not write.
    (
        "codex/produced/appserver-0.104.0/rollout-2026-12-01T00-35-50-01a22f07-8147-7792-a287-87a1548d7f45.jsonl",
        8,
        6,
        5,
    ),
    (
        "codex/produced/appserver-0.104.0/rollout-2026-12-01T00-36-03-01a22f07-b482-71d0-bdf9-c4ecc170f4c0.jsonl",
        9,
        6,
        5,
    ),
    (
        "codex/produced/appserver-0.171.0/rollout-2026-12-01T00-35-18-01a22f07-02fe-72e3-b9cc-2d19704a0b0f.jsonl",
        8,
        6,
        4,
    ),
    (
        "codex/produced/appserver-0.171.0/rollout-2026-12-01T00-35-31-01a22f07-02fe-72e3-b9cc-2d19704a0b0f_01a22f07-37d2-7981-8e2e-79b5763c6a44.jsonl",
        8,
        6,
        3,
    ),
    (
        "codex/produced/appserver-0.171.0/rollout-2026-12-01T00-35-32-01a22f07-387d-7aa1-bdc6-73dd84200ac2.jsonl",
        9,
        6,
        3,
    ),
    (
        "codex/produced/codemode-0.171.0/rollout-2026-12-01T00-37-08-01a22f08-af23-77d3-b6f9-71a9052d6556.jsonl",
        6,
        7,
        0,
    ),
    (
        "codex/produced/codemode-0.171.0/rollout-2026-12-01T00-37-10-01a22f08-b71b-7723-affa-a98f5884d5ef.jsonl",
        1,
        0,
        0,
    ),
    ("codex/produced/exec-0.104.0.jsonl", 4, 7, 1),
    ("codex/produced/exec-0.116.0.jsonl", 4, 7, 1),
    ("codex/produced/exec-0.140.0.jsonl", 4, 7, 1),
    ("codex/produced/exec-0.145.0.jsonl", 4, 7, 1),
    ("codex/produced/exec-0.171.0.jsonl", 5, 7, 1),
    ("codex/produced/exec-0.20.0.jsonl", 4, 5, 1),
    ("codex/produced/exec-0.34.0.jsonl", 4, 5, 1),
    ("codex/produced/exec-0.47.0.jsonl", 4, 5, 1),
    ("codex/produced/image-steer-0.171.0.jsonl", 4, 5, 0),
    ("codex/produced/killed-mid-turn.jsonl", 1, 1, 0),
    ("codex/produced/sigint-0.171.0.jsonl", 2, 1, 3),
    ("codex/public/AcidicSoil__example-session-metadata.jsonl", 0, 0, 0),
    // A program's call without a prompt, and without items that say what it did.
    ("codex/public/Sinity__functions_exec_multiple.jsonl", 1, 0, 0),
    ("codex/public/es617__fixture-codex-edges.jsonl", 4, 0, 0),
    // An empty patch edits nothing.
    ("codex/public/es617__fixture-codex-patch.jsonl", 3, 3, 0),
    // No output: the patch is pending.
    ("codex/public/git-ai-project__codex-session-updated.jsonl", 1, 0, 1),
    ("codex/public/jazzyalex__codex_050_legacy.jsonl", 0, 0, 0),
    // All texts and ids of its rows from 27 on are one and the same word.
    ("codex/public/jazzyalex__codex__small.jsonl", 4, 1, 0),
    ("codex/public/pchalasani__codex_session.jsonl", 0, 0, 0),
    ("codex/public/steipete__archived_sessions__child.jsonl", 0, 0, 0),
    ("codex/public/steipete__archived_sessions__parent.jsonl", 0, 0, 0),
    ("opencode/produced/export-1.0.185.json", 7, 8, 2),
    ("opencode/produced/export-1.18.33.json", 7, 9, 1),
    // An export holds no session of a sub-agent; a data base and a folder do.
    ("opencode/produced/sqlite-1.18.33-applypatch/opencode.db", 7, 9, 1),
    ("opencode/produced/sqlite-1.18.33/opencode.db", 7, 10, 1),
    ("opencode/produced/sqlite-1.2.27/opencode.db", 7, 9, 2),
    ("opencode/produced/storage-1.0.185", 7, 9, 2),
    ("opencode/public/es617__fixture-opencode.jsonl", 2, 1, 0),
    ("opencode/public/git-ai-project__opencode.db", 1, 1, 0),
    ("stream/codex.jsonl", 1, 3, 0),
    ("stream/opencode.jsonl", 1, 4, 0),
];

/// The folder of samples, or a line that says that it is missing.
#[expect(clippy::print_stderr, reason = "a person should see that nothing was tested")]
fn samples() -> Option<PathBuf> {
    let folder = shared().map(|shared| shared.join("fixtures/agents"));
    if folder.is_none() {
        eprintln!("skipped: no ../shared");
    }
    folder
}

fn format_of(name: &str) -> &str {
    let first = name.split('/').next().unwrap();
    if first == "stream" {
        name.rsplit('/').next().unwrap().split('.').next().unwrap()
    } else {
        first
    }
}

#[test]
fn every_sample_has_its_turns_and_edits() {
    let Some(folder) = samples() else { return };
    let mut wrong = Vec::new();
    for (name, turns, applied, others) in SAMPLES {
        let log = Opened::read(&folder.join(name));
        assert_eq!(log.format.name(), format_of(name), "{name}");
        let found = (log.told.turns.len(), log.calls());
        if found != (*turns, (*applied, *others)) {
            wrong.push(format!("{name}: {found:?}"));
        }
        assert!(log.damages.is_empty(), "{name}: {:?}", log.damages);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files that the tools edited in a step of the script which most samples come from.
const T1: &[&str] = &["greet.py", "notes.txt"];
const T2: &[&str] = &["greet.py"];
/// Codex's patch also deletes and moves.
const T3_PATCH: &[&str] = &[
    "README.md",
    "docs/guide/intro.md",
    "moved/here.txt",
    "old.txt",
    "src/extra.rs",
    "src/lib.rs",
];
/// With parallel calls counted as two steps, the first two files were never asked for.
const T3_OLD: &[&str] = &["moved/here.txt", "old.txt", "src/extra.rs", "src/lib.rs"];
/// Others delete by a command and move nothing.
const T3_EDITS: &[&str] = &["README.md", "docs/guide/intro.md", "src/extra.rs", "src/lib.rs"];

#[test]
fn the_script_gives_the_same_files_whichever_agent_ran_it() {
    let Some(folder) = samples() else { return };
    let patch = |name: &str| name.starts_with("codex/produced/exec") || name.contains("applypatch");
    for (name, ..) in SAMPLES {
        let t3 = match *name {
            name if ["0.20.0", "0.34.0", "0.47.0"].iter().any(|old| name.contains(old)) => T3_OLD,
            name if patch(name)
                || name.contains("codemode-0.171.0/rollout-2026-12-01T00-37-08") =>
            {
                T3_PATCH
            }
            name if name.contains("capfs") => continue,
            name if name.starts_with("opencode/produced") || name.starts_with("acp") => T3_EDITS,
            _ => continue,
        };
        let log = Opened::read(&folder.join(name));
        for (step, files) in [("[T1]", T1), ("[T2]", T2), ("[T3]", t3), ("[T4]", &[])] {
            assert_eq!(log.script_files(step), files, "{name} {step}");
        }
    }
}

#[test]
fn bodies_hold_the_texts_of_the_script() {
    let Some(folder) = samples() else { return };
    for (name, ..) in SAMPLES {
        let log = Opened::read(&folder.join(name));
        let prompted = |step: &str| log.told.turns.iter().find(|turn| turn.prompt.contains(step));
        let Some(turn) = prompted("[T1]") else { continue };
        let Some(at) = turn.edits.iter().position(|edit| {
            edit.path.ends_with("greet.py") && edit.outcome == EditOutcome::Applied
        }) else {
            continue;
        };
        let greet = log.body(turn, at).after.unwrap();
        assert_eq!(greet.lines().count(), 15, "{name}");
        assert!(greet.starts_with("import sys\n\n\ndef greet(name):\n"), "{name}");
        let Some(turn) = prompted("[T2]") else { continue };
        for (at, edit) in turn.edits.iter().enumerate() {
            if edit.outcome == EditOutcome::Applied && edit.path.ends_with("greet.py") {
                let body = log.body(turn, at);
                let told = !body.hunks.is_empty() || body.before.is_some() && body.after.is_some();
                assert!(told, "{name}: {body:?}");
                if let [.., last] = body.hunks.as_slice() {
                    assert_ne!(last.old_text, last.new_text, "{name}");
                }
            }
        }
    }
}

#[test]
fn forks_roll_backs_and_late_rows_are_where_they_belong() {
    let Some(folder) = samples() else { return };
    let codex = folder.join("codex/produced");
    let fork = Opened::read(&codex.join(
        "appserver-0.104.0/rollout-2026-12-01T00-36-03-01a22f07-b482-71d0-bdf9-c4ecc170f4c0.jsonl",
    ));
    let inherited = fork.told.turns.iter().filter(|turn| turn.inherited).count();
    assert_eq!((inherited, fork.told.turns.len()), (8, 9));
    let gone: Vec<u32> =
        fork.told.turns.iter().filter(|turn| turn.rolled_back).map(|turn| turn.turn).collect();
    assert_eq!(gone, [7]);
    let late = Opened::read(&codex.join("image-steer-0.171.0.jsonl"));
    let command = &late.told.turns[1].commands[0];
    assert_eq!((command.call.command.as_str(), command.exit_code), ("tail -f /dev/null", Some(-1)));
    assert_eq!(late.told.turns[1].state, TurnState::Interrupted);
    let killed = Opened::read(&codex.join("killed-mid-turn.jsonl"));
    assert_eq!(killed.told.turns[0].state, TurnState::Open);
}

#[test]
fn what_commands_changed_is_in_opencodes_snapshots() {
    let Some(folder) = samples() else { return };
    for name in ["sqlite-1.18.33/opencode.db", "export-1.18.33.json", "storage-1.0.185"] {
        let log = Opened::read(&folder.join("opencode/produced").join(name));
        let turn = log.told.turns.iter().find(|turn| turn.prompt.contains("[T3]")).unwrap();
        let shown = turn.edits.iter().filter(|edit| edit.tool == SNAPSHOT_TOOL);
        let files: Vec<&str> =
            shown.filter_map(|edit| edit.path.rsplit_once('/')).map(|(_, file)| file).collect();
        assert_eq!(files, ["crlf.txt", "data.csv", "data2.csv", "old.txt"], "{name}");
    }
}

#[test]
fn opencodes_trees_come_with_the_git_directory_that_holds_them() {
    let Some(folder) = samples() else { return };
    let data = tempfile::tempdir().unwrap();
    let base = data.path().join("opencode.db");
    fs::copy(folder.join("opencode/produced/sqlite-1.18.33/opencode.db"), &base).unwrap();
    let git_dir = data.path().join("snapshot/4b55551d5e5fa3a10fabfa7f6760eb09130e0691/some-hash");
    fs::create_dir_all(git_dir.join("objects")).unwrap();
    fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let config = "[core]\n\tworktree = /home/devwork/work-opencode/proj\n";
    fs::write(git_dir.join("config"), config).unwrap();
    let log = Opened::read(&base);
    let with_trees = log.told.turns.iter().filter(|turn| turn.tree_before.is_some());
    let dirs: Vec<_> = with_trees.map(|turn| turn.git_dir.as_deref()).collect();
    // The last turn wrote outside of the work tree, which no tree shows.
    assert_eq!(dirs, [git_dir.to_str(); 6]);
}

#[test]
fn opencodes_sessions_are_found_and_opened_by_id() {
    let Some(folder) = samples() else { return };
    let format = *FORMATS.iter().find(|format| format.name() == "opencode").unwrap();
    for name in ["sqlite-1.2.27", "storage-1.0.185/.."] {
        let env = [("OPENCODE_DATA_DIR".to_owned(), String::new())].into();
        let home = tempfile::tempdir().unwrap();
        let share = home.path().join(".local/share");
        fs::create_dir_all(&share).unwrap();
        let data = folder.join("opencode/produced").join(name);
        let data = if name.starts_with("storage") {
            let made = home.path().join("data");
            fs::create_dir(&made).unwrap();
            std::os::unix::fs::symlink(data.join("storage-1.0.185"), made.join("storage")).unwrap();
            made
        } else {
            data
        };
        std::os::unix::fs::symlink(&data, share.join("opencode")).unwrap();
        let places = Places { home: home.path().to_owned(), env };
        let found = format.discover(&places, None);
        assert_eq!(found.len(), 1, "{name}: a delegated session is not listed");
        let named = found[0].path.to_str().unwrap();
        let (path, session) =
            named.split_once('#').map_or((named, None), |(path, id)| (path, Some(id)));
        let log = Opened::read_whole(format, Path::new(path), session);
        assert_eq!(log.told.header.id.as_deref(), Some(found[0].id.as_str()));
        assert_eq!(format.discover(&places, Some(Path::new("/nowhere"))), vec![]);
    }
}

/// Cuts and splices of every line log: nothing panics, and each damage names its line.
#[test]
fn torn_logs_cost_only_what_is_torn() {
    let Some(folder) = samples() else { return };
    for (name, turns, ..) in SAMPLES {
        let path = folder.join(name);
        if !path.is_file() || path.extension().is_some_and(|end| end == "db" || end == "json") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let lines: Vec<&[u8]> =
            bytes.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).collect();
        let torn: Vec<u8> = lines
            .iter()
            .enumerate()
            .flat_map(|(number, line)| {
                let damaged: &[u8] = if number % 7 == 3 { &line[..line.len() / 2] } else { line };
                let end: &[u8] = if number % 5 == 2 { b"" } else { b"\n" };
                [damaged, end].concat()
            })
            .collect();
        let log = Opened::read_lines(torn, None);
        assert!(log.told.turns.len() <= turns + lines.len(), "{name}");
        for turn in &log.told.turns {
            for at in 0..turn.edits.len() {
                log.body(turn, at);
            }
        }
    }
}

/// How many values stand in a value, itself counted.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

/// Puts another value in the place of the one that stands at `at` in reading order.
fn put(value: &mut Value, at: &mut usize, other: &Value) {
    if *at == 0 {
        *value = other.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(list) => list.iter_mut().for_each(|inner| put(inner, at, other)),
        Value::Object(map) => map.values_mut().for_each(|inner| put(inner, at, other)),
        _ => {}
    }
}

/// Every value of every row may be of another kind: nothing panics, and nothing is damage.
#[test]
fn any_value_may_be_of_another_kind() {
    let Some(folder) = samples() else { return };
    let others = [
        Value::Null,
        Value::from(-7),
        Value::from("é\u{1b}"),
        serde_json::json!([{}]),
        serde_json::json!({}),
    ];
    for name in [
        "codex/produced/exec-0.20.0.jsonl",
        "codex/produced/exec-0.140.0.jsonl",
        "codex/produced/sigint-0.171.0.jsonl",
        "acp/produced/gemini-capfs.jsonl",
        "stream/codex.jsonl",
        "stream/opencode.jsonl",
    ] {
        let mut rows = Vec::new();
        for line in fs::read(folder.join(name)).unwrap().split(|byte| *byte == b'\n') {
            let Ok(row) = serde_json::from_slice::<Value>(line) else { continue };
            rows.push(row.to_string());
            for mut at in 0..size(&row).min(60) {
                let mut changed = row.clone();
                let other = &others[(at + rows.len()) % others.len()];
                put(&mut changed, &mut at, other);
                rows.push(changed.to_string());
            }
        }
        let log = Opened::read_lines(rows.join("\n").into_bytes(), None);
        assert_eq!(log.damages, Vec::<String>::new(), "{name}");
        for turn in &log.told.turns {
            for at in 0..turn.edits.len() {
                log.body(turn, at);
            }
        }
    }
}
