//! Hooks as agents call them: a log that grows, calls of the program, and what is shown afterwards.

use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A work tree with one commit, a home, and a store.
struct Scene {
    dir: tempfile::TempDir,
    work: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("hooks").tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let scene = Self { dir, work };
        scene.write(".gitignore", "ignored/\n");
        scene.write("notes.txt", "one\ntwo\n");
        scene.write("greet.py", "def greet():\n\treturn 1\n");
        scene.write("ignored/secret", "before\n");
        scene.git(&["init", "-q", "-b", "main"]);
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "first"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.work.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(&self.work).args(["-c", "user.name=T", "-c", "user.email=t@t"]);
        let done = command.args(arguments).env("HOME", self.path("home")).output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handback"));
        command.current_dir(&self.work).env_clear().env("HOME", self.path("home"));
        command.env("XDG_STATE_HOME", self.path("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// One hook call. Whatever it is given, it says nothing and does not fail.
    fn hook(&self, agent: &str, input: &[u8]) {
        self.hook_with(agent, input, &[]);
    }

    fn hook_with(&self, agent: &str, input: &[u8], arguments: &[&str]) {
        let mut child = self.program().args(["hook", agent]).args(arguments).spawn().unwrap();
        // One that does not want it has ended already.
        let _ = child.stdin.take().unwrap().write_all(input);
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert!(done.stdout.is_empty() && done.stderr.is_empty(), "{done:?}");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.program().args(arguments).output().unwrap()
    }

    fn journal(&self) -> String {
        fs::read_to_string(self.path("state/handback/hook.log")).unwrap_or_default()
    }

    /// The turns that `show` tells of a log.
    fn show(&self, log: &Path) -> Vec<Value> {
        let done = self.run(&["show", "--session", log.to_str().unwrap(), "--json"]);
        assert!(done.status.success(), "{done:?}");
        let shown: Value = serde_json::from_slice(&done.stdout).unwrap();
        shown["turns"].as_array().unwrap().clone()
    }
}

/// The files of a turn: path, status, origin.
fn files(turn: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let files = turn["changes"]["files"].as_array();
    let files = files.map(Vec::as_slice).unwrap_or_default();
    files.iter().map(|f| (text(&f["path"]), text(&f["status"]), text(&f["origin"]))).collect()
}

fn file(path: &str, status: &str, origin: &str) -> (String, String, String) {
    (path.into(), status.into(), origin.into())
}

/// A moment as logs have it.
fn iso() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let (days, seconds) = (since.as_secs() / 86400, since.as_secs() % 86400);
    // Days since 0000-03-01, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) =
        (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    )
}

/// A session of Claude Code, whose log grows while its hooks are called.
struct Claude<'a> {
    scene: &'a Scene,
    id: &'static str,
    log: PathBuf,
    rows: Cell<u32>,
    parent: Cell<u32>,
}

impl<'a> Claude<'a> {
    fn new(scene: &'a Scene, id: &'static str) -> Self {
        let log = scene.path(&format!("home/.claude/projects/p/{id}.jsonl"));
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        Self { scene, id, log, rows: Cell::new(0), parent: Cell::new(0) }
    }

    fn row(&self, kind: &str, mut row: Value) {
        let uuid = self.rows.get() + 1;
        let parent = self.parent.get();
        let parent = (parent > 0).then(|| format!("{}-{parent}", self.id));
        row["type"] = kind.into();
        row["uuid"] = format!("{}-{uuid}", self.id).into();
        row["parentUuid"] = parent.into();
        row["timestamp"] = iso().into();
        row["sessionId"] = self.id.into();
        row["cwd"] = self.scene.work.to_str().into();
        row["version"] = "2.1.332".into();
        row["isSidechain"] = false.into();
        let mut file = OpenOptions::new().append(true).create(true).open(&self.log).unwrap();
        file.write_all(format!("{row}\n").as_bytes()).unwrap();
        self.rows.set(uuid);
        self.parent.set(uuid);
    }

    fn call(&self, event: &str, more: &Value) {
        let mut call = json!({"session_id": self.id, "transcript_path": self.log,
            "cwd": self.scene.work, "prompt_id": "p", "permission_mode": "acceptEdits",
            "hook_event_name": event});
        let call_map = call.as_object_mut().unwrap();
        call_map.extend(more.as_object().unwrap().clone());
        self.scene.hook("claude", call.to_string().as_bytes());
    }

