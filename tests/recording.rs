//! Turns that are written live into a log, recorded, and read again.

use handback::content::{Changes, Content, FileChange, Pair, Source};
use handback::log::open::{LogFile, OpenOptions};
use handback::reader::{Base, ReadOptions, Reader, Shown, compare};
use handback::record::{Following, RecordEvent, RecordOptions, follow};
use handback::session::{FileStatus, Origin};
use handback::store::{Exclude, Settings, Store};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::{self, OpenOptions as Create};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A work tree, a home beside it, a log, and a store.
struct Scene {
    dir: tempfile::TempDir,
    work: PathBuf,
    log: PathBuf,
    seq: Cell<u64>,
}

impl Scene {
    /// Without a repository.
    fn bare() -> Self {
        let dir = tempfile::Builder::new().prefix("recording").tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let scene = Self { log: dir.path().join("session.jsonl"), work, dir, seq: Cell::new(0) };
        let header = json!({"type": "session", "version": 0, "id": "s", "createdAt": 1,
            "cwd": scene.work, "delegationDepth": 0});
        fs::write(&scene.log, format!("{header}\n")).unwrap();
        scene
    }

    /// Another session in the same directory, with the same store.
    fn beside(&self, id: &str) -> Self {
        let scene = Self::bare();
        let header = json!({"type": "session", "version": 0, "id": id, "createdAt": 1,
            "cwd": self.work, "delegationDepth": 0});
        fs::write(&scene.log, format!("{header}\n")).unwrap();
        std::os::unix::fs::symlink(self.store(), scene.store()).unwrap();
        Self { work: self.work.clone(), ..scene }
    }

    /// With a repository that has one commit.
    fn new() -> Self {
        let scene = Self::bare();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.write(".gitignore", "ignored/\n");
        scene.write("kept.txt", "one\ntwo\n");
        let lines: Vec<String> = (0..20).map(|n| format!("line {n}\n")).collect();
        scene.write("moved.txt", &lines.concat());
        scene.write("gone.txt", "bye\n");
        scene.write("ignored/secret", "before\n");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "first"]);
        scene
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.work, arguments);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn store(&self) -> PathBuf {
        self.path("store")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.work.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn row(&self, kind: &str, data: &Value) {
        let seq = self.seq.replace(self.seq.get() + 1);
        let row = json!({"type": kind, "seq": seq, "time": 5 + seq, "data": data});
        let mut file = Create::new().append(true).open(&self.log).unwrap();
        file.write_all(format!("{row}\n").as_bytes()).unwrap();
    }

    fn start(&self, turn: u32) {
        self.row("turn/start", &json!({"turn": turn}));
    }

    fn end(&self, turn: u32) {
        self.row("turn/end", &json!({"turn": turn, "reason": {"kind": "completed"}}));
    }

    fn call(&self, turn: u32, call: &str, tool: &str, arguments: &Value) {
        let data = json!({"turn": turn, "step": 1, "callId": call, "name": tool,
            "arguments": arguments.to_string()});
        self.row("tool/call", &data);
    }

    fn result(&self, turn: u32, call: &str, text: &str, meta: &Value) {
        let content = json!([{"type": "tool-result", "toolCallId": call, "isError": false,
            "content": [{"type": "text", "text": text}]}]);
        let message = json!({"role": "user", "source": {"kind": "tool", "callId": call},
            "content": content, "id": call});
        let data = json!({"turn": turn, "step": 1, "message": message, "meta": meta});
        self.row("tool/result", &data);
    }

    /// The tool `write`, as an agent does it.
    fn tool_write(&self, recorder: &mut Seat, turn: u32, path: &str, text: &str) {
        let call = format!("call-{}", self.seq.get());
        self.call(turn, &call, "write", &json!({"file_path": path, "content": text}));
        recorder.until(
            |event| matches!(event, RecordEvent::Capture { call_id, .. } if *call_id == call),
        );
        let target = self.work.join(path);
        let is_new = !target.exists();
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, text).unwrap();
        let done = if is_new { "Created file" } else { "Updated file" };
        self.result(turn, &call, done, &json!({"diffs": []}));
    }

    /// The tool `bash`; `change` is what the command does.
    fn tool_bash(&self, turn: u32, change: impl FnOnce()) {
        let call = format!("call-{}", self.seq.get());
        self.call(turn, &call, "bash", &json!({"command": "make"}));
        change();
        self.result(turn, &call, "[shell exited: code 0]", &Value::Null);
    }

    fn tool_read(&self, turn: u32) {
        let call = format!("call-{}", self.seq.get());
        self.call(turn, &call, "read", &json!({"file_path": "kept.txt"}));
        self.result(turn, &call, "two", &Value::Null);
    }

    fn options(&self) -> RecordOptions {
        RecordOptions {
            store: self.store(),
            home: self.path("home"),
            diff_timeout: Duration::from_secs(10),
            ..RecordOptions::default()
        }
    }

    fn record(&self) -> Seat {
        self.record_with(self.options())
    }

    fn record_with(&self, options: RecordOptions) -> Seat {
        let (send, told) = channel();
        let following = follow(self.log.clone(), OpenOptions::default(), options, move |event| {
            let _ = send.send(event);
        });
        let mut seat = Seat { told, seen: Vec::new(), following: Some(following) };
        seat.until(|event| matches!(event, RecordEvent::Ready { .. }));
        seat
    }

    fn reader(&self) -> Reader {
        let options = ReadOptions {
            home: self.path("home"),
            max_file_bytes: 2 << 20,
            store: Some(self.store()),
            ..ReadOptions::default()
        };
        let mut reader = Reader::new(options);
        reader.read_all(LogFile::open(&self.log, &OpenOptions::default()).unwrap()).unwrap();
        reader
    }

    fn changes(&self, turn: u32) -> Option<Changes> {
        self.reader().changes(turn).unwrap()
    }

    /// Display path, status, origin and counts of each file of a turn, as read from the store.
    fn listed(&self, turn: u32) -> Vec<(String, FileStatus, Origin, u64, u64)> {
        let files = self.changes(turn).map(|changes| changes.files).unwrap_or_default();
        files
            .into_iter()
            .map(|change| change.file)
            .map(|file| (file.display, file.status, file.origin, file.added, file.deleted))
            .collect()
    }

    fn binary(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handback"));
        command
            .args(arguments)
            .arg("--store")
            .arg(self.store())
            .env("HOME", self.path("home"))
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(&self.work);
        command
    }
}

