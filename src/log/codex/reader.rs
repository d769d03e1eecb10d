//! Codex rollout rows → events, over all four generations of the format.
//!
//! A: bare response items. B: `{timestamp,type,payload}`. C: B with `patch_apply_end`. D: ordinals
//! and `item_completed` instead of most events. Rows name their turn where they can (`turn_id`):
//! late rows of an older turn stand behind newer turns.

use super::base::Base;
use super::body::item;
use super::call::ToolCall;
use super::calls::{Call, change_outcome};
use super::peek;
use super::turns::Turns;
use crate::log::loose::{owned, plain_text, values, word};
use crate::log::timestamp::iso_millis;
use crate::log::{LogReader, Output};
use crate::session::event::{Header, LogEvent, Place};
use crate::session::{Damage, TurnState};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Reads one rollout.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(super) struct CodexReader {
    pub(super) turns: Turns,
    pub(super) calls: HashMap<String, Call>,
    /// The session's own id; the first `session_meta` is the identity.
    session: Option<String>,
    directory: Option<String>,
    /// Generation D: items tell what calls did.
    pub(super) paginated: bool,
    /// A sub-agent's log begins with a copy of its parent's rows; these are below this number.
    own_ordinal: u64,
    /// When a log began that begins with its parent's rows, until its own begin.
    copied_at: Option<i64>,
    copying: bool,
    /// Turns told as inherited.
    told_inherited: u32,
    /// A user message that may be a prompt, if no event says so (generation A, some of B).
    candidate: Option<(String, Option<i64>)>,
    /// Prompts come as events or items: bare user messages are none.
    prompts_told: bool,
    /// The prompt that a bare user message was taken for; its event may still come.
    assumed: Option<String>,
    /// The turn id of the latest `turn_context`.
    context_turn: Option<String>,
    /// The log's own file.
    path: Option<PathBuf>,
    /// The rows are another file's: nothing can be read again from them.
    pub(super) foreign: bool,
}

/// One row's frame.
pub(super) struct Row<'a> {
    pub(super) place: Place,
    pub(super) at: Option<i64>,
    pub(super) value: &'a Value,
    /// It can be read again from its place: it is this file's, and alone in its line.
    pub(super) stands: bool,
}

impl LogReader for CodexReader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        if peek::tells_nothing(line, self.prompts_told && self.directory.is_some()) {
            return;
        }
        let rows = values(place, line, out);
        let stands = rows.len() == 1 && !self.foreign;
        for value in rows {
            let at = value["timestamp"].as_str().and_then(iso_millis);
            self.row(&Row { place, at, value: &value, stands }, out);
        }
    }

    fn caught_up(&mut self, out: &mut Output) {
        self.settle_candidate(out);
        if self.copying && self.told_inherited < self.turns.latest() {
            self.told_inherited = self.turns.latest();
            out.events.push(LogEvent::Inherited);
        }
    }
}

impl CodexReader {
    /// A reader of the log at this path.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }

    fn row(&mut self, row: &Row<'_>, out: &mut Output) {
        let ordinal = row.value["ordinal"].as_u64();
        if ordinal.is_some_and(|ordinal| ordinal < self.own_ordinal) {
            return;
        }
        let payload = item(row.value);
        match row.value["type"].as_str() {
            Some("session_meta") => self.session_meta(row, payload, out),
            Some("turn_context") => self.turn_context(payload),
            Some("event_msg") => self.event(row, payload, out),
            Some("response_item") => self.response_item(row, payload, out),
            None if row.value.get("instructions").is_some() => self.session_meta(row, payload, out),
            Some(_) if row.value.get("payload").is_some() => {}
            Some(dotted) if dotted.contains('.') => self.stream_row(row.place, row.value, out),
            Some(_) => self.response_item(row, row.value, out),
            None => {}
        }
    }

