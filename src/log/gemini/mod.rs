//! Gemini CLI: a log of operations (one JSON row each), before 0.40 one JSON document; also its
//! `stream-json` output.

mod agents;
mod calls;
mod checkpoints;
mod discover;
mod document;
mod project;
mod reader;
mod session;

use super::messages::each_message;
use super::row::lossy;
use super::{Companion, FoundSession, LogFormat, LogReader, Output, Places, SoFar, WholeLog, lazy};
use crate::session::event::{Delegation, EditBody, LogEvent};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The log format of Gemini CLI.
pub(crate) struct Gemini;

impl LogFormat for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn recognizes(&self, rows: &[Value]) -> bool {
        let is = |row: &Value, value: &str| row.get("type").and_then(Value::as_str) == Some(value);
        rows.iter().any(|row| {
            ["projectHash", "$set", "$rewindTo"].iter().any(|key| row.get(key).is_some())
        }) || rows.first().is_some_and(|row| {
            is(row, "init") && row.get("session_id").is_some() && row.get("model").is_some()
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
        // The row of the result holds the call again, unless it is of the `stream-json` output.
        let rows = result.into_iter().chain([call]).map(lossy);
        rows.into_iter().find_map(|row| edit_of(&row)).unwrap_or_default()
    }

    fn command_output(&self, row: &[u8]) -> Option<String> {
        let row = lossy(row);
        let records = lazy::objects(&row).0;
        let logged = || records.iter().flat_map(calls::all).next().map(|call| call.output());
        records.iter().find_map(|record| record.string("output")).or_else(logged)
    }

    fn whole(&self) -> Option<&dyn WholeLog> {
        Some(self)
    }

    fn companions(&self, path: &Path, calls: &[Delegation]) -> Vec<Companion> {
        agents::logs(path, calls)
    }

    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        discover::sessions(places, cwd)
    }
}

impl WholeLog for Gemini {
    /// One JSON document: its first line is not a row of its own, or holds the messages itself.
    fn recognizes(&self, _path: &Path, head: &[u8]) -> bool {
        let head = lossy(head);
        let head = head.trim_start();
        let first = head.lines().next().unwrap_or_default();
        let (rows, torn) = lazy::objects(first);
        let is_row = torn.is_none() && rows.iter().all(|row| !row.has("messages"));
        let keys = ["\"sessionId\"", "\"projectHash\"", "\"messages\""];
        head.starts_with('{') && !is_row && keys.iter().all(|key| head.contains(key))
    }

    fn version(&self, path: &Path) -> io::Result<u64> {
        let data = std::fs::metadata(path)?;
        let since = data.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok((since.as_nanos() as u64).rotate_left(20) ^ data.len())
    }

    fn read(
        &self,
        path: &Path,
        session: Option<&str>,
        out: &mut Output,
        so_far: &mut SoFar<'_>,
    ) -> io::Result<()> {
        let _ = session; // A document holds one session.
        out.events.push(LogEvent::Reset);
        let mut reader = reader::Reader::new(Some(path));
        // It is looked through first: one that is torn is held in memory to be taken apart.
        let Ok(head) = each_message(path, &mut |_| true) else {
            reader.document(&lossy(&std::fs::read(path)?), out);
            return Ok(());
        };
        reader.head(&head, out);
        each_message(path, &mut |message| {
            reader.messages_of(message, out);
            so_far(out)
        })?;
        reader.document_ends(out);
        Ok(())
    }
}

/// What the first edit of a row did.
fn edit_of(row: &str) -> Option<EditBody> {
    let records = lazy::objects(row).0;
    let mut calls = records.iter().flat_map(calls::all);
    calls.find(|call| call.edits().is_some()).map(|call| call.body())
}