fn git(dir: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@example.invalid"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A recorder with what it told.
struct Seat {
    told: Receiver<RecordEvent>,
    seen: Vec<RecordEvent>,
    following: Option<Following>,
}

impl Seat {
    fn until(&mut self, wanted: impl Fn(&RecordEvent) -> bool) -> RecordEvent {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let event = self
                .told
                .recv_timeout(left)
                .unwrap_or_else(|_| panic!("not told; told was {:#?}", self.seen));
            self.seen.push(event.clone());
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Waits for a turn's baseline: its tree and whether it was late.
    fn baseline(&mut self, turn: u32) -> (Option<String>, bool) {
        let is_it = |event: &RecordEvent| matches!(event, RecordEvent::Baseline { turn: t, .. } if *t == turn);
        match self.until(is_it) {
            RecordEvent::Baseline { tree, late, .. } => (tree, late),
            _ => unreachable!(),
        }
    }

    /// Waits for the end of a turn: whether it changed anything.
    fn finished(&mut self, turn: u32) -> bool {
        let event = self.until(|event| match event {
            RecordEvent::Changes(summary) => summary.turn == Some(turn),
            RecordEvent::Unchanged { turn: unchanged } => *unchanged == turn,
            _ => false,
        });
        matches!(event, RecordEvent::Changes(_))
    }

    fn stop(mut self) -> Vec<RecordEvent> {
        self.following.take().unwrap().stop();
        self.seen.extend(self.told.try_iter());
        self.seen
    }
}

fn text(content: &Content) -> String {
    match content {
        Content::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

fn sides(reader: &mut Reader, change: &FileChange) -> (String, String) {
    let Pair::Sides { old, new } = &change.pair else { panic!("{change:?}") };
    let objects = reader.objects();
    (text(&objects.read(old).unwrap()), text(&objects.read(new).unwrap()))
}

fn find<'a>(changes: &'a Changes, display: &str) -> &'a FileChange {
    let found = changes.files.iter().find(|change| change.file.display == display);
    found.unwrap_or_else(|| panic!("{display} is not in {:#?}", changes.files))
}

use FileStatus::{Added, Deleted, Modified, Renamed};
use Origin::{Mixed, Outside, Shell, Tool};

#[test]
fn a_turn_is_kept_whole_and_opens_after_the_repository_is_gone() {
    let scene = Scene::new();
    scene.write("kept.txt", "one\ntwo\nof the person\n");
    let mut seat = scene.record();
    scene.start(1);
    let (tree, late) = seat.baseline(1);
    assert!(tree.is_some() && !late);
    scene.tool_write(&mut seat, 1, "kept.txt", "one\n2\nof the person\n");
    scene.tool_write(&mut seat, 1, "ignored/secret", "after\n");
    scene.tool_write(&mut seat, 1, "ignored/new", "new\n");
    scene.tool_write(&mut seat, 1, "../home/notes.md", "note\n");
    scene.tool_bash(1, || {
        fs::rename(scene.work.join("moved.txt"), scene.work.join("there.txt")).unwrap();
        fs::remove_file(scene.work.join("gone.txt")).unwrap();
        scene.write("made.txt", "made\n");
        scene.write("ignored/unseen", "by no tool\n");
    });
    scene.end(1);
    assert!(seat.finished(1));
    let events = seat.stop();
    assert!(!events.iter().any(|event| matches!(event, RecordEvent::Warning(_))), "{events:?}");
    let wanted = [
        ("gone.txt", Deleted, Shell, 0, 1),
        ("ignored/new", Added, Tool, 1, 0),
        ("ignored/secret", Modified, Tool, 1, 1),
        ("kept.txt", Modified, Tool, 1, 1),
        ("made.txt", Added, Shell, 1, 0),
        ("there.txt", Renamed, Shell, 0, 0),
        ("~/notes.md", Added, Tool, 1, 0),
    ];
    let wanted = wanted.map(|(path, s, o, a, d)| (path.to_owned(), s, o, a, d));
    assert_eq!(scene.listed(1), wanted);

    fs::remove_dir_all(&scene.work).unwrap();
    assert_eq!(scene.listed(1), wanted);
    let mut reader = scene.reader();
    let changes = reader.changes(1).unwrap().unwrap();
    let kept = sides(&mut reader, find(&changes, "kept.txt"));
    assert_eq!(kept, ("one\ntwo\nof the person\n".into(), "one\n2\nof the person\n".into()));
    let secret = sides(&mut reader, find(&changes, "ignored/secret"));
    assert_eq!(secret, ("before\n".into(), "after\n".into()));
    for change in &changes.files {
        let shown = compare(&reader.objects(), change, &handback::diff::Limit::default()).unwrap();
        let counts = shown.counts();
        assert!(matches!(shown, Shown::Text(_)), "{change:?}: {shown:?}");
        assert_eq!(
            (u64::from(counts.added), u64::from(counts.deleted)),
            (change.file.added, change.file.deleted),
            "list and viewer count alike"
        );
    }
    assert!(Store::open(&scene.store()).unwrap().verify().unwrap().problems.is_empty());
}

#[test]
fn bases_are_read_over_recorded_turns_and_after_the_repository_is_gone() {
    let scene = Scene::new();
    let mut seat = scene.record();
    let mut turn = |number: u32, work: &dyn Fn(&mut Seat)| {
        scene.start(number);
        seat.baseline(number);
        work(&mut seat);
        scene.end(number);
        assert!(seat.finished(number));
    };
    turn(1, &|seat| {
        scene.tool_write(seat, 1, "kept.txt", "one\n2\n");
        scene.tool_bash(1, || scene.write("by-shell.txt", "a\n"));
        scene.tool_write(seat, 1, "ignored/secret", "between\n");
    });
    turn(2, &|seat| {
        scene.tool_write(seat, 2, "kept.txt", "one\ntwo\n");
        scene.tool_bash(2, || scene.write("by-shell.txt", "a\nb\n"));
        scene.tool_write(seat, 2, "ignored/secret", "after\n");
    });
    turn(3, &|_| {
        scene.tool_bash(3, || {
            fs::rename(scene.work.join("moved.txt"), scene.work.join("there.txt")).unwrap();
            fs::remove_file(scene.work.join("by-shell.txt")).unwrap();
        });
    });
    seat.stop();
    let listed = |turn, base| {
        let mut reader = scene.reader();
        let changes = reader.changes_against(turn, base).unwrap().unwrap();
        let of = |change: &FileChange| (change.file.display.clone(), change.file.status);
        (changes.files.iter().map(of).collect::<Vec<_>>(), changes.files, reader)
    };
    let named = |files: &[(&str, FileStatus)]| -> Vec<(String, FileStatus)> {
        files.iter().map(|(path, status)| ((*path).to_owned(), *status)).collect()
    };
    // Changed and changed back, or made and removed, is not listed.
    let whole = named(&[("ignored/secret", Modified), ("there.txt", Renamed)]);
    let since_two = named(&[
        ("by-shell.txt", Deleted),
        ("ignored/secret", Modified),
        ("kept.txt", Modified),
        ("there.txt", Renamed),
    ]);
    // No whole tree is kept: the files of the session as they are now.
    let now = named(&[("ignored/secret", Added), ("moved.txt", Deleted), ("there.txt", Added)]);
    assert_eq!(listed(3, Base::Head).0, now);
    for repository in ["is there", "is gone"] {
        let (found, files, mut reader) = listed(1, Base::Session);
        assert_eq!(found, whole, "the repository {repository}");
        let secret = files.iter().find(|change| change.file.display == "ignored/secret").unwrap();
        assert_eq!(sides(&mut reader, secret), ("before\n".into(), "after\n".into()));
        let (found, files, mut reader) = listed(2, Base::Since);
        assert_eq!(found, since_two, "the repository {repository}");
        let kept = files.iter().find(|change| change.file.display == "kept.txt").unwrap();
        assert_eq!(sides(&mut reader, kept), ("one\n2\n".into(), "one\ntwo\n".into()));
        assert_eq!(listed(3, Base::Since).0.len(), 2, "the repository {repository}");
        let _ = fs::remove_dir_all(&scene.work);
    }
}

#[test]
fn origins_follow_from_what_the_edits_account_for() {
    let scene = Scene::new();
    let mut seat = scene.record();
    scene.start(1);
    seat.baseline(1);
    scene.tool_write(&mut seat, 1, "formatted.txt", "a\n");
    scene.tool_write(&mut seat, 1, "left.txt", "b\n");
    scene.tool_write(&mut seat, 1, "windows.txt", "c\n");
    scene.tool_write(&mut seat, 1, "script.sh", "#!/bin/sh\n");
    scene.tool_bash(1, || {
        scene.write("formatted.txt", "A\n");
        scene.write("windows.txt", "c\r\n");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(scene.work.join("script.sh"), mode).unwrap();
        scene.write("log.txt", "x\n");
    });
    scene.end(1);
    assert!(seat.finished(1));
    // A turn that only reads, while a person edits.
    scene.start(2);
    seat.baseline(2);
    scene.tool_read(2);
    scene.write("kept.txt", "by hand\n");
    scene.end(2);
    assert!(seat.finished(2));
    // An edit on top of what a command did before it, and one that a person touched later.
    scene.start(3);
    seat.baseline(3);
    scene.tool_bash(3, || scene.write("kept.txt", "by a command\n"));
    let call = json!({"file_path": "kept.txt", "old_string": "command", "new_string": "tool"});
    scene.call(3, "e1", "edit", &call);
    scene.write("kept.txt", "by a tool\n");
    let diffs = json!({"diffs": [
        {"path": "kept.txt", "oldText": "by a command", "newText": "by a tool"}]});
    scene.result(3, "e1", "The file kept.txt has been updated successfully.", &diffs);
    scene.end(3);
    assert!(seat.finished(3));
    // A failed call names nothing.
    scene.start(4);
    seat.baseline(4);
    scene.tool_write(&mut seat, 4, "left.txt", "b\n");
    scene.end(4);
    assert!(!seat.finished(4));
    seat.stop();
    let origins = |turn| -> Vec<(String, Origin)> {
        scene.listed(turn).into_iter().map(|(path, _, origin, ..)| (path, origin)).collect()
    };
    let wanted = [
        ("formatted.txt", Mixed),
        ("left.txt", Tool),
        ("log.txt", Shell),
        ("script.sh", Mixed),
        ("windows.txt", Tool),
    ];
    assert_eq!(origins(1), wanted.map(|(path, origin)| (path.to_owned(), origin)));
    assert_eq!(origins(2), [("kept.txt".to_owned(), Outside)]);
    assert_eq!(origins(3), [("kept.txt".to_owned(), Mixed)]);
    assert_eq!(scene.changes(4), None);
}

#[test]
fn a_baseline_behind_a_call_is_late_and_a_turn_that_is_over_is_not_guessed() {
    let scene = Scene::new();
    scene.start(1);
    scene.call(1, "a", "write", &json!({"file_path": "early.txt", "content": "early\n"}));
    scene.write("early.txt", "early\n");
    scene.result(1, "a", "Created file", &json!({"diffs": []}));
    scene.end(1);
    scene.start(2);
    scene.call(2, "b", "write", &json!({"file_path": "second.txt", "content": "x\n"}));
    scene.write("second.txt", "x\n");
    scene.result(2, "b", "Created file", &json!({"diffs": []}));
    let mut seat = scene.record();
    let (_, late) = seat.baseline(2);
    assert!(late);
    scene.tool_bash(2, || scene.write("later.txt", "y\n"));
    scene.end(2);
    assert!(seat.finished(2));
    scene.start(3);
    assert!(!seat.baseline(3).1);
    scene.end(3);
    assert!(!seat.finished(3));
    let events = seat.stop();
    let of_first = |event: &&RecordEvent| matches!(event, RecordEvent::Baseline { turn: 1, .. });
    assert_eq!(events.iter().find(of_first), None);
    let first = scene.changes(1).unwrap();
    assert_ne!(first.source, handback::session::ChangesSource::Recorded);
    let second = scene.changes(2).unwrap();
    assert!(second.notes.iter().any(|note| note.contains("late")), "{:?}", second.notes);
    // What the log knows of the time before the baseline is there too.
    let paths: Vec<_> = second.files.iter().map(|change| change.file.path.as_str()).collect();
    assert_eq!(paths, ["later.txt", "second.txt"]);
}

#[test]
fn a_turn_whose_agent_died_long_ago_is_not_taken_for_a_running_one() {
    let scene = Scene::new();
    scene.start(1);
    scene.tool_bash(1, || scene.write("long-ago.txt", "x\n"));
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
    Create::new().append(true).open(&scene.log).unwrap().set_modified(long_ago).unwrap();
    let seat = scene.record();
    scene.write("by-hand.txt", "x\n");
    let events = seat.stop();
    assert!(!events.iter().any(|event| matches!(event, RecordEvent::Baseline { .. })));
    // It is resumed.
    let mut seat = scene.record();
    scene.row("turn/end", &json!({"turn": 1, "reason": {"kind": "interrupted"}}));
    scene.start(2);
    assert!(!seat.baseline(2).1);
    scene.end(2);
    assert!(!seat.finished(2));
    let events = seat.stop();
    assert!(!events.iter().any(|event| matches!(event, RecordEvent::Warning(_))), "{events:?}");
}

#[test]
fn without_a_repository_captures_tell_what_tools_changed() {
    let scene = Scene::bare();
    scene.write("a.txt", "one\n");
    let mut seat = scene.record();
    scene.start(1);
    assert_eq!(seat.baseline(1), (None, false));
    scene.tool_write(&mut seat, 1, "a.txt", "two\n");
    scene.tool_write(&mut seat, 1, "b.txt", "new\n");
    scene.tool_write(&mut seat, 1, "..dots", "shown as it is\n");
    scene.tool_write(&mut seat, 1, "~/tilde.txt", "no home\n");
    scene.tool_bash(1, || scene.write("c.txt", "nobody saw it\n"));
    scene.end(1);
    assert!(seat.finished(1));
    seat.stop();
    let paths: Vec<_> = scene.listed(1).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["..dots", "./~/tilde.txt", "a.txt", "b.txt"]);
    let changes = scene.changes(1).unwrap();
    assert!(changes.notes.iter().any(|note| note.contains("no git repository")));
    let sides = sides(&mut scene.reader(), find(&changes, "a.txt"));
    assert_eq!(sides, ("one\n".into(), "two\n".into()));
}

#[test]
fn temporary_files_and_nested_repositories_are_left_alone() {
    let scene = Scene::new();
    fs::create_dir(scene.work.join("inner")).unwrap();
    git(&scene.work.join("inner"), &["init", "-q"]);
    scene.write("inner/file", "x\n");
    git(&scene.work.join("inner"), &["add", "file"]);
    git(&scene.work.join("inner"), &["commit", "-qm", "inner"]);
    let temp = scene.path("temp");
    fs::create_dir(&temp).unwrap();
    let mut seat = scene.record_with(RecordOptions { temp: vec![temp.clone()], ..scene.options() });
    scene.start(1);
    seat.baseline(1);
    for (call, path) in [("a", "inner/file"), ("b", "../temp/scratch")] {
        scene.call(1, call, "write", &json!({"file_path": path, "content": "y\n"}));
        fs::write(scene.work.join(path), "y\n").unwrap();
        scene.result(1, call, "Created file", &json!({"diffs": []}));
    }
    scene.end(1);
    assert!(!seat.finished(1));
    let events = seat.stop();
    assert!(!events.iter().any(|event| matches!(event, RecordEvent::Capture { .. })));
    assert_eq!(scene.changes(1), None);
}

#[test]
fn every_kind_of_change_is_named() {
    let scene = Scene::new();
    scene.write("run.sh", "echo\n");
    scene.write("bom.txt", "\u{feff}a\n");
    scene.write("ends.txt", "a\nb\n");
    scene.write("becomes-link", "text\n");
    fs::write(scene.work.join("bin"), b"\0\0").unwrap();
    std::os::unix::fs::symlink("kept.txt", scene.work.join("link")).unwrap();
    let mut seat = scene.record();
    scene.start(1);
    seat.baseline(1);
    scene.tool_bash(1, || {
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(scene.work.join("run.sh"), executable).unwrap();
        scene.write("bom.txt", "a\n");
        scene.write("ends.txt", "a\r\nb\r\n");
        scene.write("kept.txt", "one\ntwo");
        fs::write(scene.work.join("bin"), b"\0\0\0").unwrap();
        fs::write(scene.work.join("huge"), vec![b'x'; 3 << 20]).unwrap();
        for name in ["link", "becomes-link"] {
            fs::remove_file(scene.work.join(name)).unwrap();
            std::os::unix::fs::symlink("gone.txt", scene.work.join(name)).unwrap();
        }
    });
    scene.end(1);
    assert!(seat.finished(1));
    seat.stop();
    let changes = scene.changes(1).unwrap();
    let said = |name| {
        let change = find(&changes, name);
        (change.file.status, change.note.clone().unwrap_or_default())
    };
    assert_eq!(said("run.sh"), (FileStatus::ModeChanged, "mode 100644 → 100755".into()));
    let bom = "encoding: UTF-8 with a byte order mark → UTF-8";
    assert_eq!(said("bom.txt"), (Modified, bom.into()));
    assert_eq!(said("ends.txt"), (Modified, "line endings: LF → CRLF".into()));
    assert_eq!(said("kept.txt"), (Modified, "final newline: there → missing".into()));
    assert_eq!(said("bin"), (Modified, "binary: 2 → 3 bytes".into()));
    let huge = said("huge").1;
    assert!(huge.starts_with("too large: 3145728 bytes"), "{huge}");
    assert_eq!(said("link").0, Modified);
    assert!(said("link").1.contains("symbolic link"));
    assert_eq!(said("becomes-link").0, FileStatus::TypeChanged);
    let huge = find(&changes, "huge");
    let shown = compare(&scene.reader().objects(), huge, &handback::diff::Limit::default());
    assert_eq!(shown.unwrap(), Shown::Oversized(None, Some(3 << 20)));
}

#[test]
fn an_end_that_settles_later_is_told_again() {
    let scene = Scene::new();
    let mut seat = scene.record();
    scene.start(1);
    seat.baseline(1);
    scene.call(1, "a", "write", &json!({"file_path": "slow.txt", "content": "slow\n"}));
    scene.row("turn/end", &json!({"turn": 1, "reason": {"kind": "aborted"}}));
    assert!(!seat.finished(1));
    scene.write("slow.txt", "slow\n");
    scene.result(1, "a", "Created file", &json!({"diffs": []}));
    assert!(seat.finished(1));
    assert_eq!(scene.listed(1), [("slow.txt".to_owned(), Added, Tool, 1, 0)]);
    fs::remove_file(scene.work.join("slow.txt")).unwrap();
    scene.row("workspace/changes", &json!({"turn": 1}));
    assert!(!seat.finished(1));
    assert_eq!(scene.changes(1), None);
    seat.stop();
}

#[test]
fn the_turn_in_hand_is_finished_when_the_recorder_is_stopped_and_goes_on_with_the_next() {
    let scene = Scene::new();
    // The baseline is a tree that only the recorder has.
    scene.write("kept.txt", "of the person\n");
    let mut seat = scene.record();
    scene.start(1);
    let (tree, _) = seat.baseline(1);
    scene.tool_write(&mut seat, 1, "first.txt", "1\n");
    let events = seat.stop();
    assert!(events.iter().any(|event| matches!(event, RecordEvent::Changes(_))), "{events:?}");
    assert_eq!(scene.listed(1).len(), 1);
    // The next recorder has the same baseline.
    let mut seat = scene.record();
    assert_eq!(seat.baseline(1), (tree, false));
    seat.stop();
    // Even where its snapshots are gone, nothing that was kept is lost.
    fs::remove_dir_all(scene.store().join("sessions/dsh-s/scratch")).unwrap();
    fs::remove_file(scene.store().join("sessions/dsh-s/stat.cache")).unwrap();
    let mut seat = scene.record();
    assert!(seat.baseline(1).1, "it is late");
    scene.tool_bash(1, || scene.write("second.txt", "2\n"));
    scene.end(1);
    assert!(seat.finished(1));
    seat.stop();
    let paths: Vec<_> = scene.listed(1).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["first.txt", "second.txt"]);
}

