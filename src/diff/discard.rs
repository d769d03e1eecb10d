//! Which lines are worth searching: git's cleaning of records.
//!
//! A line that the other side does not have is changed in every script. A line that the other side
//! has very often, amid lines that it does not have, is taken for changed as well.

use super::limit::{Stop, Ticker};
use super::line_class::Classes;

/// So many lines to each side are looked at around a frequent line.
const WINDOW: usize = 100;

/// From how many equal lines on the other side a line is frequent, at most.
const MAX_FREQUENT: u32 = 1024;

/// The lines of one side that are worth searching.
pub(super) struct Kept {
    /// Their numbers (0-based), rising.
    pub(super) lines: Vec<u32>,
    /// Their classes.
    pub(super) classes: Vec<u32>,
}

/// How often the other side has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matches {
    None,
    Few,
    Many,
}

/// The power of two that git takes for a square root: the least `2^i` with `4^i` over `number`.
pub(super) fn rough_root(number: usize) -> usize {
    1 << (usize::BITS - number.leading_zeros()).div_ceil(2)
}

/// Keeps what is worth searching of both sides between `prefix` equal lines at the start and
/// `suffix` at the end; marks the rest of these lines as changed.
pub(super) fn keep(
    classes: &Classes,
    (prefix, suffix): (usize, usize),
    (old_changed, new_changed): (&mut [bool], &mut [bool]),
    ticker: &mut Ticker<'_>,
) -> Result<(Kept, Kept), Stop> {
    let old = keep_side(&classes.old, prefix, suffix, old_changed, ticker, |class| {
        classes.counts[class as usize][1]
    })?;
    let new = keep_side(&classes.new, prefix, suffix, new_changed, ticker, |class| {
        classes.counts[class as usize][0]
    })?;
    Ok((old, new))
}

fn keep_side(
    side: &[u32],
    prefix: usize,
    suffix: usize,
    changed: &mut [bool],
    ticker: &mut Ticker<'_>,
    others: impl Fn(u32) -> u32,
) -> Result<Kept, Stop> {
    let middle = &side[prefix..side.len() - suffix];
    let frequent = (rough_root(side.len()) as u32).min(MAX_FREQUENT);
    let mut matches = Vec::with_capacity(middle.len());
    for class in middle {
        ticker.add(2)?;
        matches.push(match others(*class) {
            0 => Matches::None,
            count if count >= frequent => Matches::Many,
            _ => Matches::Few,
        });
    }
    let mut kept = Kept { lines: Vec::new(), classes: Vec::new() };
    for (index, class) in middle.iter().enumerate() {
        ticker.add(2)?;
        let keep = match matches[index] {
            Matches::None => false,
            Matches::Few => true,
            Matches::Many => !is_lost(&matches, index),
        };
        if keep {
            kept.lines.push((prefix + index) as u32);
            kept.classes.push(*class);
        } else {
            changed[prefix + index] = true;
        }
    }
    Ok(kept)
}

/// Whether a frequent line stands amid lines that the other side does not have: on both sides of it
/// some, and over the run of both kinds more than three in four.
fn is_lost(matches: &[Matches], index: usize) -> bool {
    let from = index.saturating_sub(WINDOW);
    let to = matches.len().min(index + WINDOW + 1);
    let (none_before, many_before) = run(matches[from..index].iter().rev());
    if none_before == 0 {
        return false;
    }
    let (none_after, many_after) = run(matches[index + 1..to].iter());
    if none_after == 0 {
        return false;
    }
    // Each side counts the line itself once.
    let (none, many) = (none_before + none_after, many_before + many_after + 2);
    many * 4 < many + none
}

/// Lines without and with many matches, up to the first with few.
fn run<'a>(matches: impl Iterator<Item = &'a Matches>) -> (usize, usize) {
    let (mut none, mut many) = (0, 0);
    for kind in matches {
        match kind {
            Matches::None => none += 1,
            Matches::Many => many += 1,
            Matches::Few => break,
        }
    }
    (none, many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rough_root_is_a_power_of_two() {
        for (number, root) in [(0, 1), (1, 2), (3, 2), (4, 4), (15, 4), (16, 8), (100_000, 512)] {
            assert_eq!(rough_root(number), root, "{number}");
        }
    }

    #[test]
    fn a_frequent_line_amid_unknown_ones_is_lost() {
        use Matches::{Few, Many, None};
        let amid = [None, None, None, None, Many, None, None, None, None];
        assert!(is_lost(&amid, 4));
        assert!(!is_lost(&[Few, Many, None, None, None, None, None], 1));
        assert!(!is_lost(&[None, Many, None, Few], 1));
    }
}
