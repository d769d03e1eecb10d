//! Gemini CLI's rows, one after the other → events. Operations on messages: a message may be
//! written again, all may be replaced, the last ones may be taken back.

use super::calls;
use super::document::{self, Torn};
use super::project;
use super::session::Session;
use crate::log::lazy::{self, Json, Object};
use crate::log::timestamp::millis;
use crate::log::{LogReader, Output, row};
use crate::session::event::{EditOutcome, Header, LogEvent, Place};
use crate::session::{Damage, TurnState};
use std::collections::HashMap;
use std::path::Path;

/// Reads one log.
pub(super) struct Reader {
    session: Session,
    /// The project's directory, where the log's own place tells it.
    cwd: Option<String>,
    /// Calls of the `stream-json` output that wait for their result: whether they edit, or run.
    calls: HashMap<String, Waiting>,
}

enum Waiting {
    Edit,
    Command,
    Present(Vec<(String, Option<String>)>),
    Look,
}

impl LogReader for Reader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        row::each_object(place, line, out, |_, record, out| {
            self.record(place, record, out);
        });
    }

    fn caught_up(&mut self, out: &mut Output) {
        self.session.guess_cwd(out);
    }
}

impl Reader {
    pub(super) fn new(path: Option<&Path>) -> Self {
        Self {
            session: Session::new(path),
            cwd: path.and_then(project::directory),
            calls: HashMap::new(),
        }
    }

    /// Whether the log's own hash says that its project lies in this directory.
    pub(super) fn is_in(&self, directory: &Path) -> bool {
        self.session.is_in(directory)
    }

    /// Takes a log that is one JSON document.
    pub(super) fn document(&mut self, text: &str, out: &mut Output) {
        let (documents, cause) = lazy::objects(text);
        let torn = cause.as_ref().and_then(|_| document::torn(text));
        if let Some(cause) = cause {
            let (at, message) = match &torn {
                Some(torn) => (torn.at, format!("the document is torn: {cause}")),
                None => (0, cause),
            };
            out.damages.push(Damage { line: None, offset: Some(at as u64), message });
        }
        match torn {
            None => documents.iter().for_each(|document| self.whole(document, out)),
            Some(torn) => self.torn(&torn, out),
        }
        self.document_ends(out);
    }

    /// Takes a document without its messages.
    pub(super) fn head(&mut self, head: &str, out: &mut Output) {
        for head in lazy::objects(head).0 {
            self.header(&head, out);
        }
    }

    /// Takes a message of a document.
    pub(super) fn messages_of(&mut self, message: &str, out: &mut Output) {
        for message in lazy::objects(message).0 {
            self.told(&message, None, out);
        }
    }

    /// All messages of a document are told.
    pub(super) fn document_ends(&mut self, out: &mut Output) {
        self.session.guess_cwd(out);
    }

    fn whole(&mut self, document: &Object<'_>, out: &mut Output) {
        self.header(document, out);
        self.messages(document, out);
    }

    fn torn(&mut self, torn: &Torn<'_>, out: &mut Output) {
        self.head(&torn.head, out);
        for message in &torn.messages {
            self.messages_of(message, out);
        }
    }

    /// Takes one message.
    fn told(&mut self, message: &Object<'_>, place: Option<Place>, out: &mut Output) {
        self.context(message, out);
        self.session.message(message, place, out);
    }

    fn record(&mut self, place: Place, record: &Object<'_>, out: &mut Output) {
        if record.has("$set") {
            let change = record.object("$set");
            self.whole(&change, out);
        } else if let Some(id) = record.text("$rewindTo") {
            self.session.rewind(&id, out);
        } else if record.has("projectHash") {
            self.whole(record, out);
        } else if record.has("id") && record.has("type") {
            self.told(record, Some(place), out);
        } else {
            self.stream(place, record, out);
        }
    }

    /// All messages at once: those that are not known yet count; calls that are known stay.
    fn messages(&mut self, record: &Object<'_>, out: &mut Output) {
        for message in record.items("messages").into_iter().map(Json::object) {
            self.told(&message, None, out);
        }
    }

    fn header(&mut self, record: &Object<'_>, out: &mut Output) {
        self.session.tell_cwd(self.cwd.take(), out);
        self.session.tell_project(record.string("projectHash"));
        self.session.tell_header(
            |header| {
                header.id = record.string("sessionId").or(header.id.take());
                header.title = record.string("summary").or(header.title.take());
                header.created_at =
                    header.created_at.or_else(|| record.get("startTime").and_then(millis));
                if record.is("kind", "subagent") {
                    header.is_subagent = Some(true);
                }
            },
            out,
        );
    }

