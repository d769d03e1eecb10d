//! An opencode session, wherever its rows come from → events.
//!
//! A turn is a user message with all assistant messages whose `parentID` it is. After a turn,
//! opencode writes into the user message what the work tree's snapshots show as changed
//! (`summary.diffs`): that includes what commands changed, and misses files outside of the work tree.
//! A file that a tool edited is told by that tool; `summary.diffs` then only adds its whole texts.
//! Any other file of it becomes one edit by the tool `SNAPSHOT_TOOL`.
//!
//! A `task` part names the session of a sub-agent. What that session's tools did is told in the place
//! of the part.

use super::part;
use crate::log::ids::hashed;
use crate::log::loose::{owned, word};
use crate::log::{Output, SoFar};
use crate::session::event::{
    Edit, EditAction, EditBody, EditOutcome, EditSource, Header, KnownText, KnownTextSource,
    LogEvent, SNAPSHOT_TOOL, Stamp,
};
use crate::session::{Damage, TurnState};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// What is known of a session as a whole.
#[derive(Debug, Default)]
pub(super) struct SessionRow {
    /// Its id.
    pub(super) id: String,
    /// The session that delegated to it.
    pub(super) parent: Option<String>,
    /// Its working directory.
    pub(super) directory: Option<String>,
    /// Its title.
    pub(super) title: Option<String>,
    /// The client's version.
    pub(super) version: Option<String>,
    /// Milliseconds since the epoch.
    pub(super) created: Option<i64>,
    /// Messages from this id on are reverted.
    pub(super) reverted_from: Option<String>,
    /// The root of the work tree that `summary.diffs` is relative to.
    pub(super) worktree: Option<String>,
    /// The git directory of the client's snapshots, where it is there.
    pub(super) snapshots: Option<String>,
}

impl SessionRow {
    /// Reads the `info` object of a session file or export.
    pub(super) fn from_info(info: &Value) -> Self {
        Self {
            id: owned(&info["id"]).unwrap_or_default(),
            parent: owned(&info["parentID"]),
            directory: owned(&info["directory"]),
            title: owned(&info["title"]),
            version: owned(&info["version"]),
            created: info["time"]["created"].as_i64(),
            reverted_from: owned(&info["revert"]["messageID"]),
            worktree: None,
            snapshots: None,
        }
    }
}

/// Takes a message: its id, itself, its parts; says whether to go on.
pub(super) type TakeMessage<'a> = dyn FnMut(&str, &Value, &[Value]) -> bool + 'a;

/// Where sessions stand.
pub(super) trait Sessions {
    /// Hands out a session's messages in order. What cannot be read is damage.
    fn each_message(
        &self,
        session: &str,
        damages: &mut Vec<Damage>,
        take: &mut TakeMessage<'_>,
    ) -> io::Result<()>;
}

/// Tells one of these sessions.
pub(super) fn tell_session(
    session: &SessionRow,
    sessions: &dyn Sessions,
    out: &mut Output,
    so_far: &mut SoFar<'_>,
) -> io::Result<()> {
    let mut teller = Teller::new(session, Some(sessions), out);
    let (mut damages, mut goes_on) = (Vec::new(), true);
    sessions.each_message(&session.id, &mut damages, &mut |id, message, parts| {
        teller.message(id, message, parts);
        goes_on = so_far(teller.so_far());
        goes_on
    })?;
    if !goes_on {
        return Err(io::ErrorKind::Interrupted.into());
    }
    teller.finish();
    out.damages.append(&mut damages);
    Ok(())
}

/// Sub-agents that call sub-agents are followed so far.
const DEEPEST: usize = 16;

/// Tells a session's messages, given in order.
pub(super) struct Teller<'a> {
    session: &'a SessionRow,
    /// Where the sessions of sub-agents are; none: only this session is at hand.
    others: Option<&'a dyn Sessions>,
    /// The sub-agents' sessions that were told.
    told: HashSet<String>,
    /// The sub-agents whose work is being told, one within the other.
    agents: Vec<Arc<str>>,
    out: &'a mut Output,
    turns: Vec<Noted>,
    /// The turn of each user message, by the hash of its id; none for one that only compacts.
    by_message: HashMap<u64, Option<u32>>,
}

