//! Saved traffic of the Agent Client Protocol → events.
//!
//! A turn is a `session/prompt` request until its response. A call's edits are told when it ends:
//! what a permission shows is only a wish. `session/load` repeats a history as updates; each user
//! message in it begins a turn.

use super::message::{Message, Requests};
use super::tool::ToolState;
use crate::log::loose::{owned, plain_text, values};
use crate::log::present::is_present;
use crate::log::{LogReader, Output};
use crate::session::event::{
    Command, Edit, EditOutcome, EditSource, Header, KnownText, KnownTextSource, LogEvent, Place,
    Stamp,
};
use crate::session::{CommandOutcome, TurnState};
use serde_json::Value;
use std::collections::HashMap;

/// Reads one traffic.
#[derive(Default)]
pub(super) struct AcpReader {
    turn: u32,
    /// The latest turn has no end yet.
    running: bool,
    requests: Requests<Request>,
    calls: HashMap<String, ToolState>,
    /// The calls of the running turn in order.
    order: Vec<String>,
    session: Option<String>,
    /// A user message that is being repeated.
    repeated: Option<String>,
}

/// What is remembered of a request.
enum Request {
    Session,
    Load,
    Prompt(u32),
    Permission {
        call: String,
        refusing: Vec<String>,
    },
    Write {
        call: Option<String>,
        path: String,
        place: Place,
    },
    /// A whole file is asked for.
    Read {
        path: String,
    },
    Other,
}

impl LogReader for AcpReader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        for value in values(place, line, out) {
            if let Some(message) = Message::of(value) {
                self.message(place, &message, out);
            }
        }
    }
}

impl AcpReader {
    fn message(&mut self, place: Place, message: &Message, out: &mut Output) {
        let (method, params) = (message.body["method"].as_str(), &message.body["params"]);
        match method {
            None => self.response(place, message, out),
            Some("session/update") => self.update(place, message.at, &params["update"], out),
            Some("session/prompt") => {
                self.identify(params, out);
                let turn = self.begin(message.at, out);
                out.events.push(LogEvent::Prompt { turn, text: plain_text(&params["prompt"]) });
                self.requests.open(message, Request::Prompt(turn));
            }
            Some("session/new" | "session/load" | "session/resume" | "session/fork") => {
                let cwd = owned(&params["cwd"]);
                out.events.push(LogEvent::Header(Header { cwd, ..Header::default() }));
                self.identify(params, out);
                let load = method == Some("session/load");
                self.requests.open(message, if load { Request::Load } else { Request::Session });
            }
            Some("session/request_permission") => {
                let call = owned(&params["toolCall"]["toolCallId"]).unwrap_or_default();
                self.call(&call).merge(&params["toolCall"], place);
                let options = params["options"].as_array().into_iter().flatten();
                let refusing = options
                    .filter(|option| {
                        option["kind"].as_str().is_some_and(|kind| kind.starts_with("reject"))
                    })
                    .filter_map(|option| owned(&option["optionId"]))
                    .collect();
                self.requests.open(message, Request::Permission { call, refusing });
            }
            Some("fs/write_text_file") => {
                let path = owned(&params["path"]).unwrap_or_default();
                let call = self.waiting_for(&path);
                self.requests.open(message, Request::Write { call, path, place });
            }
            Some("fs/read_text_file") if params["line"].is_null() && params["limit"].is_null() => {
                let path = owned(&params["path"]).unwrap_or_default();
                self.requests.open(message, Request::Read { path });
            }
            Some(_) if !message.body["id"].is_null() => self.requests.open(message, Request::Other),
            Some(_) => {}
        }
    }

    /// The first session named is the one; its agent may say its version.
    fn identify(&mut self, named: &Value, out: &mut Output) {
        if let (None, Some(id)) = (&self.session, owned(&named["sessionId"])) {
            out.events.push(LogEvent::Header(Header { id: Some(id.clone()), ..Header::default() }));
            self.session = Some(id);
        }
    }

