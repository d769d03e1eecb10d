//! A text as bytes with a table of its lines.

use super::limit::{Cancelled, Limit};
use memchr::memchr_iter;
use std::ops::Range;
use std::sync::Arc;

/// How many bytes share one entry of the line table.
///
/// A table with an entry a line costs more than the text itself where lines are short, and cannot
/// be made in time for 100 MiB of empty lines. Counting newlines a block runs as fast as memory
/// is read; a single line is then found by looking through one block.
const BLOCK: usize = 1024;

/// How many blocks are counted between two looks at the cancel flag (1 MiB).
const BLOCKS_A_LOOK: usize = 1024;

/// A text as bytes with a table of its lines. Lines end at `\n` only; a last line without one is a
/// line like any other. At most `u32::MAX` lines are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    bytes: Arc<[u8]>,
    /// How many newlines stand before each block of `BLOCK` bytes.
    before: Vec<u32>,
    lines: u32,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: Arc::from([]), before: Vec::new(), lines: 0 }
    }
}

impl Text {
    /// Counts the lines of some bytes.
    pub fn new(bytes: Arc<[u8]>) -> Self {
        Self::cancellable(bytes, &Limit::default()).unwrap_or_default()
    }

    /// Counts the lines of some bytes, unless nobody wants them any more. A deadline is not looked
    /// at: even the coarse answer needs this table (100 MiB take some 10 ms).
    ///
    /// # Errors
    /// [`Cancelled`] once the limit's flag is set.
    pub fn cancellable(bytes: Arc<[u8]>, limit: &Limit) -> Result<Self, Cancelled> {
        let mut before = Vec::with_capacity(bytes.len().div_ceil(BLOCK));
        let mut newlines = 0u32;
        for (index, block) in bytes.chunks(BLOCK).enumerate() {
            if index % BLOCKS_A_LOOK == 0 {
                limit.cancelled()?;
            }
            before.push(newlines);
            newlines = newlines.saturating_add(memchr_iter(b'\n', block).count() as u32);
        }
        let unended = bytes.last().is_some_and(|last| *last != b'\n');
        Ok(Self { before, lines: newlines.saturating_add(unended.into()), bytes })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many lines there are.
    pub fn len(&self) -> u32 {
        self.lines
    }

    /// Whether there is no line at all.
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Whether the last byte is a newline.
    pub fn ends_with_newline(&self) -> bool {
        self.bytes.last() == Some(&b'\n')
    }

    /// A line (0-based) without its `\n`; a `\r` stays. Empty behind the last line.
    pub fn line(&self, line: u32) -> &[u8] {
        self.lines(line..line.saturating_add(1)).next().unwrap_or_default()
    }

    /// Some lines (0-based) in order, without their `\n`. Quicker than asking for each.
    pub fn lines(&self, range: Range<u32>) -> impl Iterator<Item = &[u8]> {
        let end = range.end.min(self.lines);
        let (from, to) = (self.start(range.start.min(end)), self.start(end));
        let bytes = self.bytes.get(from..to).unwrap_or_default();
        split(bytes)
    }

    /// The byte at which a line starts; the text's length behind the last line.
    fn start(&self, line: u32) -> usize {
        if line == 0 {
            return 0;
        }
        if line >= self.lines {
            return self.bytes.len();
        }
        // The newline that ends the line before stands in the last block with fewer before it.
        let block = self.before.partition_point(|before| *before < line).saturating_sub(1);
        let before = self.before.get(block).copied().unwrap_or_default();
        let from = block * BLOCK;
        let bytes = self.bytes.get(from..).unwrap_or_default();
        memchr_iter(b'\n', bytes)
            .nth((line - before - 1) as usize)
            .map_or(self.bytes.len(), |at| from + at + 1)
    }
}

/// Bytes → lines without their `\n`.
fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let unended = bytes.last().is_some_and(|last| *last != b'\n').then_some(bytes.len());
    let mut start = 0;
    memchr_iter(b'\n', bytes).chain(unended).map(move |end| {
        let line = &bytes[start..end];
        start = end + 1;
        line
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Text {
        Text::new(Arc::from(bytes))
    }

    #[test]
    fn lines_end_at_line_feeds_only() {
        let text = text(b"a\r\n\xff\x0bb\rc\n\nlast");
        assert_eq!(text.len(), 4);
        let lines: Vec<_> = text.lines(0..9).collect();
        assert_eq!(lines, [&b"a\r"[..], b"\xff\x0bb\rc", b"", b"last"]);
        assert!(!text.ends_with_newline());
        assert_eq!(text.line(4), b"");
    }

    #[test]
    fn a_text_may_be_empty_or_one_newline() {
        assert_eq!(text(b"").len(), 0);
        assert_eq!(text(b"\n").len(), 1);
        assert_eq!(text(b"\n").line(0), b"");
        assert_eq!(text(b"x").line(0), b"x");
    }

    #[test]
    fn every_line_is_found_across_blocks() {
        // Lines from none to three blocks long, so that starts fall anywhere in a block.
        let lines: Vec<Vec<u8>> =
            (0..4000usize).map(|i| vec![b'x'; (i * i * 7) % [5, 90, 3 * BLOCK][i % 3]]).collect();
        let whole = text(&[lines.join(&b'\n'), b"\n".to_vec()].concat());
        assert_eq!(whole.len() as usize, lines.len());
        for (index, line) in lines.iter().enumerate() {
            assert_eq!(whole.line(index as u32), &line[..], "line {index}");
        }
        assert!(whole.lines(17..1044).eq(lines[17..1044].iter().map(|line| &line[..])));
    }

    #[test]
    fn blocks_of_newlines_are_counted() {
        let whole = text(&[b'\n'; 3 * BLOCK]);
        assert_eq!(whole.len() as usize, 3 * BLOCK);
        assert!(whole.lines(0..u32::MAX).all(<[u8]>::is_empty));
        assert_eq!(whole.lines(0..u32::MAX).count(), 3 * BLOCK);
    }
}
