//! What sub-agents did in logs of their own, told in the turn that called them.

use crate::shared::shared;
use handback::log::Output;
use handback::log::open::{LogFile, OpenOptions};
use handback::log::tail::{TailEvent, follow};
use handback::reader::{ReadOptions, Reader};
use handback::session::event::{EditAction, EditOutcome, EditSource, LogEvent};
use handback::session::transcript::{Transcript, TurnRecord};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SESSION: &str = "30a48144-545b-42c2-b106-f5c71534b339";

fn read(path: &Path) -> (Transcript, Vec<String>) {
    let mut out = Output::default();
    let mut log = LogFile::open(path, &OpenOptions::default()).unwrap();
    log.read_all(&mut out).unwrap();
    let mut told = Transcript::default();
    out.events.into_iter().for_each(|event| told.apply(event));
    (told, out.damages.into_iter().map(|damage| damage.message).collect())
}

/// What took effect in a turn: paths relative to `/w`.
fn applied(turn: &TurnRecord) -> Vec<&str> {
    turn.applied_edits().map(|e| e.path.strip_prefix("/w/").unwrap_or(&e.path)).collect()
}

fn time(second: u32) -> String {
    format!("2026-12-01T00:{:02}:{:02}.000Z", second / 60, second % 60)
}

/// A log of Claude Code that is written row by row; each row stands on the one before.
#[derive(Clone)]
struct Claude {
    agent: Option<&'static str>,
    rows: Vec<Value>,
}

impl Claude {
    fn session() -> Self {
        Self { agent: None, rows: Vec::new() }
    }

    fn agent(id: &'static str) -> Self {
        Self { agent: Some(id), rows: Vec::new() }.said(0, "the task")
    }

    fn row(mut self, at: u32, kind: &str, content: &Value, result: Option<Value>) -> Self {
        let id = |n: usize| format!("{}-{n}", self.agent.unwrap_or("main"));
        let parent = self.rows.len().checked_sub(1).map(id);
        let mut row = json!({"type": kind, "uuid": id(self.rows.len()), "parentUuid": parent,
            "timestamp": time(at), "sessionId": SESSION, "cwd": "/w", "version": "2.1.0",
            "isSidechain": self.agent.is_some(),
            "message": {"role": kind, "content": content}});
        if let Some(agent) = self.agent {
            row["agentId"] = json!(agent);
        }
        if let Some(result) = result {
            row["toolUseResult"] = result;
        }
        self.rows.push(row);
        self
    }

    fn said(self, at: u32, text: &str) -> Self {
        self.row(at, "user", &json!(text), None)
    }

    fn call(self, at: u32, id: &str, name: &str, input: &Value) -> Self {
        let block = json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
        self.row(at, "assistant", &block, None)
    }

    fn result(self, at: u32, id: &str, is_error: bool, result: Option<Value>) -> Self {
        let block = json!([{"type": "tool_result", "tool_use_id": id, "content": "done",
            "is_error": is_error}]);
        self.row(at, "user", &block, result)
    }

    fn write(self, at: u32, id: &str, path: &str, content: &str) -> Self {
        let input = json!({"file_path": format!("/w/{path}"), "content": content});
        let made = json!({"type": "create", "filePath": format!("/w/{path}"), "content": content,
            "structuredPatch": [], "originalFile": null});
        self.call(at, id, "Write", &input).result(at, id, false, Some(made))
    }

    fn edit(self, at: u32, id: &str, path: &str, old: &str, new: &str, is_error: bool) -> Self {
        let path = format!("/w/{path}");
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        self.call(at, id, "Edit", &input).result(at, id, is_error, None)
    }

    /// Calls a sub-agent that goes on in the background.
    fn launch(self, at: u32, id: &str, agent: &str) -> Self {
        let launched = json!({"isAsync": true, "status": "async_launched", "agentId": agent});
        self.call(at, id, "Agent", &json!({"prompt": "x"})).result(at, id, false, Some(launched))
    }

