//! The program's output: arguments in, text and exit codes out.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A scratch home in which nothing of this machine is seen.
pub struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handback"));
        command.args(arguments).current_dir(self.directory.path()).env_clear();
        command.env("HOME", self.directory.path()).env("PATH", std::env::var("PATH").unwrap());
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what must succeed without a word on standard error; gives its JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && err.is_empty(), "{arguments:?}: {err}");
        assert!(out.ends_with('\n') && out.lines().count() == 1, "one line: {out}");
        serde_json::from_str(&out).unwrap()
    }

    /// Runs what must fail with one line on standard error; gives the line.
    pub fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {err}");
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        assert!(code == 2 || err.lines().count() == 1, "one line: {err}");
        err
    }

    pub fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.directory.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn two_files_are_compared() {
    let scratch = Scratch::new();
    scratch.write("old.txt", "a\nb\nc\n");
    scratch.write("new.txt", "a\nB\nc");
    let diff = scratch.json(&["diff", "old.txt", "new.txt", "--json"]);
    let expected = json!({"kind": "text", "path": "new.txt", "display": "new.txt", "before": true, "after": true,
        "hunks": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": [" a", "-b", "+B", " c"]}],
        "coarse": false, "eofNewline": "removed"});
    assert_eq!(diff, expected);
    let diff = scratch.json(&["diff", "old.txt", "/dev/null", "--json"]);
    assert_eq!((&diff["path"], &diff["after"]), (&json!("old.txt"), &json!(false)));
    assert_eq!(diff["hunks"][0]["newStart"], 1);
    let diff = scratch.json(&["diff", "/dev/null", "new.txt", "--json", "--context", "0"]);
    assert_eq!((&diff["before"], &diff["hunks"][0]["newLines"]), (&json!(false), &json!(3)));
    scratch.write("zero.bin", b"a\0b");
    let diff = scratch.json(&["diff", "old.txt", "zero.bin", "--json"]);
    assert_eq!(diff, json!({"kind": "binary", "path": "zero.bin", "display": "zero.bin"}));
    let diff = scratch.json(&["diff", "old.txt", "new.txt", "--json", "--max-file-bytes", "5"]);
    assert_eq!(diff["kind"], "oversized");
    std::os::unix::fs::symlink("new.txt", scratch.path("link")).unwrap();
    let linked = scratch.json(&["diff", "old.txt", "link", "--json"]);
    assert_eq!(linked["hunks"], expected["hunks"], "a link that was named is followed");
    let piped = Command::new("bash")
        .args(["-c", "exec \"$0\" diff <(printf 'a\\n') <(printf 'b\\n') --json"])
        .arg(env!("CARGO_BIN_EXE_handback"))
        .output()
        .unwrap();
    let piped: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(piped["hunks"][0]["lines"], json!(["-a", "+b"]));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "a\n");
    scratch.write("empty.jsonl", "");
    scratch.write("other.jsonl", "{\"hello\": 1}\n");
    assert!(scratch.fails(&["show", "--session", "none.jsonl"], 1).contains("none.jsonl"));
    assert!(scratch.fails(&["show", "--session", "empty.jsonl"], 1).contains("empty.jsonl"));
    assert!(scratch.fails(&["show", "--session", "other.jsonl"], 1).contains("other.jsonl"));
    assert!(scratch.fails(&["diff", "a.txt", "./none.txt"], 1).contains("none.txt"));
    assert!(scratch.fails(&["diff", "HEAD", "HEAD~1"], 1).contains("HEAD"));
    assert!(scratch.fails(&["diff", "a.txt", "."], 1).contains("directory"));
    scratch.fails(&["show", "--turn", "0"], 2);
    scratch.fails(&["show", "--json", "--patch"], 2);
    scratch.fails(&["show", "--format", "fortran"], 2);
    scratch.fails(&["frobnicate"], 2);
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo/session.jsonl");
    assert!(scratch.fails(&["show", "--session", log, "--turn", "9"], 1).contains("no such turn"));
    let missing = scratch.fails(&["show", "--session", log, "--index", "99"], 1);
    assert!(missing.contains("index 99"), "{missing}");
    scratch.write("bad.toml", "contxt = 1\n");
    assert!(scratch.fails(&["show", "--config", "bad.toml"], 1).contains("bad.toml: line 1"));
}

