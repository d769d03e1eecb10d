//! The row list of one comparison: changes with their context, and folds between them.

use super::Layout;
use crate::diff::{Change, Comparison, Piece};
use std::collections::BTreeSet;
use std::ops::Range;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// The same line on both sides.
    Context,
    /// An old line that is gone.
    Deleted,
    /// A new line.
    Added,
    /// An old line beside a new one.
    Changed,
    /// Unchanged lines that are not shown.
    Fold,
    /// Lines that nobody knows: the next piece of the file begins.
    Gap,
}

/// One row of the viewer: which old line stands beside which new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    old: u32,
    new: u32,
    /// For a fold: how many lines it hides.
    pub hidden: u32,
}

const NONE: u32 = u32::MAX;

impl Row {
    pub(super) fn new(kind: RowKind, old: Option<u32>, new: Option<u32>) -> Self {
        Self { kind, old: old.unwrap_or(NONE), new: new.unwrap_or(NONE), hidden: 0 }
    }

    /// The 0-based old line; for a fold the first hidden one.
    pub fn old(&self) -> Option<u32> {
        (self.old != NONE).then_some(self.old)
    }

    /// The 0-based new line; for a fold the first hidden one.
    pub fn new_line(&self) -> Option<u32> {
        (self.new != NONE).then_some(self.new)
    }

    /// Whether it shows a change.
    pub fn is_change(&self) -> bool {
        matches!(self.kind, RowKind::Deleted | RowKind::Added | RowKind::Changed)
    }
}

/// The rows of a comparison in one layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// In order.
    pub rows: Vec<Row>,
    /// The row of each change's first line, in order: where `]` and `[` go.
    pub changes: Vec<u32>,
}

impl Plan {
    /// The row that shows this place best: the line itself, or the fold or change nearest to it.
    /// `old` and `new` are 0-based lines; the new side counts first.
    pub fn row_of(&self, old: Option<u32>, new: Option<u32>) -> usize {
        let by = |line: u32, side: fn(&Row) -> Option<u32>| {
            let mut best = 0;
            for (at, row) in self.rows.iter().enumerate() {
                match side(row) {
                    Some(here) if here > line => break,
                    Some(_) => best = at,
                    None => {}
                }
            }
            best
        };
        match (old, new) {
            (_, Some(line)) => by(line, Row::new_line),
            (Some(line), None) => by(line, Row::old),
            (None, None) => 0,
        }
    }
}

/// Plans the rows: `context` unchanged lines around each change, the others folded. A fold that
/// hides one of the `opened` new lines (0-based) is shown instead.
pub fn plan(
    comparison: &Comparison,
    layout: &dyn Layout,
    context: u32,
    opened: &BTreeSet<u32>,
) -> Plan {
    let mut plan = Plan::default();
    let mut next = 0;
    for (index, piece) in comparison.pieces.iter().enumerate() {
        if index > 0 {
            plan.rows.push(Row::new(RowKind::Gap, None, None));
        }
        let first = next;
        while comparison.changes.get(next).is_some_and(|change| is_in(change, piece)) {
            next += 1;
        }
        let changes = comparison.changes.get(first..next).unwrap_or_default();
        plan_piece(piece, changes, layout, (context, opened), &mut plan);
    }
    plan
}

fn is_in(change: &Change, piece: &Piece) -> bool {
    change.old.end <= piece.old.end && change.new.end <= piece.new.end
}

fn plan_piece(
    piece: &Piece,
    changes: &[Change],
    layout: &dyn Layout,
    (context, opened): (u32, &BTreeSet<u32>),
    plan: &mut Plan,
) {
    let (mut old, mut new) = (piece.old.start, piece.new.start);
    for (index, change) in changes.iter().enumerate() {
        let lines = change.old.start.saturating_sub(old);
        let above = if index == 0 { 0 } else { context };
        unchanged(old, new, lines, (above..lines.saturating_sub(context), opened), plan);
        plan.changes.push(plan.rows.len() as u32);
        layout.rows(change, &mut plan.rows);
        (old, new) = (change.old.end, change.new.end);
    }
    let lines = piece.old.end.saturating_sub(old);
    unchanged(old, new, lines, (context..lines, opened), plan);
}

/// `lines` unchanged lines from `old` and `new` on, of which those in `fold` (counted from the
/// first) are hidden. A fold of one line would take as much room as the line.
fn unchanged(
    old: u32,
    new: u32,
    lines: u32,
    (fold, opened): (Range<u32>, &BTreeSet<u32>),
    plan: &mut Plan,
) {
    let hidden = new.saturating_add(fold.start)..new.saturating_add(fold.end);
    let is_fold = fold.len() > 1 && opened.range(hidden).next().is_none();
    let fold = if is_fold { fold } else { lines..lines };
    let context = |at: u32| Row::new(RowKind::Context, Some(old + at), Some(new + at));
    plan.rows.extend((0..fold.start).map(context));
    if !fold.is_empty() {
        let mut row = Row::new(RowKind::Fold, Some(old + fold.start), Some(new + fold.start));
        row.hidden = fold.len() as u32;
        plan.rows.push(row);
    }
    plan.rows.extend((fold.end..lines).map(context));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Limit, compare};
    use crate::layout::LAYOUTS;

    fn numbered(changed: &[u32]) -> Vec<u8> {
        (0..40)
            .map(|n| if changed.contains(&n) { format!("changed {n}\n") } else { format!("{n}\n") })
            .collect::<String>()
            .into_bytes()
    }

    fn compared(changed: &[u32]) -> Comparison {
        let (old, new) = (numbered(&[]), numbered(changed));
        compare(Some(old.into()), Some(new.into()), &Limit::default()).unwrap()
    }

    #[test]
    fn every_layout_shows_each_line_once_and_in_order() {
        for changed in [&[][..], &[0], &[39], &[3, 20], &[5, 6, 7, 30]] {
            let comparison = compared(changed);
            for (layout, context) in LAYOUTS.iter().flat_map(|l| [(l, 0), (l, 3), (l, u32::MAX)]) {
                let plan = plan(&comparison, *layout, context, &BTreeSet::new());
                let (mut old, mut new) = (0, 0);
                for row in &plan.rows {
                    let lines = row.hidden.max(1);
                    if let Some(line) = row.old() {
                        assert_eq!(line, old, "{changed:?} {context}");
                        old += lines;
                    }
                    if let Some(line) = row.new_line() {
                        assert_eq!(line, new, "{changed:?} {context}");
                        new += lines;
                    }
                }
                assert_eq!((old, new), (40, 40), "{changed:?} {context}");
                assert_eq!(plan.changes.len(), comparison.changes.len());
                let marked = plan.changes.iter().all(|row| plan.rows[*row as usize].is_change());
                assert!(marked && (context < 40 || plan.rows.iter().all(|row| row.hidden == 0)));
            }
        }
    }

    #[test]
    fn an_opened_fold_is_shown_and_the_others_stay() {
        let comparison = compared(&[20]);
        let folds = |opened: &[u32]| {
            let opened = opened.iter().copied().collect();
            let plan = plan(&comparison, LAYOUTS[0], 3, &opened);
            plan.rows.iter().filter(|row| row.kind == RowKind::Fold).count()
        };
        assert_eq!([folds(&[]), folds(&[5]), folds(&[5, 39]), folds(&[20])], [2, 1, 0, 2]);
    }
}