/// A turn while messages of it may come, and after that.
enum Noted {
    Open(Box<TurnNote>),
    Told { reverted: bool },
}

/// So many turns are held open: an answer may still come when the next prompt has been given.
const OPEN: usize = 2;

/// What is gathered of a turn until all its messages are told.
#[derive(Default)]
struct TurnNote {
    diffs: Vec<Value>,
    edited: HashSet<String>,
    first_snapshot: Option<String>,
    last_snapshot: Option<String>,
    state: TurnState,
    ended: Option<i64>,
    reverted: bool,
}

impl<'a> Teller<'a> {
    /// Begins with what is known of the session.
    pub(super) fn new(
        session: &'a SessionRow,
        others: Option<&'a dyn Sessions>,
        out: &'a mut Output,
    ) -> Self {
        out.events.push(LogEvent::Reset);
        out.events.push(LogEvent::Header(Header {
            id: Some(session.id.clone()),
            cwd: session.directory.clone(),
            title: session.title.clone(),
            created_at: session.created,
            parent: session.parent.clone(),
            is_subagent: Some(session.parent.is_some()),
            base_commit: None,
            agent_version: session.version.clone(),
        }));
        Self {
            session,
            others,
            told: HashSet::from([session.id.clone()]),
            agents: Vec::new(),
            out,
            turns: Vec::new(),
            by_message: HashMap::new(),
        }
    }

    /// What has been told by now; may be taken away.
    pub(super) fn so_far(&mut self) -> &mut Output {
        self.out
    }

    /// Tells one message with its parts.
    pub(super) fn message(&mut self, id: &str, message: &Value, parts: &[Value]) {
        if message["role"] == "user" {
            self.user(id, message, parts);
        } else if message["summary"] != true {
            self.assistant(message, parts);
        }
    }

    fn user(&mut self, id: &str, message: &Value, parts: &[Value]) {
        if parts.iter().any(|part| part["type"] == "compaction") {
            self.by_message.insert(hashed(id), None);
            return;
        }
        // What the client itself says ("continue") goes on with the turn before.
        let of_person = |part: &&Value| {
            matches!(part["type"].as_str(), Some("text" | "file" | "agent" | "subtask"))
                && part["synthetic"] != true
        };
        let said: Vec<&str> =
            parts.iter().filter(of_person).filter_map(|part| part["text"].as_str()).collect();
        let goes_on = !parts.is_empty() && !parts.iter().any(|part| of_person(&part));
        let at = match self.turns.len().checked_sub(1) {
            Some(latest) if goes_on => latest,
            _ => self.begin(message["time"]["created"].as_i64()),
        };
        self.by_message.insert(hashed(id), Some(at as u32));
        let turn = number(at);
        if !said.is_empty() {
            self.out.events.push(LogEvent::Prompt { turn, text: said.join("\n") });
        }
        let diffs = message["summary"]["diffs"].as_array().cloned().unwrap_or_default();
        let reverted = self.session.reverted_from.as_deref().is_some_and(|from| id >= from);
        for diff in &diffs {
            self.known_text(turn, diff, "before");
        }
        if let Some(note) = self.note(at) {
            note.diffs.extend(diffs);
            note.reverted |= reverted;
        }
    }

    fn begin(&mut self, at: Option<i64>) -> usize {
        // A turn that the client never ended, and another prompt came: it broke off.
        if let Some(Noted::Open(note)) = self.turns.last_mut()
            && note.state == TurnState::Open
        {
            note.state = TurnState::Interrupted;
        }
        if let Some(over) = self.turns.len().checked_sub(OPEN) {
            self.end_turn(over);
        }
        self.turns.push(Noted::Open(Box::default()));
        let index = self.turns.len() - 1;
        self.out.events.push(LogEvent::TurnStart { turn: number(index), at });
        index
    }

