//! How a row is divided: line numbers, signs, text.

use crate::diff::Comparison;

/// The columns of a viewer's rows, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Two sides beside each other.
    pub is_split: bool,
    /// Digits of a line number.
    pub digits: usize,
    /// Cells before the text of a side: numbers, blanks and the sign.
    pub gutter: usize,
    /// Cells of the text of a side (the right one where they differ by one).
    pub text: usize,
    /// Cells of the left side with its gutter; 0 in one column.
    pub left: usize,
}

/// Divides rows of `width` cells.
pub fn columns(width: u16, comparison: &Comparison, is_split: bool) -> Columns {
    let width = usize::from(width);
    let last = |side: fn(&crate::diff::Piece) -> (Option<u32>, u32)| {
        let ends = comparison.pieces.iter().map(|piece| {
            let (start, lines) = side(piece);
            start.map_or(0, |start| start.saturating_add(lines))
        });
        ends.max().unwrap_or(0)
    };
    let old = last(|piece| (piece.old_start, piece.old.end - piece.old.start));
    let new = last(|piece| (piece.new_start, piece.new.end - piece.new.start));
    let digits = (old.max(new).max(1).ilog10() as usize + 1).max(3);
    if is_split {
        // "1234 - text" on each side, and a line between them.
        let gutter = digits + 3;
        let left = width.saturating_sub(1) / 2;
        let text = (width - left).saturating_sub(gutter + 1);
        Columns { is_split, digits, gutter, text, left }
    } else {
        let numbers = if comparison.has_old && comparison.has_new { 2 } else { 1 };
        let gutter = (digits + 1) * numbers + 2;
        Columns { is_split, digits, gutter, text: width.saturating_sub(gutter), left: 0 }
    }
}

impl Columns {
    /// Cells of the text of the left side.
    pub fn left_text(&self) -> usize {
        self.left.saturating_sub(self.gutter)
    }
}
