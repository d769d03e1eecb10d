//! Rows on a line: mostly one, but a lost line end glues several, and a torn one may stand before a whole one.

use crate::session::event::Place;
use memchr::memmem::{self, Finder};
use serde::de::IgnoredAny;
use serde_json::Deserializer;
use std::sync::LazyLock;

/// How many places of a broken row are tried as the start of a whole one.
const TRIES: usize = 4096;

/// Built once: building a searcher costs more than searching a short line.
static GLUE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"}{\""));

/// Cuts a line into its rows, each with its own place. A stretch that is not JSON is a piece too.
pub fn split(place: Place, line: &[u8]) -> Vec<(Place, &[u8])> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = line.get(from..).filter(|rest| !rest.trim_ascii().is_empty()) {
        let end = first_value(rest).or_else(|| next_start(rest)).unwrap_or(rest.len());
        let piece = rest.get(..end).unwrap_or(rest);
        found.push((part(place, from, piece.len()), piece));
        from += end;
    }
    found
}

/// Whether a line may hold more than one row: `}{"` cannot stand inside a JSON string.
pub fn may_be_glued(line: &[u8]) -> bool {
    GLUE.find(line).is_some()
}

/// The length of the JSON value that the text begins with.
fn first_value(text: &[u8]) -> Option<usize> {
    let mut values = Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Where, behind a broken start, whole objects stand up to the end of the line.
fn next_start(text: &[u8]) -> Option<usize> {
    memmem::find_iter(text, b"{\"").skip_while(|at| *at == 0).take(TRIES).find(|at| {
        text.get(*at..).is_some_and(|rest| {
            Deserializer::from_slice(rest).into_iter::<IgnoredAny>().all(|value| value.is_ok())
        })
    })
}

/// The place of a part of a line.
fn part(line: Place, from: usize, len: usize) -> Place {
    let from = from as u64;
    let len = len as u64;
    // In a plain log too the offsets are added up when the row is read again.
    Place { inner: line.inner + from, len, ..line }
}
