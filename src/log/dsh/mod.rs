//! The session log of `DeepSeek` Harness (dsh), every generation of it, told by the shape of its rows and never by its version number.

mod body;
mod places;
mod reader;
mod row;
mod run;
mod sequence;
mod tool;

use super::{Companion, FoundSession, LogFormat, LogReader, Places, Skim};
use crate::session::event::{Delegation, EditBody};
use serde_json::Value;
use std::path::Path;

/// The format; see `LogFormat`.
#[derive(Debug, Clone, Copy)]
pub struct Dsh;

pub(in crate::log) use places::generation;
pub use places::newest_generation;

impl LogFormat for Dsh {
    fn name(&self) -> &'static str {
        "dsh"
    }

    fn recognizes(&self, rows: &[Value]) -> bool {
        rows.iter().any(|row| is_header(row) || is_event(row))
    }

    fn reader(&self) -> Box<dyn LogReader> {
        Box::<reader::Reader>::default()
    }

    fn edit_body(&self, call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
        // A call of this log names one file.
        if nth > 0 { EditBody::default() } else { body::edit_body(call, result) }
    }

    fn known_text(&self, row: &[u8]) -> Option<String> {
        body::known_text(row)
    }

    fn command_output(&self, row: &[u8]) -> Option<String> {
        body::output(row)
    }

    fn skim(&self) -> Option<Skim> {
        Some(sequence::skim)
    }

    fn turn_start_mark(&self) -> Option<&'static [u8]> {
        Some(b"\"turn/start\"")
    }

    fn companions(&self, path: &Path, calls: &[Delegation]) -> Vec<Companion> {
        places::companions(path, calls)
    }

    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        places::discover(places, cwd)
    }
}

/// A header: the `createdAt` in milliseconds sets it apart from other agents' `session` rows.
fn is_header(row: &Value) -> bool {
    row["type"] == "session" && row["id"].is_string() && row["createdAt"].is_number()
}

/// Any other row, for a log that lost its head.
fn is_event(row: &Value) -> bool {
    let named = row["type"].as_str().is_some_and(|kind| kind.contains('/'));
    let numbered = row["seq"].is_u64() && row["time"].is_number();
    (named && numbered && row["data"].is_object())
        || (row["seq0"].is_u64() && row["time0"].is_number())
}
