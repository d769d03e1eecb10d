//! Runs of streamed rows: each like the one before it but for number, time and text. Passed over by comparing 64 bytes at once.
#![expect(
    clippy::inline_always,
    reason = "what is not inlined does not get the processor's vectors"
)]

use super::sequence::{CHUNK, digits, plain_end};
use crate::log::Stretch;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};
use memchr::memchr2;
use memchr::memmem::FinderRev;
use std::sync::LazyLock;

/// The widest vectors that this processor has; 64 bytes are one of them, or several.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Finds where the last string value begins.
static VALUE: LazyLock<FinderRev<'static>> = LazyLock::new(|| FinderRev::new(b"\":\""));

/// So many bytes are compared at once.
const BLOCK: usize = 64;

/// Goes on over streamed rows that stand behind those of `rows`, as far as each has the number after
/// the one before it. A row that is not plain ends it, and is looked at anew.
pub(super) fn skim(text: &[u8], rows: &mut Stretch) {
    skim_at(*LEVEL, text, rows);
}

fn skim_at(level: Level, text: &[u8], rows: &mut Stretch) {
    dispatch!(level, simd => skim_with(simd, text, rows));
}

#[inline(always)]
fn skim_with<S: Simd>(simd: S, text: &[u8], rows: &mut Stretch) {
    let first = text.get(rows.bytes..).and_then(<[u8]>::first_chunk);
    let Some(layout) = first.and_then(|row| Layout::of(row, rows.next)) else { return };
    let Some(mut number) = Digits::of(rows.next) else { return };
    let model = Model::new(simd, layout);
    while let Some(row) = text.get(rows.bytes..)
        && let Some(start) = row.first_chunk()
        && number.stand_before(layout.number_end, start)
        && model.is_like(simd, start)
        && let Some(len) = len_of_row(simd, row, layout.len)
    {
        rows.bytes += len;
        rows.lines += 1;
        rows.next += 1;
        number.count();
    }
}

/// How a streamed row begins.
type Start = [u8; 2 * BLOCK];

/// Where in a row the parts stand that differ from row to row.
#[derive(Clone, Copy)]
struct Layout<'a> {
    row: &'a Start,
    number_end: usize,
    time: (usize, usize),
    /// The row's last string value begins behind so many bytes, or some later part of it.
    len: usize,
}

impl<'a> Layout<'a> {
    /// That of a row with this number. None where the row is another, or begins otherwise.
    fn of(row: &'a Start, number: u64) -> Option<Self> {
        let number_end = CHUNK.len() + number.checked_ilog10().unwrap_or(0) as usize + 1;
        if digits(row.strip_prefix(&CHUNK)?) != Some(number) {
            return None;
        }
        let time = row.get(number_end..)?.strip_prefix(b",\"time\":")?;
        let time_len = time.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let time = row.len() - time.len();
        let time = (time, time + time_len);
        let len = VALUE.rfind(row).map_or(row.len(), |at| at + 3);
        let begun = row.get(CHUNK.len()..len)?;
        let fits = time.1 <= BLOCK && len >= BLOCK && row.get(time.1) == Some(&b',');
        (fits && memchr2(b'\n', b'/', begun).is_none()).then_some(Self {
            row,
            number_end,
            time,
            len,
        })
    }
}

/// What all rows of a run begin with.
struct Model<S: Simd> {
    blocks: [u8x64<S>; 2],
    /// The bytes of the first block that may be any digit: of the time, and of the number, which is
    /// compared by itself.
    digits: u64,
    /// The bytes of the second block that may be anything.
    any: u64,
}

impl<S: Simd> Model<S> {
    #[inline(always)]
    fn new(simd: S, layout: Layout<'_>) -> Self {
        let below = |end: usize| u64::MAX.checked_shl(end as u32).map_or(u64::MAX, |above| !above);
        let number =
            below(layout.number_end) & !below(layout.number_end.saturating_sub(Digits::LEN));
        let time = below(layout.time.1) & !below(layout.time.0);
        Self {
            blocks: blocks(simd, layout.row),
            digits: (number & !below(CHUNK.len())) | time,
            any: !below(layout.len - BLOCK),
        }
    }

    #[inline(always)]
    fn is_like(&self, simd: S, start: &Start) -> bool {
        let [first, second] = blocks(simd, start);
        let digit = (first - b'0').simd_lt(10).to_bitmask();
        let same = first.simd_eq(self.blocks[0]).to_bitmask() | (digit & self.digits);
        same & (second.simd_eq(self.blocks[1]).to_bitmask() | self.any) == u64::MAX
    }
}

#[inline(always)]
fn blocks<S: Simd>(simd: S, start: &Start) -> [u8x64<S>; 2] {
    let (first, second) = start.split_at(BLOCK);
    [u8x64::from_slice(simd, first), u8x64::from_slice(simd, second)]
}

