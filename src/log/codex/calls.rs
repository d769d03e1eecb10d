//! Codex tool calls and what became of them: patches, commands, deliverables.

use super::body::{change_map, edit_body, path_after};
use super::call::{ToolCall, command_line};
use super::output::{ToolOutput, by_exit_code, user_shell};
use super::reader::{CodexReader, Row};
use crate::log::Output;
use crate::log::loose::word;
use crate::log::present::{is_present, presented_files};
use crate::session::CommandOutcome;
use crate::session::event::{Command, Edit, EditOutcome, EditSource, LogEvent, Place, Stamp};
use serde_json::Value;
use std::sync::Arc;

/// What is remembered of a call until its result.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(super) struct Call {
    pub(super) turn: u32,
    spawns: bool,
    edits: bool,
    command: bool,
    scripted: bool,
    presents: Vec<(String, Option<String>)>,
}

impl Call {
    /// A call that starts a sub-agent.
    pub(super) fn of_agent(turn: u32) -> Self {
        Self { turn, spawns: true, ..Self::default() }
    }
}

impl CodexReader {
    pub(super) fn call(
        &mut self,
        row: &Row<'_>,
        payload: &Value,
        call: ToolCall,
        out: &mut Output,
    ) {
        let told = call.command.is_some() || !call.sections.is_empty() || !call.presents.is_empty();
        // In generation D a script's patch and a program's commands come as items of their own. Of
        // another file's rows only the items are told: nothing else holds all in one row.
        let by_items = self.foreign || self.paginated && (call.scripted || call.name == "exec");
        let call_id = word(&payload["call_id"]).or_else(|| word(&payload["id"]));
        let call_id = call_id.unwrap_or_default().to_owned();
        let id = word(&payload["internal_chat_message_metadata_passthrough"]["turn_id"]);
        if !told || call_id.is_empty() {
            return;
        }
        let turn = self.turn(id, row.at, out);
        let mut kept = Call { turn, scripted: call.scripted, ..Call::default() };
        if !by_items {
            for (nth, section) in call.sections.iter().enumerate() {
                kept.edits = true;
                out.events.push(LogEvent::Edit(Edit {
                    turn,
                    call_id: call_id.clone(),
                    tool: "apply_patch".to_owned(),
                    path: self.turns.path(turn, call.directory.as_deref(), section.path_after()),
                    outcome: EditOutcome::Pending,
                    body: source(row, nth),
                    stamp: Stamp::at(row.at),
                }));
            }
        }
        if let Some(command) = call.command.filter(|_| call.name != "exec" || !self.paginated) {
            kept.command = true;
            let call_id = call_id.clone();
            out.events.push(LogEvent::Command(Command {
                turn,
                call_id,
                command,
                is_shell: true,
                stamp: Stamp::at(row.at),
            }));
        }
        kept.presents = call.presents;
        self.calls.insert(call_id, kept);
    }

    pub(super) fn output(&mut self, row: &Row<'_>, payload: &Value, out: &mut Output) {
        let call_id = payload["call_id"].as_str().unwrap_or_default();
        let Some(call) = self.calls.get_mut(call_id) else {
            let turn = self.turns.latest();
            if turn > 0 {
                out.events.push(LogEvent::ToolSettled { turn });
            }
            return;
        };
        let (turn, result) = (call.turn, ToolOutput::read(&payload["output"]));
        if std::mem::take(&mut call.spawns) {
            Self::spawned(turn, payload, out);
        }
        if std::mem::take(&mut call.edits) {
            let outcome = result.patch_outcome(call.scripted);
            out.events.push(settled(turn, call_id, outcome, None));
        }
        if std::mem::take(&mut call.command) {
            out.events.push(LogEvent::CommandSettled {
                turn,
                call_id: call_id.to_owned(),
                exit_code: result.exit_code,
                outcome: result.command_outcome(),
                result: row.stands.then_some(row.place),
                output: None,
            });
            // An item may still tell how it ended.
            call.command = result.exit_code.is_none();
        }
        let files = std::mem::take(&mut call.presents);
        if !files.is_empty() && result.succeeded() {
            let call_id = call_id.to_owned();
            out.events.push(LogEvent::Presented { turn, call_id, at: row.at, files });
        }
        out.events.push(LogEvent::ToolSettled { turn });
    }