    fn session_meta(&mut self, row: &Row<'_>, meta: &Value, out: &mut Output) {
        if self.foreign {
            return;
        }
        if self.session.is_some() {
            // The parent's own first row: what follows is a copy of its log.
            self.copying = self.own_ordinal == 0 && self.turns.latest() == 0;
            self.copied_at = row.at;
            return;
        }
        self.session = Some(meta["id"].as_str().unwrap_or_default().to_owned());
        self.directory = owned(&meta["cwd"]);
        self.paginated = meta["history_mode"] == "paginated";
        let spawn = &meta["source"]["subagent"]["thread_spawn"];
        let parent =
            ["parent_thread_id", "forked_from_id"].iter().find_map(|key| owned(&meta[*key]));
        let created = meta["timestamp"].as_str().and_then(iso_millis).or(row.at);
        out.events.push(LogEvent::Header(Header {
            id: owned(&meta["id"]),
            cwd: self.directory.clone(),
            title: None,
            created_at: created,
            parent: parent.or_else(|| owned(&spawn["parent_thread_id"])),
            is_subagent: Some(meta["source"].get("subagent").is_some()),
            base_commit: owned(&meta["git"]["commit_hash"]),
            agent_version: owned(&meta["cli_version"]),
        }));
        self.own_ordinal = meta["subagent_history_start_ordinal"].as_u64().unwrap_or(0);
        if let Some(base) = Base::of(meta) {
            self.read_base(row.place, &base, out);
            if meta["forked_from_id"].is_string() && self.turns.latest() > 0 {
                out.events.push(LogEvent::Inherited);
            }
        }
    }

    /// Reads the rows before a segment or fork; where their file is not there, says so.
    fn read_base(&mut self, place: Place, base: &Base, out: &mut Output) {
        self.foreign = true;
        let missing = match self.path.clone() {
            Some(path) => base.read(&path, self, out).err(),
            None => Some(io::Error::from(io::ErrorKind::NotFound)),
        };
        self.foreign = false;
        if let Some(error) = missing {
            out.damages.push(Damage {
                line: Some(place.line),
                offset: Some(place.offset),
                message: format!("earlier turns stand in another file, {}: {error}", base.name),
            });
        }
    }

    fn turn_context(&mut self, context: &Value) {
        self.context_turn = owned(&context["turn_id"]);
        let turn = self.context_turn.as_deref().and_then(|id| self.turns.find(id));
        let turn = turn.unwrap_or_else(|| self.turns.latest());
        let directory = owned(&context["cwd"]).filter(|own| Some(own) != self.directory.as_ref());
        if let Some(note) = self.turns.note(turn) {
            note.directory = directory;
        }
    }

    fn event(&mut self, row: &Row<'_>, event: &Value, out: &mut Output) {
        let id = word(&event["turn_id"]);
        match event["type"].as_str() {
            Some("task_started" | "turn_started") => {
                self.prompts_told = true;
                self.candidate = None;
                match (self.turns.unnamed(), id) {
                    (Some(turn), Some(id)) if self.turns.find(id).is_none() => {
                        self.turns.name(turn, id);
                    }
                    _ if id.is_some_and(|id| self.turns.find(id).is_some()) => {}
                    _ => {
                        self.begin(id, row.at, out);
                    }
                }
            }
            Some("user_message") => {
                self.user_message(id, plain_text(&event["message"]), row.at, out);
            }
            Some("task_complete" | "turn_complete") => {
                let turn = self.turn(id, row.at, out);
                let failed = self.turns.note(turn).is_some_and(|note| note.failed);
                let failed = failed || !event["error"].is_null();
                self.end(
                    turn,
                    row.at,
                    if failed { TurnState::Failed } else { TurnState::Completed },
                    out,
                );
            }
            Some("turn_aborted") => {
                let turn = self.turn(id, row.at, out);
                let ended = event["reason"] == "review_ended";
                let state = if ended { TurnState::Completed } else { TurnState::Interrupted };
                self.end(turn, row.at, state, out);
            }
            Some("error") if self.turns.running().is_some() => {
                let turn = self.turn(id, row.at, out);
                if let Some(note) = self.turns.note(turn) {
                    note.failed = true;
                }
                out.events.push(LogEvent::TurnEnd { turn, at: row.at, state: TurnState::Failed });
            }
            Some("thread_rolled_back") => {
                let turns = self.turns.roll_back(event["num_turns"].as_u64().unwrap_or(0));
                out.events.push(LogEvent::RolledBack { turns });
            }
            Some("thread_name_updated") => out.events.push(LogEvent::Header(Header {
                title: owned(&event["thread_name"]),
                ..Header::default()
            })),
            Some("patch_apply_end") => {
                let call_id = event["call_id"].as_str().unwrap_or_default();
                self.file_change(row, (call_id, id), change_outcome(event), out);
            }
            Some("collab_agent_spawn_end") => {
                self.agent_named(row, (&event["call_id"], id), &event["new_thread_id"], out);
            }
            Some("exec_command_end") => self.command_item(row, ("call_id", id), event, out),
            Some("mcp_tool_call_end") => {
                let call = &event["invocation"];
                let ok = event["result"].get("Ok").is_some_and(|ok| ok["isError"] != true);
                self.mcp_item(row, (&event["call_id"], id), call, ok, out);
            }
            Some("item_completed") => self.item_completed(row, id, &event["item"], out),
            _ => {}
        }
    }