    fn text(&self) -> String {
        self.rows.iter().map(|row| format!("{row}\n")).collect()
    }
}

/// The folder of a project, with the log of a session.
struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn of(session: &Claude) -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.log("x").parent().unwrap()).unwrap();
        fs::write(project.session(), session.text()).unwrap();
        project
    }

    fn session(&self) -> PathBuf {
        self.dir.path().join(format!("{SESSION}.jsonl"))
    }

    /// Where the log of a sub-agent stands since 2.1.
    fn log(&self, agent: &str) -> PathBuf {
        self.dir.path().join(SESSION).join("subagents").join(format!("agent-{agent}.jsonl"))
    }

    fn beside(&self, agent: &str) -> PathBuf {
        self.dir.path().join(format!("agent-{agent}.jsonl"))
    }
}

/// Two turns; the first calls sub-agent `a`, which writes on after the turn.
fn two_turns() -> (Claude, Claude) {
    let session = Claude::session()
        .said(1, "do it")
        .write(2, "t1", "shared", "one\n")
        .launch(3, "t2", "a")
        .edit(9, "t3", "shared", "two", "three", false)
        .write(10, "t4", "own", "x\n")
        .said(20, "go on")
        .write(21, "t5", "second", "y\n");
    let agent = Claude::agent("a")
        .edit(5, "t1", "shared", "one", "two", false)
        .edit(6, "t6", "shared", "nothing", "else", true)
        .call(7, "t7", "Bash", &json!({"command": "make"}))
        .result(8, "t7", true, None)
        .write(30, "t8", "late", "z\n");
    (session, agent)
}

#[test]
fn a_sub_agents_work_is_in_the_turn_of_its_call_in_order_of_time() {
    let (session, agent) = two_turns();
    let project = Project::of(&session);
    fs::write(project.log("a"), agent.text()).unwrap();
    let (told, damages) = read(&project.session());
    assert_eq!(damages, [] as [&str; 0]);
    assert_eq!(told.turns.len(), 2);
    assert_eq!(applied(&told.turns[0]), ["shared", "shared", "shared", "own", "late"]);
    assert_eq!(applied(&told.turns[1]), ["second"]);
    let by: Vec<_> = told.turns[0].edits.iter().map(|e| e.stamp.agent.as_deref()).collect();
    assert_eq!(by, [None, Some("a"), Some("a"), None, None, Some("a")]);
    assert_eq!(told.turns[0].edits[2].outcome, EditOutcome::Failed);
    let ran: Vec<_> = told.turns[0].commands.iter().map(|c| c.call.command.as_str()).collect();
    assert_eq!(ran, ["Agent", "make"]);
    assert!(told.turns[0].commands[1].settled && told.turns[0].commands[1].output.is_some());
    // All three edits of one file, in the right order, make its whole text.
    let mut reader = Reader::new(ReadOptions { max_file_bytes: 1 << 20, ..Default::default() });
    reader.read_all(LogFile::open(&project.session(), &OpenOptions::default()).unwrap()).unwrap();
    let changes = reader.changes(1).unwrap().unwrap();
    let (summary, failures) =
        handback::reader::summary(&reader.objects(), &changes, Some(1), Duration::MAX, 99);
    assert_eq!(failures, [] as [&str; 0]);
    let files: Vec<_> = summary.files.iter().map(|f| (f.display.as_str(), f.added)).collect();
    assert_eq!(files, [("late", 1), ("own", 1), ("shared", 1)], "{summary:?}");
}

#[test]
fn a_sub_agents_own_log_can_be_opened() {
    let (session, agent) = two_turns();
    let project = Project::of(&session);
    fs::write(project.log("a"), agent.text()).unwrap();
    let (told, damages) = read(&project.log("a"));
    assert_eq!((applied(&told.turns[0]), damages), (vec!["shared", "late"], Vec::new()));
    assert_eq!(told.header.is_subagent, Some(true));
}

