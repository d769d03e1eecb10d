//! Two texts → what changed between them, within a deadline. Never draws, never reads.
//!
//! [`compare()`] splits both texts ([`Text`]), gives equal lines one number, drops lines that the
//! other side does not have, searches the rest with Myers' algorithm and git's cut-offs, and slides
//! the changes to where git puts them. The answer is ranges of lines; [`patch`] and
//! [`Comparison::to_file_diff`] turn it into text, [`words`] looks into a pair of lines.

mod applied;
mod compare;
mod discard;
mod frontier;
mod hunk;
mod limit;
mod line_class;
mod myers;
pub mod patch;
mod slider;
mod split_score;
mod text;
mod token;
pub mod words;

pub use applied::{compare_hunks, from_hunks};
pub use compare::compare;
pub use hunk::HunkRange;
pub use limit::{Cancelled, Limit};
pub use text::Text;

use crate::session::EofNewline;
use std::ops::Range;
use std::sync::Arc;

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
    /// The changes in order, none overlapping; within a piece none touches another.
    pub changes: Vec<Change>,
    /// The pieces in order; they cover both texts.
    pub pieces: Vec<Piece>,
    /// Time ran out: one change that replaces everything.
    pub coarse: bool,
    /// What became of the final newline.
    pub eof_newline: Option<EofNewline>,
}

impl Comparison {
    /// Lines added. The list, the viewer and the patch all count by this.
    pub fn added(&self) -> u32 {
        self.changes.iter().map(|change| change.new.end - change.new.start).sum()
    }

    /// Lines deleted.
    pub fn deleted(&self) -> u32 {
        self.changes.iter().map(|change| change.old.end - change.old.start).sum()
    }

    /// The 1-based number of an old line (0-based in [`Comparison::old`]) in the real file; none
    /// where its place is not known.
    pub fn old_number(&self, line: u32) -> Option<u32> {
        let next = self.pieces.partition_point(|piece| piece.old.end <= line);
        let piece = self.pieces.get(next)?;
        piece.old_start?.checked_add(line - piece.old.start)
    }

    /// The 1-based number of a new line (0-based in [`Comparison::new`]) in the real file; none
    /// where its place is not known.
    pub fn new_number(&self, line: u32) -> Option<u32> {
        let next = self.pieces.partition_point(|piece| piece.new.end <= line);
        let piece = self.pieces.get(next)?;
        piece.new_start?.checked_add(line - piece.new.start)
    }
}
