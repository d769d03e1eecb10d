//! pi's entries, one after the other → events of the live branch. The last entry is the live leaf.

use super::calls::{self, Call, ToolResult};
use crate::log::branches::{Branches, ROOT};
use crate::log::lazy::{Json, Object};
use crate::log::timestamp::millis;
use crate::log::{LogReader, Output, row};
use crate::session::event::{
    Command, Edit, EditOutcome, EditSource, KnownText, KnownTextSource, LogEvent, Place, Stamp,
};
use crate::session::{CommandOutcome, TurnState};
use std::collections::HashMap;

/// Reads one log.
#[derive(Default)]
pub(super) struct Reader {
    branches: Branches,
    /// Calls without a result, by id.
    calls: HashMap<String, Waiting>,
}

/// A call that waits for its result.
struct Waiting {
    turn: usize,
    kind: Kind,
}

enum Kind {
    Edit,
    Command,
    Read(Option<String>),
    Present(Vec<(String, Option<String>)>),
}

impl LogReader for Reader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        // Half of a message while it comes: by far the most rows of the `--mode json` output.
        let partial = [&br#"{"type":"message_update""#[..], br#"{"type": "message_update""#];
        if partial.iter().any(|start| line.starts_with(start)) {
            return;
        }
        row::each_object(place, line, out, |_, entry, out| {
            self.entry(place, entry, out);
        });
    }

    fn choose_branch(&mut self, branch: u32) {
        self.branches.choose(branch);
    }

    fn caught_up(&mut self, out: &mut Output) {
        self.branches.caught_up(out);
    }
}

impl Reader {
    fn entry(&mut self, place: Place, entry: &Object<'_>, out: &mut Output) {
        let kind = entry.text("type").unwrap_or_default();
        if kind == "session" {
            self.header(entry, out);
            return;
        }
        let at = entry.get("timestamp").and_then(millis);
        let at = at.or_else(|| entry.object("message").get("timestamp").and_then(millis));
        let parent = entry.text("parentId").and_then(|parent| self.branches.turn_of(&parent));
        let first = entry.get("parentId").is_some_and(Json::is_null) && entry.has("id");
        let mut turn = parent.unwrap_or(if first { ROOT } else { self.branches.live() });
        if !matches!(&*kind, "message" | "message_end")
            || !entry.object("message").is("role", "user")
        {
            self.branches.make_live(turn, out);
        }
        match &*kind {
            "message" | "message_end" => self.message(&mut turn, at, place, entry, out),
            "session_info" => {
                let name = entry.string("name");
                self.branches
                    .tell_header(|header| header.title = name.or(header.title.take()), out);
            }
            _ => {}
        }
        if let Some(id) = entry.text("id") {
            self.branches.note(&id, at, turn);
        }
    }

    fn header(&mut self, entry: &Object<'_>, out: &mut Output) {
        self.branches.tell_header(
            |header| {
                header.id = entry.string("id").or(header.id.take());
                header.cwd = entry.string("cwd").or(header.cwd.take());
                header.created_at = entry.get("timestamp").and_then(millis).or(header.created_at);
                header.parent = entry
                    .string("parentSession")
                    .or_else(|| entry.string("branchedFrom"))
                    .or(header.parent.take());
            },
            out,
        );
    }

    fn message(
        &mut self,
        turn: &mut usize,
        at: Option<i64>,
        place: Place,
        entry: &Object<'_>,
        out: &mut Output,
    ) {
        let message = entry.object("message");
        match message.text("role").as_deref() {
            Some("user") => {
                *turn = self.branches.start(*turn, at, out);
                let (number, text) = (self.branches.number(*turn), prompt(&message));
                self.branches.tell(*turn, LogEvent::Prompt { turn: number, text }, out);
            }
            Some("assistant") => self.assistant(turn, at, place, entry, out),
            Some("toolResult") => {
                if let Some(result) = calls::result(entry) {
                    self.settle(at, place, &result, out);
                }
            }
            Some("bashExecution") => self.persons_command(*turn, place, entry, &message, out),
            _ => {}
        }
    }

    fn assistant(
        &mut self,
        turn: &mut usize,
        at: Option<i64>,
        place: Place,
        entry: &Object<'_>,
        out: &mut Output,
    ) {
        let calls = Call::all(entry);
        if *turn == ROOT && !calls.is_empty() {
            // The log lacks its first rows.
            *turn = self.branches.start(ROOT, at, out);
        }
        for call in calls {
            self.call(*turn, place, call, out);
        }
        let state = match entry.object("message").text("stopReason").as_deref() {
            Some("stop") => TurnState::Completed,
            Some("aborted") => TurnState::Interrupted,
            Some("error" | "length") => TurnState::Failed,
            _ => return,
        };
        self.branches.end(*turn, at, state, out);
    }

