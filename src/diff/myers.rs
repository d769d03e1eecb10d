//! Myers' search for a short script, in linear space, with git's cut-offs.
//!
//! "An O(ND) Difference Algorithm and its Variations" (1986); when to stop looking for the shortest
//! script, and where to split then, is as in git's `xdiff/xdiffi.c`, so that no script is longer
//! than git's.

use super::discard::{Kept, rough_root};
use super::frontier::{Frontier, Point};
use super::limit::{Stop, Ticker};
use std::ops::Range;

/// Below this cost no search is cut short.
const MIN_CUT: usize = 256;

/// A part of both sides that is still to be searched.
struct Part {
    old: Range<usize>,
    new: Range<usize>,
    /// It is known to be cheap: search without cut-offs.
    exact: bool,
}

/// Where to split a part.
struct Split {
    at: Point,
    exact_before: bool,
    exact_behind: bool,
}

/// Marks the changed lines among those kept.
pub(super) fn search(
    (old, new): (&Kept, &Kept),
    (old_changed, new_changed): (&mut [bool], &mut [bool]),
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let room = Frontier::<false>::room(old.lines.len(), new.lines.len());
    let mut reach = (vec![0; room], vec![0; room]);
    let max_cost = rough_root(room).max(MIN_CUT);
    let mut parts = vec![Part { old: 0..old.lines.len(), new: 0..new.lines.len(), exact: false }];
    while let Some(part) = parts.pop() {
        let part = trim(part, &old.classes, &new.classes);
        ticker.add(part.old.len().min(part.new.len()) / 8 + 8)?;
        if part.old.is_empty() || part.new.is_empty() {
            mark(old_changed, &old.lines[part.old]);
            mark(new_changed, &new.lines[part.new]);
            continue;
        }
        let sides = (&old.classes[part.old.clone()], &new.classes[part.new.clone()]);
        let split = split(sides, (&mut reach.0, &mut reach.1), part.exact, max_cost, ticker)?;
        let at = (part.old.start + split.at.old, part.new.start + split.at.new);
        parts.push(Part {
            old: at.0..part.old.end,
            new: at.1..part.new.end,
            exact: split.exact_behind,
        });
        parts.push(Part {
            old: part.old.start..at.0,
            new: part.new.start..at.1,
            exact: split.exact_before,
        });
    }
    Ok(())
}

fn mark(changed: &mut [bool], lines: &[u32]) {
    for line in lines {
        changed[*line as usize] = true;
    }
}

/// How many lines are equal at the start, and then at the end.
pub(super) fn common_ends(old: &[u32], new: &[u32]) -> (usize, usize) {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (prefix, suffix)
}

fn trim(part: Part, old: &[u32], new: &[u32]) -> Part {
    let (prefix, suffix) = common_ends(&old[part.old.clone()], &new[part.new.clone()]);
    Part {
        old: part.old.start + prefix..part.old.end - suffix,
        new: part.new.start + prefix..part.new.end - suffix,
        exact: part.exact,
    }
}

/// Searches from both corners until the searches meet, or until it costs too much.
fn split(
    (old, new): (&[u32], &[u32]),
    reach: (&mut [u32], &mut [u32]),
    exact: bool,
    max_cost: usize,
    ticker: &mut Ticker<'_>,
) -> Result<Split, Stop> {
    let mut forward = Frontier::<false>::new(old, new, reach.0);
    let mut backward = Frontier::<true>::new(old, new, reach.1);
    let odd = old.len().abs_diff(new.len()) % 2 == 1;
    let mut cost = 0;
    loop {
        cost += 1;
        let ahead = forward.step(odd.then_some(&backward));
        ticker.add(ahead.work)?;
        if let Some(at) = ahead.met {
            return Ok(Split { at, exact_before: true, exact_behind: true });
        }
        let behind = backward.step((!odd).then_some(&forward));
        ticker.add(behind.work)?;
        if let Some(at) = behind.met {
            return Ok(Split { at, exact_before: true, exact_behind: true });
        }
        if exact {
            continue;
        }
        if cost > MIN_CUT && (ahead.good_run || behind.good_run) {
            if let Some(at) = forward.interesting(cost) {
                return Ok(Split { at, exact_before: true, exact_behind: false });
            }
            if let Some(at) = backward.interesting(cost) {
                return Ok(Split { at, exact_before: false, exact_behind: true });
            }
        }
        if cost >= max_cost {
            let ((far, at), (far_back, at_back)) = (forward.furthest(), backward.furthest());
            let ahead = far > far_back;
            let at = if ahead { at } else { at_back };
            return Ok(Split { at, exact_before: ahead, exact_behind: !ahead });
        }
    }
}