#[test]
fn sub_agents_of_sub_agents_are_of_the_same_turn() {
    let session = Claude::session().said(1, "do it").launch(2, "t1", "a").said(9, "next");
    let project = Project::of(&session);
    let a = Claude::agent("a").launch(3, "t1", "b").write(6, "t2", "a", "x\n");
    fs::write(project.log("a"), a.text()).unwrap();
    // Its parent's log does not name it (yet): its own description names the call.
    let b = Claude::agent("b").write(4, "t1", "b", "x\n").call(5, "t9", "Agent", &json!({}));
    fs::write(project.log("b"), b.text()).unwrap();
    fs::write(project.log("c"), Claude::agent("c").write(5, "t1", "c", "x\n").text()).unwrap();
    fs::write(project.log("c").with_extension("meta.json"), r#"{"toolUseId":"t9"}"#).unwrap();
    let (told, damages) = read(&project.session());
    assert_eq!(damages, [] as [&str; 0]);
    assert_eq!(applied(&told.turns[0]), ["b", "c", "a"]);
    assert_eq!(applied(&told.turns[1]), [] as [&str; 0]);
}

#[test]
fn logs_beside_the_sessions_count_if_they_are_of_its_calls() {
    let done = Claude::session().said(1, "do it").launch(2, "t1", "a");
    let project = Project::of(&done);
    fs::write(project.beside("a"), Claude::agent("a").write(3, "t1", "a", "x\n").text()).unwrap();
    // A client that starts up writes such files, which name the session and no call.
    fs::write(project.beside("w"), Claude::agent("w").text()).unwrap();
    fs::write(project.beside("o"), Claude::agent("o").write(3, "t1", "o", "x\n").text()).unwrap();
    let (told, damages) = read(&project.session());
    assert_eq!((applied(&told.turns[0]), damages), (vec!["a"], Vec::new()));
    // While a call runs, what is written for this session since then is its sub-agent's.
    let runs = Claude::session().said(1, "do it").call(2, "t1", "Task", &json!({}));
    fs::write(project.session(), runs.text()).unwrap();
    let other = Claude::agent("x").write(3, "t1", "x", "x\n").text().replace(SESSION, "other");
    fs::write(project.beside("x"), other).unwrap();
    for gone in ["w", "o"] {
        fs::remove_file(project.beside(gone)).unwrap();
    }
    let (told, _) = read(&project.session());
    assert_eq!(applied(&told.turns[0]), ["a"]);
}

#[test]
fn a_bad_log_costs_itself_and_one_warning() {
    let session = Claude::session().said(1, "do it");
    let ids = ["missing", "folder", "noise", "torn", "fine"];
    let session = ids.iter().fold(session, |log, id| log.launch(2, &format!("call-{id}"), id));
    let project = Project::of(&session.write(9, "t9", "own", "x\n"));
    fs::create_dir(project.log("folder")).unwrap();
    // A pipe that nobody writes to is not waited for.
    let pipe = std::process::Command::new("mkfifo").arg(project.log("pipe")).status().unwrap();
    assert!(pipe.success());
    fs::write(project.log("noise"), b"\xff\xfe\n{\n\x1b[2J\n[]\n".repeat(50)).unwrap();
    let torn = Claude::agent("torn").write(3, "t1", "torn", "x\n").text();
    fs::write(project.log("torn"), format!("{torn}{{\"type\":\"user\",\"mess")).unwrap();
    fs::write(project.log("fine"), Claude::agent("fine").write(4, "t1", "fine", "x\n").text())
        .unwrap();
    let (told, mut damages) = read(&project.session());
    assert_eq!(applied(&told.turns[0]), ["torn", "fine", "own"]);
    damages.sort();
    assert_eq!(damages.len(), 4, "{damages:#?}");
    assert!(damages[0].ends_with("the log of sub-agent missing is not there"), "{damages:#?}");
    for (damage, name) in damages[1..].iter().zip(["folder", "noise", "torn"]) {
        assert!(damage.starts_with("sub-agent log /"), "{damage}");
        assert!(damage.contains(&format!("agent-{name}.jsonl: ")), "{damage}");
        assert!(!damage.contains('\n'));
    }
    assert!(damages[3].contains("line 4: "), "{damages:#?}");
}

/// A follower and what it has told so far.
struct Followed {
    told: Transcript,
    events: Receiver<TailEvent>,
    damages: Vec<String>,
    _tail: handback::log::tail::Tail,
}

impl Followed {
    fn at(path: PathBuf) -> Self {
        let (send, events) = channel();
        let tail = follow(path, OpenOptions::default(), move |event| {
            let _ = send.send(event);
        });
        Self { told: Transcript::default(), events, damages: Vec::new(), _tail: tail }
    }

    fn until(&mut self, wanted: &[&str]) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let now = self.told.turns.first().map(applied).unwrap_or_default();
            if now == wanted {
                return;
            }
            assert!(Instant::now() < end, "{now:?} is not {wanted:?}; {:?}", self.damages);
            if let Ok(TailEvent::Output(out)) = self.events.recv_timeout(Duration::from_secs(1)) {
                out.events.into_iter().for_each(|event| self.told.apply(event));
                self.damages.extend(out.damages.into_iter().map(|damage| damage.message));
            }
        }
    }
}