    /// The log names its working directory only in the text that the client puts first.
    fn context(&mut self, message: &Object<'_>, out: &mut Output) {
        if self.session.has_cwd() || !message.is("type", "user") {
            return;
        }
        let mut parts = message.items("content").into_iter().map(Json::object);
        let cwd = parts.find_map(|part| project::named_in(&part.text("text")?));
        self.session.tell_cwd(cwd, out);
    }

    /// A row of the `stream-json` output.
    fn stream(&mut self, place: Place, record: &Object<'_>, out: &mut Output) {
        let at = record.get("timestamp").and_then(millis);
        match record.text("type").as_deref() {
            Some("init") => {
                let change = |header: &mut Header| {
                    header.id = record.string("session_id").or(header.id.take());
                    header.created_at = header.created_at.or(at);
                };
                self.session.tell_header(change, out);
            }
            Some("message") if record.is("role", "user") => {
                let text = record.string("content").unwrap_or_default();
                self.session.begin(text, at, out);
            }
            Some("tool_use") => self.stream_call(place, record, out),
            Some("tool_result") => self.stream_result(place, at, record, out),
            Some("result") => {
                let done = record.is("status", "success");
                let state = if done { TurnState::Completed } else { TurnState::Failed };
                self.session.end(at, state, out);
            }
            _ => {}
        }
    }

    fn stream_call(&mut self, place: Place, record: &Object<'_>, out: &mut Output) {
        for call in calls::all(record) {
            self.session.open_call(&call, place, out);
            let waiting = match call.presents() {
                Some(files) => Waiting::Present(files),
                None if call.edits().is_some() => Waiting::Edit,
                None if call.looks() => Waiting::Look,
                None => Waiting::Command,
            };
            self.calls.insert(call.id, waiting);
        }
    }

