//! The numbers of rows: dense from 0, a packed row standing for several. Keeps count of passed-over rows from their bytes alone.

use crate::log::rows;
use crate::session::event::Place;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memchr2};
use std::sync::LazyLock;

/// The number that the next row should have.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    next: Option<u64>,
    /// What stood in the last streamed row between its time and its chunk. It is the same for all
    /// rows of a step, so that most rows need only be searched behind it.
    between: Vec<u8>,
}

/// How each row of a streamed answer begins, when its writer puts the type first.
const CHUNK: &[u8] = b"{\"type\":\"assistant/chunk\",\"seq\":";

/// Packed rows: the same for the `n` events `seq0` to `seq0 + n - 1`.
const PACKED: &[&[u8]] = &[
    b"{\"type\":\"text-chunks\",\"seq0\":",
    b"{\"type\":\"reasoning-chunks\",\"seq0\":",
    b"{\"type\":\"tool-call-chunks\",\"seq0\":",
];

static ROW_START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"{\"type\":\""));

static GAPS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"dt\":["));

static CHUNK_OPENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"chunk\":{"));

/// Types that a review needs. All others are passed over.
const NEEDED: &[&[u8]] = &[
    b"session",
    b"session/title",
    b"session/end-seed",
    b"turn/start",
    b"turn/end",
    b"user/message",
    b"tool/call",
    b"tool/result",
    b"tool/code-dispatch-start",
    b"tool/code-dispatch",
    b"tool/ptc-dispatch-start",
    b"tool/ptc-dispatch",
    b"deliverables/presented",
    b"workspace/changes",
];

impl Sequence {
    /// The number after the last row, if it is known.
    pub(super) fn next(&self) -> Option<u64> {
        self.next
    }

    /// Rows are missing or unreadable here: any number may follow.
    pub(super) fn forget(&mut self) {
        self.next = None;
    }

    /// The header came. Where it is the first line, numbers begin at 0.
    pub(super) fn begin(&mut self, header: Place) {
        self.next = (header.line == 1).then_some(0);
    }

    /// A row came that stands for `n` events from `seq` on; tells what is wrong with its number, if anything.
    pub(super) fn arrive(&mut self, seq: u64, n: u64) -> Option<String> {
        let expected = self.next.replace(seq.saturating_add(n))?;
        (seq != expected)
            .then(|| format!("rows are missing or doubled: expected seq {expected}, got {seq}"))
    }

    /// Passes over a row that tells nothing, if that can be seen from its bytes. A row whose number
    /// is not as expected, or that may not be alone on its line, is left to the parser.
    pub(super) fn skip(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(rest) = line.strip_prefix(CHUNK) {
            return self.is_chunk(line, rest) && self.count(rest, 1);
        }
        if let Some(rest) = PACKED.iter().find_map(|prefix| line.strip_prefix(*prefix)) {
            let n = members(rest).filter(|_| opens_only(line, &[b"\"data\":"]));
            return n.is_some_and(|n| self.count(rest, n));
        }
        line.is_empty()
            || is_passed_over(line)
                && is_alone(line)
                && number_after_type(line).is_some_and(|rest| self.count(rest, 1))
    }

    /// Whether a streamed row is alone on its line; `numbers` is the row behind its type.
    fn is_chunk(&mut self, line: &[u8], numbers: &[u8]) -> bool {
        let Some(behind) = behind_time(numbers) else { return false };
        if !self.between.is_empty()
            && let Some(chunk) = behind.strip_prefix(self.between.as_slice())
        {
            return line.ends_with(b"}}}")
                && !memchr_iter(b'{', chunk).any(|at| opens_object(chunk, at));
        }
        let alone = opens_only(line, &[b"\"data\":", b"\"chunk\":"]);
        if alone && let Some(at) = CHUNK_OPENS.find(behind) {
            self.between.clear();
            self.between.extend_from_slice(&behind[..at + CHUNK_OPENS.needle().len()]);
        }
        alone
    }

    /// Takes a number at the start of `rest` as that of the next `n` rows, if it is the expected one.
    fn count(&mut self, rest: &[u8], n: u64) -> bool {
        let Some(seq) = digits(rest) else { return false };
        if self.next.is_some_and(|next| next != seq) {
            return false;
        }
        self.next = seq.checked_add(n);
        true
    }
}

/// Whether the row's type, which must stand first, is one that no review needs.
pub(super) fn is_passed_over(line: &[u8]) -> bool {
    row_type(line).is_some_and(|kind| !NEEDED.contains(&kind))
}

