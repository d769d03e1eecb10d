//! Where a text of the log stands in a file, though the log drops byte order marks and CR LF.

use std::borrow::Cow;
use std::ops::Range;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Why a text has no certain place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    /// Nowhere.
    #[error("its text is not in the file as known")]
    NotFound,
    /// In more than one place.
    #[error("its text stands in more than one place")]
    Ambiguous,
    /// There is a file where none should be, or none where one should be.
    #[error("the file was there, or was missing, against what the edit needs")]
    WrongState,
    /// Nothing of it can be undone or done again from what the log has.
    #[error("the log does not have enough of it")]
    NotEnough,
}

/// A file's text as the log would have it, and the way back to its own bytes.
pub(super) struct Normal<'a> {
    own: &'a [u8],
    bytes: Cow<'a, [u8]>,
    /// Bytes of the byte order mark.
    mark: usize,
    /// For each CR that was dropped: where its LF stands in `bytes`.
    dropped: Vec<usize>,
}

impl<'a> Normal<'a> {
    pub(super) fn of(own: &'a [u8]) -> Self {
        let mark = if own.starts_with(BOM) { BOM.len() } else { 0 };
        let text = own.get(mark..).unwrap_or_default();
        let mut dropped = Vec::new();
        let bytes = without_crs(text, &mut dropped);
        Self { own, bytes, mark, dropped }
    }

    /// Where `needle` stands; parts that overlap an earlier find are not counted.
    pub(super) fn find_all(&self, needle: &str) -> Vec<Range<usize>> {
        let needle = without_crs(needle.as_bytes(), &mut Vec::new());
        if needle.is_empty() {
            return Vec::new();
        }
        memchr::memmem::find_iter(&self.bytes, &needle).map(|at| at..at + needle.len()).collect()
    }

    /// The one place where `needle` stands.
    pub(super) fn find_one(&self, needle: &str) -> Result<Range<usize>, Mismatch> {
        let mut found = self.find_all(needle).into_iter();
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(Mismatch::NotFound),
            _ => Err(Mismatch::Ambiguous),
        }
    }

    /// The one place at or behind `from` where these whole lines stand: from the first byte of the
    /// first line to the last byte of the last, without its newline.
    pub(super) fn find_lines(&self, lines: &str, from: usize) -> Result<Range<usize>, Mismatch> {
        let needle = without_crs(lines.as_bytes(), &mut Vec::new());
        let mut one = None;
        let mut at = from;
        while let Some(found) = self.next_lines(&needle, at) {
            if one.is_some() {
                return Err(Mismatch::Ambiguous);
            }
            at = found.start + 1;
            one = Some(found);
        }
        one.ok_or(Mismatch::NotFound)
    }

    fn next_lines(&self, needle: &[u8], from: usize) -> Option<Range<usize>> {
        let finder = memchr::memmem::Finder::new(needle);
        let mut from = from;
        loop {
            let at = from + finder.find(self.bytes.get(from..)?)?;
            let found = at..at + needle.len();
            if self.are_lines(&found) {
                return Some(found);
            }
            // The next place where a line begins.
            from = at + memchr::memchr(b'\n', self.bytes.get(at..)?)? + 1;
        }
    }

    /// Whether a place begins where a line begins and ends where one ends.
    fn are_lines(&self, place: &Range<usize>) -> bool {
        let begins = place.start == 0 || self.byte(place.start - 1) == Some(b'\n');
        let ends = match self.byte(place.end) {
            Some(byte) => byte == b'\n',
            // Behind the final newline there is no line.
            None => place.end > 0 && self.byte(place.end - 1) != Some(b'\n'),
        };
        begins && ends
    }

    /// Where the lines stand that begin at a 1-based line, if they do stand there.
    pub(super) fn lines_at(&self, lines: &str, line: u32) -> Option<Range<usize>> {
        let needle = without_crs(lines.as_bytes(), &mut Vec::new());
        let start = self.line_start(line)?;
        self.next_lines(&needle, start).filter(|found| found.start == start)
    }

    /// The first byte of a 1-based line; one line more than there are begins at the end.
    pub(super) fn line_start(&self, line: u32) -> Option<usize> {
        match line.checked_sub(2) {
            None => Some(0),
            Some(newlines) => {
                memchr::memchr_iter(b'\n', &self.bytes).nth(newlines as usize).map(|at| at + 1)
            }
        }
    }

    /// The 1-based line that a place stands in.
    pub(super) fn line_of(&self, at: usize) -> u32 {
        let before = self.bytes.get(..at).unwrap_or(&self.bytes);
        u32::try_from(memchr::memchr_iter(b'\n', before).count() + 1).unwrap_or(u32::MAX)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The file's own bytes with some places replaced (in order, none overlapping). What is put in
    /// gets the line ends that most of the file's lines have.
    pub(super) fn replace(&self, places: &[(Range<usize>, Cow<str>)]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.own.len());
        let mut copied = 0;
        for (place, text) in places {
            let (start, end) = (self.own_place(place.start), self.own_place(place.end));
            out.extend_from_slice(self.own.get(copied..start).unwrap_or_default());
            out.extend_from_slice(&self.with_own_ends(text.as_bytes()));
            copied = end;
        }
        out.extend_from_slice(self.own.get(copied..).unwrap_or_default());
        out
    }

    /// A text with the line ends that most of this file's lines have.
    pub(super) fn with_own_ends<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let lines = memchr::memchr_iter(b'\n', &self.bytes).count();
        if self.dropped.len() * 2 <= lines {
            return Cow::Borrowed(text);
        }
        let text = without_crs(text, &mut Vec::new());
        let mut out = Vec::with_capacity(text.len() + text.len() / 16);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => {
                    out.extend_from_slice(line);
                    out.extend_from_slice(b"\r\n");
                }
                None => out.extend_from_slice(line),
            }
        }
        Cow::Owned(out)
    }

    fn own_place(&self, at: usize) -> usize {
        at + self.mark + self.dropped.partition_point(|lf| *lf < at)
    }
}

