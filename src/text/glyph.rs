//! Bytes → glyphs: what a terminal may be sent, one grapheme at a time, with its width in cells.

use std::borrow::Cow;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One grapheme of a line, made visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glyph<'a> {
    text: Cow<'a, str>,
    cells: u16,
    bytes: Range<usize>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Tab,
    /// Stands for something that must not be sent.
    Stand,
}

impl<'a> Glyph<'a> {
    /// What may be sent. A tab's is empty: it is `cells_at` blanks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many cells it takes when it begins at 0-based `column`.
    pub fn cells_at(&self, column: usize) -> usize {
        if self.kind == Kind::Tab {
            super::TAB_STOP - column % super::TAB_STOP
        } else {
            usize::from(self.cells)
        }
    }

    /// A tab: drawn as blanks up to the next stop.
    pub fn is_tab(&self) -> bool {
        self.kind == Kind::Tab
    }

    /// Stands for a character that must not be sent, or for bytes that are no text.
    pub fn is_stand_in(&self) -> bool {
        self.kind == Kind::Stand
    }

    /// Byte offset in the line where it begins.
    pub fn start(&self) -> usize {
        self.bytes.start
    }

    /// Byte offset in the line behind it.
    pub fn end(&self) -> usize {
        self.bytes.end
    }

    fn stand_in(text: impl Into<Cow<'a, str>>, bytes: Range<usize>) -> Self {
        let text = text.into();
        let cells = text.width() as u16;
        Self { text, cells, bytes, kind: Kind::Stand }
    }
}

/// The glyphs of a line. Bytes that are not UTF-8 become `�`, one for each maximal bad run as
/// Unicode advises.
pub fn glyphs(line: &[u8]) -> Glyphs<'_> {
    Glyphs { line, at: 0, valid: "", valid_end: 0 }
}

/// Iterator of `glyphs`.
#[derive(Debug, Clone)]
pub struct Glyphs<'a> {
    line: &'a [u8],
    at: usize,
    /// What is left of the valid stretch that `at` stands in.
    valid: &'a str,
    valid_end: usize,
}

impl Glyphs<'_> {
    /// How many printable ASCII bytes stand next (at most `most` are looked at), each a glyph of its
    /// own of one cell. The last one before something else is left out: a combining mark may follow.
    pub(super) fn ascii_run(&mut self, most: usize) -> usize {
        self.fill();
        let look = self.valid.bytes().take(most.saturating_add(1));
        let run = look.take_while(|b| (0x20..0x7f).contains(b)).count();
        if run > most {
            most
        } else if run == self.valid.len() && self.valid_end == self.line.len() {
            run
        } else {
            run.saturating_sub(1)
        }
    }

    /// Steps over `count` bytes that `ascii_run` told of.
    pub(super) fn skip_ascii(&mut self, count: usize) {
        self.at += count;
        self.valid = self.valid.get(count..).unwrap_or_default();
    }

    /// Makes `valid` the valid stretch at `at`, if there is one. Stretches are bounded, so that a
    /// very long line is not validated whole for the sake of its first cells.
    fn fill(&mut self) {
        const STRETCH: usize = 16 * 1024;
        if !self.valid.is_empty() || self.at >= self.line.len() {
            return;
        }
        let rest = &self.line[self.at..];
        let piece = &rest[..rest.len().min(STRETCH)];
        let valid = match std::str::from_utf8(piece) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&piece[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.valid = valid;
        self.valid_end = self.at + valid.len();
    }
}

impl<'a> Iterator for Glyphs<'a> {
    type Item = Glyph<'a>;

    fn next(&mut self) -> Option<Glyph<'a>> {
        self.fill();
        let start = self.at;
        if self.valid.is_empty() {
            let rest = self.line.get(start..).filter(|rest| !rest.is_empty())?;
            // The first chunk's valid part is empty here, so its invalid part is what comes next.
            let bad = rest.utf8_chunks().next().map_or(1, |chunk| chunk.invalid().len()).max(1);
            self.at += bad;
            return Some(Glyph::stand_in("\u{fffd}", start..start + bad));
        }
        let bytes = self.valid.as_bytes();
        let grapheme = match bytes {
            [first, second, ..] if first.is_ascii() && second.is_ascii() && *first != b'\r' => {
                &self.valid[..1]
            }
            _ => self.valid.graphemes(true).next().unwrap_or(self.valid),
        };
        // What must not be sent is spelled, one character at a time.
        let is_whole = grapheme.len() == 1
            || is_joined_emoji(grapheme)
            || grapheme.width() > 0 && !grapheme.chars().any(must_not_be_sent);
        let first = grapheme.chars().next().map_or(1, char::len_utf8);
        let grapheme = if is_whole { grapheme } else { &grapheme[..first] };
        self.at += grapheme.len();
        self.valid = &self.valid[grapheme.len()..];
        Some(visible(grapheme, start))
    }
}