    fn call(&mut self, turn: usize, place: Place, call: Call<'_>, out: &mut Output) {
        let number = self.branches.number(turn);
        let call_id = call.id.clone();
        let kind = if let Some(path) = call.edits() {
            // The row may hold several edits; the result tells which of them is meant.
            let body = EditSource::InLog { call: place, result: None };
            let outcome = EditOutcome::Pending;
            let edit = Edit {
                turn: number,
                call_id,
                tool: call.name,
                path,
                outcome,
                body,
                stamp: Stamp::default(),
            };
            self.branches.tell(turn, LogEvent::Edit(edit), out);
            Kind::Edit
        } else if let Some(files) = call.presents() {
            Kind::Present(files)
        } else if call.looks() {
            Kind::Read(call.reads_whole())
        } else {
            let shell = call.shell();
            let is_shell = shell.is_some();
            let command = shell.unwrap_or(call.name);
            let command =
                Command { turn: number, call_id, command, is_shell, stamp: Stamp::default() };
            self.branches.tell(turn, LogEvent::Command(command), out);
            Kind::Command
        };
        self.calls.insert(call.id, Waiting { turn, kind });
    }

    /// A result came. It belongs to the turn of its call.
    fn settle(&mut self, at: Option<i64>, place: Place, result: &ToolResult<'_>, out: &mut Output) {
        let Some(waiting) = self.calls.remove(&result.id) else { return };
        let (turn, call_id) = (self.branches.number(waiting.turn), result.id.clone());
        let event = match waiting.kind {
            Kind::Edit => {
                let (outcome, result, body) = (result.outcome(), Some(place), None);
                LogEvent::EditSettled { turn, call_id, outcome, result, body }
            }
            Kind::Command => {
                let (exit_code, outcome) = result.command();
                let (result, output) = (Some(place), None);
                LogEvent::CommandSettled { turn, call_id, exit_code, outcome, result, output }
            }
            Kind::Read(Some(path)) if result.is_whole_text() => LogEvent::KnownText(KnownText {
                turn,
                path,
                text: KnownTextSource::InLog(place),
                stamp: Stamp::default(),
            }),
            Kind::Present(files) if result.outcome() == EditOutcome::Applied => {
                LogEvent::Presented { turn, call_id, at, files }
            }
            Kind::Read(_) | Kind::Present(_) => LogEvent::ToolSettled { turn },
        };
        self.branches.tell(waiting.turn, event, out);
    }

    /// A shell command that the person ran between prompts.
    fn persons_command(
        &mut self,
        turn: usize,
        place: Place,
        entry: &Object<'_>,
        message: &Object<'_>,
        out: &mut Output,
    ) {
        let Some(command) = message.string("command").filter(|_| turn != ROOT) else { return };
        let call_id = entry.string("id").unwrap_or_else(|| format!("line {}", place.line));
        let number = self.branches.number(turn);
        let exit_code = message.number("exitCode").and_then(|code| i32::try_from(code).ok());
        let outcome = match exit_code {
            _ if message.flag("cancelled") => CommandOutcome::Unknown,
            Some(0) => CommandOutcome::Passed,
            Some(_) => CommandOutcome::Failed,
            None => CommandOutcome::Unknown,
        };
        let ran = Command {
            turn: number,
            call_id: call_id.clone(),
            command,
            is_shell: true,
            stamp: Stamp::default(),
        };
        self.branches.tell(turn, LogEvent::Command(ran), out);
        let settled = LogEvent::CommandSettled {
            turn: number,
            call_id,
            exit_code,
            outcome,
            result: Some(place),
            output: None,
        };
        self.branches.tell(turn, settled, out);
    }
}

