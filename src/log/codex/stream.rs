//! `codex exec --json`: the machine-readable output, if a person saved it to a file.
//!
//! `thread.started`, `turn.started`, `item.started`/`item.completed` and `turn.completed` or
//! `turn.failed`. It names changed files and gives no text; a prompt is not in it.

use super::output::by_exit_code;
use super::reader::CodexReader;
use crate::log::Output;
use crate::log::loose::{owned, word};
use crate::session::TurnState;
use crate::session::event::{
    Command, Edit, EditOutcome, EditSource, Header, LogEvent, Place, Stamp,
};
use serde_json::Value;

impl CodexReader {
    /// Takes a row of the output.
    pub(super) fn stream_row(&mut self, place: Place, row: &Value, out: &mut Output) {
        match row["type"].as_str() {
            Some("thread.started") => {
                let id = owned(&row["thread_id"]);
                out.events.push(LogEvent::Header(Header { id, ..Header::default() }));
            }
            Some("turn.started") => {
                self.begin(None, None, out);
            }
            Some("turn.completed") => {
                let turn = self.turn(None, None, out);
                self.end(turn, None, TurnState::Completed, out);
            }
            Some("turn.failed") => {
                let turn = self.turn(None, None, out);
                self.end(turn, None, TurnState::Failed, out);
            }
            Some("item.completed") => self.stream_item(place, &row["item"], out),
            _ => {}
        }
    }

    fn stream_item(&mut self, place: Place, done: &Value, out: &mut Output) {
        let turn = self.turn(None, None, out);
        let call_id = done["id"].as_str().unwrap_or_default().to_owned();
        match done["type"].as_str() {
            Some("file_change") => {
                let outcome = match done["status"].as_str() {
                    Some("completed") => EditOutcome::Applied,
                    Some("declined") => EditOutcome::Denied,
                    _ => EditOutcome::Failed,
                };
                for change in done["changes"].as_array().into_iter().flatten() {
                    out.events.push(LogEvent::Edit(Edit {
                        turn,
                        call_id: call_id.clone(),
                        tool: "apply_patch".to_owned(),
                        path: word(&change["path"]).unwrap_or_default().to_owned(),
                        outcome,
                        body: EditSource::InLog { call: place, result: None },
                        stamp: Stamp::default(),
                    }));
                }
            }
            Some("command_execution") => {
                let exit_code =
                    done["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
                out.events.push(LogEvent::Command(Command {
                    turn,
                    call_id: call_id.clone(),
                    command: owned(&done["command"]).unwrap_or_default(),
                    is_shell: true,
                    stamp: Stamp::default(),
                }));
                out.events.push(LogEvent::CommandSettled {
                    turn,
                    call_id,
                    exit_code,
                    outcome: by_exit_code(exit_code),
                    result: Some(place),
                    output: None,
                });
            }
            Some("mcp_tool_call") => {
                let own = done["server"] == "handback" && done["tool"] == "present";
                let files = crate::log::present::presented_files(&done["arguments"]);
                if own && done["status"] == "completed" && !files.is_empty() {
                    out.events.push(LogEvent::Presented { turn, call_id, at: None, files });
                }
            }
            _ => {}
        }
    }
}
