//! One edit done, or undone, on a whole text. Only where that can be done in exactly one way.

use super::State;
use super::locate::{Mismatch, Normal};
use crate::session::event::{AppliedHunk, EditAction, EditBody};
use std::borrow::Cow;
use std::ops::Range;

/// What the file holds after an edit, from what it held before.
pub(super) fn redo(body: &EditBody, before: &State) -> Result<State, Mismatch> {
    if let Some(after) = after_of_itself(body) {
        return Ok(match (before, after) {
            (State::Text(old), State::Text(new)) => {
                State::Text(Normal::of(old).with_own_ends(&new).into_owned().into())
            }
            (_, after) => after,
        });
    }
    let text = match before {
        State::Text(text) => text,
        // An edit may make the file that it edits.
        State::Absent => &b""[..].into(),
        State::Unknown => return Err(Mismatch::NotEnough),
    };
    let done = match &body.action {
        EditAction::Keep => return Ok(before.clone()),
        EditAction::Replace { pairs } => replace(pairs, text),
        EditAction::Insert { after_line, text: lines } => insert(*after_line, lines, text),
        _ => Err(Mismatch::NotEnough),
    };
    let done = match done {
        Err(_) if !body.hunks.is_empty() => patch(&body.hunks, Way::Redo, text),
        done => done,
    };
    done.map(|text| State::Text(text.into()))
}

/// What the file held before an edit, from what it holds after.
pub(super) fn undo(body: &EditBody, after: &State) -> Result<State, Mismatch> {
    if let Some(before) = before_of_itself(body) {
        return Ok(before);
    }
    let State::Text(text) = after else { return Err(Mismatch::NotEnough) };
    if let EditAction::Keep = body.action {
        return Ok(after.clone());
    }
    let undone = if body.hunks.is_empty() {
        let undone = match &body.action {
            EditAction::Replace { pairs } => unreplace(pairs, text)?,
            EditAction::Insert { after_line, text: lines } => uninsert(*after_line, lines, text)?,
            _ => return Err(Mismatch::NotEnough),
        };
        // The edit went in at one place; so it must from here, and come out where we began.
        let again = redo(body, &State::Text(undone.clone().into()))?;
        if again != *after {
            return Err(Mismatch::Ambiguous);
        }
        undone
    } else {
        patch(&body.hunks, Way::Undo, text)?
    };
    Ok(State::Text(undone.into()))
}

/// What a file held before, where the edit alone tells.
pub(super) fn before_of_itself(body: &EditBody) -> Option<State> {
    match (&body.before, &body.action) {
        (Some(text), _) => Some(State::Text(text.as_bytes().into())),
        (None, EditAction::Write { created: Some(true), .. }) => Some(State::Absent),
        _ => None,
    }
}

/// What a file holds after, where the edit alone tells.
pub(super) fn after_of_itself(body: &EditBody) -> Option<State> {
    match (&body.after, &body.action) {
        (_, EditAction::Delete) => Some(State::Absent),
        (Some(text), _) | (None, EditAction::Write { content: text, .. }) => {
            Some(State::Text(text.as_bytes().into()))
        }
        _ => None,
    }
}

fn replace(pairs: &[(String, String, bool)], text: &[u8]) -> Result<Vec<u8>, Mismatch> {
    let mut text = text.to_vec();
    for (old, new, all) in pairs {
        let normal = Normal::of(&text);
        let places = match (old.as_str(), all) {
            // Nothing is replaced: the file is empty, and is filled.
            ("", _) if normal.len() == 0 => std::iter::once(0..0).collect(),
            ("", _) => return Err(Mismatch::WrongState),
            (old, true) => normal.find_all(old),
            (old, false) => std::iter::once(normal.find_one(old)?).collect(),
        };
        if places.is_empty() {
            return Err(Mismatch::NotFound);
        }
        let places: Vec<_> = places.into_iter().map(|at| (at, new.as_str().into())).collect();
        text = normal.replace(&places);
    }
    Ok(text)
}

fn unreplace(pairs: &[(String, String, bool)], text: &[u8]) -> Result<Vec<u8>, Mismatch> {
    let mut text = text.to_vec();
    for (old, new, all) in pairs.iter().rev() {
        // Of all places that hold the new text, some may have held it before.
        if *all || new.is_empty() {
            return Err(Mismatch::Ambiguous);
        }
        let normal = Normal::of(&text);
        text = normal.replace(&[(normal.find_one(new)?, old.as_str().into())]);
    }
    Ok(text)
}