    /// The hooks run before the prompt is written.
    fn prompt(&self, text: &str) {
        self.call("UserPromptSubmit", &json!({"prompt": text}));
        self.row("user", json!({"message": {"role": "user", "content": text}}));
    }

    fn tool(&self, name: &str, input: &Value, work: impl FnOnce(), result: &Value) {
        let id = format!("toolu_{}", self.rows.get());
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let message = json!({"id": format!("m{id}"), "role": "assistant", "content": [block]});
        self.row("assistant", json!({"message": message}));
        let more = json!({"tool_name": name, "tool_input": input, "tool_use_id": id});
        self.call("PreToolUse", &more);
        work();
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
        let message = json!({"role": "user", "content": [block]});
        self.row("user", json!({"message": message, "toolUseResult": result}));
    }

    fn tool_write(&self, name: &str, text: &str) {
        let path = self.scene.work.join(name);
        let before = fs::read_to_string(&path).ok();
        let kind = if before.is_some() { "update" } else { "create" };
        let result = json!({"type": kind, "filePath": path, "content": text,
            "structuredPatch": [], "originalFile": before});
        let input = json!({"file_path": path, "content": text});
        self.tool("Write", &input, || self.scene.write(name, text), &result);
    }

    fn tool_bash(&self, command: &str, work: impl FnOnce()) {
        let result = json!({"stdout": "", "stderr": "", "interrupted": false});
        self.tool("Bash", &json!({"command": command}), work, &result);
    }

    fn answer(&self) {
        let block = json!({"type": "text", "text": "Done."});
        let message = json!({"id": format!("a{}", self.rows.get()), "role": "assistant",
            "content": [block], "stop_reason": "end_turn"});
        self.row("assistant", json!({"message": message}));
    }

    fn stop(&self) {
        self.answer();
        self.call("Stop", &json!({"stop_hook_active": false}));
    }
}

#[test]
fn a_session_of_claude_code_is_recorded_exactly() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "30a48144");
    claude.call("SessionStart", &json!({"source": "startup"}));
    assert!(!scene.path("state").exists(), "a session without a prompt leaves nothing");
    claude.prompt("make greet.py better");
    claude.tool_write("greet.py", "def greet():\n\treturn 2\n");
    claude.tool_write("ignored/secret", "after\n");
    claude.tool_bash("rm notes.txt; ./generate", || {
        fs::remove_file(scene.work.join("notes.txt")).unwrap();
        scene.write("made.txt", "1\n2\n");
    });
    claude.stop();
    // Between the turns a person writes; that is nobody's turn.
    scene.write("mine.txt", "mine\n");
    claude.prompt("nothing, thanks");
    claude.stop();
    claude.prompt("once more");
    claude.tool_write("greet.py", "def greet():\n\treturn 3\n");
    claude.tool_bash("sed -i s/3/4/ greet.py", || {
        scene.write("greet.py", "def greet():\n\treturn 4\n");
    });
    claude.stop();
    claude.call("SessionEnd", &json!({"reason": "other"}));
    assert_eq!(scene.journal(), "");

    let turns = scene.show(&claude.log);
    assert_eq!(turns.len(), 3);
    let expected = [
        file("greet.py", "modified", "tool"),
        file("ignored/secret", "modified", "tool"),
        file("made.txt", "added", "shell"),
        file("notes.txt", "deleted", "shell"),
    ];
    assert_eq!(files(&turns[0]), expected);
    let changes = &turns[0]["changes"];
    assert_eq!((&changes["source"], &changes["added"]), (&json!("recorded"), &json!(4)));
    assert_eq!(files(&turns[1]), []);
    assert_eq!(files(&turns[2]), [file("greet.py", "modified", "mixed")]);
    assert_eq!(turns[2]["changes"]["source"], "recorded");

    let log = claude.log.to_str().unwrap();
    let one =
        scene.run(&["show", "--session", log, "--turn", "1", "--file", "notes.txt", "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(one["hunks"][0]["lines"], json!(["-one", "-two"]));
    // The session was left: no snapshot stays.
    let kept = scene.path("state/handback/sessions/claude-30a48144");
    assert!(kept.join("rows.log").exists() && !kept.join("scratch").exists());
}

#[test]
fn an_interrupted_turn_ends_with_the_next_prompt_or_the_session() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    let interrupt = || {
        let content = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
        claude.row("user", json!({"message": {"role": "user", "content": content}}));
    };
    claude.prompt("go on");
    claude.tool_bash("one", || scene.write("one.txt", "1\n"));
    interrupt();
    // The same words again, and soon: another turn.
    claude.prompt("go on");
    claude.tool_bash("two", || scene.write("two.txt", "2\n"));
    interrupt();
    claude.call("SessionEnd", &json!({"reason": "prompt_input_exit"}));
    let turns = scene.show(&claude.log);
    assert_eq!(files(&turns[0]), [file("one.txt", "added", "shell")]);
    assert_eq!(files(&turns[1]), [file("two.txt", "added", "shell")]);
    assert_eq!(turns[1]["state"], "interrupted");
    assert_eq!(scene.journal(), "");
}