#[test]
fn a_second_recorder_follows_and_takes_over() {
    let scene = Scene::new();
    let mut first = scene.record();
    let mut second = scene.record();
    let is_told = |events: &[RecordEvent]| {
        events.iter().any(|e| matches!(e, RecordEvent::Notice(text) if text.contains("another")))
    };
    assert!(is_told(&second.seen));
    scene.start(1);
    let baseline = first.baseline(1);
    assert_eq!(second.baseline(1), baseline);
    scene.tool_write(&mut first, 1, "a.txt", "1\n");
    scene.end(1);
    assert!(first.finished(1) && second.finished(1));
    first.stop();
    scene.start(2);
    let (_, late) = second.baseline(2);
    assert!(!late);
    scene.tool_write(&mut second, 2, "b.txt", "2\n");
    scene.end(2);
    assert!(second.finished(2));
    second.stop();
    assert_eq!(scene.listed(1).len() + scene.listed(2).len(), 2);
    let rows = fs::read_to_string(scene.store().join("sessions/dsh-s/rows.log")).unwrap();
    assert_eq!(rows.matches("\"kind\":\"turn\"").count(), 2, "each turn was written once");
}

#[test]
fn paths_are_shown_from_the_working_directory_and_submodules_are_named() {
    let scene = Scene::new();
    let inner = scene.path("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q", "-b", "main"]);
    git(&inner, &["commit", "-q", "--allow-empty", "-m", "one"]);
    scene.git(&["submodule", "--quiet", "add", inner.to_str().unwrap(), "module"]);
    scene.git(&["commit", "-qm", "module"]);
    fs::create_dir(scene.work.join("sub")).unwrap();
    let cwd = Some(scene.work.join("sub"));
    let mut seat = scene.record_with(RecordOptions { cwd: cwd.clone(), ..scene.options() });
    scene.start(1);
    seat.baseline(1);
    scene.tool_bash(1, || {
        git(&scene.work.join("module"), &["commit", "-q", "--allow-empty", "-m", "two"]);
        scene.write("kept.txt", "above\n");
        scene.write("sub/below.txt", "below\n");
    });
    scene.end(1);
    assert!(seat.finished(1));
    seat.stop();
    let changes = scene.changes(1).unwrap();
    let paths: Vec<_> = changes.files.iter().map(|f| f.file.display.as_str()).collect();
    assert_eq!(paths, ["../kept.txt", "../module", "below.txt"]);
    assert_eq!(find(&changes, "below.txt").file.path, "below.txt");
    let module = find(&changes, "../module");
    assert!(module.note.as_ref().unwrap().starts_with("submodule "), "{module:?}");
    assert_eq!((module.file.added, module.file.deleted), (1, 1));
}