fn insert(after_line: u32, lines: &str, text: &[u8]) -> Result<Vec<u8>, Mismatch> {
    let normal = Normal::of(text);
    let (place, lines) = match normal.line_start(after_line.saturating_add(1)) {
        Some(start) => (start..start, format!("{lines}\n")),
        // Behind a last line that has no newline.
        None if normal.line_start(after_line).is_some() => {
            (normal.len()..normal.len(), format!("\n{lines}"))
        }
        None => return Err(Mismatch::NotFound),
    };
    Ok(normal.replace(&[(place, lines.into())]))
}

fn uninsert(after_line: u32, lines: &str, text: &[u8]) -> Result<Vec<u8>, Mismatch> {
    let normal = Normal::of(text);
    let place = normal.lines_at(lines, after_line.saturating_add(1)).ok_or(Mismatch::NotFound)?;
    let place = match normal.byte(place.end) {
        Some(_) => place.start..place.end + 1,
        None => place.start.saturating_sub(1)..place.end,
    };
    Ok(normal.replace(&[(place, "".into())]))
}

/// Which side of the hunks stands in the text.
#[derive(Clone, Copy)]
enum Way {
    Redo,
    Undo,
}

/// The side of a hunk that stands in the text, the one that takes its place, and the line.
fn sides(hunk: &AppliedHunk, way: Way) -> (Option<&str>, Option<&str>, Option<u32>) {
    let (old, new) = (hunk.old_text.as_deref(), hunk.new_text.as_deref());
    match way {
        Way::Redo => (old, new, hunk.old_start),
        Way::Undo => (new, old, hunk.new_start),
    }
}

fn patch(hunks: &[AppliedHunk], way: Way, text: &[u8]) -> Result<Vec<u8>, Mismatch> {
    let normal = Normal::of(text);
    let mut places: Vec<(Range<usize>, Cow<str>)> = Vec::new();
    let mut from = 0;
    for hunk in hunks {
        let (stands, comes, line) = sides(hunk, way);
        let place = match stands {
            Some(lines) => line
                .and_then(|line| normal.lines_at(lines, line))
                .filter(|place| place.start >= from)
                .map_or_else(|| normal.find_lines(lines, from), Ok)?,
            None => empty_place(&normal, line)?,
        };
        from = place.end;
        places.push(match (stands, comes) {
            (Some(_), Some(comes)) => (place, comes.into()),
            (Some(_), None) => (whole_lines(&normal, place), "".into()),
            (None, Some(comes)) => (place, format!("{comes}\n").into()),
            (None, None) => continue,
        });
    }
    Ok(normal.replace(&places))
}

/// Where lines go in that replace none: into an empty file, or where the log numbers the place.
fn empty_place(normal: &Normal, line: Option<u32>) -> Result<Range<usize>, Mismatch> {
    if normal.len() == 0 {
        return Ok(0..0);
    }
    let start = line.and_then(|line| normal.line_start(line)).ok_or(Mismatch::WrongState)?;
    Ok(start..start)
}