#[test]
fn a_turn_whose_end_never_came_is_told_from_the_log() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    claude.prompt("begin");
    claude.tool_write("greet.py", "killed\n");
    // The agent was killed. Days later it is started again; meanwhile a person has worked.
    scene.write("mine.txt", "mine\n");
    claude.call("SessionStart", &json!({"source": "resume"}));
    claude.prompt("again");
    claude.tool_bash("make", || scene.write("made.txt", "1\n"));
    claude.stop();
    let turns = scene.show(&claude.log);
    assert_eq!(files(&turns[0]), [file("greet.py", "modified", "tool")]);
    assert_eq!(turns[0]["changes"]["source"], "replayed");
    assert_eq!(files(&turns[1]), [file("made.txt", "added", "shell")]);
    assert_eq!(turns[1]["changes"]["source"], "recorded");
}

#[test]
fn a_rewind_and_a_refused_prompt_do_not_shift_the_numbers() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    claude.prompt("first");
    claude.tool_bash("a", || scene.write("a.txt", "a\n"));
    claude.stop();
    let first_end = claude.parent.get();
    // Another hook refuses this one: the log never has it.
    claude.call("UserPromptSubmit", &json!({"prompt": "refused"}));
    claude.prompt("second");
    claude.tool_bash("b", || scene.write("b.txt", "b\n"));
    claude.stop();
    claude.prompt("third");
    claude.tool_bash("c", || scene.write("c.txt", "c\n"));
    claude.stop();
    // Back to the end of the first turn: the next prompt is the second again.
    claude.call("UserPromptSubmit", &json!({"prompt": "instead"}));
    claude.parent.set(first_end);
    claude.row("user", json!({"message": {"role": "user", "content": "instead"}}));
    claude.tool_bash("d", || scene.write("d.txt", "d\n"));
    claude.stop();
    let turns = scene.show(&claude.log);
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[1]["prompt"], "instead");
    assert_eq!(files(&turns[0]), [file("a.txt", "added", "shell")]);
    assert_eq!(files(&turns[1]), [file("d.txt", "added", "shell")]);
}

#[test]
fn a_stop_hook_that_goes_on_and_a_sub_agent_count_for_the_turn() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    claude.prompt("begin");
    claude.tool_bash("a", || scene.write("a.txt", "a\n"));
    claude.stop();
    // Another Stop hook sent the agent back to work.
    claude.tool_bash("b", || scene.write("b.txt", "b\n"));
    let path = scene.work.join("ignored/secret");
    let input = json!({"file_path": path, "content": "x"});
    let of_sub_agent = json!({"agent_id": "a1", "agent_type": "general-purpose"});
    let mut call = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "t"});
    call.as_object_mut().unwrap().extend(of_sub_agent.as_object().unwrap().clone());
    claude.call("PreToolUse", &call);
    fs::write(&path, "x").unwrap();
    claude.call("SubagentStop", &of_sub_agent);
    claude.call("Stop", &json!({"stop_hook_active": true}));
    let paths: Vec<_> = files(&scene.show(&claude.log)[0]).into_iter().map(|f| f.0).collect();
    assert_eq!(paths, ["a.txt", "b.txt", "ignored/secret"]);
}

#[test]
fn two_sessions_in_one_work_tree_each_have_their_turns() {
    let scene = Scene::new();
    let (one, two) = (Claude::new(&scene, "one"), Claude::new(&scene, "two"));
    one.prompt("one");
    one.tool_bash("a", || scene.write("a.txt", "a\n"));
    one.stop();
    two.prompt("two");
    two.tool_bash("b", || scene.write("b.txt", "b\n"));
    two.stop();
    one.prompt("one again");
    one.stop();
    assert_eq!(files(&scene.show(&one.log)[0]), [file("a.txt", "added", "shell")]);
    assert_eq!(files(&scene.show(&one.log)[1]), []);
    assert_eq!(files(&scene.show(&two.log)[0]), [file("b.txt", "added", "shell")]);
}