#[test]
fn a_sub_agents_log_is_followed_as_it_comes_and_grows() {
    let session = Claude::session().said(1, "do it").call(2, "t1", "Agent", &json!({}));
    let project = Project::of(&session.clone().write(2, "t0", "own", "x\n"));
    let mut followed = Followed::at(project.session());
    followed.until(&["own"]);
    let agent = Claude::agent("a").write(3, "t1", "a1", "x\n");
    fs::write(project.log("a"), agent.text()).unwrap();
    fs::write(project.log("a").with_extension("meta.json"), r#"{"toolUseId":"t1"}"#).unwrap();
    followed.until(&["own", "a1"]);
    let agent = agent.write(5, "t2", "a2", "x\n");
    fs::write(project.log("a"), agent.text()).unwrap();
    followed.until(&["own", "a1", "a2"]);
    // The log becomes another one: what it told before is not true any more.
    fs::remove_file(project.log("a")).unwrap();
    fs::write(project.log("a"), Claude::agent("a").write(4, "t1", "a3", "x\n").text()).unwrap();
    followed.until(&["own", "a3"]);
    assert_eq!(followed.damages, [] as [&str; 0]);
}

#[test]
fn a_sub_agent_that_was_done_may_go_on_after_all() {
    let session = Claude::session().said(1, "do it").launch(2, "t1", "a");
    let project = Project::of(&session.write(9, "t2", "own", "x\n"));
    let agent = Claude::agent("a").write(3, "t1", "a1", "x\n");
    fs::write(project.log("a"), agent.text()).unwrap();
    let log = fs::File::options().append(true).open(project.log("a")).unwrap();
    log.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let mut followed = Followed::at(project.session());
    followed.until(&["a1", "own"]);
    let kept = |path: &Path| {
        let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
        files.filter(|file| fs::read_link(file.path()).is_ok_and(|to| to == path)).count()
    };
    drop(log);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(kept(&project.log("a").canonicalize().unwrap()), 0, "its file is let go");
    fs::write(project.log("a"), agent.write(10, "t2", "a2", "x\n").text()).unwrap();
    followed.until(&["a1", "own", "a2"]);
}

#[test]
fn a_sub_agent_that_went_back_is_told_on_its_live_branch() {
    let session = Claude::session().said(1, "do it").launch(2, "t1", "a");
    let project = Project::of(&session.write(9, "t2", "own", "x\n"));
    // Its second prompt goes back to before the first one's answer.
    let mut agent = Claude::agent("a").write(3, "t1", "a1", "x\n").said(4, "again");
    if let Some(row) = agent.rows.last_mut() {
        row["parentUuid"] = Value::Null;
    }
    let agent = agent.write(5, "t2", "a2", "x\n");
    fs::write(project.log("a"), agent.text()).unwrap();
    let (told, damages) = read(&project.session());
    assert_eq!((applied(&told.turns[0]), damages), (vec!["a2", "own"], Vec::new()));
    // While it is followed it goes back once more.
    let mut followed = Followed::at(project.session());
    followed.until(&["a2", "own"]);
    let mut agent = agent.said(6, "and again");
    if let Some(row) = agent.rows.last_mut() {
        row["parentUuid"] = json!("a-0");
    }
    fs::write(project.log("a"), agent.write(7, "t3", "a3", "x\n").text()).unwrap();
    followed.until(&["a1", "a3", "own"]);
    // That is told once, and not again at each look.
    std::thread::sleep(Duration::from_millis(2500));
    let more = followed.events.try_iter().filter(|event| matches!(event, TailEvent::Output(_)));
    assert_eq!(more.count(), 0);
}

#[test]
fn real_sub_agents_of_claude_code_count_once() {
    let Some(shared) = shared() else { return };
    let produced = shared.join("fixtures/agents/claude/produced");
    for (name, turn) in [
        (format!("print-2.1.332/{SESSION}.jsonl"), 5),
        ("tui-2.1.332/6dd06ad9-6fb7-4fce-a350-060b3da1984a.jsonl".to_owned(), 6),
        ("print-2.0.77/554bf059-235c-489f-ad2c-8598608ff639.jsonl".to_owned(), 5),
        ("print-1.0.128/eab48f2b-e50b-447a-995d-0d3bf34e4a8d.jsonl".to_owned(), 5),
    ] {
        let (told, damages) = read(&produced.join(&name));
        assert_eq!(damages, [] as [&str; 0], "{name}");
        let by_name =
            |record: &&TurnRecord| record.edits.iter().any(|e| e.path.ends_with("sub.txt"));
        let turns: Vec<u32> = told.turns.iter().filter(by_name).map(|record| record.turn).collect();
        assert_eq!(turns, [turn], "{name}");
        let record = told.turn(turn).unwrap();
        assert_eq!((record.edits.len(), applied(record).len()), (1, 1), "{name}");
        if let EditSource::Kept(body) = &record.edits[0].body {
            let EditAction::Write { content, .. } = &body.action else { panic!("{body:?}") };
            assert_eq!(content, "from the sub-agent\n", "{name}");
        }
    }
}

/// A rollout of Codex.
fn rollout(folder: &Path, thread: &str, meta: &Value, rows: &[Value]) -> PathBuf {
    let mut meta = meta.clone();
    meta["id"] = json!(thread);
    meta["cwd"] = json!("/w");
    let first = json!({"type": "session_meta", "timestamp": time(0), "payload": meta});
    let path = folder.join(format!("rollout-2026-12-01T00-00-00-{thread}.jsonl"));
    let text: String = std::iter::once(&first).chain(rows).map(|row| format!("{row}\n")).collect();
    fs::create_dir_all(folder).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn patched(at: u32, call: &str, path: &str) -> Value {
    json!({"type": "event_msg", "timestamp": time(at), "payload": {"type": "patch_apply_end",
        "call_id": call, "success": true, "changes": {path: {"type": "add", "content": "x\n"}}}})
}

fn event(at: u32, payload: &Value) -> Value {
    json!({"type": "event_msg", "timestamp": time(at), "payload": payload})
}

#[test]
fn codex_threads_of_sub_agents_are_found_by_the_calls_that_spawned_them() {
    let home = tempfile::tempdir().unwrap();
    let day = |day: &str| home.path().join("sessions/2026/12").join(day);
    let item = |at: u32, payload: Value| json!({"type": "response_item", "timestamp": time(at), "payload": payload});
    let said = |at: u32, id: &str| {
        [
            event(at, &json!({"type": "task_started", "turn_id": id})),
            event(at, &json!({"type": "user_message", "turn_id": id, "message": id})),
        ]
    };
    let spawn = |at: u32, call: &str| {
        item(
            at,
            json!({"type": "function_call", "name": "spawn_agent", "call_id": call,
            "arguments": "{\"message\":\"x\"}"}),
        )
    };
    let answered = |at: u32, call: &str, thread: &str| {
        let output = json!({"agent_id": thread}).to_string();
        item(at, json!({"type": "function_call_output", "call_id": call, "output": output}))
    };
    let mut rows = said(1, "one").to_vec();
    rows.extend([spawn(2, "c1"), answered(3, "c1", "kid"), patched(9, "c2", "/w/own")]);
    rows.extend(said(10, "two"));
    rows.push(patched(11, "c3", "/w/second"));
    // The newer clients name the thread in an item.
    rows.push(spawn(12, "c4"));
    rows.push(event(
        13,
        &json!({"type": "item_completed", "turn_id": "two", "item": {
        "type": "SubAgentActivity", "id": "c4", "kind": "started", "agent_thread_id": "young"}}),
    ));
    let session = rollout(&day("01"), "main", &json!({"source": "exec"}), &rows);
    let source = json!({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "main"}}}});
    let mut own = said(4, "task").to_vec();
    own.extend([patched(5, "c1", "/w/kid"), spawn(6, "c9"), answered(7, "c9", "grandkid")]);
    rollout(&day("02"), "kid", &source, &own);
    rollout(&day("02"), "grandkid", &source, &[patched(8, "c1", "rel")]);
    // It begins with a copy of its parent's rows.
    let mut copied = source.clone();
    copied["subagent_history_start_ordinal"] = json!(3);
    let number = |mut row: Value, ordinal: u32| {
        row["ordinal"] = json!(ordinal);
        row
    };
    let copy = [
        number(patched(11, "c3", "/w/second"), 2),
        number(event(14, &json!({"type": "task_started", "turn_id": "n"})), 3),
        number(patched(15, "c5", "/w/young"), 4),
    ];
    rollout(&day("01"), "young", &copied, &copy);
    let (told, damages) = read(&session);
    assert_eq!(damages, [] as [&str; 0]);
    assert_eq!(applied(&told.turns[0]), ["kid", "rel", "own"]);
    assert_eq!(applied(&told.turns[1]), ["second", "young"]);
    let bodies = told.turns.iter().flat_map(|turn| &turn.edits);
    let kept = bodies.filter(|edit| edit.stamp.agent.is_some()).all(|edit| {
        matches!(&edit.body, EditSource::Kept(body)
            if matches!(&body.action, EditAction::Write { content, .. } if content == "x\n"))
    });
    assert!(kept, "{:?}", told.turns);
}