    fn item_completed(&mut self, row: &Row<'_>, id: Option<&str>, done: &Value, out: &mut Output) {
        match done["type"].as_str() {
            Some("UserMessage") => self.user_message(id, plain_text(&done["content"]), row.at, out),
            Some("FileChange") => {
                let call_id = done["id"].as_str().unwrap_or_default();
                self.file_change(row, (call_id, id), change_outcome(done), out);
            }
            Some("SubAgentActivity") if done["kind"] == "started" => {
                self.agent_named(row, (&done["id"], id), &done["agent_thread_id"], out);
            }
            Some("CollabAgentToolCall")
                if word(&done["tool"]).is_some_and(|tool| tool.starts_with("spawn")) =>
            {
                self.agent_named(row, (&done["id"], id), &done["receiver_thread_ids"][0], out);
            }
            Some("CommandExecution") => self.command_item(row, ("id", id), done, out),
            Some("McpToolCall") => {
                let ok = done["status"] == "completed" && done["error"].is_null();
                self.mcp_item(row, (&done["id"], id), done, ok, out);
            }
            _ => {}
        }
    }

    fn response_item(&mut self, row: &Row<'_>, payload: &Value, out: &mut Output) {
        match payload["type"].as_str() {
            Some("message") if payload["role"] == "user" => self.bare_message(row, payload, out),
            Some("message") => self.settle_candidate(out),
            Some("function_call" | "custom_tool_call" | "local_shell_call") => {
                self.settle_candidate(out);
                self.spawn(row, payload, out);
                if let Some(call) = ToolCall::read(payload) {
                    self.call(row, payload, call, out);
                }
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                self.output(row, payload, out);
            }
            Some("ghost_snapshot") => {
                // The id of a commit that nothing refers to; its tree is the work tree before.
                let before = owned(&payload["ghost_commit"]["id"]);
                let is_id = |id: &String| id.bytes().all(|byte| byte.is_ascii_hexdigit());
                let turn = self.turns.latest();
                if let Some(before) = before.filter(is_id).filter(|_| turn > 0) {
                    let (after, git_dir) = (None, None);
                    out.events.push(LogEvent::Trees { turn, before: Some(before), after, git_dir });
                }
            }
            // A sub-agent's task comes from its parent.
            Some("agent_message") if self.own_ordinal > 0 => {
                let turn = self.turns.latest();
                if self
                    .turns
                    .note(turn)
                    .is_some_and(|note| !std::mem::replace(&mut note.prompted, true))
                {
                    out.events
                        .push(LogEvent::Prompt { turn, text: plain_text(&payload["content"]) });
                }
            }
            _ => {}
        }
    }

    fn user_message(&mut self, id: Option<&str>, text: String, at: Option<i64>, out: &mut Output) {
        self.prompts_told = true;
        self.candidate = None;
        if self.assumed.take().is_some_and(|assumed| assumed == text) {
            return;
        }
        let running = self.turns.running();
        let named =
            running.is_some_and(|turn| self.turns.note(turn).is_some_and(|n| n.id.is_some()));
        let turn = match id {
            Some(_) => self.turn(id, at, out),
            // Where turns have ids, a message while one runs steers it.
            None if named => self.turns.latest(),
            None => {
                self.end_unnamed(at, out);
                self.begin(None, at, out)
            }
        };
        if let Some(note) = self.turns.note(turn) {
            note.prompted = true;
        }
        out.events.push(LogEvent::Prompt { turn, text });
    }

