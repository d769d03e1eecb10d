//! Hunks that a log keeps → a comparison of pieces.

use super::compare::{exact, whole};
use super::limit::{Cancelled, Limit, Stop};
use super::text::Text;
use super::{Change, Comparison, Piece};
use crate::session::event::AppliedHunk;
use std::sync::Arc;

/// Compares the hunks that a log keeps, each by itself, however long that takes.
pub fn from_hunks(hunks: &[AppliedHunk], has_old: bool, has_new: bool) -> Comparison {
    compare_hunks(hunks, has_old, has_new, &Limit::default()).unwrap_or_else(|Cancelled| {
        Comparison {
            old: Arc::default(),
            new: Arc::default(),
            has_old,
            has_new,
            changes: Vec::new(),
            pieces: Vec::new(),
            coarse: false,
            eof_newline: None,
        }
    })
}

/// Compares the hunks that a log keeps, each by itself: a piece a hunk. Past the deadline the
/// answer is coarse: each hunk that is left replaces its every line.
///
/// # Errors
/// [`Cancelled`] once the limit's flag is set.
pub fn compare_hunks(
    hunks: &[AppliedHunk],
    has_old: bool,
    has_new: bool,
    limit: &Limit,
) -> Result<Comparison, Cancelled> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let (mut changes, mut pieces) = (Vec::<Change>::new(), Vec::<Piece>::new());
    let mut coarse = false;
    // The one hunk of a file that came or went holds the whole file.
    let whole_file = hunks.len() == 1 && !(has_old && has_new);
    let start_number =
        |known: Option<u32>| known.or(whole_file.then_some(1)).map(|start| start.max(1));
    for hunk in hunks {
        let old_text = side(hunk.old_text.as_deref(), limit)?;
        let new_text = side(hunk.new_text.as_deref(), limit)?;
        let start = pieces.last().map_or((0, 0), |piece| (piece.old.end, piece.new.end));
        let found = match exact(&old_text, &new_text, limit) {
            Ok(found) => found,
            Err(Stop::Cancelled) => return Err(Cancelled),
            Err(Stop::Late) => {
                coarse = true;
                whole(&old_text, &new_text)
            }
        };
        changes.extend(found.into_iter().map(|change| Change {
            old: start.0 + change.old.start..start.0 + change.old.end,
            new: start.1 + change.new.start..start.1 + change.new.end,
        }));
        pieces.push(Piece {
            old: start.0..start.0 + old_text.len(),
            new: start.1..start.1 + new_text.len(),
            old_start: start_number(hunk.old_start),
            new_start: start_number(hunk.new_start),
        });
        old.extend_from_slice(old_text.bytes());
        new.extend_from_slice(new_text.bytes());
    }
    Ok(Comparison {
        old: Arc::new(Text::cancellable(old.into(), limit)?),
        new: Arc::new(Text::cancellable(new.into(), limit)?),
        has_old,
        has_new,
        changes,
        pieces,
        coarse,
        eof_newline: None,
    })
}

/// One side of a hunk, with the final newline that the log leaves out. No text has no line; an
/// empty text is one empty line.
fn side(text: Option<&str>, limit: &Limit) -> Result<Text, Cancelled> {
    let bytes = text.map(|text| [text.as_bytes(), b"\n"].concat()).unwrap_or_default();
    Text::cancellable(bytes.into(), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(old: Option<&str>, new: Option<&str>, old_start: Option<u32>) -> AppliedHunk {
        AppliedHunk {
            old_start,
            new_start: old_start,
            old_text: old.map(str::to_owned),
            new_text: new.map(str::to_owned),
        }
    }

    #[test]
    fn each_hunk_is_a_piece() {
        let hunks = [
            hunk(Some("a\nb\nc"), Some("a\nB\nc"), Some(10)),
            hunk(Some("same"), Some("same"), None),
            hunk(None, Some("x\ny"), None),
            hunk(Some(""), Some("z"), Some(90)),
        ];
        let comparison = from_hunks(&hunks, true, true);
        assert_eq!((comparison.added(), comparison.deleted()), (4, 2));
        assert_eq!(
            comparison.changes,
            [
                Change { old: 1..2, new: 1..2 },
                Change { old: 4..4, new: 4..6 },
                Change { old: 4..5, new: 6..7 },
            ]
        );
        assert_eq!(comparison.old_number(1), Some(11));
        assert_eq!(comparison.old_number(3), None);
        assert_eq!(comparison.old_number(4), Some(90));
        assert_eq!(comparison.new_number(5), None);
        assert_eq!(comparison.new_number(7), None);
        let pieces: Vec<_> = comparison.hunks(3).iter().map(|hunk| hunk.piece).collect();
        assert_eq!(pieces, [0, 2, 3]);
    }

    #[test]
    fn a_created_file_starts_at_its_first_line() {
        let created = [hunk(None, Some("a\nb"), None)];
        assert_eq!(from_hunks(&created, false, true).new_number(1), Some(2));
        assert_eq!(from_hunks(&created, true, true).new_number(1), None);
    }

    #[test]
    fn equal_lines_do_not_join_across_pieces() {
        let hunks = [hunk(Some("x"), None, Some(1)), hunk(None, Some("x"), Some(50))];
        let comparison = from_hunks(&hunks, true, true);
        assert_eq!((comparison.added(), comparison.deleted()), (1, 1));
    }
}