/// Whether two texts are one but for byte order mark, line ends and final newline.
pub(super) fn same_but_ends(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Normal::of(a), Normal::of(b));
    let bare = |text: &'_ Normal| -> usize {
        if text.bytes.ends_with(b"\n") { text.bytes.len() - 1 } else { text.bytes.len() }
    };
    a.bytes.get(..bare(&a)) == b.bytes.get(..bare(&b))
}

/// Whether a text has what logs lose: a byte order mark, or CR LF.
pub(super) fn has_own_ends(text: &[u8]) -> bool {
    text.starts_with(BOM) || memchr::memmem::find(text, b"\r\n").is_some()
}

fn without_crs<'t>(text: &'t [u8], dropped: &mut Vec<usize>) -> Cow<'t, [u8]> {
    let mut places = memchr::memmem::find_iter(text, b"\r\n").peekable();
    if places.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    for at in places {
        out.extend_from_slice(text.get(copied..at).unwrap_or_default());
        dropped.push(out.len());
        copied = at + 1;
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, lines: &str) -> Result<u32, Mismatch> {
        let normal = Normal::of(text.as_bytes());
        normal.find_lines(lines, 0).map(|place| normal.line_of(place.start))
    }

    #[test]
    fn whole_lines_are_found_only_where_they_begin_and_end() {
        assert_eq!(lines("xa\na\nax\n", "a"), Ok(2));
        assert_eq!(lines("a\nb", "b"), Ok(2));
        assert_eq!(lines("a\n", "a\n"), Err(Mismatch::NotFound));
        assert_eq!(lines("a\n\nb\n", "a\n"), Ok(1));
        assert_eq!(lines("a\n\nb\n", ""), Ok(2));
        assert_eq!(lines("a\nb\n", ""), Err(Mismatch::NotFound));
        assert_eq!(lines("", "a"), Err(Mismatch::NotFound));
        assert_eq!(lines("", ""), Err(Mismatch::NotFound));
    }

    #[test]
    fn places_that_overlap_are_two_places() {
        assert_eq!(lines("a\na\na\n", "a\na"), Err(Mismatch::Ambiguous));
        assert_eq!(lines("\n\n", ""), Err(Mismatch::Ambiguous));
    }

    #[test]
    fn marks_and_crs_do_not_hide_a_place_and_stay_when_it_is_replaced() {
        let own = b"\xef\xbb\xbfone\r\ntwo\r\nthree";
        let normal = Normal::of(own);
        let place = normal.find_lines("two\nthree", 0).unwrap();
        assert_eq!(normal.replace(&[(place, "2\n3".into())]), b"\xef\xbb\xbfone\r\n2\r\n3");
        let place = normal.find_one("one\n").unwrap();
        assert_eq!(normal.replace(&[(place, "".into())]), b"\xef\xbb\xbftwo\r\nthree");
        let place = normal.find_one("\n").unwrap_err();
        assert_eq!(place, Mismatch::Ambiguous);
    }

    #[test]
    fn a_line_has_the_number_it_was_found_by() {
        let normal = Normal::of(b"a\nb\na\n");
        for line in 1..=3 {
            let start = normal.line_start(line).unwrap();
            assert_eq!(normal.line_of(start), line);
        }
        assert_eq!(normal.lines_at("a", 3), Some(4..5));
        assert_eq!(normal.lines_at("a", 2), None);
        assert_eq!(normal.line_start(9), None);
    }
}