#[test]
fn calls_at_the_same_time_do_not_hurt_each_other() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    claude.prompt("begin");
    let names: Vec<String> = (0..4).map(|n| format!("ignored/{n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let path = scene.work.join(name);
            let (scene, log) = (&scene, &claude.log);
            scope.spawn(move || {
                let call = json!({"session_id": "s", "transcript_path": log, "cwd": scene.work,
                    "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_use_id": "t",
                    "tool_input": {"file_path": path, "content": "new\n"}});
                scene.hook("claude", call.to_string().as_bytes());
            });
        }
    });
    for name in &names {
        scene.write(name, "new\n");
    }
    claude.stop();
    let turns = scene.show(&claude.log);
    let found = files(&turns[0]);
    let paths: Vec<_> = found.iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, names.iter().collect::<Vec<_>>());
}

#[test]
fn a_live_recorder_needs_no_help() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    claude.prompt("begin");
    claude.stop();
    let log = claude.log.to_str().unwrap();
    let mut recorder = scene.program().args(["record", "--session", log]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let rows = scene.path("state/handback/sessions/claude-s/rows.log");
    let before = fs::read(&rows).unwrap();
    claude.call("UserPromptSubmit", &json!({"prompt": "next"}));
    assert_eq!(fs::read(&rows).unwrap(), before);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    assert_eq!(scene.journal(), "");
}

/// A session of Codex, which begins a turn in its log before it calls hooks.
struct Codex<'a> {
    scene: &'a Scene,
    log: PathBuf,
}