#[test]
fn without_a_session_the_demo_is_shown() {
    let scratch = Scratch::new();
    let report = scratch.json(&["show", "--json"]);
    assert_eq!(report["session"]["id"], "session-demo");
    assert_eq!(report["session"]["path"], "demo");
    let turns = report["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 3);
    assert_eq!(
        turns[0]["prompt"],
        "Count lines as well as words, a line for each file.\nKeep it small."
    );
    assert_eq!(turns[1]["changes"]["source"], "snapshot");
    let statuses: Vec<_> = turns[1]["changes"]["files"].as_array().unwrap().iter().collect();
    let by = |display: &str| *statuses.iter().find(|file| file["display"] == display).unwrap();
    assert_eq!(by("src/tally.rs")["status"], "renamed");
    assert_eq!(by("src/tally.rs")["oldPath"], "src/count.rs");
    assert_eq!(by("scripts/count.sh")["status"], "deleted");
    assert_eq!(by("scripts/check.sh")["status"], "modeChanged");
    assert_eq!(
        (&by("logo.png")["binary"], &by("logo.png")["status"]),
        (&json!(true), &json!("added"))
    );
    assert_eq!(turns[2]["presented"][0]["path"], "REPORT.md");
    assert_eq!(turns[2]["presented"][0]["status"], "missing");
    // Standard output is no terminal: the program without a command prints what `show` prints.
    assert_eq!(scratch.run(&[]).stdout, scratch.run(&["show"]).stdout);
    let left: Vec<_> = std::fs::read_dir(scratch.path(".")).unwrap().collect();
    assert!(left.is_empty(), "nothing is left behind: {left:?}");
}

#[test]
fn a_patch_of_every_turn_applies() {
    let scratch = Scratch::new();
    let work = scratch.path("work");
    std::fs::create_dir(&work).unwrap();
    scratch.git(&work, &["init", "-q"]);
    // The tree before turn 1, out of the demo's own objects.
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    for ending in ["pack", "idx"] {
        let from = assets.join(format!("objects.{ending}"));
        std::fs::copy(from, work.join(format!(".git/objects/pack/pack-demo.{ending}"))).unwrap();
    }
    let report = scratch.json(&["show", "--json"]);
    let tree = |turn: usize, side: &str| {
        report["turns"][turn]["changes"]["snapshot"][side].as_str().unwrap().to_owned()
    };
    scratch.git(&work, &["read-tree", "-u", "--reset", &tree(0, "before")]);
    // A patch carries no binary content.
    for turn in [1, 3] {
        let number = turn.to_string();
        if turn == 3 {
            scratch.git(&work, &["read-tree", "-u", "--reset", &tree(2, "before")]);
        }
        let patch = scratch.run(&["show", "--turn", &number, "--patch"]);
        assert!(patch.status.success());
        let file = scratch.write("turn.patch", &patch.stdout);
        scratch.git(&work, &["apply", "--index", file.to_str().unwrap()]);
        assert_eq!(scratch.git(&work, &["write-tree"]), tree(turn - 1, "after"), "turn {turn}");
    }
}

#[test]
fn two_revisions_are_listed_as_git_lists_them() {
    let scratch = Scratch::new();
    let work = scratch.path("work");
    std::fs::create_dir(&work).unwrap();
    scratch.git(&work, &["init", "-q"]);
    scratch.write("work/keep.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    scratch.write("work/sub/move.txt", "one\ntwo\nthree\nfour\n");
    scratch.write("work/gone.txt", "x\n");
    scratch.git(&work, &["add", "-A"]);
    scratch.git(&work, &["commit", "-qm", "one"]);
    scratch.write("work/keep.txt", "1\n2\n3\nFOUR\n5\n6\n7\n8\n9\n");
    scratch.git(&work, &["mv", "sub/move.txt", "moved.txt"]);
    std::fs::remove_file(work.join("gone.txt")).unwrap();
    scratch.git(&work, &["add", "-A"]);
    scratch.git(&work, &["commit", "-qm", "two"]);
    let summary = scratch.json(&["diff", "HEAD~1", "HEAD", "--json", "--cwd", "work"]);
    assert_eq!(
        (&summary["total"], &summary["added"], &summary["deleted"]),
        (&json!(3), &json!(2), &json!(2))
    );
    assert_eq!(summary.get("turn"), None);
    let displays: Vec<_> =
        summary["files"].as_array().unwrap().iter().map(|f| f["display"].clone()).collect();
    assert_eq!(displays, ["gone.txt", "keep.txt", "moved.txt"]);
    let git_dir = work.join(".git");
    let from_outside =
        scratch.json(&["diff", "HEAD~1", "HEAD", "--json", "--git-dir", git_dir.to_str().unwrap()]);
    assert_eq!(from_outside["files"], summary["files"]);
    let one =
        scratch.json(&["diff", "HEAD~1", "HEAD", "--json", "--cwd", "work", "--file", "keep.txt"]);
    assert_eq!(one["hunks"][0]["oldStart"], 1);
    let patch = scratch.run(&["diff", "HEAD~1", "HEAD", "--patch", "--cwd", "work"]);
    scratch.git(&work, &["checkout", "-q", "HEAD~1"]);
    let file = scratch.write("revisions.patch", &patch.stdout);
    scratch.git(&work, &["apply", "--index", file.to_str().unwrap()]);
    assert_eq!(
        scratch.git(&work, &["write-tree"]),
        scratch.git(&work, &["rev-parse", "master^{tree}"])
    );
}

#[test]
fn a_log_comes_through_standard_input() {
    let scratch = Scratch::new();
    let log =
        std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo/session.jsonl"));
    let output =
        scratch.command(&["show", "--session", "-", "--json"]).stdin(log.unwrap()).output();
    let output = output.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["session"]["path"], "-");
    assert_eq!(report["turns"].as_array().unwrap().len(), 3);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::new();
    let mut child = scratch
        .command(&["show", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn sessions_of_a_directory_are_found() {
    let scratch = Scratch::new();
    let cwd = scratch.path("project");
    std::fs::create_dir(&cwd).unwrap();
    let header = json!({"type": "session", "version": 0, "id": "session-one", "createdAt": 1,
        "delegationDepth": 0, "cwd": cwd});
    let start = json!({"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}});
    scratch.write(".dsh/sessions/p/session-one/session.jsonl", format!("{header}\n{start}\n"));
    let here = scratch.json(&["sessions", "--json", "--cwd", "project"]);
    assert_eq!(here[0]["id"], "session-one");
    assert_eq!(here[0]["turns"], 1);
    assert_eq!(scratch.json(&["sessions", "--json"]), json!([]));
    assert_eq!(scratch.json(&["sessions", "--all", "--json"]), here);
    let report = scratch.json(&["show", "--json", "--cwd", "project"]);
    assert_eq!(report["session"]["id"], "session-one");
    assert_eq!(scratch.json(&["show", "--json", "--session", "session-one"]), report);
    assert_eq!(scratch.json(&["show", "--json", "--session", "session-o"]), report);
}

#[test]
fn completions_and_manual_are_printed() {
    let scratch = Scratch::new();
    for arguments in [&["completions", "bash"][..], &["completions", "zsh"], &["man"], &["--help"]]
    {
        let output = scratch.run(arguments);
        assert!(
            output.status.success() && text(&output.stdout).contains("handback"),
            "{arguments:?}"
        );
    }
}