    /// Applied (or refused) changes: of a known call, or of a program's call that no row shows.
    pub(super) fn file_change(
        &mut self,
        row: &Row<'_>,
        (call_id, id): (&str, Option<&str>),
        outcome: EditOutcome,
        out: &mut Output,
    ) {
        let known = self.calls.get_mut(call_id).filter(|call| call.edits);
        if let Some(call) = known {
            call.edits = false;
            out.events.push(settled(call.turn, call_id, outcome, Some(row.place)));
            return;
        }
        let Some(changes) = change_map(row.value) else { return };
        let turn = self.turn(id, row.at, out);
        for (nth, (path, change)) in changes.iter().enumerate() {
            out.events.push(LogEvent::Edit(Edit {
                turn,
                call_id: call_id.to_owned(),
                tool: "apply_patch".to_owned(),
                path: path_after(path, change).to_owned(),
                outcome,
                body: source(row, nth),
                stamp: Stamp::at(row.at),
            }));
        }
    }

    pub(super) fn command_item(
        &mut self,
        row: &Row<'_>,
        (key, id): (&str, Option<&str>),
        done: &Value,
        out: &mut Output,
    ) {
        let call_id = done[key].as_str().unwrap_or_default();
        let turn = if let Some(call) = self.calls.get_mut(call_id) {
            call.command = false;
            call.turn
        } else {
            let turn = self.turn(id, row.at, out);
            out.events.push(LogEvent::Command(Command {
                turn,
                call_id: call_id.to_owned(),
                command: command_line(&done["command"]).unwrap_or_default(),
                is_shell: true,
                stamp: Stamp::at(row.at),
            }));
            turn
        };
        let exit_code = done["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
        let failed = matches!(done["status"].as_str(), Some("failed" | "declined"));
        let outcome = match by_exit_code(exit_code) {
            CommandOutcome::Unknown if failed => CommandOutcome::Failed,
            outcome => outcome,
        };
        out.events.push(LogEvent::CommandSettled {
            turn,
            call_id: call_id.to_owned(),
            exit_code,
            outcome,
            result: row.stands.then_some(row.place),
            output: None,
        });
    }

    /// A command of the user's own in the agent's shell; in generation D it is an item.
    pub(super) fn user_command(&mut self, row: &Row<'_>, text: &str, out: &mut Output) {
        let Some((command, exit_code)) = user_shell(text).filter(|_| !self.paginated) else {
            return;
        };
        let turn = self.turn(None, row.at, out);
        let call_id = format!("user-shell-{}", row.place.line);
        out.events.push(LogEvent::Command(Command {
            turn,
            call_id: call_id.clone(),
            command: command.to_owned(),
            is_shell: true,
            stamp: Stamp::at(row.at),
        }));
        out.events.push(LogEvent::CommandSettled {
            turn,
            call_id,
            exit_code,
            outcome: by_exit_code(exit_code),
            result: None,
            output: None,
        });
    }

    pub(super) fn mcp_item(
        &mut self,
        row: &Row<'_>,
        (call_id, id): (&Value, Option<&str>),
        call: &Value,
        ok: bool,
        out: &mut Output,
    ) {
        let call_id = call_id.as_str().unwrap_or_default();
        let turn = self.turn(id, row.at, out);
        let own = call["server"] == "handback" && call["tool"].as_str().is_some_and(is_present);
        if own {
            // This is better than the call's output, which comes later.
            if let Some(known) = self.calls.get_mut(call_id) {
                known.presents.clear();
            }
            let files = presented_files(&call["arguments"]);
            if ok && !files.is_empty() {
                let call_id = call_id.to_owned();
                out.events.push(LogEvent::Presented { turn, call_id, at: row.at, files });
            }
        }
        out.events.push(LogEvent::ToolSettled { turn });
    }
}

/// Where the `nth` edit of a row is read: in its row again, if it stands there.
fn source(row: &Row<'_>, nth: usize) -> EditSource {
    if row.stands {
        return EditSource::InLog { call: row.place, result: None };
    }
    EditSource::Kept(Arc::new(edit_body(row.value.to_string().as_bytes(), None, nth)))
}

fn settled(turn: u32, call_id: &str, outcome: EditOutcome, result: Option<Place>) -> LogEvent {
    LogEvent::EditSettled { turn, call_id: call_id.to_owned(), outcome, result, body: None }
}

pub(super) fn change_outcome(done: &Value) -> EditOutcome {
    match done["status"].as_str() {
        Some("completed") => EditOutcome::Applied,
        Some("declined") => EditOutcome::Denied,
        None if done["success"] == true => EditOutcome::Applied,
        _ => EditOutcome::Failed,
    }
}