    fn assistant(&mut self, message: &Value, parts: &[Value]) {
        let parent = message["parentID"].as_str().map(hashed);
        let parent = parent.and_then(|id| self.by_message.get(&id).copied());
        let at = match (parent, self.turns.len().checked_sub(1)) {
            (Some(None), _) => return,
            (Some(Some(at)), _) => at as usize,
            (None, Some(at)) => at,
            (None, None) => self.begin(message["time"]["created"].as_i64()),
        };
        for part in parts {
            match part["type"].as_str() {
                Some("tool") => self.tool(at, part),
                Some("step-start" | "step-finish" | "snapshot") => self.snapshot(at, part),
                _ => {}
            }
        }
        let Some(note) = self.note(at) else { return };
        note.state = state_after(message);
        note.ended = message["time"]["completed"].as_i64().or(note.ended);
    }

    /// What is gathered of a turn; of one that was told, what comes late.
    fn note(&mut self, at: usize) -> Option<&mut TurnNote> {
        let noted = self.turns.get_mut(at)?;
        if let Noted::Told { reverted } = *noted {
            *noted = Noted::Open(Box::new(TurnNote { reverted, ..TurnNote::default() }));
        }
        match noted {
            Noted::Open(note) => Some(note),
            Noted::Told { .. } => None,
        }
    }

    fn snapshot(&mut self, at: usize, part: &Value) {
        let (Some(note), Some(tree)) = (self.note(at), owned(&part["snapshot"])) else {
            return;
        };
        note.first_snapshot.get_or_insert_with(|| tree.clone());
        note.last_snapshot = Some(tree);
    }

    fn tool(&mut self, at: usize, part: &Value) {
        let turn = number(at);
        let call_id = owned(&part["callID"]).or_else(|| owned(&part["id"])).unwrap_or_default();
        let keep = |nth| EditSource::Kept(Arc::new(part::body(part, nth)));
        let edits = self.out.events.len();
        part::tell(turn, &call_id, part, keep, self.out);
        let (agent, mut edited) = (self.agents.last(), Vec::new());
        for event in self.out.events.iter_mut().skip(edits) {
            match event {
                LogEvent::Edit(edit) => edit.stamp.agent = agent.cloned(),
                LogEvent::Command(command) => command.stamp.agent = agent.cloned(),
                _ => {}
            }
            if let LogEvent::Edit(Edit { path, outcome: EditOutcome::Applied, body, .. }) = event {
                edited.push(path.clone());
                if let EditSource::Kept(body) = body {
                    edited.extend(body.moved_from.clone());
                }
            }
        }
        let Some(note) = self.note(at) else { return };
        note.edited.extend(edited);
        if let Some(session) = part::delegate(part) {
            self.delegated(at, session);
        }
    }

    /// Tells what the tools of a sub-agent's session did, as done in this turn.
    fn delegated(&mut self, at: usize, session: &str) {
        let Some(others) = self.others.filter(|_| self.agents.len() < DEEPEST) else { return };
        if !self.told.insert(session.to_owned()) {
            return;
        }
        self.agents.push(session.into());
        let (mut damages, mut any) = (Vec::new(), false);
        let read = others.each_message(session, &mut damages, &mut |_, _, parts| {
            any = true;
            for part in parts.iter().filter(|part| part["type"] == "tool") {
                self.tool(at, part);
            }
            true
        });
        self.agents.pop();
        let missing = || io::Error::new(io::ErrorKind::NotFound, "it is not there");
        if let Err(error) = read.and_then(|()| any.then_some(()).ok_or_else(missing)) {
            let message = format!("the session of sub-agent {session}: {error}");
            damages.push(Damage { line: None, offset: None, message });
        }
        self.out.damages.append(&mut damages);
    }

    /// A side of `summary.diffs` that is whole (up to 1.2).
    fn known_text(&mut self, turn: u32, diff: &Value, side: &str) {
        let Some(text) = diff[side].as_str() else { return };
        let (file, status) = (diff["file"].as_str().unwrap_or_default(), diff["status"].as_str());
        let absent = match side {
            "before" => status.map_or(text.is_empty(), |status| status == "added"),
            _ => status.map_or(text.is_empty(), |status| status == "deleted"),
        };
        let text =
            if absent { KnownTextSource::Absent } else { KnownTextSource::Kept(text.into()) };
        let path = self.path(file);
        self.out.events.push(LogEvent::KnownText(KnownText {
            turn,
            path,
            text,
            stamp: Stamp::default(),
        }));
    }

