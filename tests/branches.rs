//! Sessions that went back and on from an earlier turn: the live branch is shown, the others on request.

use crate::person::Person;
use crate::shared::shared;
use crate::transcripts::Scratch;
use handback::app::{Effect, Event};
use handback::log::Output;
use handback::log::open::{LogFile, OpenOptions};
use handback::log::tail::{TailEvent, follow};
use handback::reader::ReadOptions;
use handback::session::Branch;
use handback::session::transcript::Transcript;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A log of pi, from entries of an id, the id before it, and a prompt.
fn pi(entries: &[(&str, Option<&str>, &str)]) -> String {
    let header = json!({"type": "session", "version": 3, "id": "s", "cwd": "/w",
        "timestamp": "2026-12-01T00:00:00.000Z"});
    let rows = entries.iter().map(|(id, parent, prompt)| entry(id, *parent, prompt));
    std::iter::once(header).chain(rows).map(|row| format!("{row}\n")).collect()
}

pub fn entry(id: &str, parent: Option<&str>, prompt: &str) -> Value {
    json!({"type": "message", "id": id, "parentId": parent,
        "timestamp": "2026-12-01T00:00:01.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": prompt}]}})
}

/// One → two → three; back to one → four; back to two → five, which is live.
pub fn forked() -> String {
    let after = |id| Some(id);
    pi(&[
        ("a", None, "one"),
        ("b", after("a"), "two"),
        ("c", after("b"), "three"),
        ("d", after("a"), "four"),
        ("e", after("b"), "five"),
    ])
}

fn read(path: &Path, branch: Option<u32>) -> Transcript {
    let (mut out, mut told) = (Output::default(), Transcript::default());
    let options = OpenOptions { branch, ..OpenOptions::default() };
    LogFile::open(path, &options).unwrap().read_all(&mut out).unwrap();
    assert_eq!(out.damages, []);
    out.events.into_iter().for_each(|event| told.apply(event));
    told
}

fn prompts(told: &Transcript) -> Vec<&str> {
    told.turns.iter().map(|turn| turn.prompt.as_str()).collect()
}

#[test]
fn each_branch_can_be_read_by_its_number() {
    let scratch = Scratch::new();
    let log = scratch.write("log.jsonl", forked());
    for (branch, shown, wanted) in [
        (None, 3, &["one", "two", "five"][..]),
        (Some(1), 1, &["one", "two", "three"]),
        (Some(2), 2, &["one", "four"]),
        (Some(3), 3, &["one", "two", "five"]),
        // One that is not there is as good as none.
        (Some(4), 3, &["one", "two", "five"]),
        (Some(0), 3, &["one", "two", "five"]),
    ] {
        let told = read(&log, branch);
        assert_eq!(prompts(&told), wanted, "{branch:?}");
        assert_eq!(told.branch, Some(Branch { shown, live: 3, total: 3 }), "{branch:?}");
        assert_eq!(told.turns.last().map(|turn| turn.turn as usize), Some(wanted.len()));
        assert_eq!(told.header.cwd.as_deref(), Some("/w"));
    }
}

#[test]
fn a_rewound_session_of_claude_code_has_two_branches() {
    let Some(shared) = shared() else { return };
    let name = "tui-2.1.332/6dd06ad9-6fb7-4fce-a350-060b3da1984a.jsonl";
    let log = shared.join("fixtures/agents/claude/produced").join(name);
    let (live, left) = (read(&log, None), read(&log, Some(1)));
    assert_eq!(live.branch, Some(Branch { shown: 2, live: 2, total: 2 }));
    assert_eq!(left.branch, Some(Branch { shown: 1, live: 2, total: 2 }));
    assert_eq!(prompts(&live)[..4], prompts(&left)[..4]);
    assert!(prompts(&live)[4].starts_with("[T3]") && prompts(&live)[5].starts_with("[T7]"));
    assert!(prompts(&left)[4].starts_with("!echo") && prompts(&left)[5].starts_with("[T4]"));
    assert_eq!(read(&log, Some(2)).turns, {
        let mut turns = live.turns;
        let chosen = read(&log, Some(2)).turns;
        turns.iter_mut().zip(&chosen).for_each(|(turn, other)| turn.revision = other.revision);
        turns
    });
}