/// The text of a person's message.
pub(super) fn prompt(message: &Object<'_>) -> String {
    message.string("content").unwrap_or_else(|| {
        let blocks = message.items("content").into_iter().map(Json::object);
        let texts = blocks.filter(|block| block.is("type", "text"));
        texts.filter_map(|block| block.string("text")).collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogFormat;
    use crate::session::transcript::Transcript;
    use serde_json::{Value, json};

    fn entry(id: &str, parent: Option<&str>, message: &Value) -> Value {
        json!({"type": "message", "id": id, "parentId": parent, "message": message,
            "timestamp": "2026-12-01T00:00:00Z"})
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn assistant(stop: &str, calls: &[(&str, &str, Value)]) -> Value {
        let block = |(id, name, input): &(&str, &str, Value)| json!({"type": "toolCall", "id": id, "name": name, "arguments": input});
        let content: Vec<Value> = calls.iter().map(block).collect();
        json!({"role": "assistant", "content": content, "stopReason": stop})
    }

    fn result(id: &str, error: bool, text: &str) -> Value {
        json!({"role": "toolResult", "toolCallId": id, "isError": error,
            "content": [{"type": "text", "text": text}]})
    }

    fn read(rows: &[Value]) -> Transcript {
        let (mut reader, mut out) = (Reader::default(), Output::default());
        for row in rows {
            reader.line(Place::default(), row.to_string().as_bytes(), &mut out);
        }
        let mut transcript = Transcript::default();
        out.events.into_iter().for_each(|event| transcript.apply(event));
        transcript
    }

    fn turns(transcript: &Transcript) -> Vec<String> {
        let of = |turn: &crate::session::transcript::TurnRecord| {
            let files: Vec<_> = turn.applied_edits().map(|e| e.path.as_str()).collect();
            format!("{} {:?}: {}", turn.prompt, turn.state, files.join(" "))
        };
        transcript.turns.iter().map(of).collect()
    }

    fn write(id: &'static str) -> (&'static str, &'static str, Value) {
        (id, "write", json!({"path": id, "content": id}))
    }

    #[test]
    fn the_last_entry_is_the_leaf_of_the_live_branch() {
        let mut rows = vec![
            json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}),
            entry("1", None, &user("one")),
            entry("2", Some("1"), &assistant("toolUse", &[write("a")])),
            entry("3", Some("2"), &result("a", false, "ok")),
            entry("4", Some("3"), &assistant("stop", &[])),
            entry("5", Some("4"), &user("two")),
            entry("6", Some("5"), &assistant("aborted", &[])),
            entry("7", Some("4"), &user("other")),
        ];
        assert_eq!(turns(&read(&rows)), ["one Completed: a", "other Open: "]);
        rows.push(json!({"type": "label", "id": "8", "parentId": "6"}));
        assert_eq!(turns(&read(&rows)), ["one Completed: a", "two Interrupted: "]);
        rows.push(json!({"type": "branch_summary", "id": "9", "parentId": "2"}));
        assert_eq!(turns(&read(&rows)), ["one Completed: a"]);
        rows.push(entry("10", None, &user("anew")));
        assert_eq!(turns(&read(&rows)), ["anew Open: "]);
        assert_eq!(read(&rows).header.cwd.as_deref(), Some("/w"));
    }

    #[test]
    fn a_log_without_ids_is_a_sequence() {
        let row = |message: Value| json!({"type": "message", "message": message});
        let log = read(&[
            json!({"type": "session", "id": "s", "cwd": "/w"}),
            row(json!({"role": "user", "content": "one"})),
            row(assistant("error", &[])),
            row(user("two")),
            row(assistant("toolUse", &[write("a"), write("b")])),
            row(result("b", true, "no")),
            row(result("a", false, "ok")),
        ]);
        assert_eq!(turns(&log), ["one Failed: ", "two Open: a"]);
    }

    #[test]
    fn commands_of_the_agent_and_of_the_person() {
        let bash = ("b", "bash", json!({"command": "make"}));
        let log = read(&[
            entry("1", None, &user("one")),
            entry("2", Some("1"), &assistant("toolUse", &[bash])),
            entry("3", Some("2"), &result("b", true, "oh\n\nCommand exited with code 2")),
            entry(
                "4",
                Some("3"),
                &json!({"role": "bashExecution", "command": "ls", "exitCode": 0, "output": "x"}),
            ),
        ]);
        let seen: Vec<_> =
            log.turns[0].commands.iter().map(|c| (c.call.command.as_str(), c.exit_code)).collect();
        assert_eq!(seen, [("make", Some(2)), ("ls", Some(0))]);
    }

    #[test]
    fn whole_reads_are_known_texts() {
        let reads =
            [("w", "read", json!({"path": "a"})), ("p", "read", json!({"path": "b", "offset": 3}))];
        let whole = entry("3", Some("2"), &result("w", false, "text\n"));
        let log = read(&[
            entry("1", None, &user("one")),
            entry("2", Some("1"), &assistant("toolUse", &reads)),
            whole.clone(),
            entry("4", Some("3"), &result("p", false, "part")),
        ]);
        let known: Vec<_> = log.turns[0].known_texts.iter().map(|(_, k)| k.path.as_str()).collect();
        assert_eq!(known, ["a"]);
        let row = whole.to_string();
        assert_eq!(super::super::Pi.known_text(row.as_bytes()).as_deref(), Some("text\n"));
    }

    #[test]
    fn the_output_mode_tells_each_message_once() {
        let row = |kind: &str, message: Value| json!({"type": kind, "message": message});
        let log = read(&[
            json!({"type": "session", "id": "s", "cwd": "/w"}),
            json!({"type": "agent_start"}),
            row("message_start", user("one")),
            row("message_end", user("one")),
            row("message_update", assistant("toolUse", &[write("a")])),
            row("message_end", assistant("toolUse", &[write("a")])),
            row("message_end", result("a", false, "ok")),
            row("turn_end", assistant("toolUse", &[write("a")])),
            row("message_end", assistant("stop", &[])),
            json!({"type": "agent_end", "messages": [user("one")]}),
        ]);
        assert_eq!(turns(&log), ["one Completed: a"]);
        assert_eq!(log.turns[0].edits.len(), 1);
    }
}