    fn path(&self, file: &str) -> String {
        match self.session.worktree.as_deref() {
            Some(root) if !file.starts_with('/') => {
                format!("{}/{file}", root.trim_end_matches('/'))
            }
            _ => file.to_owned(),
        }
    }

    /// Tells what is known only once all messages are there.
    pub(super) fn finish(mut self) {
        for at in 0..self.turns.len() {
            self.end_turn(at);
        }
        let is_reverted = |turn: &&Noted| matches!(turn, Noted::Told { reverted: true });
        let reverted = self.turns.iter().rev().take_while(is_reverted).count();
        if let Ok(turns @ 1..) = u32::try_from(reverted) {
            self.out.events.push(LogEvent::RolledBack { turns });
        }
    }

    /// Tells what is known of a turn by the end of it.
    fn end_turn(&mut self, at: usize) {
        let turn = number(at);
        let Some(noted @ Noted::Open(_)) = self.turns.get_mut(at) else { return };
        let Noted::Open(note) = std::mem::replace(noted, Noted::Told { reverted: false }) else {
            return;
        };
        *noted = Noted::Told { reverted: note.reverted };
        let mut shown = HashSet::new();
        for (nth, diff) in note.diffs.iter().enumerate() {
            let path = self.path(diff["file"].as_str().unwrap_or_default());
            if note.edited.contains(&path) {
                self.known_text(turn, diff, "after");
                shown.insert(path);
                continue;
            }
            self.out.events.push(LogEvent::Edit(Edit {
                turn,
                call_id: format!("{SNAPSHOT_TOOL}-{turn}-{nth}"),
                tool: SNAPSHOT_TOOL.to_owned(),
                path,
                outcome: EditOutcome::Applied,
                body: EditSource::Kept(Arc::new(snapshot_body(diff))),
                stamp: Stamp::default(),
            }));
        }
        // A write that was quicker than the first snapshot is in both trees, one outside of the work
        // tree in neither: then the trees do not show the turn.
        if note.first_snapshot.is_some() && note.edited.is_subset(&shown) {
            self.out.events.push(LogEvent::Trees {
                turn,
                before: note.first_snapshot,
                after: note.last_snapshot,
                git_dir: self.session.snapshots.clone(),
            });
        }
        if note.state != TurnState::Open {
            self.out.events.push(LogEvent::TurnEnd { turn, at: note.ended, state: note.state });
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// How a turn stands after an assistant message.
pub(super) fn state_after(message: &Value) -> TurnState {
    match (message["error"]["name"].as_str(), message["finish"].as_str()) {
        (Some("MessageAbortedError"), _) => TurnState::Interrupted,
        (Some(_), _) | (None, Some("length" | "content-filter" | "error")) => TurnState::Failed,
        // "unknown" is what a provider without reasons gives; the client then goes on.
        (None, Some("tool-calls" | "unknown") | None) => TurnState::Open,
        (None, Some(_)) => TurnState::Completed,
    }
}

/// A file of `summary.diffs` as an edit.
fn snapshot_body(diff: &Value) -> EditBody {
    let (before, after) = (diff["before"].as_str(), diff["after"].as_str());
    let status = diff["status"].as_str();
    let (Some(before), Some(after)) = (before, after) else {
        return part::whole(diff["patch"].as_str().unwrap_or_default(), status.unwrap_or_default());
    };
    // 1.0 gives no status; a missing file is an empty text there.
    let created = status.map_or(before.is_empty(), |status| status == "added");
    let deleted = status.map_or(after.is_empty(), |status| status == "deleted");
    if deleted {
        let before = Some(before.to_owned());
        return EditBody { action: EditAction::Delete, before, ..EditBody::default() };
    }
    EditBody {
        action: EditAction::Write { content: after.to_owned(), created: Some(created) },
        before: (!created).then(|| before.to_owned()),
        after: Some(after.to_owned()),
        ..EditBody::default()
    }
}

/// A session id as a person gives it: whole, or without its prefix.
pub(super) fn is_session(id: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_start_matches('#');
    id == wanted || word(&Value::from(wanted)).is_some() && id.strip_prefix("ses_") == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::transcript::Transcript;
    use serde_json::json;

    fn told(session: &SessionRow, messages: &[(&str, Value, Value)]) -> Transcript {
        let (mut out, mut told) = (Output::default(), Transcript::default());
        let mut teller = Teller::new(session, None, &mut out);
        for (id, message, parts) in messages {
            teller.message(id, message, parts.as_array().unwrap());
        }
        teller.finish();
        out.events.into_iter().for_each(|event| told.apply(event));
        told
    }

    fn session() -> SessionRow {
        SessionRow { id: "ses_a".into(), worktree: Some("/w".into()), ..SessionRow::default() }
    }

    fn user(diffs: &Value) -> Value {
        json!({"role": "user", "time": {"created": 5}, "summary": {"diffs": diffs}})
    }

    fn assistant(parent: &str, finish: &str) -> Value {
        json!({"role": "assistant", "parentID": parent, "finish": finish, "time": {"completed": 9}})
    }

    fn text(text: &str) -> Value {
        json!([{"type": "text", "text": text}])
    }

    fn edit(path: &str) -> Value {
        json!({"type": "tool", "tool": "edit", "callID": "c", "state": {"status": "completed",
            "input": {"filePath": path, "oldString": "x", "newString": "y"}}})
    }

    #[test]
    fn an_answer_may_come_when_later_turns_have_begun() {
        let prompts = ["one", "two", "three", "four"];
        let mut messages: Vec<_> = prompts
            .iter()
            .map(|prompt| (*prompt, user(&json!([{"file": "of a command"}])), text(prompt)))
            .collect();
        messages.push(("late", assistant("one", "stop"), json!([edit("/w/late")])));
        messages.push(("last", assistant("four", "stop"), json!([edit("/w/last")])));
        let told = told(&session(), &messages);
        let turns: Vec<_> = told
            .turns
            .iter()
            .map(|turn| (turn.state, turn.edits.iter().map(|edit| edit.path.as_str()).collect()))
            .collect();
        let broken_off = || (TurnState::Interrupted, vec!["/w/of a command"]);
        let first = (TurnState::Completed, vec!["/w/of a command", "/w/late"]);
        let last = (TurnState::Completed, vec!["/w/last", "/w/of a command"]);
        assert_eq!(turns, [first, broken_off(), broken_off(), last]);
    }

    #[test]
    fn a_turn_is_a_user_message_and_the_answers_to_it() {
        let told = told(
            &session(),
            &[
                ("m1", user(&json!([])), text("one")),
                ("m2", user(&json!([])), text("two")),
                ("m3", assistant("m1", "tool-calls"), json!([edit("/w/a")])),
                ("m4", assistant("m2", "stop"), json!([])),
                (
                    "m5",
                    json!({"role": "assistant", "parentID": "m1", "error": {"name": "MessageAbortedError"}}),
                    json!([]),
                ),
                ("m6", user(&json!([])), text("three")),
                (
                    "m7",
                    json!({"role": "assistant", "parentID": "m6", "error": {"name": "APIError"}}),
                    json!([]),
                ),
            ],
        );
        let turns: Vec<_> =
            told.turns.iter().map(|t| (t.prompt.as_str(), t.state, t.edits.len())).collect();
        assert_eq!(
            turns,
            [
                ("one", TurnState::Interrupted, 1),
                ("two", TurnState::Completed, 0),
                ("three", TurnState::Failed, 0)
            ]
        );
    }

    #[test]
    fn compaction_is_no_turn_and_the_clients_own_words_go_on_with_one() {
        let told = told(
            &session(),
            &[
                ("m1", user(&json!([])), text("one")),
                ("m2", user(&json!([])), json!([{"type": "compaction", "auto": true}])),
                (
                    "m3",
                    json!({"role": "assistant", "parentID": "m2", "summary": true, "finish": "stop"}),
                    json!([edit("/w/x")]),
                ),
                (
                    "m4",
                    user(&json!([])),
                    json!([{"type": "text", "text": "Continue", "synthetic": true}]),
                ),
                ("m5", assistant("m4", "stop"), json!([edit("/w/a")])),
            ],
        );
        assert_eq!(told.turns.len(), 1);
        let turn = &told.turns[0];
        assert_eq!(
            (turn.prompt.as_str(), turn.edits.len(), turn.state),
            ("one", 1, TurnState::Completed)
        );
    }

    #[test]
    fn what_the_snapshots_show_is_listed_once() {
        let step = |kind: &str, tree: &str| json!({"type": kind, "snapshot": tree});
        let diffs = json!([
            {"file": "a", "before": "x\n", "after": "z\n", "status": "modified"},
            {"file": "shell", "patch": "@@ -1,1 +1,1 @@\n-x\n+y\n", "status": "modified"},
            {"file": "gone", "before": "t", "after": "", "status": "deleted"},
        ]);
        let steps = json!([step("step-start", "t1"), edit("/w/a"), step("step-finish", "t2")]);
        let told = told(
            &session(),
            &[("m1", user(&diffs), text("p")), ("m2", assistant("m1", "stop"), steps)],
        );
        let turn = &told.turns[0];
        let edits: Vec<_> = turn.edits.iter().map(|e| (e.tool.as_str(), e.path.as_str())).collect();
        assert_eq!(
            edits,
            [("edit", "/w/a"), (SNAPSHOT_TOOL, "/w/shell"), (SNAPSHOT_TOOL, "/w/gone")]
        );
        let known: Vec<_> = turn.known_texts.iter().filter(|(_, k)| k.path == "/w/a").collect();
        assert_eq!((known.len(), known[0].0, known[1].0), (2, 0, 1));
        assert_eq!(
            (turn.tree_before.as_deref(), turn.tree_after.as_deref()),
            (Some("t1"), Some("t2"))
        );
    }

    #[test]
    fn trees_that_miss_an_edit_are_not_told() {
        let steps = json!([{"type": "step-start", "snapshot": "t1"}, edit("/w/a")]);
        let told = told(
            &session(),
            &[("m1", user(&json!([])), text("p")), ("m2", assistant("m1", "stop"), steps)],
        );
        assert_eq!(told.turns[0].tree_before, None);
    }

    #[test]
    fn reverted_messages_are_rolled_back() {
        let reverted = SessionRow { reverted_from: Some("m2".into()), ..session() };
        let messages =
            [("m1", user(&json!([])), text("one")), ("m2", user(&json!([])), text("two"))];
        let told = told(&reverted, &messages);
        let gone: Vec<_> = told.turns.iter().map(|turn| turn.rolled_back).collect();
        assert_eq!(gone, [false, true]);
    }

    #[test]
    fn commands_delegation_and_deliverables() {
        let parts = json!([
            {"type": "tool", "tool": "bash", "callID": "1", "state": {"status": "completed",
                "input": {"command": "make"}, "output": "ok", "metadata": {"exit": 0}}},
            {"type": "tool", "tool": "task", "callID": "2", "state": {"status": "completed", "input": {}}},
            {"type": "tool", "tool": "handback_present", "callID": "3", "state": {"status": "completed",
                "input": {"files": [{"path": "r.html"}]}}},
            {"type": "tool", "tool": "handback_present", "callID": "4", "state": {"status": "error",
                "input": {"files": [{"path": "lost.html"}]}}},
            {"type": "tool", "state": 7},
            3,
        ]);
        let told = told(
            &session(),
            &[("m1", user(&json!([])), text("p")), ("m2", assistant("m1", "stop"), parts)],
        );
        let turn = &told.turns[0];
        let ran: Vec<_> = turn
            .commands
            .iter()
            .map(|c| (c.call.command.as_str(), c.call.is_shell, c.exit_code))
            .collect();
        assert_eq!(ran, [("make", true, Some(0)), ("task", false, None)]);
        let files: Vec<_> = turn.presented.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(files, ["r.html"]);
    }
}