#[test]
fn a_real_codex_session_with_a_sub_agent_tells_nothing_twice() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("fixtures/agents/codex/produced/codemode-0.171.0");
    let name = "rollout-2026-12-01T00-37-08-01a22f08-af23-77d3-b6f9-71a9052d6556.jsonl";
    let (told, damages) = read(&folder.join(name));
    assert_eq!(damages, [] as [&str; 0]);
    let by_agents = told.turns.iter().flat_map(|turn| &turn.edits);
    assert_eq!(by_agents.filter(|edit| edit.stamp.agent.is_some()).count(), 0);
    assert_eq!(told.turns.iter().map(|turn| applied(turn).len()).sum::<usize>(), 10);
    // The sub-agent of this sample did nothing; that it was found shows by its being gone.
    let alone = tempfile::tempdir().unwrap();
    fs::copy(folder.join(name), alone.path().join(name)).unwrap();
    let (_, damages) = read(&alone.path().join(name));
    assert_eq!(damages.len(), 1, "{damages:?}");
    assert!(damages[0].contains("sub-agent 01a22f08-b71b-7723-affa-a98f5884d5ef is not there"));
}

#[test]
fn gemini_sub_agents_are_of_the_latest_turn_that_called_one() {
    let chats = tempfile::tempdir().unwrap();
    let call = |id: &str, name: &str, args: Value| json!({"id": id, "name": name, "args": args, "status": "success", "result": []});
    let row = |at: u32, id: &str, kind: &str, body: (&str, Value)| json!({"id": id, "type": kind, "timestamp": time(at), body.0: body.1});
    let write = |id: &str, path: &str| {
        call(id, "write_file", json!({"file_path": format!("/w/{path}"), "content": "x\n"}))
    };
    let header = |id: &str, at: u32, kind: &str| json!({"sessionId": id, "projectHash": "h", "startTime": time(at), "kind": kind});
    let agent = |id: &str| call(id, "codebase_investigator", json!({"objective": "x"}));
    let rows = [
        header("s1", 0, "main"),
        row(1, "m1", "user", ("content", json!("one"))),
        row(5, "m2", "gemini", ("toolCalls", json!([agent("c1"), write("c2", "own")]))),
        row(10, "m3", "user", ("content", json!("two"))),
        row(15, "m4", "gemini", ("toolCalls", json!([agent("c1")]))),
    ];
    let text = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let session = chats.path().join("session-2026-12-01T00-00-abc.jsonl");
    fs::write(&session, text(&rows)).unwrap();
    fs::create_dir(chats.path().join("s1")).unwrap();
    for (id, at) in [("k1", 2), ("k2", 12)] {
        let rows = [
            header(id, at, "subagent"),
            row(at, "m1", "user", ("content", json!("task"))),
            row(at + 1, "m2", "gemini", ("toolCalls", json!([write("c1", id)]))),
        ];
        fs::write(chats.path().join(format!("s1/{id}.jsonl")), text(&rows)).unwrap();
    }
    let (told, damages) = read(&session);
    assert_eq!(damages, [] as [&str; 0]);
    assert_eq!(applied(&told.turns[0]), ["k1", "own"]);
    assert_eq!(applied(&told.turns[1]), ["k2"]);
}