#[test]
fn an_ignored_file_that_was_changed_before_it_could_be_captured_comes_from_the_log() {
    let scene = Scene::new();
    let mut seat = scene.record();
    scene.start(1);
    seat.baseline(1);
    // Both rows at once: whoever reads the call finds the file written.
    scene.write("ignored/secret", "after\n");
    let before = fs::read(&scene.log).unwrap();
    let call =
        json!({"file_path": "ignored/secret", "old_string": "before", "new_string": "after"});
    scene.call(1, "e", "edit", &call);
    let diffs = json!({"diffs": [
        {"path": "ignored/secret", "oldText": "before", "newText": "after"}]});
    scene.result(1, "e", "The file ignored/secret has been updated successfully.", &diffs);
    let both = fs::read(&scene.log).unwrap();
    assert!(both.len() > before.len());
    scene.end(1);
    seat.finished(1);
    seat.stop();
    let Some(changes) = scene.changes(1) else {
        panic!("nothing is told of the file");
    };
    let secret = find(&changes, "ignored/secret");
    assert_eq!((secret.file.added, secret.file.status), (0, Modified), "counted when it is shown");
    let said = changes.notes.join(" ") + secret.note.as_deref().unwrap_or_default();
    assert!(said.contains("before it could be captured"), "{said}");
}

