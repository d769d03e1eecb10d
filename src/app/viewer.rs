//! The file that is looked at: its rows, the cursor on them, and the search in them.

use super::event::Subject;
use super::viewport::Viewport;
use crate::diff::Comparison;
use crate::layout::{Layout, Plan, plan};
use crate::reader::Shown;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The viewer's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Viewer {
    /// What is looked at.
    pub subject: Option<Subject>,
    /// The number of the last request; an answer with another one is stale.
    pub request: u64,
    /// The number of the turn that was open when it was asked for.
    pub turn: Option<u32>,
    /// The answer that is awaited is the same file's: the cursor stays on its line.
    pub keeps_place: bool,
    /// Whether an answer is still to come.
    pub is_waiting: bool,
    /// What there is to show; none before the first answer.
    pub shown: Option<Shown>,
    /// The rows of a text.
    pub plan: Arc<Plan>,
    /// What the plan was made of: comparison, layout, context, how many folds were opened.
    planned: Option<(usize, &'static str, u32, usize)>,
    /// New lines (0-based) whose folds were opened.
    pub opened: BTreeSet<u32>,
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
    /// The row to go on from when the answer comes; none: stay.
    pub origin: Option<usize>,
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

    /// Plans the rows anew where comparison, layout or context are others now; says whether. The
    /// cursor stays on its line.
    pub fn replan(&mut self, layout: &dyn Layout, context: u32, height: usize) -> bool {
        let Some(comparison) = self.comparison().map(Arc::clone) else { return false };
        let pointer = Arc::as_ptr(&comparison) as usize;
        let made_of = (pointer, layout.name(), context, self.opened.len());
        if self.planned == Some(made_of) && !self.plan.rows.is_empty() {
            let (cursor, len) = (self.view.cursor, self.plan.rows.len());
            self.view.go(cursor, len, height);
            return false;
        }
        // A gap has no line of its own: the one behind it stands for it.
        let mut below = self.plan.rows.get(self.view.cursor..).unwrap_or_default().iter();
        let anchor = below.find(|row| row.old().or(row.new_line()).is_some()).copied();
        let above = self.view.cursor - self.view.top.min(self.view.cursor);
        // A file without a change is shown whole: it was asked for to be read.
        let lines = if comparison.changes.is_empty() { u32::MAX } else { context };
        self.plan = Arc::new(plan(&comparison, layout, lines, &self.opened));
        self.planned = Some(made_of);
        let len = self.plan.rows.len();
        let row = anchor.map_or(0, |row| self.plan.row_of(row.old(), row.new_line()));
        self.view.top = row.saturating_sub(above);
        self.view.go(row, len, height);
        self.skip = 0;
        true
    }

    /// Takes what there is to show of a newly chosen file: from its first change on.
    pub fn open(&mut self, shown: Shown, layout: &dyn Layout, context: u32, height: usize) {
        self.shown = Some(shown);
        (self.plan, self.planned) = (Arc::default(), None);
        self.opened.clear();
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

    /// The row of the next match behind a row (or before it), round the end.
    pub fn match_beside(&self, from: usize, against: bool) -> Option<usize> {
        let rows = self.search.rows.as_ref()?;
        let from = from as u32;
        let row = if against {
            let before = rows.partition_point(|row| *row < from).checked_sub(1);
            before.and_then(|at| rows.get(at)).or(rows.last())
        } else {
            rows.get(rows.partition_point(|row| *row <= from)).or(rows.first())
        };
        row.map(|row| *row as usize)
    }

    /// The row of the first match from a row on, round the end.
    pub fn match_from(&self, from: usize) -> Option<usize> {
        let rows = self.search.rows.as_ref()?;
        let at = rows.partition_point(|row| (*row as usize) < from);
        rows.get(at).or(rows.first()).map(|row| *row as usize)
    }
}