#[test]
fn opencode_sessions_of_sub_agents_are_told_in_the_place_of_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("storage");
    let put = |file: &str, value: &Value| {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    let session = |id: &str, parent: Option<&str>| {
        let time = json!({"created": 1, "updated": 2});
        let info = json!({"id": id, "directory": "/w", "parentID": parent, "time": time});
        put(&format!("session/p/{id}.json"), &info);
    };
    let message = |session: &str, id: &str, role: &str, parts: &[Value]| {
        let info = json!({"id": id, "role": role, "time": {"created": 1}, "finish": "stop"});
        put(&format!("message/{session}/{id}.json"), &info);
        for (at, part) in parts.iter().enumerate() {
            put(&format!("part/{id}/prt_{at}.json"), part);
        }
    };
    let write = |id: &str, path: &str| {
        json!({"type": "tool", "tool": "write", "callID": id, "state": {"status": "completed",
            "input": {"filePath": format!("/w/{path}"), "content": "x\n"}}})
    };
    let task = |id: &str, session: &str| {
        json!({"type": "tool", "tool": "task", "callID": id, "state": {"status": "completed",
            "input": {}, "metadata": {"sessionId": session}}})
    };
    session("ses_a", None);
    message("ses_a", "m1", "user", &[json!({"type": "text", "text": "do it"})]);
    let parts = [write("c1", "one"), task("c2", "ses_b"), task("c3", "gone"), write("c4", "two")];
    message("ses_a", "m2", "assistant", &parts);
    session("ses_b", Some("ses_a"));
    message("ses_b", "n1", "user", &[json!({"type": "text", "text": "task"})]);
    // It calls itself and its parent: a circle.
    let parts = [write("c1", "kid"), task("c5", "ses_b"), task("c6", "ses_a")];
    message("ses_b", "n2", "assistant", &parts);
    let mut out = Output::default();
    let mut log = LogFile::open(&root, &OpenOptions::default()).unwrap();
    log.read_all(&mut out).unwrap();
    let mut told = Transcript::default();
    out.events.drain(..).for_each(|event| told.apply(event));
    assert_eq!(told.turns.len(), 1);
    assert_eq!(applied(&told.turns[0]), ["one", "kid", "two"]);
    let damages: Vec<_> = out.damages.drain(..).map(|damage| damage.message).collect();
    assert_eq!(damages, ["the session of sub-agent gone: it is not there"]);
    // More of a sub-agent's parts is more of this session.
    put("part/n2/prt_9.json", &write("c9", "kid2"));
    log.read_all(&mut out).unwrap();
    assert_eq!(out.events.first(), Some(&LogEvent::Reset));
    out.events.into_iter().for_each(|event| told.apply(event));
    assert_eq!(applied(&told.turns[0]), ["one", "kid", "kid2", "two"]);
}