    fn stream_result(
        &mut self,
        place: Place,
        at: Option<i64>,
        record: &Object<'_>,
        out: &mut Output,
    ) {
        let Some(call_id) = record.string("tool_id") else { return };
        let Some(waiting) = self.calls.remove(&call_id) else { return };
        let (turn, outcome, result) = (self.session.turn(), calls::outcome(record), Some(place));
        out.events.push(match waiting {
            Waiting::Edit => LogEvent::EditSettled { turn, call_id, outcome, result, body: None },
            Waiting::Command => {
                let said = record.text("output").unwrap_or_default();
                let (exit_code, outcome) = calls::command(outcome, &said);
                LogEvent::CommandSettled { turn, call_id, exit_code, outcome, result, output: None }
            }
            Waiting::Present(files) if outcome == EditOutcome::Applied => {
                LogEvent::Presented { turn, call_id, at, files }
            }
            Waiting::Present(_) | Waiting::Look => LogEvent::ToolSettled { turn },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{LogFormat, WholeLog};
    use crate::session::event::{EditAction, EditSource};
    use crate::session::transcript::Transcript;
    use serde_json::{Value, json};

    fn read(rows: &[Value]) -> Transcript {
        let (mut reader, mut out) = (Reader::new(None), Output::default());
        for row in rows {
            reader.line(Place::default(), row.to_string().as_bytes(), &mut out);
        }
        reader.caught_up(&mut out);
        assert!(out.damages.is_empty());
        transcript(out)
    }

    fn transcript(out: Output) -> Transcript {
        let mut transcript = Transcript::default();
        out.events.into_iter().for_each(|event| transcript.apply(event));
        transcript
    }

    fn user(id: &str, text: &str) -> Value {
        json!({"id": id, "type": "user", "content": [{"text": text}]})
    }

    fn gemini(id: &str, calls: &[Value]) -> Value {
        json!({"id": id, "type": "gemini", "content": "", "toolCalls": calls})
    }

    fn write(id: &str, status: &str) -> Value {
        json!({"id": id, "name": "write_file", "status": status,
            "args": {"file_path": format!("/w/p/{id}"), "content": "asked\n"},
            "resultDisplay": {"newContent": "written\n", "originalContent": "", "isNewFile": true}})
    }

    fn turns(transcript: &Transcript) -> Vec<String> {
        let turns = transcript.turns.iter().filter(|turn| !turn.rolled_back);
        turns
            .map(|turn| {
                let files: Vec<_> = turn.applied_edits().map(|e| e.path.as_str()).collect();
                format!("{} {:?}: {}", turn.prompt, turn.state, files.join(" "))
            })
            .collect()
    }

    #[test]
    fn a_message_written_again_adds_its_calls_once() {
        let header =
            json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-12-01T00:00:00Z"});
        let calls = [write("a", "success"), write("b", "cancelled"), write("c", "error")];
        let log = read(&[
            header.clone(),
            user("0", "<session_context>\n- **Workspace Directories:**\n  - /w/p\n"),
            user("1", "one"),
            gemini("2", &[]),
            gemini("2", &calls),
            gemini("2", &calls),
            json!({"id": "2", "type": "user", "content": [{"functionResponse": {}}]}),
            header,
            user("3", "two"),
        ]);
        assert_eq!(turns(&log), ["one Completed: /w/p/a", "two Open: "]);
        assert_eq!(log.turns[0].edits.len(), 3);
        assert_eq!(log.header.cwd.as_deref(), Some("/w/p"));
        assert!(log.header.created_at.is_some());
    }

    #[test]
    fn the_projects_hash_names_the_directory_above_an_edit() {
        let deep = json!({"id": "c", "name": "write_file", "status": "success",
            "args": {"file_path": "/w/p/src/deep/x", "content": ""}});
        let of = |hash: &str| {
            let header = json!({"sessionId": "s", "projectHash": hash});
            read(&[header, user("1", "one"), gemini("2", std::slice::from_ref(&deep))]).header.cwd
        };
        let hash = "6153bc205717a804d7c08dfc2b3e05cf5ef8f898eb9c725ab5a386d60bd144f6";
        assert_eq!(of(hash).as_deref(), Some("/w/p"));
        assert_eq!(of("another").as_deref(), Some("/w/p/src/deep"), "a guess");
    }

    #[test]
    fn replacing_all_messages_loses_no_call_and_repeats_no_turn() {
        let log = read(&[
            user("1", "one"),
            gemini("2", &[write("a", "success")]),
            json!({"$set": {"messages": [user("1", "one"), gemini("2", &[]), user("2", "kept")]}}),
            json!({"$set": {"lastUpdated": "x"}}),
            user("3", "two"),
        ]);
        assert_eq!(turns(&log), ["one Completed: /w/p/a", "kept Completed: ", "two Open: "]);
    }

    #[test]
    fn a_rewind_rolls_turns_back() {
        let mut rows = vec![
            user("1", "one"),
            user("2", "two"),
            gemini("g", &[write("a", "success")]),
            user("3", "three"),
            json!({"$rewindTo": "g"}),
            user("4", "four"),
        ];
        let log = read(&rows);
        let seen: Vec<_> = log.turns.iter().map(|t| (t.prompt.as_str(), t.rolled_back)).collect();
        assert_eq!(seen, [("one", false), ("two", false), ("three", true), ("four", false)]);
        rows.push(json!({"$rewindTo": "not there"}));
        assert_eq!(turns(&read(&rows)), [""; 0]);
    }

    #[test]
    fn cancelled_and_failed_requests() {
        let said = |kind: &str, text: &str| json!({"id": text, "type": kind, "content": text});
        let log = read(&[
            user("1", "one"),
            said("info", "Request cancelled."),
            user("2", "two"),
            said("error", "[API Error]"),
            user("3", "three"),
            said("info", "Something else"),
        ]);
        assert_eq!(turns(&log), ["one Interrupted: ", "two Failed: ", "three Open: "]);
    }

    #[test]
    fn shell_commands_have_their_exit_code_and_output() {
        let shell = |id: &str, said: &str| {
            json!({"id": id, "name": "run_shell_command", "status": "success",
                "args": {"command": id},
                "result": [{"functionResponse": {"response": {"output": said}}}]})
        };
        let calls =
            [shell("ok", "Output: x"), shell("bad", "Output: (empty)\nExit Code: 3\nPGID: 1")];
        let log = read(&[user("1", "one"), gemini("2", &calls)]);
        let commands = &log.turns[0].commands;
        assert_eq!(commands[0].exit_code, None);
        assert_eq!(commands[1].exit_code, Some(3));
        assert_eq!(commands[1].outcome, crate::session::CommandOutcome::Failed);
        assert_eq!(commands[0].output.as_deref(), Some("Output: x"));
        let row = gemini("3", &calls[..1]).to_string();
        let output = super::super::Gemini.command_output(row.as_bytes());
        assert_eq!(output.as_deref(), Some("Output: x"));
    }

    #[test]
    fn a_call_that_waits_is_settled_when_its_message_is_written_again() {
        let asked = json!({"id": "a", "name": "write_file", "status": "awaiting_approval",
            "args": {"file_path": "/w/p/a", "content": "asked\n"}});
        let mut rows = vec![user("1", "one"), gemini("2", std::slice::from_ref(&asked))];
        assert_eq!(turns(&read(&rows)), ["one Open: "]);
        let done = gemini("2", &[write("a", "success")]);
        rows.push(done.clone());
        rows.push(gemini("2", std::slice::from_ref(&asked)));
        let log = read(&rows);
        assert_eq!(
            (turns(&log), log.turns[0].edits.len()),
            (vec!["one Open: /w/p/a".to_owned()], 1)
        );
        let result = done.to_string();
        let body = super::super::Gemini.edit_body(
            rows[1].to_string().as_bytes(),
            Some(result.as_bytes()),
            0,
        );
        assert_eq!(body.after.as_deref(), Some("written\n"));
    }

    #[test]
    fn a_row_with_one_edit_is_read_again_and_one_with_more_is_kept() {
        let one = gemini("2", &[write("a", "success")]);
        let log = read(&[
            user("1", "one"),
            one.clone(),
            gemini("3", &[write("b", "success"), write("c", "success")]),
        ]);
        let edits = &log.turns[0].edits;
        assert!(matches!(edits[0].body, EditSource::InLog { .. }));
        assert!(matches!(edits[1].body, EditSource::Kept(_)));
        let body = super::super::Gemini.edit_body(one.to_string().as_bytes(), None, 0);
        let content = "written\n".to_owned();
        assert_eq!(body.action, EditAction::Write { content, created: Some(true) });
        assert_eq!((body.before, body.after.as_deref()), (None, Some("written\n")));
    }

    #[test]
    fn without_any_name_the_directory_is_what_holds_the_edits() {
        let deep = json!({"id": "d", "name": "write_file", "status": "success",
            "args": {"file_path": "/w/p/src/deep/x", "content": ""}});
        let log = read(&[user("1", "one"), gemini("2", &[deep, write("a", "success")])]);
        assert_eq!(log.header.cwd.as_deref(), Some("/w/p"));
    }

    #[test]
    fn one_document_is_read_whole_and_is_no_log_of_rows() {
        let document = json!({"sessionId": "s", "projectHash": "h", "messages": [
            {"id": "1", "type": "user", "content": "one"},
            gemini("2", &[write("a", "success"), write("b", "success")])]});
        let pretty = serde_json::to_string_pretty(&document).unwrap();
        let (mut reader, mut out) = (Reader::new(None), Output::default());
        reader.document(&pretty, &mut out);
        assert_eq!(turns(&transcript(out)), ["one Open: /w/p/a /w/p/b"]);
        let format = super::super::Gemini;
        let whole = |text: &str| WholeLog::recognizes(&format, Path::new("x"), text.as_bytes());
        assert!(whole(&pretty) && whole(&document.to_string()));
        assert!(!whole(&pretty[..60]));
        let rows = "{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n{\"$set\":{\"messages\":[]}}";
        assert!(!whole(rows) && !whole("{\"messages\":[]}") && !whole(""));
    }

    #[test]
    fn messages_without_an_id_are_each_their_own() {
        let said = |text: &str| json!({"type": "user", "content": text});
        let log = read(&[json!({"$set": {"messages": [said("one"), said("two")]}})]);
        assert_eq!(turns(&log), ["one Completed: ", "two Open: "]);
    }

    #[test]
    fn odd_rows_are_survived() {
        let log = read(&[
            json!({"$set": 1}),
            json!({"$rewindTo": {}}),
            json!({"id": 1, "type": "gemini", "toolCalls": {"id": 1}}),
            json!({"id": "x", "type": "user", "content": 7}),
            gemini("2", &[json!(null), json!({"id": "i", "name": "replace", "args": []})]),
            gemini("3", &[write("a", "success")]),
        ]);
        assert_eq!(turns(&log).last().map(String::as_str), Some(" Open: /w/p/a"));
    }
}