#[test]
fn two_sessions_in_one_directory_are_recorded_side_by_side() {
    let scene = Scene::new();
    let mut seat = scene.record();
    let other = scene.beside("t");
    let mut other_seat = other.record();
    scene.start(1);
    seat.baseline(1);
    scene.tool_write(&mut seat, 1, "a.txt", "1\n");
    other.start(1);
    other_seat.baseline(1);
    other.tool_write(&mut other_seat, 1, "b.txt", "2\n");
    scene.end(1);
    other.end(1);
    assert!(seat.finished(1) && other_seat.finished(1));
    seat.stop();
    other_seat.stop();
    let origins = |scene: &Scene| -> Vec<(String, Origin)> {
        scene.listed(1).into_iter().map(|(path, _, origin, ..)| (path, origin)).collect()
    };
    // What the other one did meanwhile is not hidden, and not taken for this one's.
    assert_eq!(origins(&scene), [("a.txt".to_owned(), Tool), ("b.txt".to_owned(), Outside)]);
    assert_eq!(origins(&other), [("b.txt".to_owned(), Tool)]);
    assert_eq!(Store::open(&scene.store()).unwrap().status().unwrap().len(), 2);
}

/// The agent goes back behind a recorded turn while nobody records: its next turn has the same number.
#[test]
fn what_was_recorded_of_one_branch_is_not_shown_for_another() {
    let scene = Scene::new();
    let append = |row: &Value| {
        let mut log = fs::OpenOptions::new().append(true).open(&scene.log).unwrap();
        writeln!(log, "{row}").unwrap();
    };
    let prompt = |id: &str, parent: Option<&str>, year: u32| {
        append(&json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": format!("{year}-01-01T00:00:00.000Z"),
            "message": {"role": "user", "content": [{"type": "text", "text": id}]}}));
    };
    fs::write(&scene.log, "").unwrap();
    append(&json!({"type": "session", "version": 3, "id": "s", "cwd": scene.work,
        "timestamp": "2020-01-01T00:00:00.000Z"}));
    let mut recorder = scene.record();
    prompt("one", None, 2020);
    recorder.baseline(1);
    scene.write("first.txt", "1\n");
    prompt("two", Some("one"), 2020);
    recorder.baseline(2);
    scene.write("second.txt", "2\n");
    recorder.stop();
    let changed = |branch: Option<u32>, turn: u32| -> Vec<String> {
        let options = ReadOptions { branch, store: Some(scene.store()), ..ReadOptions::default() };
        let log = LogFile::open(&scene.log, &options.open_options()).unwrap();
        let mut reader = Reader::new(options);
        reader.read_all(log).unwrap();
        let changes = reader.changes(turn).unwrap().map(|changes| changes.files);
        changes.unwrap_or_default().into_iter().map(|change| change.file.display).collect()
    };
    assert_eq!(
        (changed(None, 1), changed(None, 2)),
        (vec!["first.txt".into()], vec!["second.txt".into()])
    );
    prompt("three", Some("one"), 2099);
    let nothing = Vec::<String>::new();
    assert_eq!((changed(None, 1), changed(None, 2)), (vec!["first.txt".into()], nothing.clone()));
    assert_eq!((changed(Some(1), 1), changed(Some(1), 2)), (nothing.clone(), nothing));
}