    fn response(&mut self, place: Place, message: &Message, out: &mut Output) {
        let (result, error) = (&message.body["result"], &message.body["error"]);
        if let Some(version) = owned(&result["agentInfo"]["version"]) {
            let agent_version = Some(version);
            out.events.push(LogEvent::Header(Header { agent_version, ..Header::default() }));
        }
        let (stopped, decided) = (!result["stopReason"].is_null(), !result["outcome"].is_null());
        let failed = !error.is_null();
        let request = self.requests.close(message, |request| match request {
            Request::Prompt(_) => stopped || failed,
            Request::Permission { .. } => decided || failed,
            _ => !stopped && !decided,
        });
        match request {
            Some(Request::Session) => self.identify(result, out),
            Some(Request::Load) => {
                self.end_repeat(out);
                self.end(TurnState::Completed, message.at, out);
            }
            Some(Request::Prompt(turn)) if turn == self.turn => {
                let state = match result["stopReason"].as_str() {
                    Some("end_turn") => TurnState::Completed,
                    Some("cancelled") => TurnState::Interrupted,
                    _ => TurnState::Failed,
                };
                self.end(state, message.at, out);
            }
            Some(Request::Permission { call, refusing }) => {
                let outcome = &result["outcome"];
                let option = outcome["optionId"].as_str();
                let refused = outcome["outcome"] == "cancelled"
                    || option.is_some_and(|option| refusing.iter().any(|one| one == option));
                self.call(&call).refused = refused;
            }
            Some(Request::Write { call, path, place }) if !failed => {
                self.written(call, path, place, out);
            }
            Some(Request::Read { path }) if result["content"].is_string() && self.turn > 0 => {
                let text = KnownTextSource::InLog(place);
                out.events.push(LogEvent::KnownText(KnownText {
                    turn: self.turn,
                    path,
                    text,
                    stamp: Stamp::default(),
                }));
            }
            _ => {}
        }
    }

    /// A write through the client: part of a call, or an edit of its own.
    fn written(&mut self, call: Option<String>, path: String, place: Place, out: &mut Output) {
        if let Some(call) = call {
            self.call(&call).write_row = Some((place, path));
        } else if self.turn > 0 {
            out.events.push(LogEvent::Edit(Edit {
                turn: self.turn,
                call_id: format!("write-{}", place.line),
                tool: "fs/write_text_file".to_owned(),
                path,
                outcome: EditOutcome::Applied,
                body: EditSource::InLog { call: place, result: None },
                stamp: Stamp::default(),
            }));
        }
    }

    /// The running call that edits this file.
    fn waiting_for(&self, path: &str) -> Option<String> {
        let edits = |id: &&String| {
            self.calls.get(*id).is_some_and(|call| {
                !call.done
                    && (call.path.as_deref() == Some(path)
                        || call.diffs.iter().any(|diff| diff == path))
            })
        };
        self.order.iter().rev().find(edits).cloned()
    }

    fn call(&mut self, id: &str) -> &mut ToolState {
        let turn = self.turn;
        let call = self.calls.entry(id.to_owned()).or_default();
        // An id may come again in a later turn.
        if call.turn != turn {
            *call = ToolState { turn, ..ToolState::default() };
            self.order.push(id.to_owned());
        }
        call
    }

    fn update(&mut self, place: Place, at: Option<i64>, update: &Value, out: &mut Output) {
        let kind = update["sessionUpdate"].as_str();
        if kind == Some("user_message_chunk") {
            if self.requests.waits(|request| matches!(request, Request::Load)) {
                self.repeat(at, &plain_text(&update["content"]), out);
            }
            return;
        }
        self.end_repeat(out);
        match kind {
            Some("tool_call" | "tool_call_update") if self.turn > 0 => {
                let id = owned(&update["toolCallId"]).unwrap_or_default();
                self.call(&id).merge(update, place);
                let outcome = match update["status"].as_str() {
                    Some("completed") => Some(EditOutcome::Applied),
                    Some("failed") => Some(EditOutcome::Failed),
                    _ => None,
                };
                match outcome {
                    Some(outcome) => self.call_ended(&id, outcome, Some((place, update)), at, out),
                    None => self.tell_command(&id, out),
                }
            }
            Some("session_info_update") => {
                let title = owned(&update["title"]);
                out.events.push(LogEvent::Header(Header { title, ..Header::default() }));
            }
            _ => {}
        }
    }

    fn repeat(&mut self, at: Option<i64>, chunk: &str, out: &mut Output) {
        if let Some(text) = &mut self.repeated {
            text.push_str(chunk);
        } else {
            self.end(TurnState::Completed, at, out);
            self.begin(at, out);
            self.repeated = Some(chunk.to_owned());
        }
    }

    fn end_repeat(&mut self, out: &mut Output) {
        if let Some(text) = self.repeated.take() {
            out.events.push(LogEvent::Prompt { turn: self.turn, text });
        }
    }

    fn tell_command(&mut self, id: &str, out: &mut Output) {
        let call = self.call(id);
        if call.runs() && !call.told && call.command.is_some() {
            call.told = true;
            let command = call.command.clone().unwrap_or_default();
            let (turn, call_id) = (call.turn, id.to_owned());
            out.events.push(LogEvent::Command(Command {
                turn,
                call_id,
                command,
                is_shell: true,
                stamp: Stamp::default(),
            }));
        }
    }

