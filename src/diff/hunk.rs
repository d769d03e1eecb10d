//! Changes → hunks: changes with the unchanged lines around them.

use super::{Change, Comparison, Piece, Text};
use crate::session::{FileDiff, Hunk};
use std::ops::Range;

/// Changes that stand together, with their context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkRange {
    /// Its old lines (0-based).
    pub old: Range<u32>,
    /// Its new lines (0-based).
    pub new: Range<u32>,
    /// Its changes, as indexes into [`Comparison::changes`].
    pub changes: Range<usize>,
    /// Its piece, as an index into [`Comparison::pieces`].
    pub piece: usize,
}

impl Comparison {
    /// The hunks with so many lines of context. Two changes share a hunk when at most twice as many
    /// unchanged lines lie between them; never across pieces.
    pub fn hunks(&self, context: u32) -> Vec<HunkRange> {
        hunks(&self.changes, &self.pieces, context)
    }

    /// The comparison as the outside sees it. Text that is not UTF-8 is decoded lossily.
    pub fn to_file_diff(&self, path: &str, display: &str, context: u32) -> FileDiff {
        FileDiff::Text {
            path: path.to_owned(),
            display: display.to_owned(),
            before: self.has_old,
            after: self.has_new,
            hunks: self.hunks(context).iter().map(|hunk| self.to_hunk(hunk)).collect(),
            coarse: self.coarse,
            eof_newline: self.eof_newline,
        }
    }

    fn to_hunk(&self, hunk: &HunkRange) -> Hunk {
        let lines = rows(&self.old, &self.new, &self.changes, hunk)
            .map(|row| format!("{}{}", char::from(row.sign), String::from_utf8_lossy(row.text)))
            .collect();
        let piece = self.pieces.get(hunk.piece);
        let old_start = piece.and_then(|piece| piece.old_start);
        let new_start = piece.and_then(|piece| piece.new_start);
        let (old, new) = piece.map_or((0, 0), |piece| (piece.old.start, piece.new.start));
        Hunk {
            old_start: old_start.map(|start| start.saturating_add(hunk.old.start - old)),
            old_lines: hunk.old.end - hunk.old.start,
            new_start: new_start.map(|start| start.saturating_add(hunk.new.start - new)),
            new_lines: hunk.new.end - hunk.new.start,
            lines,
        }
    }
}

/// One line of a hunk.
pub(super) struct Row<'a> {
    /// `-`, `+` or space.
    pub(super) sign: u8,
    /// Its number (0-based) among the new lines for `+`, among the old ones otherwise.
    pub(super) line: u32,
    /// Without its `\n`.
    pub(super) text: &'a [u8],
}

/// The lines of a hunk; in each change the deleted ones come first.
pub(super) fn rows<'a>(
    old: &'a Text,
    new: &'a Text,
    changes: &'a [Change],
    hunk: &HunkRange,
) -> impl Iterator<Item = Row<'a>> {
    let changes = changes.get(hunk.changes.clone()).unwrap_or_default();
    let tail = changes.last().map_or(hunk.old.start, |last| last.old.end);
    let tail = side(b' ', old, tail..hunk.old.end);
    let mut at = hunk.old.start;
    changes
        .iter()
        .flat_map(move |change| {
            let kept = side(b' ', old, at..change.old.start);
            at = change.old.end;
            kept.chain(side(b'-', old, change.old.clone())).chain(side(
                b'+',
                new,
                change.new.clone(),
            ))
        })
        .chain(tail)
}

fn side(sign: u8, text: &Text, range: Range<u32>) -> impl Iterator<Item = Row<'_>> {
    range.clone().zip(text.lines(range)).map(move |(line, text)| Row { sign, line, text })
}

/// Groups changes into hunks.
pub(super) fn hunks(changes: &[Change], pieces: &[Piece], context: u32) -> Vec<HunkRange> {
    let mut hunks: Vec<HunkRange> = Vec::new();
    let mut at = 0;
    for (index, change) in changes.iter().enumerate() {
        let begins =
            |piece: &Piece| piece.old.end < change.old.end || piece.new.end < change.new.end;
        at += pieces.get(at..).unwrap_or_default().iter().take_while(|piece| begins(piece)).count();
        let Some(piece) = pieces.get(at) else { break };
        let left = (piece.old.end - change.old.end).min(piece.new.end - change.new.end);
        let behind = context.min(left);
        let end = (change.old.end + behind, change.new.end + behind);
        let last_end =
            index.checked_sub(1).and_then(|last| changes.get(last)).map(|last| last.old.end);
        match (hunks.last_mut(), last_end) {
            (Some(hunk), Some(last))
                if hunk.piece == at && change.old.start - last <= context.saturating_mul(2) =>
            {
                (hunk.old.end, hunk.new.end) = end;
                hunk.changes.end = index + 1;
            }
            _ => {
                let before = context.min(change.old.start - piece.old.start);
                let before = before.min(change.new.start - piece.new.start);
                hunks.push(HunkRange {
                    old: change.old.start - before..end.0,
                    new: change.new.start - before..end.1,
                    changes: index..index + 1,
                    piece: at,
                });
            }
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Limit, compare};
    use std::sync::Arc;

    fn comparison(old: &str, new: &str) -> Comparison {
        let bytes = |text: &str| Some(Arc::from(text.as_bytes()));
        compare(bytes(old), bytes(new), &Limit::default()).unwrap()
    }

    fn numbered(lines: usize, changed: &[usize]) -> String {
        (0..lines)
            .map(|line| {
                if changed.contains(&line) { format!("new {line}\n") } else { format!("{line}\n") }
            })
            .collect()
    }

    #[test]
    fn twice_the_context_between_two_changes_joins_them() {
        let old = numbered(30, &[]);
        assert_eq!(comparison(&old, &numbered(30, &[5, 12])).hunks(3).len(), 1);
        assert_eq!(comparison(&old, &numbered(30, &[5, 13])).hunks(3).len(), 2);
        assert_eq!(comparison(&old, &numbered(30, &[5, 6])).hunks(0).len(), 1);
        assert_eq!(comparison(&old, &numbered(30, &[5, 7])).hunks(0).len(), 2);
    }

    #[test]
    fn context_ends_at_the_text() {
        let hunks = comparison("a\nb\nc\n", "a\nB\nc\n").hunks(u32::MAX);
        assert_eq!((hunks[0].old.clone(), hunks[0].new.clone()), (0..3, 0..3));
    }

    #[test]
    fn a_side_without_lines_starts_at_one() {
        let FileDiff::Text { hunks, .. } = comparison("", "x\ny").to_file_diff("p", "d", 3) else {
            panic!("not a text")
        };
        let hunk = &hunks[0];
        assert_eq!((hunk.old_start, hunk.old_lines), (Some(1), 0));
        assert_eq!((hunk.new_start, hunk.new_lines), (Some(1), 2));
        assert_eq!(hunk.lines, ["+x", "+y"]);
    }

    #[test]
    fn deleted_lines_come_before_added_ones_and_bad_bytes_are_replaced() {
        let comparison = compare(
            Some(Arc::from(&b"a\n\xff\r\nz\n"[..])),
            Some(Arc::from(&b"a\n\xfe\nz\n"[..])),
            &Limit::default(),
        )
        .unwrap();
        let FileDiff::Text { hunks, .. } = comparison.to_file_diff("p", "d", 3) else {
            panic!("not a text")
        };
        assert_eq!(hunks[0].lines, [" a", "-\u{fffd}\r", "+\u{fffd}", " z"]);
    }
}