impl Codex<'_> {
    fn row(&self, kind: &str, payload: &Value) {
        let row = json!({"timestamp": iso(), "type": kind, "payload": payload});
        let mut file = OpenOptions::new().append(true).create(true).open(&self.log).unwrap();
        file.write_all(format!("{row}\n").as_bytes()).unwrap();
    }

    fn event(&self, payload: &Value) {
        self.row("event_msg", payload);
    }

    fn call(&self, event: &str, turn: &str, more: &Value) {
        let mut call = json!({"session_id": "thread", "turn_id": turn, "transcript_path": self.log,
            "cwd": self.scene.work, "hook_event_name": event, "model": "m",
            "permission_mode": "default"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.scene.hook("codex", call.to_string().as_bytes());
    }

    fn prompt(&self, turn: &str, text: &str) {
        self.event(&json!({"type": "task_started", "turn_id": turn}));
        self.call("UserPromptSubmit", turn, &json!({"prompt": text}));
        let content = json!([{"type": "text", "text": text}]);
        let item = json!({"type": "UserMessage", "content": content});
        self.event(&json!({"type": "item_completed", "turn_id": turn, "item": item}));
    }

    fn patch(&self, turn: &str, path: &str, text: &str) {
        let script = format!("*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch\n");
        let input = json!({"command": script});
        self.call(
            "PreToolUse",
            turn,
            &json!({"tool_name": "apply_patch", "tool_input": input, "tool_use_id": path}),
        );
        self.scene.write(path, &format!("{text}\n"));
        let change = json!({"type": "add", "content": format!("{text}\n")});
        let changes = json!({ self.scene.work.join(path).to_str().unwrap(): change });
        let item =
            json!({"type": "FileChange", "id": path, "changes": changes, "status": "completed"});
        self.event(&json!({"type": "item_completed", "turn_id": turn, "item": item}));
    }
}

#[test]
fn a_session_of_codex_is_recorded_exactly() {
    let scene = Scene::new();
    let log = scene.path("home/rollout-thread.jsonl");
    let codex = Codex { scene: &scene, log };
    let meta = json!({"id": "thread", "cwd": scene.work, "cli_version": "0.171.0",
        "history_mode": "paginated", "source": "exec", "timestamp": iso()});
    codex.row("session_meta", &meta);
    codex.call("SessionStart", "", &json!({"source": "startup"}));
    codex.prompt("t1", "[T2] edit");
    codex.patch("t1", "ignored/secret", "patched");
    codex.patch("t1", "new.txt", "new");
    fs::remove_file(scene.work.join("notes.txt")).unwrap();
    let command = json!({"type": "CommandExecution", "id": "s", "command": ["rm", "notes.txt"],
        "status": "completed", "exit_code": 0});
    codex.event(&json!({"type": "item_completed", "turn_id": "t1", "item": command}));
    codex.call("Stop", "t1", &json!({"stop_hook_active": false}));
    codex.event(&json!({"type": "task_complete", "turn_id": "t1"}));
    codex.prompt("t2", "[T5] slow");
    codex.patch("t2", "slow.txt", "slow");
    codex.event(&json!({"type": "turn_aborted", "turn_id": "t2", "reason": "interrupted"}));
    codex.call("Interrupt", "t2", &json!({}));
    codex.call("SessionEnd", "", &json!({"reason": "other"}));
    assert_eq!(scene.journal(), "");
    let turns = scene.show(&codex.log);
    let expected = [
        file("ignored/secret", "modified", "tool"),
        file("new.txt", "added", "tool"),
        file("notes.txt", "deleted", "shell"),
    ];
    assert_eq!(files(&turns[0]), expected);
    assert_eq!(turns[0]["changes"]["source"], "recorded");
    assert_eq!(files(&turns[1]), [file("slow.txt", "added", "tool")]);
    assert_eq!(turns[1]["changes"]["source"], "recorded");
}

#[test]
fn what_is_said_while_the_agent_works_begins_no_turn() {
    let scene = Scene::new();
    let codex = Codex { scene: &scene, log: scene.path("home/rollout-thread.jsonl") };
    codex.row("session_meta", &json!({"id": "thread", "cwd": scene.work, "source": "exec"}));
    codex.prompt("t1", "begin");
    codex.patch("t1", "one.txt", "1");
    codex.call("UserPromptSubmit", "t1", &json!({"prompt": "and faster"}));
    let content = json!([{"type": "text", "text": "and faster"}]);
    let item = json!({"type": "UserMessage", "content": content});
    codex.event(&json!({"type": "item_completed", "turn_id": "t1", "item": item}));
    codex.patch("t1", "two.txt", "2");
    codex.call("Stop", "t1", &json!({}));
    codex.event(&json!({"type": "task_complete", "turn_id": "t1"}));
    codex.prompt("t2", "next");
    codex.patch("t2", "three.txt", "3");
    codex.call("Stop", "t2", &json!({}));
    let turns = scene.show(&codex.log);
    let expected = [file("one.txt", "added", "tool"), file("two.txt", "added", "tool")];
    assert_eq!(files(&turns[0]), expected);
    assert_eq!(turns[0]["changes"]["source"], "recorded");
    assert_eq!(files(&turns[1]), [file("three.txt", "added", "tool")]);
    assert_eq!(scene.journal(), "");
}

#[test]
fn a_sub_agent_of_codex_does_not_end_its_parents_turn() {
    let scene = Scene::new();
    let codex = Codex { scene: &scene, log: scene.path("home/rollout-thread.jsonl") };
    codex.row("session_meta", &json!({"id": "thread", "cwd": scene.work, "source": "exec"}));
    codex.prompt("t1", "begin");
    let child = Codex { scene: &scene, log: scene.path("home/rollout-child.jsonl") };
    let spawn = json!({"subagent": {"thread_spawn": {"parent_thread_id": "thread"}}});
    child.row("session_meta", &json!({"id": "child", "cwd": scene.work, "source": spawn}));
    child.prompt("c1", "help");
    scene.write("made.txt", "1\n");
    child.call("Stop", "c1", &json!({}));
    child.call("SessionEnd", "", &json!({}));
    assert!(scene.show(&codex.log)[0]["changes"].is_null(), "it still runs");
    scene.write("more.txt", "1\n");
    codex.call("Stop", "t1", &json!({}));
    let paths: Vec<_> = files(&scene.show(&codex.log)[0]).into_iter().map(|f| f.0).collect();
    assert_eq!(paths, ["made.txt", "more.txt"]);
    assert_eq!(scene.journal(), "");
}

#[test]
fn calls_of_real_agents_are_understood() {
    let Some(shared) = crate::shared::shared() else { return };
    let (scene, mut rows) = (Scene::new(), 0);
    for (agent, name) in
        [("claude", "hooks-claude"), ("claude", "hooks-claude-2.1.332"), ("codex", "hooks-codex")]
    {
        let path = shared.join(format!("fixtures/agents/hooks/{name}.jsonl"));
        let mut prompts = 0;
        for line in fs::read_to_string(path).unwrap().lines() {
            let mut call: Value = serde_json::from_str(line).unwrap();
            prompts += u32::from(call["hook_event_name"] == "UserPromptSubmit");
            call["cwd"] = scene.work.to_str().into();
            call["transcript_path"] = scene.path("not-there.jsonl").to_str().into();
            scene.hook(agent, call.to_string().as_bytes());
        }
        let sessions = fs::read_dir(scene.path("state/handback/sessions")).unwrap();
        let texts =
            sessions.map(|s| fs::read_to_string(s.unwrap().path().join("rows.log")).unwrap());
        let found: usize = texts.map(|text| text.matches(r#""kind":"baseline""#).count()).sum();
        assert_eq!(found - rows, prompts as usize, "{name}");
        rows = found;
    }
    let is_expected = |line: &str| line.contains("the log does not tell of the turn that ended");
    assert!(scene.journal().lines().all(is_expected), "{}", scene.journal());
}

#[test]
fn dsh_is_heard_in_the_same_shape() {
    let scene = Scene::new();
    let log = scene.path("home/session.jsonl");
    let at =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
    let row = |row: &Value| {
        let mut file = OpenOptions::new().append(true).create(true).open(&log).unwrap();
        file.write_all(format!("{row}\n").as_bytes()).unwrap();
    };
    let call = |event: &str| {
        let call = json!({"session_id": "d", "transcript_path": log, "cwd": scene.work,
            "hook_event_name": event, "prompt": "go"});
        scene.hook("dsh", call.to_string().as_bytes());
    };
    row(&json!({"type": "session", "version": 0, "id": "d", "createdAt": at(), "cwd": scene.work,
        "delegationDepth": 0}));
    row(&json!({"type": "turn/start", "seq": 0, "time": at(), "data": {"turn": 1}}));
    call("UserPromptSubmit");
    let content = json!([{"type": "text", "text": "go"}]);
    row(&json!({"type": "user/message", "seq": 1, "time": at(), "data":
        {"content": content, "source": {"kind": "user"}, "role": "user", "id": "u"}}));
    scene.write("made.txt", "1\n");
    call("Stop");
    assert_eq!(scene.journal(), "");
    let turns = scene.show(&log);
    assert_eq!(files(&turns[0]), [file("made.txt", "added", "outside")]);
    assert_eq!(turns[0]["changes"]["source"], "recorded");
}

#[test]
fn faults_are_silent_and_stand_in_the_log() {
    let scene = Scene::new();
    let call = |more: &Value| {
        let mut call = json!({"session_id": "s", "cwd": scene.work, "prompt": "p",
            "hook_event_name": "UserPromptSubmit"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call.to_string().into_bytes()
    };
    let mut lines = 0;
    let mut fault = |agent: &str, input: &[u8], cause: &str| {
        scene.hook(agent, input);
        lines += 1;
        let journal = scene.journal();
        assert!(journal.lines().last().unwrap().contains(cause), "{cause}: {journal}");
        assert_eq!(journal.lines().count(), lines, "one line each");
    };
    fault("claude", b"", "no hook call");
    fault("claude", b"\x1b[2J\xff\xfe", "no hook call");
    fault("claude", br#"{"session_id": 7}"#, "no hook call");
    fault("gemini", b"{}", "calls no hooks");
    fault("claude", br#"{"hook_event_name":"Stop"}"#, "names no session");
    fault("claude", &call(&json!({"cwd": "relative"})), "no working directory");
    let garbage = scene.path("garbage.jsonl");
    fs::write(&garbage, "this is no log\n").unwrap();
    let garbage = json!({"transcript_path": garbage, "hook_event_name": "Stop"});
    fault("claude", &call(&json!({"transcript_path": "/dev"})), "/dev");
    scene.hook("claude", &call(&json!({})));
    fault("claude", &call(&garbage), "does not tell of the turn");
    // What does not matter is no fault.
    for event in ["Notification", "PostToolUse", "PreCompact", "", "\u{0}"] {
        scene.hook("claude", &call(&json!({"hook_event_name": event})));
    }
    scene.hook("claude", &call(&json!({"hook_event_name": "Stop", "session_id": "other"})));
    assert_eq!(scene.journal().lines().count(), lines);
}

#[test]
fn no_repository_and_a_store_that_cannot_be_written_are_no_fault_of_the_agent() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.work.join(".git")).unwrap();
    let claude = Claude::new(&scene, "s");
    claude.prompt("begin");
    claude.tool_write("greet.py", "changed\n");
    claude.tool_bash("make", || scene.write("made.txt", "1\n"));
    claude.stop();
    // What a file tool named is known exactly; nothing is guessed of the rest.
    let turns = scene.show(&claude.log);
    assert_eq!(files(&turns[0]), [file("greet.py", "modified", "tool")]);

    let denied = scene.path("denied");
    fs::create_dir(&denied).unwrap();
    fs::set_permissions(&denied, fs::Permissions::from_mode(0o500)).unwrap();
    let call = json!({"session_id": "t", "cwd": scene.work, "prompt": "p",
        "hook_event_name": "UserPromptSubmit"});
    let store = denied.join("store");
    scene.hook_with("claude", call.to_string().as_bytes(), &["--store", store.to_str().unwrap()]);
    // A file stands where the store should be: also for a person whom no mode stops.
    let file = scene.path("file");
    fs::write(&file, "").unwrap();
    scene.hook_with("claude", call.to_string().as_bytes(), &["--store", file.to_str().unwrap()]);
    assert_eq!(fs::read(&file).unwrap(), b"");
    fs::set_permissions(&denied, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn nothing_is_recorded_where_that_is_turned_off() {
    let scene = Scene::new();
    let call = json!({"session_id": "t", "cwd": scene.work, "prompt": "p",
        "hook_event_name": "UserPromptSubmit"});
    scene.hook_with("claude", call.to_string().as_bytes(), &["--no-record"]);
    assert!(!scene.path("state").exists());
}

#[test]
fn a_clean_up_leaves_a_turn_that_hooks_have_begun() {
    let scene = Scene::new();
    let claude = Claude::new(&scene, "s");
    // The repository does not have this: its tree is in the snapshot alone.
    scene.write("notes.txt", "mine\n");
    claude.prompt("begin");
    let done = scene.run(&["store", "gc"]);
    assert!(done.status.success(), "{done:?}");
    claude.tool_bash("a", || scene.write("a.txt", "a\n"));
    claude.stop();
    assert_eq!(files(&scene.show(&claude.log)[0]), [file("a.txt", "added", "shell")]);
    assert_eq!(scene.show(&claude.log)[0]["changes"]["source"], "recorded");
}

/// Settings with hooks of somebody else, written by hand.
const FOREIGN: &str = r#"{
    "model": "opus",   "n": 1.0e2,
    "hooks": {
        "PostToolUse": [ { "matcher": "*", "hooks": [{"type":"command","command":"mine.sh"}] } ],
        "Stop": [
            { "hooks": [{"type":"command","command":"say done"}] }
        ]
    },
    "permissions": {"allow": ["Bash(ls:*)"]}
}
"#;

#[test]
fn hooks_are_shown_installed_and_removed_and_nothing_else_is_touched() {
    let scene = Scene::new();
    let settings = scene.path("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, FOREIGN).unwrap();
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o600)).unwrap();
    let init = |how: &[&str]| {
        let done = scene.run(&[&["init", "claude"], how].concat());
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let shown = init(&[]);
    assert_eq!(shown, init(&["--print"]));
    assert_eq!(fs::read_to_string(&settings).unwrap(), FOREIGN, "showing changes nothing");
    fs::write(scene.path("change.patch"), &shown).unwrap();

    init(&["--write"]);
    let written = fs::read_to_string(&settings).unwrap();
    let value: Value = serde_json::from_str(&written).unwrap();
    let command = format!("{} hook claude", env!("CARGO_BIN_EXE_handback"));
    let events: Vec<_> = value["hooks"].as_object().unwrap().keys().collect();
    let wanted =
        ["PostToolUse", "PreToolUse", "SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"];
    assert_eq!(events, wanted);
    assert_eq!(value["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"], command);
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(value["hooks"]["Stop"][1]["hooks"][0]["command"], command);
    let matcher = "Write|Edit|MultiEdit|NotebookEdit";
    assert_eq!(value["hooks"]["PreToolUse"][0]["matcher"], matcher);
    // What was shown is what was done.
    let patched = scene.path("patched");
    let place = patched.join(settings.strip_prefix("/").unwrap());
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, FOREIGN).unwrap();
    let mut git = Command::new("git");
    git.current_dir(&patched).arg("apply").arg(scene.path("change.patch"));
    assert!(git.status().unwrap().success());
    assert_eq!(fs::read_to_string(&place).unwrap(), written);
    let backup = settings.with_file_name("settings.json.handback-backup");
    assert_eq!(fs::read_to_string(&backup).unwrap(), FOREIGN);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&settings), mode(&backup)), (0o600, 0o600));

    assert!(init(&["--write"]).contains("it has these hooks"));
    assert!(init(&[]).contains("it has these hooks"));
    assert_eq!(fs::read_to_string(&settings).unwrap(), written);
    assert_eq!(fs::read_to_string(&backup).unwrap(), FOREIGN);
    init(&["--remove"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), FOREIGN);
    assert!(init(&["--remove"]).contains("no hooks of ours"));
    assert_eq!(fs::read_to_string(&settings).unwrap(), FOREIGN);
}

#[test]
fn the_installed_command_runs_in_a_shell() {
    let scene = Scene::new();
    let done = scene.run(&["init", "codex", "--write"]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("/hooks"), "{done:?}");
    let settings = fs::read(scene.path("home/.codex/hooks.json")).unwrap();
    let settings: Value = serde_json::from_slice(&settings).unwrap();
    let command = &settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"];
    let call = json!({"session_id": "s", "cwd": scene.work, "prompt": "p",
        "hook_event_name": "UserPromptSubmit"});
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command.as_str().unwrap()).stdin(Stdio::piped());
    shell.env("HOME", scene.path("home")).env("XDG_STATE_HOME", scene.path("state"));
    let mut child = shell.spawn().unwrap();
    child.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(scene.path("state/handback/sessions/codex-s/rows.log").exists());
}

#[test]
fn settings_that_are_not_understood_are_left_alone() {
    let scene = Scene::new();
    let settings = scene.path("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let cases = [
        ("{\n  // mine\n  \"a\": 1\n}\n", "line 2 column 3"),
        ("{\"hooks\": {\"Stop\": [}", "not JSON"),
        ("[]", "not a JSON object"),
        ("{\"hooks\": []}", "`hooks` is no object"),
        ("{\"hooks\": {\"Stop\": {}}}", "`hooks.Stop` is no list"),
    ];
    for (text, cause) in cases {
        fs::write(&settings, text).unwrap();
        for how in ["--print", "--write", "--remove"] {
            let done = scene.run(&["init", "claude", how]);
            let said = String::from_utf8(done.stderr).unwrap();
            assert_eq!(done.status.code(), Some(1), "{text} {how}");
            assert!(said.contains(cause) && said.lines().count() == 1, "{said}");
            assert_eq!(fs::read_to_string(&settings).unwrap(), text);
        }
    }
    assert_eq!(fs::read_dir(settings.parent().unwrap()).unwrap().count(), 1);
    for agent in ["opencode", "gemini", "pi", "dsh"] {
        let done = scene.run(&["init", agent, "--write"]);
        assert!(done.status.success() && !done.stdout.is_empty(), "{done:?}");
    }
    assert_eq!(scene.run(&["init", "nobody"]).status.code(), Some(2));
}

#[test]
#[expect(clippy::print_stderr, reason = "a figure")]
fn a_call_is_quick_in_a_large_repository() {
    let scene = Scene::new();
    for n in 0..10_000 {
        scene.write(&format!("d{}/e{}/f{n}.txt", n % 100, n % 7), &format!("{n}\n"));
    }
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "many"]);
    let claude = Claude::new(&scene, "s");
    let timed = |what: &str, work: &dyn Fn()| {
        let start = Instant::now();
        work();
        let took = start.elapsed();
        eprintln!("{what}: {} ms", took.as_millis());
        took
    };
    let mut slowest = Duration::ZERO;
    for prompt in ["first", "second", "third"] {
        let call = json!({"prompt": prompt});
        let begin = || claude.call("UserPromptSubmit", &call);
        slowest = slowest.max(timed("prompt", &begin));
        claude.row("user", json!({"message": {"role": "user", "content": prompt}}));
        claude.tool_bash("a", || scene.write("d1/e1/f1.txt", prompt));
        claude.answer();
        slowest = slowest.max(timed("stop", &|| claude.call("Stop", &json!({}))));
        timed("git status", &|| scene.git(&["status", "--porcelain"]));
    }
    // Loose: other tests run beside it, and nothing is optimized here.
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    let turns = scene.show(&claude.log);
    assert!(turns.iter().all(|turn| files(turn).len() == 1), "{turns:?}");
}