fn visible(grapheme: &str, start: usize) -> Glyph<'_> {
    let bytes = start..start + grapheme.len();
    let Some(first) = grapheme.chars().next() else {
        return Glyph::stand_in("", bytes);
    };
    match first {
        ' '..='~' if grapheme.len() == 1 => {
            Glyph { text: Cow::Borrowed(grapheme), cells: 1, bytes, kind: Kind::Plain }
        }
        '\t' => Glyph { text: Cow::Borrowed(""), cells: 1, bytes, kind: Kind::Tab },
        '\n' => Glyph::stand_in("⏎", bytes),
        '\0'..='\x1f' => {
            let picture = char::from_u32(0x2400 + first as u32).unwrap_or('\u{fffd}');
            Glyph::stand_in(picture.to_string(), bytes)
        }
        '\x7f' => Glyph::stand_in("␡", bytes),
        '\u{feff}' => Glyph::stand_in("<BOM>", bytes),
        _ if must_not_be_sent(first) => Glyph::stand_in(spelled(first), bytes),
        _ => match grapheme.width() {
            // A mark without a base would join whatever stands before it.
            0 => Glyph::stand_in(spelled(first), bytes),
            cells => Glyph {
                text: Cow::Borrowed(grapheme),
                cells: cells as u16,
                bytes,
                kind: Kind::Plain,
            },
        },
    }
}

/// A character as its number.
fn spelled(c: char) -> String {
    format!("<{:02X}>", u32::from(c))
}

/// Controls, and format characters that are invisible or reorder what stands beside them.
fn must_not_be_sent(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A zero-width joiner between two pictures, or a flag's tags behind one, is what they are for.
fn is_joined_emoji(grapheme: &str) -> bool {
    grapheme.width() == 2
        && grapheme.chars().all(|c| {
            c == '\u{200d}' || ('\u{e0020}'..='\u{e007f}').contains(&c) || !must_not_be_sent(c)
        })
        && grapheme.chars().next().is_some_and(|c| ('\u{2190}'..='\u{1faff}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &[u8]) -> Vec<(String, usize)> {
        glyphs(line).map(|g| (g.text().to_owned(), g.cells_at(0))).collect()
    }

    #[test]
    fn what_must_not_be_sent_is_shown() {
        let cases: &[(&[u8], &str)] = &[
            (b"\x1b[31m", "␛[31m"),
            (b"a\rb", "a␍b"),
            ("\u{feff}x".as_bytes(), "<BOM>x"),
            ("a\u{200b}b".as_bytes(), "a<200B>b"),
            ("\u{202e}abc".as_bytes(), "<202E>abc"),
            ("\u{85}".as_bytes(), "<85>"),
            (b"\xff\xfeok", "\u{fffd}\u{fffd}ok"),
            ("\u{301}a".as_bytes(), "<301>a"),
            ("e\u{301}".as_bytes(), "e\u{301}"),
            ("\0\x07\x7f".as_bytes(), "␀␇␡"),
            ("\u{2028}".as_bytes(), "<2028>"),
            ("\r\n".as_bytes(), "␍⏎"),
            ("e\u{200d}\u{200d}".as_bytes(), "e<200D><200D>"),
        ];
        for (line, expected) in cases {
            let text: String = glyphs(line).map(|g| g.text().to_owned()).collect();
            assert_eq!(text, *expected, "{line:?}");
        }
    }

    #[test]
    fn width_is_by_grapheme() {
        assert_eq!(shown("日本".as_bytes()), [("日".into(), 2), ("本".into(), 2)]);
        assert_eq!(shown("e\u{301}x".as_bytes()), [("e\u{301}".into(), 1), ("x".into(), 1)]);
        let family = "👨‍👩‍👧";
        assert_eq!(shown(family.as_bytes()), [(family.into(), 2)]);
        assert_eq!(shown("🇩🇪".as_bytes()), [("🇩🇪".into(), 2)]);
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        let tab = glyphs(b"\t").next().unwrap();
        assert_eq!(
            [tab.cells_at(0), tab.cells_at(1), tab.cells_at(3), tab.cells_at(4)],
            [4, 3, 1, 4]
        );
    }

    #[test]
    fn every_byte_belongs_to_one_glyph() {
        let line =
            "ab\t日\u{301}\u{200d}\r".as_bytes().iter().copied().chain([0xe6, 0x97, 0xff, b'z']);
        let line: Vec<u8> = line.collect();
        let mut at = 0;
        for glyph in glyphs(&line) {
            assert_eq!(glyph.start(), at);
            at = glyph.end();
        }
        assert_eq!(at, line.len());
    }

    fn is_sendable(c: char) -> bool {
        let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !c.is_control() && !reorders
    }

    proptest::proptest! {
        #[test]
        fn no_glyph_holds_a_control_or_reordering_character(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60),
            text in ".{0,30}",
        ) {
            for source in [bytes.as_slice(), text.as_bytes()] {
                for glyph in glyphs(source) {
                    let width = UnicodeWidthStr::width(glyph.text());
                    assert!(glyph.text().chars().all(is_sendable), "{glyph:?}");
                    assert!(glyph.is_tab() || width > 0 && glyph.cells_at(0) == width, "{glyph:?}");
                }
            }
        }
    }
}
