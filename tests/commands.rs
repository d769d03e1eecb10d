//! The commands of a turn: on the screen, and as real logs tell them.

use crate::person::Person;
use crate::shared::shared;
use expect_test::expect_file;
use handback::app::Effect;
use handback::log::open::{LogFile, OpenOptions};
use handback::reader::{ReadOptions, Reader};
use handback::session::{CommandKind, CommandOutcome, RanCommand};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

fn check(person: &Person, name: &str) {
    let path = format!("{}/tests/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    expect_file![path].assert_eq(&person.screen());
}

/// A log of Claude Code, told row by row.
#[derive(Default)]
struct Log {
    rows: Vec<Value>,
}

impl Log {
    fn row(&mut self, mut row: Value) {
        let id = self.rows.len();
        row["uuid"] = json!(format!("u{id}"));
        row["parentUuid"] = id.checked_sub(1).map_or(Value::Null, |id| json!(format!("u{id}")));
        row["sessionId"] = json!("s");
        row["cwd"] = json!("/nowhere");
        row["version"] = json!("2.1.0");
        row["timestamp"] = json!("2026-12-01T00:00:00.000Z");
        self.rows.push(row);
    }

    fn prompt(mut self, text: &str) -> Self {
        self.row(json!({"type": "user", "message": {"role": "user", "content": text}}));
        self
    }

    fn ran(mut self, command: &str, output: &str, code: i32) -> Self {
        let id = format!("t{}", self.rows.len());
        let call =
            json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
        self.row(json!({"type": "assistant", "message": {"role": "assistant", "content": [call]}}));
        let text =
            if code == 0 { output.to_owned() } else { format!("Exit code {code}\n{output}") };
        let result = json!({
            "type": "tool_result", "tool_use_id": id, "is_error": code != 0, "content": text,
        });
        let details = match code {
            0 => json!({"stdout": output, "stderr": "", "interrupted": false}),
            _ => json!(format!("Error: {text}")),
        };
        self.row(json!({
            "type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": details,
        }));
        self
    }

    /// Another tool runs, and the turn ends.
    fn asked_another(mut self) -> Self {
        let call = json!({
            "type": "tool_use", "id": "task", "name": "Task", "input": {"prompt": "cargo test"},
        });
        self.row(json!({"type": "assistant", "message": {"role": "assistant", "content": [call]}}));
        let result = json!({"type": "tool_result", "tool_use_id": "task", "content": "done"});
        self.row(json!({"type": "user", "message": {"role": "user", "content": [result]}}));
        let said = json!({
            "role": "assistant", "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
        });
        self.row(json!({"type": "assistant", "message": said}));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let rows: Vec<String> = self.rows.iter().map(Value::to_string).collect();
        rows.join("\n").into_bytes()
    }
}

fn log() -> Log {
    let long: Vec<String> = (1..=60).map(|line| format!("line {line}")).collect();
    Log::default()
        .prompt("Make it pass")
        .ran("cargo test 2>&1 | tail -3", "test result: FAILED. 1 passed; 1 failed; 0 ignored", 0)
        .ran("cargo build", "    Finished `dev` profile", 0)
        .ran("cargo clippy -- -D warnings", "error: unused", 101)
        .asked_another()
        .prompt("Again")
        .ran("ls", &long.join("\n"), 0)
        .ran("cargo test\n", "\u{1b}[32mtest result: ok. 2 passed; 0 failed\u{1b}[0m", 0)
        .ran("make build | cat", "", 0)
        .prompt("Say hello")
}

fn person(size: (u16, u16)) -> Person {
    let options = ReadOptions { max_file_bytes: 1 << 20, ..ReadOptions::default() };
    Person::at(&log().bytes(), options, size)
}

#[test]
fn the_list_tells_whether_it_worked() {
    let mut person = person((100, 24));
    person.keys("( (");
    check(&person, "commands-100x24-badges");
    let screen = person.screen();
    assert!(screen.contains(" ✗ test ✗ lint"), "what failed stays where it is narrow\n{screen}");
    assert!(screen.contains("✓ test ? build"), "{screen}");
    person.see(handback::app::Event::Resize(160, 24));
    let screen = person.screen();
    assert!(screen.contains("✗ test ✓ build ✗ lint"), "{screen}");
}

#[test]
fn commands_are_listed_and_their_output_is_read() {
    let mut person = person((100, 24));
    person.keys("( ( o");
    check(&person, "commands-100x24-list");
    person.keys("j j Enter");
    assert!(person.screen().contains("error: unused"), "{}", person.screen());
    person.keys("Esc");
    assert!(person.screen().contains("Commands of turn 1"));
    person.keys("Esc");
    assert!(!person.screen().contains("Commands of turn 1"));
    person.keys(") o Enter G");
    check(&person, "commands-100x24-output");
    person.keys("g j PgDn k");
    assert!(!person.screen().contains("line 1 "), "{}", person.screen());
    person.keys("q j Enter");
    let screen = person.screen();
    assert!(screen.contains("␛[32mtest result: ok."), "codes are shown, not sent\n{screen}");
    assert!(!screen.contains('\u{1b}'));
    person.keys("o");
    let is_quit = |effect: &Effect| *effect == Effect::Quit;
    assert!(!person.left_over.iter().any(is_quit), "q closed what was open, no more");
    person.keys(") o");
    assert!(person.screen().contains("no command ran in turn 3"), "{}", person.screen());
}

#[test]
fn commands_are_drawn_on_any_size() {
    let mut person = person((100, 24));
    person.keys("( o");
    for (width, height) in [(20, 5), (30, 8), (59, 16), (61, 15), (300, 70)] {
        person.see(handback::app::Event::Resize(width, height));
        person.screen();
        person.keys("j k G Enter");
        person.screen();
        person.keys("PgDn l l h Esc");
    }
}

fn commands_of(path: &Path) -> Option<BTreeMap<u32, Vec<RanCommand>>> {
    let log = LogFile::open(path, &OpenOptions::default()).ok()?;
    let mut reader = Reader::new(ReadOptions { max_file_bytes: 1 << 20, ..ReadOptions::default() });
    reader.read_all(log).ok()?;
    let turns: Vec<u32> = reader.transcript().turns.iter().map(|turn| turn.turn).collect();
    Some(turns.into_iter().map(|turn| (turn, reader.commands(turn))).collect())
}

/// What the logs' own rows say, read by hand: file, turn, how the command begins, its exit code
/// where one stands in the log, and how it went.
#[rustfmt::skip]
const SCRIPTED: &[(&str, u32, &str, Option<i32>, CommandOutcome)] = {
    use CommandOutcome::{Failed, Passed, Unknown};
    &[
        // `"is_error": true`, "rm: cannot remove"; no error; "Error".
        ("claude/produced/print-1.0.0/24d3d22f-06a9-4c44-9f42-8042ccb2e943.jsonl", 2, "rm notes.txt", None, Failed),
        ("claude/produced/print-1.0.0/24d3d22f-06a9-4c44-9f42-8042ccb2e943.jsonl", 3, "rm old.txt", None, Passed),
        ("claude/produced/print-1.0.0/24d3d22f-06a9-4c44-9f42-8042ccb2e943.jsonl", 3, "printf", None, Failed),
        ("claude/produced/print-1.0.128/eab48f2b-e50b-447a-995d-0d3bf34e4a8d.jsonl", 2, "rm notes.txt", None, Passed),
        ("claude/produced/print-1.0.128/eab48f2b-e50b-447a-995d-0d3bf34e4a8d.jsonl", 7, "sleep 60", None, Unknown),
        ("claude/produced/print-2.1.332/30a48144-545b-42c2-b106-f5c71534b339.jsonl", 3, "printf", Some(1), Failed),
        ("claude/produced/killed-mid-turn.jsonl", 1, "tail -f", None, Unknown),
        // `"metadata":{"exit_code":…}`, then items with `exit_code`.
        ("codex/produced/exec-0.34.0.jsonl", 2, "rm notes.txt", Some(0), Passed),
        ("codex/produced/exec-0.34.0.jsonl", 3, "printf", Some(1), Failed),
        ("codex/produced/exec-0.171.0.jsonl", 2, "cat greet.py", Some(0), Passed),
        ("codex/produced/exec-0.171.0.jsonl", 3, "printf", Some(1), Failed),
        ("codex/produced/exec-0.171.0.jsonl", 5, "git add", Some(0), Passed),
        ("codex/produced/sigint-0.171.0.jsonl", 2, "tail -f", Some(-1), Failed),
        ("codex/produced/killed-mid-turn.jsonl", 1, "tail -f", None, Unknown),
        // `"metadata": {"exit": …}`.
        ("opencode/produced/export-1.18.33.json", 2, "rm notes.txt", Some(0), Passed),
        ("opencode/produced/sqlite-1.18.33/opencode.db", 3, "printf", Some(1), Failed),
        ("opencode/produced/sqlite-1.18.33/opencode.db", 6, "git add", Some(0), Passed),
        // "Exit Code: 1"; "Signal: 15".
        ("gemini/produced/print-resume-0.61.0.jsonl", 2, "rm notes.txt", None, Passed),
        ("gemini/produced/print-resume-0.61.0.jsonl", 3, "printf", Some(1), Failed),
        ("gemini/produced/killed-mid-turn.jsonl", 1, "tail -f", None, Failed),
        // "Command exited with code 1".
        ("pi/produced/print-0.73.1.jsonl", 3, "rm old.txt", None, Passed),
        ("pi/produced/print-0.73.1.jsonl", 3, "printf", Some(1), Failed),
        ("pi/produced/killed-mid-turn.jsonl", 1, "tail -f", None, Unknown),
        // No status at all; `"rawOutput":{"metadata":{"exit":1}}`.
        ("acp/produced/gemini.jsonl", 2, "rm notes.txt", None, Unknown),
        ("acp/produced/opencode.jsonl", 3, "printf", Some(1), Failed),
    ]
};

#[test]
fn scripted_commands_of_real_logs_went_as_the_logs_say() {
    let Some(shared) = shared() else { return };
    for (file, turn, command, code, outcome) in SCRIPTED {
        let path = shared.join("fixtures/agents").join(file);
        let commands = commands_of(&path).unwrap_or_else(|| panic!("{file}"));
        let told: Vec<_> =
            commands[turn].iter().filter(|ran| ran.command.starts_with(command)).collect();
        assert!(!told.is_empty(), "{file} turn {turn}: no `{command}` in {:?}", commands[turn]);
        for ran in told {
            let wanted = (CommandKind::Other, *code, *outcome);
            assert_eq!(
                (ran.kind, ran.exit_code, ran.outcome),
                wanted,
                "{file} turn {turn} {command}"
            );
        }
    }
}

/// A long session of a person: tests and builds behind pipes, most of whose output says nothing.
#[test]
fn outputs_of_a_real_session_are_read_where_a_pipe_hides_the_status() {
    let Some(shared) = shared() else { return };
    let path = shared.join("fixtures/agents/pi/public/badlogic__large-session.jsonl");
    let commands = commands_of(&path).unwrap();
    let all: Vec<&RanCommand> = commands.values().flatten().collect();
    let of = |command: &str| {
        let found = all.iter().find(|ran| ran.command.contains(command));
        found.map(|ran| (ran.kind, ran.outcome)).unwrap()
    };
    // "Command aborted", by the person.
    assert_eq!(of("npm test -- truncated-text"), (CommandKind::Test, CommandOutcome::Unknown));
    assert_eq!(
        of("run check 2>&1 | grep \"error TS\""),
        (CommandKind::Lint, CommandOutcome::Failed)
    );
    assert_eq!(of("run build 2>&1 | tail -3"), (CommandKind::Build, CommandOutcome::Unknown));
    let tests = all.iter().filter(|ran| ran.kind == CommandKind::Test).count();
    let builds = all.iter().filter(|ran| ran.kind == CommandKind::Build).count();
    assert_eq!((tests, builds), (1, 45));
}