    fn call_ended(
        &mut self,
        id: &str,
        outcome: EditOutcome,
        end: Option<(Place, &Value)>,
        at: Option<i64>,
        out: &mut Output,
    ) {
        let call = self.call(id);
        if std::mem::replace(&mut call.done, true) {
            return;
        }
        if call.runs() {
            let title = call.title.clone();
            call.command.get_or_insert(title);
        }
        self.tell_command(id, out);
        let call = self.call(id);
        let (turn, call_id) = (call.turn, || id.to_owned());
        // An agent may call a refused call completed: it has ended.
        let outcome = if call.refused { EditOutcome::Denied } else { outcome };
        if call.runs() {
            if let Some((place, update)) = end {
                let exit_code = exit_code(&update["rawOutput"]);
                let outcome = match exit_code {
                    Some(0) => CommandOutcome::Passed,
                    Some(_) => CommandOutcome::Failed,
                    None if outcome != EditOutcome::Applied => CommandOutcome::Failed,
                    None => CommandOutcome::Unknown,
                };
                let (result, output) = (Some(place), None);
                out.events.push(LogEvent::CommandSettled {
                    turn,
                    call_id: call_id(),
                    exit_code,
                    outcome,
                    result,
                    output,
                });
            }
            return;
        }
        let result = end.map(|(place, _)| place);
        let edited = call.edited();
        if let Some(row) = call.row().or(result).filter(|_| !edited.is_empty()) {
            for path in edited {
                out.events.push(LogEvent::Edit(Edit {
                    turn,
                    call_id: call_id(),
                    tool: call.title.clone(),
                    path,
                    outcome,
                    body: EditSource::InLog { call: row, result },
                    stamp: Stamp::default(),
                }));
            }
            // What the client wrote for it is the whole file after it.
            let written = call.write_row.take().filter(|_| outcome == EditOutcome::Applied);
            if let Some((place, path)) = written {
                let text = KnownTextSource::InLog(place);
                out.events.push(LogEvent::KnownText(KnownText {
                    turn,
                    path,
                    text,
                    stamp: Stamp::default(),
                }));
            }
        } else if is_present(&call.title)
            && outcome == EditOutcome::Applied
            && !call.files.is_empty()
        {
            let files = std::mem::take(&mut call.files);
            out.events.push(LogEvent::Presented { turn, call_id: call_id(), at, files });
        }
        if result.is_some() {
            out.events.push(LogEvent::ToolSettled { turn });
        }
    }

    fn begin(&mut self, at: Option<i64>, out: &mut Output) -> u32 {
        if self.running {
            // No response came to the prompt before.
            self.end(TurnState::Interrupted, None, out);
        }
        self.turn += 1;
        self.running = true;
        out.events.push(LogEvent::TurnStart { turn: self.turn, at });
        self.turn
    }

    fn end(&mut self, state: TurnState, at: Option<i64>, out: &mut Output) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        for id in std::mem::take(&mut self.order) {
            let call = self.call(&id);
            if !call.done {
                self.call_ended(&id, EditOutcome::Pending, None, at, out);
            }
        }
        self.order.clear();
        self.calls.clear();
        out.events.push(LogEvent::TurnEnd { turn: self.turn, at, state });
    }
}