fn row_type(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let end = memchr2(b'"', b'\\', rest)?;
    (rest.get(end) == Some(&b'"')).then(|| rest.get(..end)).flatten()
}

fn number_after_type(line: &[u8]) -> Option<&[u8]> {
    let kind = row_type(line)?;
    line.get(b"{\"type\":\"".len() + kind.len()..)?.strip_prefix(b"\",\"seq\":")
}

/// What follows the digits of `SEQ,"time":TIME`.
fn behind_time(numbers: &[u8]) -> Option<&[u8]> {
    let rest = numbers.get(memchr(b',', numbers)?..)?.strip_prefix(b",\"time\":")?;
    rest.get(memchr(b',', rest)?..)
}

fn digits(text: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
            b',' | b'}' if at > 0 => return Some(number),
            _ => return None,
        }
    }
    None
}

/// How many events a packed row stands for: `dt` has one gap fewer than there are members.
fn members(row: &[u8]) -> Option<u64> {
    let start = GAPS.find(row)? + b"\"dt\":[".len();
    let list = row.get(start..)?;
    let list = list.get(..memchr(b']', list)?)?;
    let gaps = if list.trim_ascii().is_empty() { 0 } else { 1 + memchr_iter(b',', list).count() };
    Some(gaps as u64 + 1)
}

/// Whether the line is one whole row whose only objects are its own and those behind `keys`, in this
/// order, so that no other row stands on the line.
fn opens_only(line: &[u8], keys: &[&[u8]]) -> bool {
    let closes = if keys.len() == 1 { &b"}}"[..] } else { b"}}}" };
    let mut keys = keys.iter();
    let mut opened = memchr_iter(b'{', line).skip(1).filter(|at| opens_object(line, *at));
    let expected = opened.all(|at| keys.next().is_some_and(|key| line[..at].ends_with(key)));
    expected && keys.next().is_none() && line.ends_with(closes)
}

/// Whether a `{` begins an object with a key. Inside a string it could only stand before an
/// unescaped quote that ends the string.
fn opens_object(line: &[u8], at: usize) -> bool {
    line.get(at + 1) == Some(&b'"') && !matches!(line.get(at + 2), Some(b'}' | b',' | b']' | b':'))
}

/// Whether the line is one whole row, as far as its bytes show: it ends with `}`, and no other row
/// begins inside it. A row that does so behind a torn value's `":`, `[` or `},` is missed; the
/// number of the row after it tells of that.
fn is_alone(line: &[u8]) -> bool {
    let begins = |at: usize| {
        let before = line.get(..at).unwrap_or_default();
        at > 0 && ![&b"\":"[..], b"[", b"},"].iter().any(|end| before.ends_with(end))
    };
    line.ends_with(b"}") && !rows::may_be_glued(line) && !ROW_START.find_iter(line).any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_count_their_members() {
        let mut sequence = Sequence { next: Some(14), ..Sequence::default() };
        assert!(sequence.skip(br#"{"type":"text-chunks","seq0":14,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,-2,0],"texts":["a","}","c","d"]}}"#));
        assert_eq!(sequence.next(), Some(18));
        assert!(sequence.skip(
            br#"{"type":"reasoning-chunks","seq0":18,"time0":1,"data":{"dt":[],"texts":["a"]}}"#
        ));
        assert_eq!(sequence.next(), Some(19));
    }

    #[test]
    fn only_a_whole_chunk_alone_on_its_line_is_passed_over() {
        let chunk = |seq: u32, text: &str| {
            format!(
                r#"{{"type":"assistant/chunk","seq":{seq},"time":1,"data":{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{text}"}}}}}}"#
            )
        };
        let (first, second) = (chunk(1, "x"), chunk(2, "fn a() {"));
        let end = r#"{"type":"turn/end","seq":3,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
        // With nothing remembered, and with the row before remembered.
        for before in [None, Some(&first)] {
            let skips = |line: &str| {
                let mut sequence = Sequence::default();
                assert!(before.is_none_or(|before| sequence.skip(before.as_bytes())));
                sequence.skip(line.as_bytes())
            };
            assert!(skips(&second));
            assert!(skips(&format!("{second}\r")));
            assert!(!skips(&chunk(9, "x")) || before.is_none(), "not the next number");
            assert!(!skips(&format!("{second}{end}")));
            for cut in 1..second.len() {
                assert!(!skips(&second[..cut]), "cut at {cut}");
                assert!(!skips(&format!("{}{end}", &second[..cut])), "cut at {cut}");
            }
        }
    }
}