#[test]
fn what_is_excluded_is_listed_and_its_content_is_not_kept() {
    let scene = Scene::new();
    let exclude = Exclude::new(["*.env", "ignored/"]).unwrap();
    let settings = Settings { exclude, ..Settings::default() };
    let mut seat = scene.record_with(RecordOptions { settings, ..scene.options() });
    scene.start(1);
    seat.baseline(1);
    scene.tool_write(&mut seat, 1, "token.env", "TOKEN-OF-MINE\n");
    scene.tool_write(&mut seat, 1, "ignored/secret", "TOKEN-OF-MINE\n");
    scene.end(1);
    assert!(seat.finished(1));
    seat.stop();
    let changes = scene.changes(1).unwrap();
    for name in ["token.env", "ignored/secret"] {
        let note = find(&changes, name).note.clone().unwrap_or_default();
        assert!(note.contains("record.exclude names the file"), "{name}: {note}");
    }
    assert!(!scene.store().join("sessions/dsh-s/scratch").exists(), "snapshots are gone too");
    let objects = scene.reader().objects();
    for change in &changes.files {
        let Pair::Sides { new, .. } = &change.pair else { panic!("{change:?}") };
        assert!(objects.read(new).is_err(), "{change:?}");
    }
}

#[test]
fn recording_goes_on_when_the_store_can_be_written_again() {
    let scene = Scene::new();
    fs::write(scene.path("blocked"), "a file, where a directory should be").unwrap();
    let store = scene.path("blocked/store");
    let mut seat = scene.record_with(RecordOptions { store: store.clone(), ..scene.options() });
    let is_refusal = |event: &RecordEvent| {
        matches!(event, RecordEvent::Warning(text)
            if text.contains("nothing is recorded") && text.contains("blocked"))
    };
    assert!(seat.seen.iter().any(is_refusal), "{:?}", seat.seen);
    scene.start(1);
    scene.end(1);
    fs::remove_file(scene.path("blocked")).unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    scene.start(2);
    seat.baseline(2);
    scene.tool_write(&mut seat, 2, "a.txt", "1\n");
    scene.end(2);
    assert!(seat.finished(2));
    let events = seat.stop();
    assert_eq!(events.iter().filter(|event| is_refusal(event)).count(), 1, "told once");
    let session = Store::open(&store).unwrap();
    let key = handback::record::session_key("dsh", "s", &scene.log);
    assert_eq!(session.session(&key).unwrap().unwrap().turns.len(), 1);
}

