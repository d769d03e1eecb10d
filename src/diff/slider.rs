//! Where a change lies that could lie in several places: as git puts it.
//!
//! A group of changed lines may slide over equal lines. Groups that meet become one; a group that
//! can lie beside a change of the other side does; any other lies where the indent heuristic
//! likes it best. Source of the rules: git's `xdiff/xdiffi.c`.

use super::limit::{Stop, Ticker};
use super::split_score::{Indent, Score};

/// A group is slid up at most so many lines to please the heuristic.
const MAX_SLIDE: usize = 100;

/// A run of changed lines, perhaps empty, between two unchanged lines.
#[derive(Debug, Clone, Copy)]
struct Group {
    start: usize,
    end: usize,
}

impl Group {
    fn is_empty(self) -> bool {
        self.start == self.end
    }

    fn len(self) -> usize {
        self.end - self.start
    }

    /// The group that starts at a line.
    fn from(start: usize, changed: &[bool]) -> Self {
        let len = changed[start..].iter().take_while(|changed| **changed).count();
        Self { start, end: start + len }
    }

    fn next(self, changed: &[bool]) -> Option<Self> {
        (self.end < changed.len()).then(|| Self::from(self.end + 1, changed))
    }

    fn previous(self, changed: &[bool]) -> Option<Self> {
        let end = self.start.checked_sub(1)?;
        let len = changed[..end].iter().rev().take_while(|changed| **changed).count();
        Some(Self { start: end - len, end })
    }
}

/// One side whose groups are moved, with the other side's groups passing along.
struct Slider<'a> {
    classes: &'a [u32],
    changed: &'a mut [bool],
    other_changed: &'a [bool],
    group: Group,
    /// The other side's group between the same two unchanged lines.
    other: Group,
}

/// Moves the groups of one side.
pub(super) fn slide(
    classes: &[u32],
    changed: &mut [bool],
    other_changed: &[bool],
    indents: &[Indent],
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let (group, other) = (Group::from(0, changed), Group::from(0, other_changed));
    let mut slider = Slider { classes, changed, other_changed, group, other };
    loop {
        ticker.add(slider.group.len() + 4)?;
        if !slider.group.is_empty() {
            slider.place(indents, ticker)?;
        }
        if !slider.go_on() {
            return Ok(());
        }
    }
}

impl Slider<'_> {
    fn place(&mut self, indents: &[Indent], ticker: &mut Ticker<'_>) -> Result<(), Stop> {
        let (mut highest, mut beside_other);
        loop {
            let len = self.group.len();
            while self.up() {
                ticker.add(2)?;
            }
            highest = self.group.end;
            beside_other = !self.other.is_empty();
            while self.down() {
                ticker.add(2)?;
                beside_other |= !self.other.is_empty();
            }
            if len == self.group.len() {
                break;
            }
        }
        if self.group.end == highest {
            return Ok(());
        }
        if beside_other {
            while self.other.is_empty() && self.up() {}
            return Ok(());
        }
        let end = self.best_end(highest, indents, ticker)?;
        while self.group.end > end && self.up() {}
        Ok(())
    }

    /// The best end of the group, from `highest` to where it is now.
    fn best_end(
        &self,
        highest: usize,
        indents: &[Indent],
        ticker: &mut Ticker<'_>,
    ) -> Result<usize, Stop> {
        let (len, lowest) = (self.group.len(), self.group.end);
        let first =
            highest.max((lowest - len).saturating_sub(1)).max(lowest.saturating_sub(MAX_SLIDE));
        let indent_of = |line: usize| indents[self.classes[line] as usize];
        let mut best: Option<(usize, Score)> = None;
        for end in first..=lowest {
            ticker.add(32)?;
            let score = Score::of(end - len, end, self.classes.len(), indent_of);
            if best.is_none_or(|(_, best)| score.is_no_worse_than(best)) {
                best = Some((end, score));
            }
        }
        Ok(best.map_or(lowest, |(end, _)| end))
    }

    /// Slides the group down by a line, if it can; it may grow by the group that it meets.
    fn down(&mut self) -> bool {
        let Group { start, end } = self.group;
        let Some(other) = self.other.next(self.other_changed) else { return false };
        if self.classes.get(end) != Some(&self.classes[start]) {
            return false;
        }
        self.changed[start] = false;
        self.changed[end] = true;
        self.group = Group { start: start + 1, end: Group::from(end, self.changed).end };
        self.other = other;
        true
    }

    /// Slides the group up by a line, if it can; it may grow by the group that it meets.
    fn up(&mut self) -> bool {
        let Group { start, end } = self.group;
        let Some(other) = self.other.previous(self.other_changed) else { return false };
        if start == 0 || self.classes[start - 1] != self.classes[end - 1] {
            return false;
        }
        self.changed[start - 1] = true;
        self.changed[end - 1] = false;
        let above = Group { start, end }.previous(self.changed);
        self.group = Group { start: above.map_or(0, |above| above.start), end: end - 1 };
        self.other = other;
        true
    }

    /// Goes to the next group on both sides.
    fn go_on(&mut self) -> bool {
        let next = self.group.next(self.changed).zip(self.other.next(self.other_changed));
        if let Some((group, other)) = next {
            (self.group, self.other) = (group, other);
        }
        next.is_some()
    }
}
