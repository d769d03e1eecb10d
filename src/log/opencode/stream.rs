//! `opencode run --format json`: one event a line, if a person saved it to a file.
//!
//! A run is one turn: it ends with the step whose reason is not that tools were called. Several
//! runs may stand behind each other. A prompt is not in it.

use super::part;
use super::session::state_after;
use crate::log::loose::{owned, values};
use crate::log::{LogReader, Output};
use crate::session::TurnState;
use crate::session::event::{EditSource, Header, LogEvent, Place};
use serde_json::{Value, json};

/// Reads the events of runs.
#[derive(Debug, Default)]
pub(super) struct StreamReader {
    turn: u32,
    running: bool,
    session: Option<String>,
}

impl LogReader for StreamReader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        for row in values(place, line, out) {
            self.row(place, &row, out);
        }
    }
}

impl StreamReader {
    fn row(&mut self, place: Place, row: &Value, out: &mut Output) {
        let (at, part) = (row["timestamp"].as_i64(), &row["part"]);
        let session = owned(&row["sessionID"]);
        if session.is_some() && self.session.is_none() {
            out.events.push(LogEvent::Header(Header { id: session.clone(), ..Header::default() }));
            self.session = session;
        }
        match row["type"].as_str() {
            Some("step_start") => {
                self.running(at, out);
                self.trees(owned(&part["snapshot"]), None, out);
            }
            Some("tool_use") => {
                self.running(at, out);
                let call_id = owned(&part["callID"]).unwrap_or_default();
                let source = |_| EditSource::InLog { call: place, result: None };
                part::tell(self.turn, &call_id, part, source, out);
            }
            Some("step_finish") => {
                self.running(at, out);
                self.trees(None, owned(&part["snapshot"]), out);
                self.end(at, state_after(&json!({ "finish": part["reason"] })), out);
            }
            Some("error") => {
                self.running(at, out);
                self.end(at, state_after(row), out);
            }
            _ => {}
        }
    }

    fn running(&mut self, at: Option<i64>, out: &mut Output) {
        if !self.running {
            self.running = true;
            self.turn += 1;
            out.events.push(LogEvent::TurnStart { turn: self.turn, at });
        }
    }

    fn trees(&self, before: Option<String>, after: Option<String>, out: &mut Output) {
        if before.is_some() || after.is_some() {
            out.events.push(LogEvent::Trees { turn: self.turn, before, after, git_dir: None });
        }
    }

    fn end(&mut self, at: Option<i64>, state: TurnState, out: &mut Output) {
        if state != TurnState::Open {
            self.running = false;
            out.events.push(LogEvent::TurnEnd { turn: self.turn, at, state });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::transcript::Transcript;

    #[test]
    fn each_run_is_a_turn() {
        let row = |kind: &str, part: Value| json!({"type": kind, "timestamp": 1, "sessionID": "s", "part": part});
        let (mut reader, mut out, mut told) =
            (StreamReader::default(), Output::default(), Transcript::default());
        for row in [
            row("step_start", json!({"snapshot": "t1"})),
            row(
                "tool_use",
                json!({"type": "tool", "tool": "write", "callID": "c", "state":
                {"status": "completed", "input": {"filePath": "/w/a", "content": "x"}}}),
            ),
            row("step_finish", json!({"reason": "tool-calls", "snapshot": "t2"})),
            row("step_start", json!({"snapshot": "t2"})),
            row("step_finish", json!({"reason": "stop", "snapshot": "t3"})),
            row("step_start", json!({})),
            json!({"type": "error", "error": {"name": "MessageAbortedError"}}),
        ] {
            reader.line(Place::default(), row.to_string().as_bytes(), &mut out);
        }
        out.events.into_iter().for_each(|event| told.apply(event));
        let turns: Vec<_> =
            told.turns.iter().map(|t| (t.state, t.edits.len(), t.tree_after.as_deref())).collect();
        assert_eq!(
            turns,
            [(TurnState::Completed, 1, Some("t3")), (TurnState::Interrupted, 0, None)]
        );
    }
}
