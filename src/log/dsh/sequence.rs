//! The numbers of rows: dense from 0, a packed row standing for several. Keeps count of passed-over rows from their bytes alone.

use super::run;
use crate::log::{Stretch, rows};
use crate::session::event::Place;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memchr2};
use std::sync::LazyLock;

/// The number that the next row should have.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    next: Option<u64>,
}

/// How each row of a streamed answer begins, when its writer puts the type first.
pub(super) const CHUNK: [u8; 32] = *b"{\"type\":\"assistant/chunk\",\"seq\":";

/// Packed rows: the same for the `n` events `seq0` to `seq0 + n - 1`.
const PACKED: &[&[u8]] = &[
    b"{\"type\":\"text-chunks\",\"seq0\":",
    b"{\"type\":\"reasoning-chunks\",\"seq0\":",
    b"{\"type\":\"tool-call-chunks\",\"seq0\":",
];

static ROW_START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"{\"type\":\""));

static GAPS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"dt\":["));

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

    /// Rows came that stand for the events from `first` to just before `next`; tells what is wrong
    /// with their number, if anything.
    pub(super) fn arrive(&mut self, first: u64, next: u64) -> Option<String> {
        let expected = self.next.replace(next)?;
        (first != expected)
            .then(|| format!("rows are missing or doubled: expected seq {expected}, got {first}"))
    }

    /// Passes over a row that tells nothing, if that can be seen from its bytes. A row whose number
    /// is not as expected, or that may not be alone on its line, is left to the parser.
    pub(super) fn skip(&mut self, line: &[u8]) -> bool {
        line.is_empty()
            || line == b"\r"
            || Passed::first_of(line).is_some_and(|row| {
                row.len == line.len() && self.next.is_none_or(|next| next == row.first) && {
                    self.next = Some(row.next);
                    true
                }
            })
    }
}

/// The whole lines that a text begins with and that can be passed over, as far as their numbers
/// follow on one another.
pub(super) fn skim(text: &[u8]) -> Option<Stretch> {
    let mut rows = Stretch { bytes: 0, lines: 0, first: 0, next: 0 };
    while let Some(row) = text.get(rows.bytes..).and_then(Passed::first_of)
        && text.get(rows.bytes + row.len) == Some(&b'\n')
        && (rows.lines == 0 || row.first == rows.next)
    {
        if rows.lines == 0 {
            rows.first = row.first;
        }
        rows.bytes += row.len + 1;
        rows.lines += 1;
        rows.next = row.next;
        run::skim(text, &mut rows);
    }
    (rows.lines > 0).then_some(rows)
}

/// A row that tells nothing and is alone on its line.
struct Passed {
    /// Length of its line in bytes, without the `\n`.
    len: usize,
    first: u64,
    next: u64,
}

impl Passed {
    /// The row on the first line of a text, if that can be passed over.
    fn first_of(text: &[u8]) -> Option<Self> {
        if let Some(rest) = text.strip_prefix(CHUNK.as_slice()) {
            let first = digits(rest)?;
            let len = match plain_end(rest) {
                Some(end) if is_closed(&rest[..end]) => CHUNK.len() + end,
                _ => {
                    let line = first_line(text);
                    opens_only(line, &[b"\"data\":", b"\"chunk\":"]).then_some(line.len())?
                }
            };
            return Some(Self { len, first, next: first.checked_add(1)? });
        }
        if let Some(rest) = PACKED.iter().find_map(|prefix| text.strip_prefix(*prefix)) {
            let (line, first) = (first_line(text), digits(rest)?);
            let n = members(line).filter(|_| opens_only(line, &[b"\"data\":"]))?;
            return Some(Self { len: line.len(), first, next: first.checked_add(n)? });
        }
        if !is_passed_over(text) {
            return None;
        }
        let (line, first) = (first_line(text), digits(number_after_type(text)?)?);
        is_alone(line).then_some(Self { len: line.len(), first, next: first.checked_add(1)? })
    }
}

