//! pi: one JSON row an entry, in a tree by `parentId` (version 1: a plain sequence); also its
//! `--mode json` output.

mod calls;
mod discover;
mod reader;

use super::row::lossy;
use super::{FoundSession, LogFormat, LogReader, Places, lazy};
use crate::session::event::EditBody;
use serde_json::Value;
use std::path::Path;

/// The log format of pi.
pub(crate) struct Pi;

impl LogFormat for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    /// The first row of a log is its header, and so is that of the output. (Another agent's header
    /// is of the same type, but says `createdAt` where this one has a `timestamp`.)
    fn recognizes(&self, rows: &[Value]) -> bool {
        rows.first().is_some_and(|row| {
            row.get("type").and_then(Value::as_str) == Some("session")
                && row.get("cwd").is_some()
                && row.get("timestamp").is_some()
        })
    }

    fn reader(&self) -> Box<dyn LogReader> {
        Box::new(reader::Reader::default())
    }

    fn edit_body(&self, call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
        let _ = nth; // A call of this agent edits one file.
        let (call, result) = (lossy(call), result.map(lossy));
        calls::body_from_rows(&call, result.as_deref())
    }

    fn known_text(&self, row: &[u8]) -> Option<String> {
        let row = lossy(row);
        lazy::objects(&row).0.iter().find_map(calls::result).map(|result| result.text())
    }

    fn command_output(&self, row: &[u8]) -> Option<String> {
        let row = lossy(row);
        lazy::objects(&row).0.iter().find_map(|entry| {
            let message = entry.object("message");
            message.string("output").or_else(|| Some(calls::result(entry)?.text()))
        })
    }

    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        discover::sessions(places, cwd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_header_is_told_from_that_of_another_agent() {
        let own =
            json!({"type": "session", "id": "s", "timestamp": "2026-12-01T00:00:00Z", "cwd": "/w"});
        let other =
            json!({"type": "session", "version": 3, "id": "s", "createdAt": 1, "cwd": "/w"});
        assert!(Pi.recognizes(std::slice::from_ref(&own)));
        assert!(!Pi.recognizes(&[other.clone(), own]) && !Pi.recognizes(&[]));
    }
}
