//! Two texts → what changed between them, within a deadline. Never draws, never reads.

use crate::session::EofNewline;
use std::ops::Range;
use std::sync::Arc;

/// A text as bytes with a table of its lines. Lines end at `\n` only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    bytes: Arc<[u8]>,
    /// Where each line starts.
    starts: Vec<u32>,
}

/// One change: old lines replaced by new lines (0-based, half-open; either may be empty).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The deleted lines.
    pub old: Range<u32>,
    /// The added lines.
    pub new: Range<u32>,
}

/// A stretch of both texts whose lines stand together in the real file. A comparison of whole
/// texts has one piece; one of applied hunks has a piece a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its old lines (0-based).
    pub old: Range<u32>,
    /// Its new lines (0-based).
    pub new: Range<u32>,
    /// 1-based number of its first old line in the real file, where that is known.
    pub old_start: Option<u32>,
    /// 1-based number of its first new line in the real file, where that is known.
    pub new_start: Option<u32>,
}

/// What changed between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The text before (empty where there was no file).
    pub old: Arc<Text>,
    /// The text after (empty where there is no file).
    pub new: Arc<Text>,
    /// Whether there was a file before.
    pub has_old: bool,
    /// Whether there is a file after.
    pub has_new: bool,
    /// The changes in order, none overlapping, none touching another.
    pub changes: Vec<Change>,
    /// The pieces in order; they cover both texts.
    pub pieces: Vec<Piece>,
    /// Time ran out: one change that replaces everything.
    pub coarse: bool,
    /// What became of the final newline.
    pub eof_newline: Option<EofNewline>,
}