fn exit_code(output: &Value) -> Option<i32> {
    let places = [&output["metadata"]["exit"], &output["exitCode"], &output["exit_code"]];
    places.iter().find_map(|code| code.as_i64()).and_then(|code| i32::try_from(code).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::transcript::Transcript;
    use serde_json::json;

    fn read(rows: &[Value]) -> Transcript {
        let (mut reader, mut out, mut told) =
            (AcpReader::default(), Output::default(), Transcript::default());
        for (number, row) in rows.iter().enumerate() {
            let place = Place { line: number as u64 + 1, ..Place::default() };
            reader.line(place, row.to_string().as_bytes(), &mut out);
        }
        reader.caught_up(&mut out);
        assert_eq!(out.damages, []);
        out.events.into_iter().for_each(|event| told.apply(event));
        told
    }

    fn prompt(id: u32, text: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params":
            {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}})
    }

    fn answer(id: u32, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn update(update: &Value) -> Value {
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
    }

    fn edit(id: &str, status: &str) -> Value {
        update(
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "kind": "edit", "status": status,
            "content": [{"type": "diff", "path": "/w/a", "oldText": "x", "newText": "y"}]}),
        )
    }

    fn permission(id: u32, call: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s",
            "toolCall": {"toolCallId": call, "kind": "edit",
                "content": [{"type": "diff", "path": "/w/a", "oldText": "x", "newText": "y"}]},
            "options": [{"optionId": "go", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]}})
    }

    #[test]
    fn a_turn_lasts_from_its_prompt_to_its_response() {
        let told = read(&[
            json!({"jsonrpc": "2.0", "id": 0, "method": "session/new", "params": {"cwd": "/w"}}),
            answer(0, &json!({"sessionId": "s"})),
            prompt(1, "one"),
            answer(1, &json!({"stopReason": "end_turn"})),
            prompt(2, "two"),
            answer(2, &json!({"stopReason": "cancelled"})),
            prompt(3, "three"),
            json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -1}}),
            prompt(4, "four"),
        ]);
        let turns: Vec<_> = told.turns.iter().map(|t| (t.prompt.as_str(), t.state)).collect();
        assert_eq!(
            turns,
            [
                ("one", TurnState::Completed),
                ("two", TurnState::Interrupted),
                ("three", TurnState::Failed),
                ("four", TurnState::Open)
            ]
        );
        assert_eq!(
            (told.header.id.as_deref(), told.header.cwd.as_deref()),
            (Some("s"), Some("/w"))
        );
    }

    #[test]
    fn a_wish_is_no_edit_until_its_call_completes() {
        let told = read(&[
            prompt(1, "p"),
            permission(1, "a"),
            answer(1, &json!({"outcome": {"outcome": "selected", "optionId": "go"}})),
            edit("a", "in_progress"),
            edit("a", "completed"),
            permission(2, "b"),
            answer(2, &json!({"outcome": {"outcome": "selected", "optionId": "no"}})),
            edit("b", "failed"),
            edit("c", "failed"),
            permission(5, "f"),
            answer(5, &json!({"outcome": {"outcome": "selected", "optionId": "no"}})),
            edit("f", "completed"),
            permission(3, "d"),
            answer(3, &json!({"outcome": {"outcome": "cancelled"}})),
            permission(4, "e"),
            answer(1, &json!({"stopReason": "end_turn"})),
        ]);
        let outcomes: Vec<_> =
            told.turns[0].edits.iter().map(|e| (e.call_id.as_str(), e.outcome)).collect();
        assert_eq!(
            outcomes,
            [
                ("a", EditOutcome::Applied),
                ("b", EditOutcome::Denied),
                ("c", EditOutcome::Failed),
                ("f", EditOutcome::Denied),
                ("d", EditOutcome::Denied),
                ("e", EditOutcome::Pending)
            ]
        );
    }

    #[test]
    fn writes_through_the_client_belong_to_their_call_or_stand_alone() {
        let write = |id: u32, path: &str| {
            json!({"jsonrpc": "2.0", "id": id, "method": "fs/write_text_file",
                "params": {"path": path, "content": "y"}})
        };
        let told = read(&[
            prompt(1, "p"),
            edit("a", "in_progress"),
            write(1, "/w/a"),
            answer(1, &json!({})),
            edit("a", "completed"),
            write(2, "/w/alone"),
            answer(2, &json!(null)),
            write(3, "/w/refused"),
            json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -1}}),
        ]);
        let turn = &told.turns[0];
        let paths: Vec<_> = turn.edits.iter().map(|e| e.path.as_str()).collect();
        assert_eq!(paths, ["/w/a", "/w/alone"]);
        assert_eq!((turn.known_texts[0].0, turn.known_texts[0].1.path.as_str()), (1, "/w/a"));
    }

    #[test]
    fn a_loaded_history_is_told_turn_by_turn() {
        let chunk = |text: &str| {
            update(
                &json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}),
            )
        };
        let told = read(&[
            json!({"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": {"sessionId": "s", "cwd": "/w"}}),
            chunk("first "),
            chunk("prompt"),
            edit("a", "completed"),
            chunk("second"),
            answer(1, &json!({})),
            prompt(2, "live"),
            chunk("echo"),
        ]);
        let turns: Vec<_> =
            told.turns.iter().map(|t| (t.prompt.as_str(), t.state, t.edits.len())).collect();
        assert_eq!(
            turns,
            [
                ("first prompt", TurnState::Completed, 1),
                ("second", TurnState::Completed, 0),
                ("live", TurnState::Open, 0)
            ]
        );
    }

    #[test]
    fn commands_and_deliverables_are_told_with_their_results() {
        let told = read(&[
            prompt(1, "p"),
            update(
                &json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "title": "bash",
                "rawInput": {"command": "make"}, "status": "in_progress"}),
            ),
            update(
                &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
                "rawOutput": {"metadata": {"exit": 2}}}),
            ),
            update(
                &json!({"sessionUpdate": "tool_call", "toolCallId": "p", "title": "handback_present",
                "rawInput": {"files": [{"path": "r.html"}]}, "status": "completed"}),
            ),
            update(
                &json!({"sessionUpdate": "tool_call", "toolCallId": 7, "content": 3, "locations": "x"}),
            ),
        ]);
        let turn = &told.turns[0];
        assert_eq!(
            (turn.commands[0].call.command.as_str(), turn.commands[0].exit_code),
            ("make", Some(2))
        );
        assert_eq!(turn.presented[0].path, "r.html");
        assert!(turn.edits.is_empty());
    }
}