/// Lines with the newline that ends them.
fn whole_lines(normal: &Normal, place: Range<usize>) -> Range<usize> {
    let end = place.end + usize::from(normal.byte(place.end).is_some());
    place.start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> State {
        State::Text(text.as_bytes().into())
    }

    fn edit(old: &str, new: &str, all: bool) -> EditBody {
        let pairs = vec![(old.into(), new.into(), all)];
        EditBody { action: EditAction::Replace { pairs }, ..EditBody::default() }
    }

    fn hunks(hunks: &[(Option<&str>, Option<&str>)]) -> EditBody {
        let hunk = |(old, new): &(Option<&str>, Option<&str>)| AppliedHunk {
            old_text: old.map(Into::into),
            new_text: new.map(Into::into),
            ..AppliedHunk::default()
        };
        EditBody { hunks: hunks.iter().map(hunk).collect(), ..EditBody::default() }
    }

    fn insertion(after_line: u32, lines: &str) -> EditBody {
        let action = EditAction::Insert { after_line, text: lines.into() };
        EditBody { action, ..EditBody::default() }
    }

    #[test]
    fn a_text_that_stands_once_is_replaced_there_and_back() {
        let body = edit("b", "B", false);
        assert_eq!(redo(&body, &text("a\nb\n")), Ok(text("a\nB\n")));
        assert_eq!(undo(&body, &text("a\nB\n")), Ok(text("a\nb\n")));
        assert_eq!(redo(&body, &text("bb")), Err(Mismatch::Ambiguous));
        assert_eq!(redo(&body, &text("a")), Err(Mismatch::NotFound));
        assert_eq!(undo(&body, &text("BB")), Err(Mismatch::Ambiguous));
        // What would come out held the old text twice, so the edit cannot have gone in.
        assert!(undo(&body, &text("bB")).is_err());
    }

    #[test]
    fn all_places_are_replaced_but_cannot_be_told_apart_afterwards() {
        let body = edit("x", "y", true);
        assert_eq!(redo(&body, &text("xzx")), Ok(text("yzy")));
        assert_eq!(undo(&body, &text("yzy")), Err(Mismatch::Ambiguous));
    }

    #[test]
    fn pairs_build_on_each_other() {
        let pairs = vec![("a".into(), "b1".into(), false), ("b1".into(), "c".into(), false)];
        let action = EditAction::Replace { pairs };
        let body = EditBody { action, ..EditBody::default() };
        assert_eq!(redo(&body, &text("_a_")), Ok(text("_c_")));
        assert_eq!(undo(&body, &text("_c_")), Ok(text("_a_")));
    }

    #[test]
    fn an_insertion_counts_the_lines_above_it() {
        assert_eq!(redo(&insertion(0, "x"), &text("a\nb\n")), Ok(text("x\na\nb\n")));
        assert_eq!(redo(&insertion(1, "x"), &text("a\r\nb\r\n")), Ok(text("a\r\nx\r\nb\r\n")));
        assert_eq!(redo(&insertion(2, "x"), &text("a\nb\n")), Ok(text("a\nb\nx\n")));
        assert_eq!(redo(&insertion(2, "x"), &text("a\nb")), Ok(text("a\nb\nx")));
        assert_eq!(redo(&insertion(1, "x\n"), &text("a\nb")), Ok(text("a\nx\n\nb")));
        assert_eq!(redo(&insertion(9, "x"), &text("a\n")), Err(Mismatch::NotFound));
        for after in ["x\na\n", "a\nx", "a\nx\nb"] {
            let line = u32::from(!after.starts_with('x'));
            let before = undo(&insertion(line, "x"), &text(after)).unwrap();
            assert_eq!(redo(&insertion(line, "x"), &before), Ok(text(after)));
        }
    }

    #[test]
    fn hunks_go_in_and_out_in_file_order() {
        let body = hunks(&[(Some("a\nb"), Some("a\nB")), (Some("a\nc"), Some("a\nC"))]);
        assert_eq!(redo(&body, &text("a\nb\na\nc\n")), Ok(text("a\nB\na\nC\n")));
        assert_eq!(undo(&body, &text("a\nB\na\nC")), Ok(text("a\nb\na\nc")));
        assert_eq!(redo(&body, &text("a\nb\na\nb\na\nc\n")), Err(Mismatch::Ambiguous));
    }

    #[test]
    fn hunks_without_a_side_fill_and_empty_a_file() {
        let body = hunks(&[(None, Some("a\nb"))]);
        assert_eq!(redo(&body, &text("")), Ok(text("a\nb\n")));
        assert_eq!(undo(&body, &text("a\nb\n")), Ok(text("")));
        assert_eq!(redo(&body, &text("x\n")), Err(Mismatch::WrongState));
    }

    #[test]
    fn a_numbered_hunk_goes_where_its_number_says() {
        let mut body = hunks(&[(Some("a"), Some("b"))]);
        body.hunks[0].old_start = Some(3);
        assert_eq!(redo(&body, &text("a\n-\na\n")), Ok(text("a\n-\nb\n")));
        assert_eq!(
            redo(&hunks(&[(Some("a"), Some("b"))]), &text("a\n-\na\n")),
            Err(Mismatch::Ambiguous)
        );
    }

    #[test]
    fn a_write_over_a_file_is_undone_by_its_hunks() {
        let mut body = hunks(&[(Some("a\nb"), Some("a\nB"))]);
        body.action = EditAction::Write { content: "a\nB\nc\n".into(), created: Some(false) };
        let after = redo(&body, &State::Unknown).unwrap();
        assert_eq!(after, text("a\nB\nc\n"));
        assert_eq!(undo(&body, &after), Ok(text("a\nb\nc\n")));
    }

    #[test]
    fn a_write_over_a_crlf_file_keeps_its_line_ends() {
        let body = EditBody {
            action: EditAction::Write { content: "a\nB\n".into(), created: Some(false) },
            ..EditBody::default()
        };
        assert_eq!(redo(&body, &text("a\r\nb\r\n")), Ok(text("a\r\nB\r\n")));
    }
}