#[test]
fn dsh_sessions_that_name_this_one_are_its_sub_agents() {
    let home = tempfile::tempdir().unwrap();
    let start = 1_700_000_000_000_u64;
    let session = |id: &str, header: &Value, rows: &[(u64, &str, Value)]| {
        let mut first = json!({"type": "session", "version": 0, "id": id, "cwd": "/w",
            "createdAt": start, "delegationDepth": 0});
        first.as_object_mut().unwrap().extend(header.as_object().unwrap().clone());
        let rows = rows.iter().enumerate().map(|(seq, (at, kind, data))| {
            json!({"type": kind, "seq": seq, "time": start + at, "data": data})
        });
        let folder = home.path().join("sessions/--w--").join(id);
        fs::create_dir_all(&folder).unwrap();
        let text: String =
            std::iter::once(first).chain(rows).map(|row| format!("{row}\n")).collect();
        fs::write(folder.join("session.jsonl"), text).unwrap();
        folder.join("session.jsonl")
    };
    let call = |at: u64, turn: u32, id: &str, name: &str, arguments: &Value| {
        let data = json!({"turn": turn, "callId": id, "name": name,
            "arguments": arguments.to_string()});
        (at, "tool/call", data)
    };
    let result = |at: u64, turn: u32, id: &str| {
        let message = json!({"source": {"callId": id}, "toolCallId": id, "content": []});
        (at, "tool/result", json!({"turn": turn, "message": message}))
    };
    let write = |at: u64, turn: u32, id: &str, path: &str| {
        let arguments = json!({"file_path": format!("/w/{path}"), "content": "x\n"});
        [call(at, turn, id, "write", &arguments), result(at + 1, turn, id)]
    };
    let begin = |at: u64, turn: u32| (at, "turn/start", json!({"turn": turn}));
    let child = |created: u64, parent: &str, seed: u64| {
        json!({"createdAt": start + created, "origin": "subagent", "delegationDepth": 1,
            "parentSession": parent, "seedLength": seed})
    };
    let mut rows = vec![begin(1, 1)];
    rows.extend(write(2, 1, "c1", "own"));
    rows.push(call(10, 1, "c2", "subagent", &json!({"prompt": "x"})));
    rows.push(result(30, 1, "c2"));
    rows.extend(write(40, 1, "c3", "after"));
    rows.push(begin(50, 2));
    rows.push(call(60, 2, "c4", "subagent_fork", &json!({"prompt": "x"})));
    let path = session("session-a", &json!({}), &rows);
    let mut kid = vec![begin(12, 1)];
    kid.extend(write(20, 1, "c1", "kid"));
    session("kid", &child(11, "session-a", 0), &kid);
    // A fork begins with its parent's events.
    let mut fork = rows.clone();
    fork.push(begin(62, 3));
    fork.extend(write(63, 3, "c9", "fork"));
    session("fork", &child(61, "session-a", rows.len() as u64), &fork);
    session("stranger", &child(11, "session-b", 0), &kid);
    let (told, damages) = read(&path);
    assert_eq!(damages, [] as [&str; 0]);
    assert_eq!(applied(&told.turns[0]), ["own", "kid", "after"]);
    assert_eq!(applied(&told.turns[1]), ["fork"]);
    assert_eq!(told.turns.len(), 2);
}
