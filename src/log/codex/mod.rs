//! Codex: rollout files of all generations, and `codex exec --json`.

mod base;
mod body;
mod call;
mod calls;
mod discover;
mod output;
mod reader;
mod stream;
mod turns;

use super::loose::{plain_text, values_again, word};
use super::{FoundSession, LogFormat, LogReader, Places};
use crate::session::event::EditBody;
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
