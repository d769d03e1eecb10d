//! The furthest points that a search from one corner has reached.

/// A run of at least so many equal lines is a sign of the right way.
const GOOD_RUN: usize = 20;

/// How much further than its cost a point must be to be taken early.
const FAR: usize = 4;

/// One of the two searches of Myers' algorithm, over old lines × new lines, from the start or
/// (`BACK`) from the end.
///
/// Points are told by how many old and new lines lie between them and the search's own corner, so
/// that both searches follow the same rules. Diagonals are those of the forward search: number `k`
/// is `old − new + new lines + 1`, so that all and one more at each edge are from 0 up.
pub(super) struct Frontier<'a, const BACK: bool> {
    old: &'a [u32],
    new: &'a [u32],
    /// Of each diagonal, the old lines of its furthest point and one more; 0: not reached.
    reach: &'a mut [u32],
    /// The diagonals that were reached last: every second from `low` to `high`.
    low: usize,
    high: usize,
}

/// A point by the lines between it and the start of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) old: usize,
    pub(super) new: usize,
}

/// What one more step of a search gave.
pub(super) struct Step {
    /// The point where it met the other search.
    pub(super) met: Option<Point>,
    /// It passed a long run of equal lines.
    pub(super) good_run: bool,
    /// How many lines were looked at.
    pub(super) work: usize,
}

impl<'a, const BACK: bool> Frontier<'a, BACK> {
    /// Room for the diagonals of two sides.
    pub(super) fn room(old: usize, new: usize) -> usize {
        old + new + 3
    }

    /// A search that stands at its corner.
    pub(super) fn new(old: &'a [u32], new: &'a [u32], reach: &'a mut [u32]) -> Self {
        let corner = if BACK { old.len() + 1 } else { new.len() + 1 };
        reach[corner] = 1;
        Self { old, new, reach, low: corner, high: corner }
    }

    /// The new lines of a point on a diagonal.
    fn new_lines(&self, diagonal: usize, old: usize) -> usize {
        if BACK { old + diagonal - 1 - self.old.len() } else { old + self.new.len() + 1 - diagonal }
    }

    /// A point told from this search's corner, told from the start.
    fn point(&self, old: usize, new: usize) -> Point {
        if BACK {
            Point { old: self.old.len() - old, new: self.new.len() - new }
        } else {
            Point { old, new }
        }
    }

    /// Takes in one more diagonal on each side; at an edge the outermost is given up instead.
    fn widen(&mut self) {
        if self.low > 1 {
            self.low -= 1;
            self.reach[self.low - 1] = 0;
        } else {
            self.low += 1;
        }
        if self.high < self.old.len() + self.new.len() + 1 {
            self.high += 1;
            self.reach[self.high + 1] = 0;
        } else {
            self.high -= 1;
        }
    }

    /// How many equal lines follow a point.
    fn run(old_side: &[u32], new_side: &[u32], old: usize, new: usize) -> usize {
        if BACK {
            let (old_end, new_end) = (old_side.len(), new_side.len());
            let mut run = 0;
            while old + run < old_end
                && new + run < new_end
                && old_side[old_end - 1 - old - run] == new_side[new_end - 1 - new - run]
            {
                run += 1;
            }
            run
        } else {
            let mut run = 0;
            while let (Some(old), Some(new)) = (old_side.get(old + run), new_side.get(new + run))
                && old == new
            {
                run += 1;
            }
            run
        }
    }

    /// Goes one edit further on every second diagonal. `other` is given where the two searches can
    /// meet in this step.
    pub(super) fn step<const OTHER: bool>(&mut self, other: Option<&Frontier<'_, OTHER>>) -> Step {
        self.widen();
        let (old_side, new_side) = (self.old, self.new);
        let mut step = Step { met: None, good_run: false, work: self.high - self.low };
        let Some((above, reached)) = self.reach[self.low - 1..=self.high + 1].split_last_mut()
        else {
            return step;
        };
        let mut above = *above;
        let mut diagonal = self.high + 2;
        for [below, here] in reached.as_rchunks_mut::<2>().1.iter_mut().rev() {
            diagonal -= 2;
            // One line deleted or one added, whichever leads further; ties go by git's rule.
            let next = if BACK { (above + 1).max(*below) } else { above.max(*below + 1) };
            above = *below;
            let from = next as usize - 1;
            let new = if BACK {
                from + diagonal - 1 - old_side.len()
            } else {
                from + new_side.len() + 1 - diagonal
            };
            let run = Self::run(old_side, new_side, from, new);
            if run > GOOD_RUN {
                step.good_run = true;
                step.work += run;
            }
            *here = next + run as u32;
            if let Some(other) = other
                && other.has_passed(diagonal, from + run)
            {
                step.met = Some(self.point(from + run, new + run));
                return step;
            }
        }
        step
    }

    /// Whether this search was on that diagonal, and the other's point on it lies behind its own.
    fn has_passed(&self, diagonal: usize, old: usize) -> bool {
        (self.low..=self.high).contains(&diagonal)
            && self.reach[diagonal] as usize + old > self.old.len()
    }

    /// The best point that is far beyond its cost and at the end of a long run of equal lines.
    pub(super) fn interesting(&self, cost: usize) -> Option<Point> {
        let mut best = 0;
        let mut found = None;
        for diagonal in (self.low..=self.high).rev().step_by(2) {
            let old = self.reach[diagonal] as usize - 1;
            let new = self.new_lines(diagonal, old);
            let worth = (old + new).saturating_sub(old.abs_diff(new));
            let inside = (GOOD_RUN..self.old.len()).contains(&old)
                && (GOOD_RUN..self.new.len()).contains(&new);
            if worth > FAR * cost && worth > best && inside && self.has_good_run_before(old, new) {
                best = worth;
                found = Some(self.point(old, new));
            }
        }
        found
    }

    fn has_good_run_before(&self, old: usize, new: usize) -> bool {
        if BACK {
            let (old, new) = (self.old.len() - old, self.new.len() - new);
            self.old[old..old + GOOD_RUN] == self.new[new..new + GOOD_RUN]
        } else {
            self.old[old - GOOD_RUN..old] == self.new[new - GOOD_RUN..new]
        }
    }

    /// The point furthest from the corner, and how many lines it is away.
    pub(super) fn furthest(&self) -> (usize, Point) {
        let (mut best, mut point) = (None, (0, 0));
        for diagonal in (self.low..=self.high).rev().step_by(2) {
            let reached = self.reach[diagonal] as usize - 1;
            let mut old = reached.min(self.old.len());
            let mut new = self.new_lines(diagonal, reached) - (reached - old);
            if let Some(over) = new.checked_sub(self.new.len()) {
                (old, new) = (old - over, self.new.len());
            }
            if best.is_none_or(|best| best < old + new) {
                best = Some(old + new);
                point = (old, new);
            }
        }
        (best.unwrap_or_default(), self.point(point.0, point.1))
    }
}