/// A small file system of its own; unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn new(path: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir(&path).unwrap();
        let size = format!("size={size}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&path)
            .stderr(Stdio::null())
            .status();
        if mount.is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        eprintln!("skipped: no right to mount a tmpfs");
        None
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let mount = Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(mount.unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_and_a_read_only_disk_cost_the_turn_in_hand_and_no_other() {
    let scene = Scene::new();
    let Some(mount) = Mount::new(scene.store(), "300k") else { return };
    let noise = |seed: u64| -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        };
        (0..400_000).map(|_| next()).collect()
    };
    let is_full = |event: &RecordEvent| matches!(event, RecordEvent::Warning(text) if text.contains("No space left") || text.contains("no storage space"));
    let mut seat = scene.record();
    scene.start(1);
    seat.baseline(1);
    scene.tool_bash(1, || fs::write(scene.work.join("large"), noise(1)).unwrap());
    scene.end(1);
    seat.until(is_full);
    mount.remount("size=20m");
    scene.start(2);
    seat.baseline(2);
    scene.tool_bash(2, || fs::write(scene.work.join("large"), noise(2)).unwrap());
    scene.end(2);
    assert!(seat.finished(2));
    seat.stop();
    mount.remount("ro");
    let mut seat = scene.record();
    let is_read_only = |event: &RecordEvent| matches!(event, RecordEvent::Warning(text) if text.to_lowercase().contains("read-only"));
    assert!(seat.seen.iter().any(is_read_only), "{:?}", seat.seen);
    scene.start(3);
    scene.tool_bash(3, || scene.write("unseen", "x\n"));
    scene.end(3);
    mount.remount("rw");
    std::thread::sleep(Duration::from_millis(1200));
    scene.start(4);
    seat.baseline(4);
    scene.tool_bash(4, || scene.write("seen", "x\n"));
    scene.end(4);
    assert!(seat.finished(4));
    seat.stop();
    assert_eq!(scene.listed(2).len(), 1);
    assert!(scene.listed(4).iter().any(|(path, ..)| path == "seen"));
    assert!(Store::open(&scene.store()).unwrap().verify().unwrap().problems.is_empty());
}