    fn bare_message(&mut self, row: &Row<'_>, payload: &Value, out: &mut Output) {
        let text = plain_text(&payload["content"]);
        if let Some(rest) = text.strip_prefix("<environment_context>") {
            if self.directory.is_none() {
                let cwd = rest.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>"));
                self.directory = cwd.map(|(cwd, _)| cwd.to_owned());
            }
        } else if text.starts_with("<user_shell_command>") {
            self.user_command(row, &text, out);
        } else if !self.prompts_told && !is_injected(&text) {
            self.candidate = Some((text, row.at));
        }
    }

    /// A user message that no event has claimed is a prompt.
    fn settle_candidate(&mut self, out: &mut Output) {
        let Some((text, at)) = self.candidate.take() else { return };
        self.end_unnamed(at, out);
        self.assumed = Some(text.clone());
        let id = self.context_turn.take().filter(|id| self.turns.find(id).is_none());
        let turn = self.begin(id.as_deref(), at, out);
        if let Some(note) = self.turns.note(turn) {
            note.prompted = true;
        }
        out.events.push(LogEvent::Prompt { turn, text });
    }

    /// The turn of an id; where there is none, the one that runs.
    pub(super) fn turn(&mut self, id: Option<&str>, at: Option<i64>, out: &mut Output) -> u32 {
        match id {
            Some(id) => match (self.turns.find(id), self.turns.unnamed()) {
                (Some(turn), _) => turn,
                (None, Some(turn)) => {
                    self.turns.name(turn, id);
                    turn
                }
                (None, None) => self.begin(Some(id), at, out),
            },
            None if self.turns.latest() == 0 => self.begin(None, at, out),
            None => self.turns.latest(),
        }
    }

    /// Begins a turn; the first one of a fork's own closes what came from the parent.
    pub(super) fn begin(&mut self, id: Option<&str>, at: Option<i64>, out: &mut Output) -> u32 {
        if self.copying && !self.is_copied(id, at) {
            self.copying = false;
            out.events.push(LogEvent::Inherited);
        }
        let turn = self.turns.begin(id);
        if let (None, Some(cwd)) = (id, self.directory.clone().filter(|_| turn == 1)) {
            // The oldest logs have no header for it: the first message tells.
            out.events.push(LogEvent::Header(Header { cwd: Some(cwd), ..Header::default() }));
        }
        out.events.push(LogEvent::TurnStart { turn, at });
        turn
    }

    /// Copied rows bear the time of the copy, all within a moment; ids (UUID version 7) begin with
    /// the time at which they were made, so that a parent's are lower than the fork's own id.
    fn is_copied(&self, id: Option<&str>, at: Option<i64>) -> bool {
        let made_in_order = |id: &str| id.len() == 36 && id.as_bytes().get(14) == Some(&b'7');
        match (id, self.session.as_deref()) {
            (Some(id), Some(own)) if made_in_order(id) && made_in_order(own) => id < own,
            _ => match (at, self.copied_at) {
                (Some(at), Some(copied)) => at - copied < 1000,
                _ => true,
            },
        }
    }

    /// Where turns have no end of their own, the next prompt ends them.
    fn end_unnamed(&mut self, at: Option<i64>, out: &mut Output) {
        if let Some(turn) = self.turns.running() {
            self.end(turn, at, TurnState::Completed, out);
        }
    }

    pub(super) fn end(&mut self, turn: u32, at: Option<i64>, state: TurnState, out: &mut Output) {
        if let Some(note) = self.turns.note(turn) {
            note.ended = true;
        }
        out.events.push(LogEvent::TurnEnd { turn, at, state });
    }
}

