//! Claude Code: one JSON row a record, in a tree by `parentUuid`; also its `stream-json` output.

mod agents;
mod calls;
mod discover;
mod edits;
mod history;
mod info;
mod prompts;
mod reader;

use super::lazy;
use super::row::lossy;
use super::{Companion, FoundSession, LogFormat, LogReader, Places};
use crate::session::event::{Delegation, EditBody};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;

/// The log format of Claude Code.
pub(crate) struct Claude;

/// What the top-level `type` of a row may be in the head of a session.
const TYPES: &[&str] = &[
    "user",
    "assistant",
    "system",
    "summary",
    "attachment",
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "mode",
    "permission-mode",
    "last-prompt",
    "custom-title",
    "ai-title",
];

/// Keys of which a record has at least one; `session_id` is that of the `stream-json` output.
const KEYS: &[&str] = &["parentUuid", "isSidechain", "leafUuid", "sessionId", "session_id"];

impl LogFormat for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn recognizes(&self, rows: &[Value]) -> bool {
        rows.iter().any(|row| {
            let typed = row.get("type").and_then(Value::as_str).is_some_and(|t| TYPES.contains(&t));
            let keyed = KEYS.iter().any(|key| row.get(key).is_some());
            let snapshot = row.get("snapshot").is_some() && row.get("messageId").is_some();
            typed && (keyed || snapshot)
        })
    }

    fn reader(&self) -> Box<dyn LogReader> {
        Box::new(reader::Reader::new(None))
    }

    fn reader_at(&self, path: &Path) -> Box<dyn LogReader> {
        Box::new(reader::Reader::new(Some(path)))
    }

    fn edit_body(&self, call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
        let _ = nth; // A call of this agent edits one file.
        let (call, result) = (lossy(call), result.map(lossy));
        edits::from_rows(&call, result.as_deref(), None)
    }

    fn known_text(&self, row: &[u8]) -> Option<String> {
        let row = lossy(row);
        let (_, text) = lazy::objects(&row).0.iter().find_map(history::whole_file)?;
        text.text().map(Cow::into_owned)
    }

    fn command_output(&self, row: &[u8]) -> Option<String> {
        let row = lossy(row);
        lazy::objects(&row).0.iter().find_map(calls::output)
    }

    fn companions(&self, path: &Path, calls: &[Delegation]) -> Vec<Companion> {
        agents::logs(path, calls)
    }

    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        discover::sessions(places, cwd)
    }
}