/// The length of a plain row with its `\n`, as far as it is looked at `from` there on: it ends as its
/// chunk, its data and itself do, and no other row is seen on the line.
#[inline(always)]
fn len_of_row<S: Simd>(simd: S, row: &[u8], mut from: usize) -> Option<usize> {
    let marked = loop {
        let Some(block) = row.get(from..from + BLOCK) else { break None };
        let block = u8x64::from_slice(simd, block);
        let marks = (block.simd_eq(b'\n') | block.simd_eq(b'/')).to_bitmask();
        if marks != 0 {
            break Some(from + marks.trailing_zeros() as usize);
        }
        from += BLOCK;
    };
    let end = match marked {
        Some(at) if row.get(at) == Some(&b'\n') => at,
        _ => CHUNK.len() + plain_end(row.get(CHUNK.len()..)?)?,
    };
    let closed = row.get(end.checked_sub(3)?..=end) == Some(b"}}}\n");
    closed.then_some(end + 1)
}

/// The last digits of the next row's number, as they are written, and what stands before them.
struct Digits(u64);

impl Digits {
    /// So many bytes.
    const LEN: usize = 8;
    const LAST: u32 = 8 * (Self::LEN as u32 - 1);

    fn of(number: u64) -> Option<Self> {
        let written = [CHUNK.as_slice(), number.to_string().as_bytes()].concat();
        written.last_chunk().map(|last| Self(u64::from_le_bytes(*last)))
    }

    fn stand_before(&self, end: usize, start: &Start) -> bool {
        let last = end.checked_sub(Self::LEN).and_then(|from| start.get(from..end)?.first_chunk());
        last.is_some_and(|last| u64::from_le_bytes(*last) == self.0)
    }

    /// Goes on to the next number. One that needs another digit is written in a way that is never met.
    fn count(&mut self) {
        self.0 = self.0.wrapping_add(1 << Self::LAST);
        if self.0 >> Self::LAST > u64::from(b'9') {
            self.carry();
        }
    }

    fn carry(&mut self) {
        let mut written = self.0.to_le_bytes();
        for at in (1..Self::LEN).rev() {
            if written[at] <= b'9' {
                break;
            }
            written[at] = b'0';
            written[at - 1] += 1;
        }
        self.0 = u64::from_le_bytes(written);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    prop_compose! {
        /// A run of rows and its first number, with some bytes changed, put in or lost.
        pub(in crate::log::dsh) fn damaged_run()(
            first in prop_oneof![
                0_u64..120,
                9_990..10_010_u64,
                99_999_990..100_000_010_u64,
                1_u64 << 40..1_u64 << 50
            ],
            texts in prop::collection::vec("[ -~]{0,90}", 2..30),
            changes in prop::collection::vec(
                (any::<Index>(), 0..4_usize, "\\PC|[\\x00-\\x7f]|[0-9/\n{}:,]"),
                0..4
            ),
            turn in 1..200_u32,
        ) -> (u64, Vec<u8>) {
            let rows = texts.iter().zip(first..).map(|(text, seq)| {
                let time = 1_796_085_622_950 + seq * 7;
                let text = text.replace(['"', '\\'], "\\n");
                format!("{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":{time},\"data\":{{\"turn\":{turn},\"step\":1,\"chunk\":{{\"type\":\"text-delta\",\"index\":0,\"text\":\"{text}\"}}}}}}\n")
            });
            let mut text = rows.collect::<String>().into_bytes();
            for (at, lost, put) in changes {
                let at = at.index(text.len() + 1);
                let lost = lost.min(text.len() - at);
                text.splice(at..at + lost, put.bytes());
            }
            (first, text)
        }
    }

    proptest! {
        #[test]
        fn a_run_is_the_same_on_any_processor((first, text) in damaged_run()) {
            let skimmed = |level| {
                let mut rows = Stretch { bytes: 0, lines: 0, first, next: first };
                skim_at(level, &text, &mut rows);
                rows
            };
            prop_assert_eq!(skimmed(Level::baseline()), skimmed(*LEVEL));
        }
    }

    /// Number `seq` is told to be where it is, and no other.
    #[test]
    fn the_awaited_number_is_written_as_it_is_counted() {
        for first in [0, 7, 88, 98, 998, 9_999_995, 99_999_999, 99_999_999_899] {
            let mut digits = Digits::of(first).unwrap();
            for number in first..first + 250 {
                let row = |number: u64| {
                    let row = [CHUNK.as_slice(), format!("{number},").as_bytes()].concat();
                    let end = row.len() - 1;
                    let mut start = [b' '; 2 * BLOCK];
                    start[..row.len()].copy_from_slice(&row);
                    (end, start)
                };
                let told = |number| {
                    let (end, start) = row(number);
                    digits.stand_before(end, &start)
                };
                let needs_more = number.to_string().len() > first.to_string().len();
                assert_eq!(told(number), !needs_more, "{number}");
                for other in [number + 1, number + 10, number + 10_000_000] {
                    assert!(!told(other), "{number} is not {other}");
                }
                digits.count();
            }
        }
    }
}
