//! The commands of a turn: on the screen, and as real logs tell them.

use crate::person::Person;
use crate::shared::shared;
use expect_test::expect_file;
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

    fn asked_another(mut self) -> Self {
        let call = json!({"type": "tool_use", "id": "task", "name": "Task", "input": {"prompt": "cargo test"}});
        self.row(json!({"type": "assistant", "message": {"role": "assistant", "content": [call]}}));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let rows = self.rows.iter().map(|row| format!("{row}\n"));
        rows.collect::<String>().into_bytes()
    }
}

fn log() -> Log {
    let long: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    Log::default()
        .prompt("Make it pass")
        .ran("cargo test 2>&1 | tail -3", "test result: FAILED. 1 passed; 1 failed; 0 ignored", 0)
        .ran("cargo build", "    Finished `dev` profile", 0)
        .ran("cargo clippy -- -D warnings", "error: unused", 101)
        .asked_another()
        .prompt("Again")
        .ran("ls", &long, 0)
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
    assert!(screen.contains("✗ test ✗ lint"), "what failed stays where it is narrow\n{screen}");
    assert!(screen.contains("✓ test ? build"), "{screen}");
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
    assert!(person.left_over.is_empty(), "{:?}", person.left_over);
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
