//! Codex: rollout files of all generations, and `codex exec --json`.

mod agents;
mod base;
mod body;
mod call;
mod calls;
mod discover;
mod output;
mod peek;
mod reader;
mod stream;
mod turns;

use super::loose::{plain_text, values_again, word};
use super::{Companion, FoundSession, LogFormat, LogReader, Places};
use crate::session::event::{Delegation, EditBody};
use serde_json::Value;
use std::path::Path;

/// The format of Codex logs.
#[derive(Debug)]
pub(super) struct Codex;

impl LogFormat for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn recognizes(&self, rows: &[Value]) -> bool {
        let bare_header = rows.first().is_some_and(|row| {
            row.get("type").is_none()
                && row["id"].is_string()
                && row["timestamp"].is_string()
                && row.get("instructions").is_some()
        });
        bare_header || rows.iter().any(is_row)
    }

    fn reader(&self) -> Box<dyn LogReader> {
        Box::<reader::CodexReader>::default()
    }

    /// A reverted or forked thread goes on in a file of its own; what stands before is then read
    /// from the file of its base.
    fn reader_at(&self, path: &Path) -> Box<dyn LogReader> {
        Box::new(reader::CodexReader::at(path))
    }

    fn edit_body(&self, call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
        body::edit_body(call, result, nth)
    }

    fn command_output(&self, row: &[u8]) -> Option<String> {
        values_again(row).iter().find_map(printed)
    }

    fn companions(&self, path: &Path, calls: &[Delegation]) -> Vec<Companion> {
        agents::logs(path, calls)
    }

    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        discover::discover(places, cwd)
    }
}

fn is_row(row: &Value) -> bool {
    let Some(kind) = row["type"].as_str() else { return row.get("record_type").is_some() };
    let rollout = matches!(
        kind,
        "session_meta"
            | "response_item"
            | "event_msg"
            | "turn_context"
            | "compacted"
            | "world_state"
    );
    (rollout && row.get("payload").is_some())
        || (kind == "thread.started" && row["thread_id"].is_string())
}

fn printed(row: &Value) -> Option<String> {
    let payload = body::item(row);
    let done = if payload["item"].is_object() { &payload["item"] } else { payload };
    if let Some(text) = word(&done["aggregated_output"]) {
        return Some(text.to_owned());
    }
    let output = done.get("output")?;
    let text = output::ToolOutput::read(output).text;
    Some(if text.is_empty() { plain_text(output) } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_generation_and_the_output_are_recognized() {
        for row in [
            json!({"id": "s", "timestamp": "t", "instructions": null}),
            json!({"record_type": "state"}),
            json!({"type": "turn_context", "payload": {}}),
            json!({"type": "thread.started", "thread_id": "t"}),
        ] {
            assert!(Codex.recognizes(std::slice::from_ref(&row)), "{row}");
        }
        for row in
            [json!({"type": "user", "sessionId": "s"}), json!({"type": "session_meta"}), json!(3)]
        {
            assert!(!Codex.recognizes(std::slice::from_ref(&row)), "{row}");
        }
    }

    #[test]
    fn a_commands_output_is_read_from_its_row() {
        let item = json!({"type": "event_msg", "payload": {"type": "item_completed",
            "item": {"type": "CommandExecution", "aggregated_output": "hi\n"}}});
        assert_eq!(Codex.command_output(item.to_string().as_bytes()).as_deref(), Some("hi\n"));
        let output = json!({"type": "function_call_output", "call_id": "c",
            "output": "{\"output\":\"old\",\"metadata\":{\"exit_code\":0}}"});
        assert_eq!(Codex.command_output(output.to_string().as_bytes()).as_deref(), Some("old"));
        assert_eq!(Codex.command_output(b"{}"), None);
    }
}
