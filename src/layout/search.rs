//! Which rows of a plan hold a pattern, folded lines included.

use super::plan::{Plan, Row, RowKind};
use crate::diff::Comparison;
use crate::text;

/// Lines between two looks at whether the answer is still wanted.
const STRIDE: u32 = 4096;

/// The rows that hold a match, in order; a fold counts by the lines it hides. None once the answer
/// is no longer wanted.
pub fn search_rows(
    comparison: &Comparison,
    plan: &Plan,
    pattern: &str,
    is_wanted: &dyn Fn() -> bool,
) -> Option<Vec<u32>> {
    let matches = |line: &[u8]| text::find(line, pattern).next().is_some();
    let mut rows = Vec::new();
    let mut looked = 0;
    for (at, row) in plan.rows.iter().enumerate() {
        if looked >= STRIDE {
            looked = 0;
            if !is_wanted() {
                return None;
            }
        }
        looked += row.hidden.max(1);
        if holds(comparison, row, &matches) {
            rows.push(at as u32);
        }
    }
    Some(rows)
}

fn holds(comparison: &Comparison, row: &Row, matches: &dyn Fn(&[u8]) -> bool) -> bool {
    if row.kind == RowKind::Fold {
        let from = row.new_line().unwrap_or(0);
        return comparison.new.lines(from..from + row.hidden).any(matches);
    }
    let old = row.old().is_some_and(|line| matches(comparison.old.line(line)));
    old || row.new_line().is_some_and(|line| matches(comparison.new.line(line)))
}
