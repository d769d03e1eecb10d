//! The file that is looked at: its rows, the cursor on them, and the search in them.

use super::event::Subject;
use super::viewport::Viewport;
use crate::diff::Comparison;
use crate::layout::{Layout, Plan, plan};
use crate::reader::Shown;
use std::sync::Arc;

/// The viewer's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Viewer {
    /// What is looked at.
    pub subject: Option<Subject>,
    /// The number of the last request; an answer with another one is stale.
    pub request: u64,
    /// Whether an answer is still to come.
    pub is_waiting: bool,
    /// What there is to show; none before the first answer.
    pub shown: Option<Shown>,
    /// The rows of a text.
    pub plan: Arc<Plan>,
    /// Cursor and window, in rows of the plan.
    pub view: Viewport,
    /// Wrapped rows of the first visible row that are scrolled away.
    pub skip: usize,
    /// Cells scrolled to the right.
    pub left: usize,
    /// The search.
    pub search: Search,
}

/// A search in the shown text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// What is searched; empty: nothing.
    pub pattern: String,
    /// The number of the last request.
    pub request: u64,
    /// The rows with a match, once they are known.
    pub rows: Option<Vec<u32>>,
    /// Where the search began: the row to go on from when the answer comes.
    pub origin: usize,
    /// Towards the start of the file.
    pub backward: bool,
}

impl Viewer {
    /// Whether this is what is looked at.
    pub fn looks_at(&self, subject: &Subject) -> bool {
        match (&self.subject, subject) {
            (Some(Subject::Anyway(here)), Subject::Change(there)) => here == there,
            (here, there) => here.as_ref() == Some(there),
        }
    }

    /// The comparison that is shown, if it is one of texts.
    pub fn comparison(&self) -> Option<&Arc<Comparison>> {
        match &self.shown {
            Some(Shown::Text(comparison)) => Some(comparison),
            _ => None,
        }
    }

    /// Plans the rows anew for this layout. The cursor stays on its line.
    pub fn replan(&mut self, layout: &dyn Layout, context: u32, height: usize) {
        let anchor = self.plan.rows.get(self.view.cursor).copied();
        let above = self.view.cursor - self.view.top.min(self.view.cursor);
        let Some(comparison) = self.comparison() else { return };
        // A file without a change is shown whole: it was asked for to be read.
        let context = if comparison.changes.is_empty() { u32::MAX } else { context };
        self.plan = Arc::new(plan(comparison, layout, context));
        let len = self.plan.rows.len();
        let row = anchor.map_or(0, |row| self.plan.row_of(row.old(), row.new_line()));
        self.view.top = row.saturating_sub(above);
        self.view.go(row, len, height);
        self.skip = 0;
    }

    /// Takes what there is to show of a newly chosen file: from its first change on.
    pub fn open(&mut self, shown: Shown, layout: &dyn Layout, context: u32, height: usize) {
        self.shown = Some(shown);
        self.plan = Arc::default();
        self.view = Viewport::default();
        (self.left, self.skip) = (0, 0);
        self.replan(layout, context, height);
        let first = self.plan.changes.first().map_or(0, |row| *row as usize);
        self.view.reveal(first, self.plan.rows.len(), height);
    }

    /// The row of the next (or previous) change from the cursor.
    pub fn change_beside(&self, forward: bool) -> Option<usize> {
        let cursor = self.view.cursor as u32;
        let changes = &self.plan.changes;
        let row = if forward {
            changes.get(changes.partition_point(|row| *row <= cursor))
        } else {
            changes
                .partition_point(|row| *row < cursor)
                .checked_sub(1)
                .and_then(|at| changes.get(at))
        };
        row.map(|row| *row as usize)
    }

    /// The 1-based number of the change at or above the cursor, and how many there are.
    pub fn change_at_cursor(&self) -> (usize, usize) {
        let changes = &self.plan.changes;
        (changes.partition_point(|row| *row as usize <= self.view.cursor), changes.len())
    }

    /// The row of the next match in the search's direction (or against it), round the end.
    pub fn match_beside(&self, from: usize, against: bool) -> Option<usize> {
        let rows = self.search.rows.as_ref()?;
        let from = from as u32;
        let row = if self.search.backward == against {
            rows.get(rows.partition_point(|row| *row <= from)).or(rows.first())
        } else {
            let before = rows.partition_point(|row| *row < from).checked_sub(1);
            before.and_then(|at| rows.get(at)).or(rows.last())
        };
        row.map(|row| *row as usize)
    }
}