fn first_line(text: &[u8]) -> &[u8] {
    memchr(b'\n', text).and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Where the line ends, if no other row stands on it whose type has a slash, as the types of all
/// rows have that end as a streamed row does. The slash is looked for along with the line's end.
pub(super) fn plain_end(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(ahead) = text.get(from..).and_then(|rest| memchr2(b'\n', b'/', rest)) {
        let at = from + ahead;
        if text[at] == b'\n' {
            return Some(at);
        }
        if ends_in_kind(&text[..at]) {
            return None;
        }
        from = at + 1;
    }
    Some(text.len())
}

/// Whether a text ends with a key and the first word of its value. Inside a string the quotes would
/// stand behind backslashes.
fn ends_in_kind(text: &[u8]) -> bool {
    let word = text.iter().rev().take_while(|byte| byte.is_ascii_lowercase()).count();
    let before = text[..text.len() - word].trim_ascii_end();
    before.strip_suffix(b"\"").is_some_and(|before| before.trim_ascii_end().ends_with(b"\":"))
}

/// Whether a row's end closes itself, its data and its chunk.
fn is_closed(row: &[u8]) -> bool {
    row.strip_suffix(b"\r").unwrap_or(row).ends_with(b"}}}")
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

/// The number that a text begins with, of up to 19 digits.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for (at, byte) in text.iter().take(20).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (at > 0 && matches!(byte, b',' | b'}')).then_some(number);
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
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
    let line = line.strip_suffix(b"\r").unwrap_or(line);
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
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.ends_with(b"}") && !rows::may_be_glued(line) && !ROW_START.find_iter(line).any(begins)
}

#[cfg(test)]
mod tests {
    use super::run::tests::damaged_run;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_they_are_written(number: u64, shift in 0..64, behind in "[ -~]{1,9}") {
            let number = number >> shift;
            let wanted = (number < 10_u64.pow(19)).then_some(number);
            prop_assert_eq!(digits(format!("{number},{behind}").as_bytes()), wanted);
            prop_assert_eq!(digits(format!("{number}}}").as_bytes()), wanted);
            let text = format!("{number}{behind}");
            let ends = behind.starts_with([',', '}']);
            let goes_on = behind.starts_with(|first: char| first.is_ascii_digit());
            prop_assert!(ends || goes_on || digits(text.as_bytes()).is_none());
        }
    }

    proptest! {
        /// However long the run of streamed rows, it ends where a number is not as expected.
        #[test]
        fn a_run_of_streamed_rows_ends_where_its_numbers_do(
            first in prop_oneof![0_u64..2000, 99_999_000..100_001_000_u64],
            len in 1_usize..250,
            jump in 2_u64..20,
            slashes in any::<bool>(),
        ) {
            let row = |seq: u64| {
                let text = if slashes { "a/b \\\"turn/end\\\"" } else { "a" };
                format!("{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":1,\"data\":{{\"chunk\":{{\"text\":\"{text}\"}}}}}}\n")
            };
            let run: String = (first..first + len as u64).map(row).collect();
            let next = first + len as u64;
            let wanted = Stretch { bytes: run.len(), lines: len as u64, first, next };
            prop_assert_eq!(skim((run.clone() + &row(next + jump)).as_bytes()), Some(wanted));
            prop_assert_eq!(skim((run + row(next).trim_end()).as_bytes()), Some(wanted));
        }
    }

    /// The same without what is known of runs: row by row.
    fn skim_each(text: &[u8]) -> Option<Stretch> {
        let mut rows = Stretch { bytes: 0, lines: 0, first: 0, next: 0 };
        while let Some(row) = Passed::first_of(&text[rows.bytes..])
            && text.get(rows.bytes + row.len) == Some(&b'\n')
            && (rows.lines == 0 || row.first == rows.next)
        {
            rows.first = if rows.lines == 0 { row.first } else { rows.first };
            rows.bytes += row.len + 1;
            rows.lines += 1;
            rows.next = row.next;
        }
        (rows.lines > 0).then_some(rows)
    }

    proptest! {
        /// Whatever bytes are changed, put in or lost, rows are passed over as they are one by one.
        #[test]
        fn a_run_of_streamed_rows_ends_where_one_row_would((_, text) in damaged_run()) {
            prop_assert_eq!(skim(&text), skim_each(&text));
        }
    }

    #[test]
    fn packed_rows_count_their_members() {
        let mut sequence = Sequence { next: Some(14) };
        assert!(sequence.skip(br#"{"type":"text-chunks","seq0":14,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,-2,0],"texts":["a","}","c","d"]}}"#));
        assert_eq!(sequence.next(), Some(18));
        assert!(sequence.skip(
            br#"{"type":"reasoning-chunks","seq0":18,"time0":1,"data":{"dt":[],"texts":["a"]}}"#
        ));
        assert_eq!(sequence.next(), Some(19));
    }

    #[test]
    fn rows_are_skimmed_as_far_as_their_numbers_follow() {
        let chunk = |seq: u32| {
            format!(
                "{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":1,\"data\":{{\"chunk\":{{\"text\":\"a/b \\\"turn/end\\\"\"}}}}}}\n"
            )
        };
        let packed = "{\"type\":\"text-chunks\",\"seq0\":2,\"time0\":1,\"data\":{\"dt\":[1],\"texts\":[\"a\",\"b\"]}}\n";
        let other = "{\"type\":\"step/start\",\"seq\":4,\"time\":1,\"data\":{}}\r\n";
        let needed = "{\"type\":\"turn/end\",\"seq\":5,\"time\":1,\"data\":{\"turn\":1}}\n";
        let text = [&chunk(0), &chunk(1), packed, other].concat();
        let all = Stretch { bytes: text.len(), lines: 4, first: 0, next: 5 };
        assert_eq!(skim(text.as_bytes()), Some(all));
        assert_eq!(skim((text.clone() + needed).as_bytes()), Some(all));
        assert_eq!(skim((text.clone() + &chunk(9)).as_bytes()), Some(all), "a number is missing");
        assert_eq!(skim((text.clone() + chunk(5).trim_end()).as_bytes()), Some(all), "no line end");
        assert_eq!(skim(needed.as_bytes()), None);
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