#[test]
fn the_command_line_shows_a_branch() {
    let scratch = Scratch::new();
    let log = scratch.write("log.jsonl", forked());
    let log = log.to_str().unwrap();
    let shown = scratch.json(&["show", "--session", log, "--branch", "2", "--json"]);
    assert_eq!(shown["session"]["branch"], json!({"shown": 2, "live": 3, "total": 3}));
    assert_eq!(shown["turns"][1]["prompt"], "four");
    let stat = scratch.run(&["show", "--session", log, "--branch", "1"]);
    let stat = String::from_utf8(stat.stdout).unwrap();
    assert!(stat.starts_with("pi session s  · branch 1 of 3\n"), "{stat}");
    let why = scratch.fails(&["show", "--session", log, "--branch", "4"], 1);
    assert!(why.ends_with("log.jsonl: no branch 4 (there are 3)\n"), "{why}");
    // A session that never went back has one, which is not spoken of.
    let plain = scratch.write("plain.jsonl", pi(&[("a", None, "one")]));
    let plain = plain.to_str().unwrap();
    let shown = scratch.json(&["show", "--session", plain, "--branch", "1", "--json"]);
    assert_eq!(shown["session"].get("branch"), None);
    scratch.fails(&["show", "--session", plain, "--branch", "2"], 1);
}

#[test]
fn a_chosen_branch_is_followed_whatever_is_live() {
    let scratch = Scratch::new();
    let path = scratch.write("log.jsonl", forked());
    let (send, events) = channel();
    let options = OpenOptions { branch: Some(1), ..OpenOptions::default() };
    let _tail = follow(path.clone(), options, move |event| {
        let _ = send.send(event);
    });
    let mut told = Transcript::default();
    let mut until = |wanted: &[&str], branch: Branch| {
        let end = Instant::now() + Duration::from_secs(20);
        while prompts(&told) != wanted || told.branch != Some(branch) {
            assert!(Instant::now() < end, "{:?} {:?}", prompts(&told), told.branch);
            if let Ok(TailEvent::Output(out)) = events.recv_timeout(Duration::from_secs(1)) {
                out.events.into_iter().for_each(|event| told.apply(event));
            }
        }
    };
    let append = |row: &Value| {
        let mut log = fs::File::options().append(true).open(&path).unwrap();
        writeln!(log, "{row}").unwrap();
    };
    until(&["one", "two", "three"], Branch { shown: 1, live: 3, total: 3 });
    append(&entry("f", Some("d"), "six"));
    until(&["one", "two", "three"], Branch { shown: 1, live: 2, total: 3 });
    append(&entry("g", Some("c"), "seven"));
    until(&["one", "two", "three", "seven"], Branch { shown: 1, live: 1, total: 3 });
    append(&entry("h", Some("c"), "eight"));
    until(&["one", "two", "three", "seven"], Branch { shown: 1, live: 4, total: 4 });
}

#[test]
fn a_key_goes_from_branch_to_branch() {
    let options = || ReadOptions { max_file_bytes: 1 << 20, ..ReadOptions::default() };
    let log = forked().into_bytes();
    let mut person = Person::at(&log, options(), (110, 14));
    assert!(person.screen().contains("3 branches: B"), "{}", person.screen());
    person.keys("B");
    assert_eq!(person.left_over.pop(), Some(Effect::ShowBranch(Some(1))));
    assert!(person.app.turns.is_empty());
    let aside = ReadOptions { branch: Some(1), ..options() };
    let mut person = Person::at(&log, aside, (110, 14));
    let screen = person.screen();
    assert!(screen.lines().next().unwrap().ends_with("branch 1 of 3"), "{screen}");
    assert!(screen.contains("three") && !screen.contains("five"), "{screen}");
    person.keys("B");
    assert_eq!(person.left_over.pop(), Some(Effect::ShowBranch(Some(2))));
    // The live one is not chosen but followed.
    let mut person = Person::at(&log, ReadOptions { branch: Some(2), ..options() }, (110, 14));
    person.keys("B");
    assert_eq!(person.left_over.pop(), Some(Effect::ShowBranch(None)));
    let plain = pi(&[("a", None, "one")]).into_bytes();
    let mut person = Person::at(&plain, options(), (110, 14));
    person.keys("B");
    assert!(!person.left_over.iter().any(|left| matches!(left, Effect::ShowBranch(_))));
    assert!(person.screen().contains("this session has one branch"), "{}", person.screen());
    assert_eq!(person.app.turns.len(), 1);
    person.see(Event::Resize(60, 14));
}
