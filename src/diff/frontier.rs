//! The furthest points that a search from one corner has reached.

use super::token::Token;

/// A run of at least so many equal lines is a sign of the right way.
const GOOD_RUN: usize = 20;

/// How much further than its cost a point must be to be taken early.
const FAR: usize = 4;

/// The reached points of one search: those of even diagonals and those of odd ones. An edit leads
/// from one kind to the other, so that each is read or written in one sweep.
pub(super) type Reach = [Vec<u32>; 2];

/// Room for the diagonals of two sides of so many lines.
pub(super) fn room(old: usize, new: usize) -> Reach {
    let half = (old + new + 3).div_ceil(2);
    [vec![0; half], vec![0; half]]
}

/// One of the two searches of Myers' algorithm, over old lines × new lines, from the start or
/// (`BACK`) from the end. The one from the end is given both sides in reverse.
///
/// Points are told by how many old and new lines lie between them and the search's own corner, so
/// that both searches follow the same rules. Diagonals are those of the forward search: number `k`
/// is `old − new + new lines + 1`, so that all and one more at each edge are from 0 up.
pub(super) struct Frontier<'a, T, const BACK: bool> {
    old: &'a [T],
    new: &'a [T],
    /// Of each diagonal, the old lines of its furthest point and one more; 0: not reached.
    reach: &'a mut Reach,
    /// The diagonals that were reached last: every second from `low` to `high`.
    low: usize,
    high: usize,
}

/// Takes the points of neighbouring diagonals along all equal lines; gives the longest run and the
/// sum of all. `ahead` is what the new lines of the first point have over its old ones, `next` how
/// much more the next one has, both wrapping.
///
/// Most of a comparison's time goes by in here. It is kept apart so that all that it needs fits
/// into registers.
#[inline(never)]
fn follow<T: Token>(
    points: &mut [u32],
    old: &[T],
    new: &[T],
    mut ahead: usize,
    next: usize,
) -> (usize, usize) {
    let (mut longest, mut total) = (0, 0);
    for point in points {
        let at = *point as usize - 1;
        let run = T::run(old, new, at, at.wrapping_add(ahead));
        *point += run as u32;
        longest = longest.max(run);
        total += run;
        ahead = ahead.wrapping_add(next);
    }
    (longest, total)
}

/// A point by the lines between it and the start of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) old: usize,
    pub(super) new: usize,
}

/// What one more step of a search gave.
pub(super) struct Step {
    /// It passed a long run of equal lines.
    pub(super) good_run: bool,
    /// How many points and lines were looked at.
    pub(super) work: usize,
}

impl<'a, T: Token, const BACK: bool> Frontier<'a, T, BACK> {
    /// A search that stands at its corner.
    pub(super) fn new(old: &'a [T], new: &'a [T], reach: &'a mut Reach) -> Self {
        let corner = if BACK { old.len() + 1 } else { new.len() + 1 };
        let mut frontier = Self { old, new, reach, low: corner, high: corner };
        frontier.set(corner, 1);
        frontier
    }

    fn set(&mut self, diagonal: usize, reached: u32) {
        self.reach[diagonal % 2][diagonal / 2] = reached;
    }

    /// The point last reached on a diagonal, told from this search's corner.
    fn reached(&self, diagonal: usize) -> (usize, usize) {
        let old = self.reach[diagonal % 2][diagonal / 2] as usize - 1;
        (old, self.new_lines(diagonal, old))
    }

    /// The new lines of a point on a diagonal.
    fn new_lines(&self, diagonal: usize, old: usize) -> usize {
        if BACK { old + diagonal - 1 - self.old.len() } else { old + self.new.len() + 1 - diagonal }
    }

    /// A point told from this search's corner, told from the start.
    fn point(&self, (old, new): (usize, usize)) -> Point {
        if BACK {
            Point { old: self.old.len() - old, new: self.new.len() - new }
        } else {
            Point { old, new }
        }
    }

    /// The diagonals that were reached last, in git's order: the first of equals is taken.
    fn diagonals(&self) -> impl Iterator<Item = usize> + use<T, BACK> {
        (self.low..=self.high).rev().step_by(2)
    }