/// `handback record --json` as a process.
struct Process {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(scene: &Scene, more: &[&str]) -> Self {
        let log = scene.log.to_str().unwrap();
        let arguments = [&["record", "--session", log, "--json"], more].concat();
        let mut child = scene.binary(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut process = Self { child, lines };
        assert_eq!(process.until("ready")["session"], "s");
        process
    }

    fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended before {kind}");
            let value: Value = serde_json::from_str(&line).unwrap();
            if value["type"] == kind {
                return value;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

#[test]
fn a_recorder_that_is_killed_loses_nothing_that_was_kept_and_the_next_goes_on() {
    let scene = Scene::new();
    let mut first = Process::start(&scene, &[]);
    scene.start(1);
    first.until("baseline");
    scene.tool_bash(1, || scene.write("first.txt", "1\n"));
    scene.end(1);
    assert_eq!(first.until("changes")["files"][0]["path"], "first.txt");
    scene.start(2);
    let tree = first.until("baseline")["tree"].clone();
    scene.call(2, "w", "write", &json!({"file_path": "ignored/secret", "content": "x\n"}));
    first.until("capture");
    first.signal("-KILL");
    first.child.wait().unwrap();
    scene.write("ignored/secret", "x\n");
    scene.result(2, "w", "Updated file", &json!({"diffs": []}));
    scene.tool_bash(2, || scene.write("second.txt", "2\n"));
    // As if it had been killed while it wrote.
    let rows = scene.store().join("sessions/dsh-s/rows.log");
    Create::new().append(true).open(rows).unwrap().write_all(b"\n0123 {torn").unwrap();

    let mut second = Process::start(&scene, &[]);
    let baseline = second.until("baseline");
    assert_eq!((&baseline["tree"], &baseline["late"]), (&tree, &json!(false)));
    scene.end(2);
    let changes = second.until("changes");
    let paths: Vec<_> = changes["files"].as_array().unwrap().iter().map(|f| &f["path"]).collect();
    assert_eq!(paths, ["ignored/secret", "second.txt"]);
    second.signal("-TERM");
    assert!(second.child.wait().unwrap().success());
    assert_eq!(scene.listed(1).len(), 1);
    let secret = find(&scene.changes(2).unwrap(), "ignored/secret").clone();
    assert_eq!(sides(&mut scene.reader(), &secret), ("before\n".into(), "x\n".into()));
    let verify = scene.binary(&["store", "verify", "--json"]).output().unwrap();
    assert!(verify.status.success(), "{verify:?}");
}

#[test]
fn a_recorder_ends_when_the_log_is_idle() {
    let scene = Scene::new();
    let mut process = Process::start(&scene, &["--until-idle", "1"]);
    scene.start(1);
    process.until("baseline");
    scene.write("a.txt", "1\n");
    assert_eq!(process.until("changes")["files"][0]["origin"], "outside");
    assert!(process.child.wait().unwrap().success());
}

#[test]
fn a_snapshot_is_kept_and_the_store_tells_of_it() {
    let scene = Scene::new();
    scene.write("new.txt", "new\n");
    let output = scene.binary(&["snapshot", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let plain = scene.binary(&["snapshot"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&plain.stdout).trim(), report["tree"]);
    let listed = Command::new("git")
        .args(["ls-tree", "--name-only", report["tree"].as_str().unwrap()])
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", report["objects"].as_str().unwrap())
        .current_dir(&scene.work)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).lines().any(|name| name == "new.txt"));
    let status = scene.binary(&["store", "status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["sessions"][0]["session"]["format"], "snapshot");
    for command in ["status", "gc", "verify"] {
        let done = scene.binary(&["store", command]).output().unwrap();
        assert!(done.status.success() && !done.stdout.is_empty(), "{command}: {done:?}");
    }
    let nowhere = Scene::bare();
    let refused = nowhere.binary(&["snapshot"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&refused.stderr).lines().count(), 1, "{refused:?}");
}
