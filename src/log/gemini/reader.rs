//! Gemini CLI's rows, one after the other → events. Operations on messages: a message may be
//! written again, all may be replaced, the last ones may be taken back.

use super::calls;
use super::project;
use super::session::Session;
use crate::log::lazy::{self, Json, Object};
use crate::log::timestamp::millis;
use crate::log::{LogReader, Output};
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
        if line.trim_ascii().is_empty() {
            return;
        }
        let row = String::from_utf8_lossy(line);
        let (records, cause) = lazy::objects(&row);
        if let Some(message) = cause {
            let (line, offset) = (Some(place.line), Some(place.offset));
            out.damages.push(Damage { line, offset, message });
        }
        for record in records {
            self.record(place, &record, out);
        }
    }

    fn caught_up(&mut self, out: &mut Output) {
        self.session.guess_cwd(out);
    }
}

impl Reader {
    pub(super) fn new(path: Option<&Path>) -> Self {
        Self {
            session: Session::default(),
            cwd: path.and_then(project::directory),
            calls: HashMap::new(),
        }
    }

    /// Takes a log that is one JSON document.
    pub(super) fn document(&mut self, text: &str, out: &mut Output) {
        let (documents, cause) = lazy::objects(text);
        if let Some(message) = cause {
            out.damages.push(Damage { line: None, offset: None, message });
        }
        for document in documents {
            self.header(&document, out);
            self.messages(&document, out);
        }
        self.session.guess_cwd(out);
    }

    fn record(&mut self, place: Place, record: &Object<'_>, out: &mut Output) {
        if record.has("$set") {
            let change = record.object("$set");
            self.header(&change, out);
            self.messages(&change, out);
        } else if let Some(id) = record.text("$rewindTo") {
            self.session.rewind(&id, out);
        } else if record.has("projectHash") {
            self.header(record, out);
            self.messages(record, out);
        } else if record.has("id") && record.has("type") {
            self.context(record, out);
            self.session.message(record, Some(place), out);
        } else {
            self.stream(place, record, out);
        }
    }

    /// All messages at once: those that are not known yet count; calls that are known stay.
    fn messages(&mut self, record: &Object<'_>, out: &mut Output) {
        for message in record.items("messages").into_iter().map(Json::object) {
            self.context(&message, out);
            self.session.message(&message, None, out);
        }
    }

    fn header(&mut self, record: &Object<'_>, out: &mut Output) {
        self.session.tell_cwd(self.cwd.take(), out);
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
                self.session.begin("", text, at, out);
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