    /// Takes in one more diagonal on each side; at an edge the outermost is given up instead.
    fn widen(&mut self) {
        if self.low > 1 {
            self.low -= 1;
            self.set(self.low - 1, 0);
        } else {
            self.low += 1;
        }
        if self.high < self.old.len() + self.new.len() + 1 {
            self.high += 1;
            self.set(self.high + 1, 0);
        } else {
            self.high -= 1;
        }
    }

    /// Goes one edit further on every second diagonal, and then along all equal lines.
    pub(super) fn step(&mut self) -> Step {
        self.widen();
        let (low, high) = (self.low, self.high);
        let [even, odd] = &mut *self.reach;
        let (from, to) = if low % 2 == 0 { (odd, even) } else { (even, odd) };
        let from = &from[(low - 1) / 2..=high.div_ceil(2)];
        let to = &mut to[low / 2..=high / 2];
        // One line deleted or one added, whichever leads further. Apart from the loop below,
        // because this one is done for many diagonals at once.
        for (to, (below, above)) in to.iter_mut().zip(from.iter().zip(&from[1..])) {
            *to = if BACK { (*above + 1).max(*below) } else { (*below + 1).max(*above) };
        }
        // New lines less old ones, on the lowest diagonal; from one to the next it is two more or
        // less. It may be below zero: then it wraps, and so does the sum.
        let (ahead, next) = if BACK {
            ((low - 1).wrapping_sub(self.old.len()), 2)
        } else {
            ((self.new.len() + 1).wrapping_sub(low), 2usize.wrapping_neg())
        };
        let (longest, total) = follow(to, self.old, self.new, ahead, next);
        Step { good_run: longest > GOOD_RUN, work: to.len() + total }
    }

    /// The first point of the last step that lies on or behind what the other search has reached.
    pub(super) fn meets<const OTHER: bool>(&self, other: &Frontier<'_, T, OTHER>) -> Option<Point> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        if low > high {
            return None;
        }
        let (side, cells) = (low % 2, low / 2..=high / 2);
        let (ours, others) = (&self.reach[side][cells.clone()], &other.reach[side][cells]);
        // Each counts one more than its lines.
        let together = self.old.len() as u32 + 2;
        let furthest = ours.iter().zip(others).map(|(ours, other)| ours + other).max();
        if furthest.is_none_or(|furthest| furthest < together) {
            return None;
        }
        let at = ours.iter().zip(others).rposition(|(ours, other)| ours + other >= together)?;
        Some(self.point(self.reached(low + 2 * at)))
    }

    /// The best point that is far beyond its cost and at the end of a long run of equal lines.
    pub(super) fn interesting(&self, cost: usize) -> Option<Point> {
        let mut best = 0;
        let mut found = None;
        for diagonal in self.diagonals() {
            let (old, new) = self.reached(diagonal);
            let worth = (old + new).saturating_sub(old.abs_diff(new));
            let inside = (GOOD_RUN..self.old.len()).contains(&old)
                && (GOOD_RUN..self.new.len()).contains(&new);
            if worth > FAR * cost
                && worth > best
                && inside
                && self.old[old - GOOD_RUN..old] == self.new[new - GOOD_RUN..new]
            {
                best = worth;
                found = Some(self.point((old, new)));
            }
        }
        found
    }

    /// The point furthest from the corner, and how many lines it is away.
    pub(super) fn furthest(&self) -> (usize, Point) {
        let mut best: Option<(usize, usize)> = None;
        for diagonal in self.diagonals() {
            let (mut old, mut new) = self.reached(diagonal);
            // A search may have run over an edge: back along the diagonal.
            let over = old.saturating_sub(self.old.len()).max(new.saturating_sub(self.new.len()));
            (old, new) = (old - over, new - over);
            if best.is_none_or(|best| best.0 + best.1 < old + new) {
                best = Some((old, new));
            }
        }
        let best = best.unwrap_or_default();
        (best.0 + best.1, self.point(best))
    }
}
