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
    fn run(&self, old: usize, new: usize) -> usize {
        let equal = |(old, new): (&u32, &u32)| old == new;
        if BACK {
            let old = self.old.len().checked_sub(old).map_or(&[][..], |end| &self.old[..end]);
            let new = self.new.len().checked_sub(new).map_or(&[][..], |end| &self.new[..end]);
            old.iter().rev().zip(new.iter().rev()).take_while(|pair| equal(*pair)).count()
        } else {
            let old = self.old.get(old..).unwrap_or_default();
            let new = self.new.get(new..).unwrap_or_default();
            old.iter().zip(new).take_while(|pair| equal(*pair)).count()
        }
    }

    /// Goes one edit further on every second diagonal. `other` is given where the two searches can
    /// meet in this step.
    pub(super) fn step<const OTHER: bool>(&mut self, other: Option<&Frontier<'_, OTHER>>) -> Step {
        self.widen();
        let mut step = Step { met: None, good_run: false, work: 0 };
        let mut above = self.reach[self.high + 1];
        let mut diagonal = self.high;
        while diagonal >= self.low {
            let below = self.reach[diagonal - 1];
            let reached = if BACK {
                if above >= below { above + 1 } else { below }
            } else if below >= above {
                below + 1
            } else {
                above
            };
            above = below;
            let from = reached as usize - 1;
            let run = self.run(from, self.new_lines(diagonal, from));
            let old = from + run;
            step.work += run + 2;
            step.good_run |= run > GOOD_RUN;
            self.reach[diagonal] = old as u32 + 1;
            if let Some(other) = other
                && other.has_passed(diagonal, old)
            {
                step.met = Some(self.point(old, self.new_lines(diagonal, old)));
                return step;
            }
            diagonal -= 2;
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