/// What Codex itself writes as user messages for the model.
fn is_injected(text: &str) -> bool {
    const HEADS: [&str; 12] = [
        "<environment_context>",
        "<user_instructions>",
        "<user_shell_command>",
        "<turn_aborted>",
        "<subagent_notification>",
        "<multi_agent_mode>",
        "<INSTRUCTIONS>",
        "<permissions",
        "<skill",
        "<collaboration_mode>",
        "# AGENTS.md",
        "Another language model started to solve this problem",
    ];
    let text = text.trim_start();
    text.is_empty() || HEADS.iter().any(|head| text.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::EditOutcome::{self, Applied, Denied, Failed, Pending};
    use crate::session::event::EditSource;
    use crate::session::transcript::{Transcript, TurnRecord};
    use serde_json::json;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch";
    const OWN: &str = "01a22f07-b482-71d0-bdf9-c4ecc170f4c0";

    fn read(rows: &[Value]) -> Transcript {
        let (mut reader, mut out, mut told) = Default::default();
        feed(&mut reader, &mut out, &mut told, rows);
        assert_eq!(out.damages, []);
        told
    }

    fn feed(reader: &mut CodexReader, out: &mut Output, told: &mut Transcript, rows: &[Value]) {
        for (number, row) in rows.iter().enumerate() {
            let place = Place { line: number as u64 + 1, ..Place::default() };
            reader.line(place, row.to_string().as_bytes(), out);
        }
        reader.caught_up(out);
        out.events.drain(..).for_each(|event| told.apply(event));
    }

    fn event(payload: &Value) -> Value {
        json!({"timestamp": "2026-12-01T00:00:00Z", "type": "event_msg", "payload": payload})
    }

    fn response(payload: &Value) -> Value {
        json!({"timestamp": "2026-12-01T00:00:00Z", "type": "response_item", "payload": payload})
    }

    fn started(id: &str) -> Value {
        event(&json!({"type": "task_started", "turn_id": id}))
    }

    fn prompt(text: &str) -> Value {
        event(&json!({"type": "user_message", "message": text}))
    }

    fn user(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    fn patch(id: &str) -> Value {
        response(
            &json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": id, "input": PATCH}),
        )
    }

    fn output(id: &str, text: &str) -> Value {
        response(&json!({"type": "custom_tool_call_output", "call_id": id, "output": text}))
    }

    fn outcomes(turn: &TurnRecord) -> Vec<EditOutcome> {
        turn.edits.iter().map(|edit| edit.outcome).collect()
    }

    #[test]
    fn the_oldest_logs_have_bare_items_and_no_turn_ends() {
        let told = read(&[
            json!({"id": "s", "timestamp": "2026-12-01T00:00:00Z", "instructions": null,
                "git": {"commit_hash": "abc"}}),
            json!({"record_type": "state"}),
            user("<environment_context>\n<cwd>/w</cwd></environment_context>"),
            user("<user_instructions>be kind</user_instructions>"),
            user("first"),
            json!({"type": "message", "role": "assistant", "content": []}),
            json!({"type": "function_call", "name": "shell", "call_id": "c",
                "arguments": json!({"command": ["bash", "-lc", format!("apply_patch <<'E'\n{PATCH}\nE")]}).to_string()}),
            json!({"type": "function_call_output", "call_id": "c",
                "output": "{\"output\":\"Success. Updated the following files:\\nM a.txt\\n\",\"metadata\":{\"exit_code\":0}}"}),
            user("second"),
        ]);
        assert_eq!(told.header.base_commit.as_deref(), Some("abc"));
        assert_eq!(told.header.cwd.as_deref(), Some("/w"));
        let prompts: Vec<_> = told.turns.iter().map(|t| (t.prompt.as_str(), t.state)).collect();
        assert_eq!(prompts, [("first", TurnState::Completed), ("second", TurnState::Open)]);
        assert_eq!(outcomes(&told.turns[0]), [Applied]);
        assert!(told.turns[0].commands.is_empty(), "no shell ran");
    }

    #[test]
    fn turns_have_ids_and_a_message_while_one_runs_steers_it() {
        let told = read(&[
            started("a"),
            response(&user("one")),
            prompt("one"),
            prompt("steer"),
            event(&json!({"type": "task_complete", "turn_id": "a"})),
            started("b"),
            event(&json!({"type": "turn_aborted", "turn_id": "b", "reason": "interrupted"})),
            response(&user("<turn_aborted>")),
            started("c"),
            event(&json!({"type": "task_complete", "turn_id": "c", "error": {"message": "x"}})),
        ]);
        let states: Vec<_> = told.turns.iter().map(|t| (t.prompt.as_str(), t.state)).collect();
        assert_eq!(
            states,
            [("one", TurnState::Completed), ("", TurnState::Interrupted), ("", TurnState::Failed)]
        );
    }

    #[test]
    fn a_prompt_before_its_start_is_of_the_same_turn() {
        let told = read(&[prompt("one"), started("a"), prompt("steer")]);
        assert_eq!(told.turns.len(), 1);
    }

    #[test]
    fn only_what_its_result_says_was_applied_is_applied() {
        let told = read(&[
            started("a"),
            patch("ok"),
            output("ok", "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM a.txt\n"),
            patch("bad"),
            output("bad", "apply_patch verification failed: no such lines"),
            patch("no"),
            event(
                &json!({"type": "patch_apply_end", "call_id": "no", "turn_id": "a", "success": false,
                "status": "declined", "changes": {"/w/a.txt": {"type": "delete", "content": ""}}}),
            ),
            output("no", "Exit code: 0\nOutput:\nSuccess. Updated the following files:"),
            patch("late"),
        ]);
        assert_eq!(outcomes(&told.turns[0]), [Applied, Failed, Denied, Pending]);
    }

    #[test]
    fn a_program_edits_through_items_that_match_no_call() {
        let told = read(&[
            json!({"type": "session_meta", "payload": {"id": OWN, "cwd": "/w", "history_mode": "paginated"}}),
            started("a"),
            event(&json!({"type": "item_completed", "turn_id": "a",
                "item": {"type": "UserMessage", "content": [{"type": "text", "text": "go"}]}})),
            response(&json!({"type": "custom_tool_call", "name": "exec", "call_id": "x",
                "input": format!("await tools.apply_patch({PATCH:?})")})),
            event(&json!({"type": "item_completed", "turn_id": "a", "item": {"type": "FileChange",
                "id": "exec-1", "status": "completed", "changes": {
                    "/w/a.txt": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n"},
                    "/w/b.txt": {"type": "update", "unified_diff": "", "move_path": "/w/c.txt"}}}})),
        ]);
        let turn = &told.turns[0];
        let paths: Vec<_> = turn.edits.iter().map(|edit| edit.path.as_str()).collect();
        assert_eq!((turn.prompt.as_str(), paths), ("go", vec!["/w/a.txt", "/w/c.txt"]));
        assert!(turn.commands.is_empty());
    }

    #[test]
    fn a_late_row_belongs_to_the_turn_it_names() {
        let exec = |id: &str| {
            response(&json!({"type": "function_call", "name": "exec_command", "call_id": id,
                "arguments": "{\"cmd\":\"sleep 9\"}"}))
        };
        let told = read(&[
            started("a"),
            exec("c"),
            output("c", "aborted by user"),
            event(&json!({"type": "turn_aborted", "turn_id": "a"})),
            started("b"),
            event(
                &json!({"type": "item_completed", "turn_id": "a", "item": {"type": "CommandExecution",
                "id": "c", "command": ["bash", "-lc", "sleep 9"], "exit_code": 137}}),
            ),
            event(
                &json!({"type": "item_completed", "turn_id": "b", "item": {"type": "CommandExecution",
                "id": "user", "command": ["bash", "-lc", "echo hi"], "exit_code": 0}}),
            ),
        ]);
        assert_eq!(told.turns[0].commands[0].exit_code, Some(137));
        assert_eq!(told.turns[1].commands[0].call.command, "echo hi");
        assert_eq!(told.turns[1].commands.len(), 1);
    }

    #[test]
    fn a_users_own_command_is_a_command_of_its_turn() {
        let told = read(&[
            json!({"type": "session_meta", "payload": {"id": OWN, "cwd": "/w"}}),
            started("a"),
            response(&user(
                "<user_shell_command>\n<command>\nmake\n</command>\n<result>\nExit code: 2\n</result>",
            )),
        ]);
        let command = &told.turns[0].commands[0];
        assert_eq!((command.call.command.as_str(), command.exit_code), ("make", Some(2)));
        assert_eq!(told.turns[0].prompt, "");
    }

    #[test]
    fn a_roll_back_takes_prompts_and_leaves_files() {
        let told = read(&[
            started("a"),
            prompt("one"),
            started("b"),
            prompt("two"),
            patch("p"),
            output("p", "Done!"),
            started("c"),
            event(&json!({"type": "thread_rolled_back", "num_turns": 1})),
        ]);
        let gone: Vec<_> = told.turns.iter().map(|turn| turn.rolled_back).collect();
        assert_eq!(gone, [false, true, true], "the turn without a prompt goes with it");
        assert_eq!(outcomes(&told.turns[1]), [Applied]);
    }

    #[test]
    fn a_fork_inherits_the_copied_turns_and_the_first_header_is_its_own() {
        let rows = [
            json!({"type": "session_meta", "timestamp": "2026-12-01T00:00:00Z",
                "payload": {"id": OWN, "cwd": "/fork", "forked_from_id": "p"}}),
            json!({"type": "session_meta", "timestamp": "2026-12-01T00:00:00Z",
                "payload": {"id": "p", "cwd": "/parent"}}),
            started("01a22f07-8153-7073-86f2-7d951f4f0253"),
            prompt("theirs"),
            started("01a22f07-b49c-7e30-8f0f-c42683a4ab87"),
            prompt("own"),
        ];
        let told = read(&rows);
        let inherited: Vec<_> = told.turns.iter().map(|turn| turn.inherited).collect();
        assert_eq!(inherited, [true, false]);
        assert_eq!(told.header.cwd.as_deref(), Some("/fork"));
        assert_eq!(told.header.parent.as_deref(), Some("p"));
        assert!(read(&rows[..4]).turns[0].inherited, "a fork without a turn of its own yet");
    }

    #[test]
    fn a_forks_copied_turns_without_ids_are_told_by_their_moment() {
        let at = |time: &str, payload: Value| json!({"timestamp": time, "type": "event_msg", "payload": payload});
        let meta = |id: &str| {
            json!({"type": "session_meta", "timestamp": "2026-12-01T00:00:00.000Z",
            "payload": {"id": id}})
        };
        let told = read(&[
            meta("own"),
            meta("parent"),
            at("2026-12-01T00:00:00.003Z", json!({"type": "user_message", "message": "theirs"})),
            at("2026-12-01T00:00:09.000Z", json!({"type": "user_message", "message": "own"})),
        ]);
        let turns: Vec<_> = told.turns.iter().map(|t| (t.prompt.as_str(), t.inherited)).collect();
        assert_eq!(turns, [("theirs", true), ("own", false)]);
    }

    #[test]
    fn a_sub_agents_copy_of_its_parent_is_skipped_and_its_task_is_its_prompt() {
        let told = read(&[
            json!({"type": "session_meta", "ordinal": 0, "payload": {"id": OWN,
                "parent_thread_id": "p", "subagent_history_start_ordinal": 3,
                "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}}),
            json!({"type": "session_meta", "ordinal": 1, "payload": {"id": "p"}}),
            json!({"type": "event_msg", "ordinal": 2, "payload": {"type": "task_started", "turn_id": "x"}}),
            json!({"type": "event_msg", "ordinal": 3, "payload": {"type": "task_started", "turn_id": "y"}}),
            json!({"type": "response_item", "ordinal": 4, "payload": {"type": "agent_message",
                "content": [{"type": "input_text", "text": "task"}]}}),
        ]);
        let turns: Vec<_> = told.turns.iter().map(|t| (t.prompt.as_str(), t.inherited)).collect();
        assert_eq!(turns, [("task", false)]);
        assert_eq!(told.header.is_subagent, Some(true));
    }

    #[test]
    fn a_segment_says_where_its_earlier_turns_are() {
        let (mut reader, mut out) = (CodexReader::default(), Output::default());
        let row = json!({"type": "session_meta", "ordinal": 149, "payload":
            {"id": OWN, "history_base": {"thread_id": "base-thread"}}});
        reader.line(Place { line: 1, ..Place::default() }, row.to_string().as_bytes(), &mut out);
        assert!(out.damages[0].message.contains("base-thread"));
    }

    #[test]
    fn a_prompt_that_was_read_before_its_event_counts_once() {
        let (mut reader, mut out, mut told) = Default::default();
        feed(&mut reader, &mut out, &mut told, &[response(&user("one"))]);
        assert_eq!(told.turns.len(), 1);
        feed(&mut reader, &mut out, &mut told, &[prompt("one"), response(&user("two"))]);
        feed(&mut reader, &mut out, &mut told, &[prompt("two")]);
        let prompts: Vec<_> = told.turns.iter().map(|turn| turn.prompt.as_str()).collect();
        assert_eq!(prompts, ["one", "two"]);
    }

    #[test]
    fn glued_rows_keep_their_texts() {
        let (mut reader, mut out, mut told) =
            (CodexReader::default(), Output::default(), Transcript::default());
        let line = format!("{}{}{}", started("a"), patch("p"), patch("q"));
        reader.line(Place::default(), line.as_bytes(), &mut out);
        out.events.into_iter().for_each(|event| told.apply(event));
        assert_eq!(told.turns[0].edits.len(), 2);
        for edit in &told.turns[0].edits {
            assert!(matches!(&edit.body, EditSource::Kept(body) if body.hunks.len() == 1));
        }
    }

    #[test]
    fn compaction_repeats_no_prompt_and_deliverables_count_once() {
        let arguments = json!({"files": [{"path": "r.html", "description": "d"}]});
        let told = read(&[
            started("a"),
            prompt("one"),
            json!({"type": "compacted", "payload": {"message": "m", "replacement_history": [user("zero")]}}),
            response(
                &json!({"type": "function_call", "name": "mcp__handback__present", "call_id": "c",
                "arguments": arguments.to_string()}),
            ),
            event(
                &json!({"type": "mcp_tool_call_end", "call_id": "c", "turn_id": "a", "invocation":
                {"server": "handback", "tool": "present", "arguments": arguments},
                "result": {"Ok": {"content": [], "isError": false}}}),
            ),
            output("c", "ok"),
            response(&json!({"type": "function_call", "name": "handback__present", "call_id": "d",
                "arguments": json!({"files": ["lost.html"]}).to_string()})),
            output("d", "{\"content\":\"no such file\",\"success\":false}"),
        ]);
        let turn = &told.turns[0];
        assert_eq!(turn.prompt, "one");
        let files: Vec<_> = turn.presented.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(files, ["r.html"]);
    }

    #[test]
    fn the_directory_of_a_turn_places_its_relative_paths() {
        let told = read(&[
            json!({"type": "session_meta", "payload": {"id": OWN, "cwd": "/w"}}),
            started("a"),
            json!({"type": "turn_context", "payload": {"turn_id": "a", "cwd": "/w/sub"}}),
            patch("p"),
            started("b"),
            json!({"type": "turn_context", "payload": {"turn_id": "b", "cwd": "/w"}}),
            patch("q"),
        ]);
        let paths: Vec<_> = told.turns.iter().map(|turn| turn.edits[0].path.as_str()).collect();
        assert_eq!(paths, ["/w/sub/a.txt", "a.txt"]);
    }

    #[test]
    fn the_machine_readable_output_names_files() {
        let told = read(&[
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "turn.started"}),
            json!({"type": "item.started", "item": {"id": "1", "type": "file_change",
                "changes": [{"path": "/w/a", "kind": "add"}], "status": "in_progress"}}),
            json!({"type": "item.completed", "item": {"id": "1", "type": "file_change",
                "changes": [{"path": "/w/a", "kind": "add"}], "status": "completed"}}),
            json!({"type": "turn.failed", "error": {}}),
        ]);
        assert_eq!(told.turns[0].edits.len(), 1);
        assert_eq!(told.turns[0].state, TurnState::Failed);
    }

    #[test]
    fn values_of_another_kind_are_passed_over() {
        let (mut reader, mut out) = (CodexReader::default(), Output::default());
        for row in [
            json!({"type": "event_msg", "payload": 7}),
            json!({"type": 7, "payload": {"type": []}}),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": 3, "arguments": [1], "call_id": {}}}),
            json!({"type": "event_msg", "payload": {"type": "item_completed", "item": "x"}}),
            json!({"type": "event_msg", "payload": {"type": "patch_apply_end", "changes": [1]}}),
            json!({"type": "session_meta", "payload": null}),
            json!([1, 2]),
            json!("text"),
        ] {
            reader.line(Place::default(), row.to_string().as_bytes(), &mut out);
        }
        reader.line(Place::default(), b"\xff\xfe{", &mut out);
        reader.line(Place::default(), b"", &mut out);
        assert_eq!(out.damages.len(), 2, "not UTF-8, and not JSON");
    }
}
