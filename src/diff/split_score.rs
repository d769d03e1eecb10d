//! How well a place suits the edge of a change: git's indent heuristic.
//!
//! Source of all weights and limits: git's `xdiff/xdiffi.c` as of 2.47, where they were fitted to a
//! corpus of hand-placed changes.

/// The columns before a line's first visible byte, at most [`MAX_INDENT`]; [`BLANK`] for a line
/// without any.
pub(super) type Indent = u8;

/// A line of white space only.
pub(super) const BLANK: Indent = u8::MAX;

/// Deeper is not told apart.
const MAX_INDENT: Indent = 200;

/// So many blank lines are looked through for the next line that is not.
const MAX_BLANKS: i32 = 20;

/// Measures a line. White space is what git takes for it: space, tab, line feed, carriage return.
pub(super) fn indent(line: &[u8]) -> Indent {
    let mut columns: Indent = 0;
    for byte in line {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 8 - columns % 8,
            b'\n' | b'\r' => {}
            _ => return columns,
        }
        if columns >= MAX_INDENT {
            return MAX_INDENT;
        }
    }
    BLANK
}

/// The lines around a place between two lines.
struct Surroundings {
    /// Of the line behind the place; blank at the end of the text.
    indent: Indent,
    at_end: bool,
    /// Blank lines right before the place, and the indent of the line before those.
    blanks_before: i32,
    indent_before: Indent,
    /// Blank lines behind the first line behind, and the indent of the line behind those.
    blanks_after: i32,
    indent_after: Indent,
}

/// Blank lines at the start of some lines, and the indent of the first that is not blank.
fn look(mut lines: impl Iterator<Item = Indent>) -> (i32, Indent) {
    let mut blanks = 0;
    loop {
        match lines.next() {
            None => return (blanks, BLANK),
            Some(BLANK) => {
                blanks += 1;
                if blanks == MAX_BLANKS {
                    return (blanks, 0);
                }
            }
            Some(indent) => return (blanks, indent),
        }
    }
}

impl Surroundings {
    fn at(place: usize, lines: usize, indent_of: impl Fn(usize) -> Indent) -> Self {
        let at_end = place >= lines;
        let (blanks_before, indent_before) = look((0..place.min(lines)).rev().map(&indent_of));
        let (blanks_after, indent_after) = look((place + 1..lines).map(&indent_of));
        let indent = if at_end { BLANK } else { indent_of(place) };
        Self { indent, at_end, blanks_before, indent_before, blanks_after, indent_after }
    }

    /// The indent that counts for the place, and its penalty.
    fn score(&self) -> Score {
        let mut penalty = 0;
        if self.indent_before == BLANK && self.blanks_before == 0 {
            penalty += 1;
        }
        if self.at_end {
            penalty += 21;
        }
        let blanks_behind = if self.indent == BLANK { 1 + self.blanks_after } else { 0 };
        let blanks = self.blanks_before + blanks_behind;
        penalty += -30 * blanks + 6 * blanks_behind;
        let indent = if self.indent == BLANK { self.indent_after } else { self.indent };
        Score { indent: columns(indent), penalty: penalty + self.step(indent, blanks != 0) }
    }

    /// The penalty for the step of indentation at the place.
    fn step(&self, indent: Indent, blanks: bool) -> i32 {
        if indent == BLANK || self.indent_before == BLANK || indent == self.indent_before {
            return 0;
        }
        let outdent = self.indent_after != BLANK && self.indent_after > indent;
        match (indent > self.indent_before, outdent, blanks) {
            (true, _, false) => -4,
            (true, _, true) => 10,
            (false, true, false) => 24,
            (false, false, false) => 23,
            (false, _, true) => 17,
        }
    }
}

/// A blank counts as one column less than none.
fn columns(indent: Indent) -> i32 {
    if indent == BLANK { -1 } else { indent.into() }
}

/// How well a change lies; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Score {
    indent: i32,
    penalty: i32,
}

impl Score {
    /// The score of a change that starts and ends at these places.
    pub(super) fn of(
        start: usize,
        end: usize,
        lines: usize,
        indent_of: impl Fn(usize) -> Indent,
    ) -> Self {
        let start = Surroundings::at(start, lines, &indent_of).score();
        let end = Surroundings::at(end, lines, &indent_of).score();
        Self { indent: start.indent + end.indent, penalty: start.penalty + end.penalty }
    }

    /// Whether this is at least as good: the lesser indent is worth 60 points of penalty.
    pub(super) fn is_no_worse_than(self, other: Self) -> bool {
        let indent = (self.indent - other.indent).signum();
        60 * indent + self.penalty - other.penalty <= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents_are_columns() {
        assert_eq!(indent(b"x"), 0);
        assert_eq!(indent(b"  \tx"), 8);
        assert_eq!(indent(b" \t \r\n"), BLANK);
        assert_eq!(indent(b"\x0bx"), 0);
        assert_eq!(indent(&[b' '; 500]), MAX_INDENT);
        assert_eq!(indent(&[b'\t'; 500]), MAX_INDENT);
    }

    #[test]
    fn a_whole_block_beats_its_shifted_twin() {
        // "}\n\nfn b() {\n" added behind "}" or, the same lines, "\nfn b() {\n}\n".
        let indents = [0, 4, 0, BLANK, 0, 4, 0];
        let score = |start, end| Score::of(start, end, indents.len(), |line| indents[line]);
        assert!(score(3, 7).is_no_worse_than(score(2, 6)));
        assert!(!score(2, 6).is_no_worse_than(score(3, 7)));
    }
}
