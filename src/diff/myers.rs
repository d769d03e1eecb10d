//! Myers' search for a short script, in linear space, with git's cut-offs.
//!
//! "An O(ND) Difference Algorithm and its Variations" (1986); when to stop looking for the shortest
//! script, and where to split then, is as in git's `xdiff/xdiffi.c`, so that no script is longer
//! than git's.

use super::discard::{Kept, rough_root};
use super::frontier::{Frontier, Point, Reach, room};
use super::limit::{Stop, Ticker};
use super::token::Token;
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

/// Marks the changed lines among those kept. There are `classes` classes.
pub(super) fn search(
    (old, new): (&Kept, &Kept),
    classes: usize,
    changed: (&mut [bool], &mut [bool]),
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let lines = (&old.lines[..], &new.lines[..]);
    if classes > 1 << u8::BITS {
        return search_tokens(&old.classes, &new.classes, lines, changed, ticker);
    }
    let small = |side: &Kept| side.classes.iter().map(|class| *class as u8).collect::<Vec<_>>();
    search_tokens(&small(old), &small(new), lines, changed, ticker)
}

fn search_tokens<T: Token>(
    old: &[T],
    new: &[T],
    (old_lines, new_lines): (&[u32], &[u32]),
    (old_changed, new_changed): (&mut [bool], &mut [bool]),
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let mut searcher = Searcher::new(old, new);
    let mut parts = vec![Part { old: 0..old.len(), new: 0..new.len(), exact: false }];
    while let Some(part) = parts.pop() {
        let part = trim(&part, old, new);
        ticker.add(part.old.len().min(part.new.len()) / 8 + 8)?;
        if part.old.is_empty() || part.new.is_empty() {
            mark(old_changed, &old_lines[part.old]);
            mark(new_changed, &new_lines[part.new]);
            continue;
        }
        let Split { at, exact_before, exact_behind } = searcher.split(&part, ticker)?;
        let (old, new) = (part.old.start + at.old, part.new.start + at.new);
        parts.push(Part { old: old..part.old.end, new: new..part.new.end, exact: exact_behind });
        parts.push(Part {
            old: part.old.start..old,
            new: part.new.start..new,
            exact: exact_before,
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
pub(super) fn common_ends<T: Token>(old: &[T], new: &[T]) -> (usize, usize) {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (prefix, suffix)
}

fn trim<T: Token>(part: &Part, old: &[T], new: &[T]) -> Part {
    let (prefix, suffix) = common_ends(&old[part.old.clone()], &new[part.new.clone()]);
    Part {
        old: part.old.start + prefix..part.old.end - suffix,
        new: part.new.start + prefix..part.new.end - suffix,
        exact: part.exact,
    }
}

/// What all parts are searched with.
struct Searcher<'a, T> {
    old: &'a [T],
    new: &'a [T],
    /// Both sides in reverse, for the search from the end.
    old_back: Vec<T>,
    new_back: Vec<T>,
    reach: Reach,
    reach_back: Reach,
    /// At this cost a search is ended wherever it is.
    max_cost: usize,
}

impl<'a, T: Token> Searcher<'a, T> {
    fn new(old: &'a [T], new: &'a [T]) -> Self {
        Self {
            old,
            new,
            old_back: old.iter().rev().copied().collect(),
            new_back: new.iter().rev().copied().collect(),
            reach: room(old.len(), new.len()),
            reach_back: room(old.len(), new.len()),
            max_cost: rough_root(old.len() + new.len() + 3).max(MIN_CUT),
        }
    }

    /// Searches from both corners until the searches meet, or until it costs too much.
    fn split(&mut self, part: &Part, ticker: &mut Ticker<'_>) -> Result<Split, Stop> {
        let (old, new) = (&self.old[part.old.clone()], &self.new[part.new.clone()]);
        let back = |side: Range<usize>, len: usize| len - side.end..len - side.start;
        let old_back = &self.old_back[back(part.old.clone(), self.old.len())];
        let new_back = &self.new_back[back(part.new.clone(), self.new.len())];
        let mut forward = Frontier::<T, false>::new(old, new, &mut self.reach);
        let mut backward = Frontier::<T, true>::new(old_back, new_back, &mut self.reach_back);
        let odd = old.len().abs_diff(new.len()) % 2 == 1;
        let exactly = |at| Split { at, exact_before: true, exact_behind: true };
        let mut cost = 0;
        loop {
            cost += 1;
            let ahead = forward.step();
            if odd && let Some(at) = forward.meets(&backward) {
                return Ok(exactly(at));
            }
            let behind = backward.step();
            if !odd && let Some(at) = backward.meets(&forward) {
                return Ok(exactly(at));
            }
            ticker.add(ahead.work + behind.work)?;
            if part.exact {
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
            if cost >= self.max_cost {
                let ((far, at), (far_back, at_back)) = (forward.furthest(), backward.furthest());
                let ahead = far > far_back;
                let at = if ahead { at } else { at_back };
                return Ok(Split { at, exact_before: ahead, exact_behind: !ahead });
            }
        }
    }
}
