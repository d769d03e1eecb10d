//! Scrolling to the side so that what was asked for is in sight.

use super::App;
use crate::layout::{Columns, Row, columns};
use crate::text;

impl App {
    /// The columns of the shown comparison's rows.
    pub fn columns(&self) -> Option<Columns> {
        let comparison = self.viewer.comparison()?;
        Some(columns(self.areas().text.width, comparison, self.layout().is_split()))
    }

    /// How far to the right there is something to see among the visible rows, in cells.
    pub(super) fn longest_left(&self) -> usize {
        // A line so long is not measured for each key.
        const LONG: usize = 1 << 16;
        let (Some(comparison), Some(columns)) = (self.viewer.comparison(), self.columns()) else {
            return 0;
        };
        let visible = self.viewer.plan.rows.iter().skip(self.viewer.view.top);
        let lines =
            visible.take(self.text_height()).filter(|row| row.hidden == 0).flat_map(|row| {
                let old = row.old().map(|line| comparison.old.line(line));
                let new = row.new_line().map(|line| comparison.new.line(line));
                old.into_iter().chain(new)
            });
        let cells =
            lines.map(
                |line| {
                    if line.len() > LONG { line.len() } else { text::cell_of(line, line.len()) }
                },
            );
        (cells.max().unwrap_or(0) + 1).saturating_sub(columns.text)
    }

    /// Scrolls to the side where the change under the cursor begins right of what is shown.
    pub(super) fn show_change_columns(&mut self) {
        let Some(offset) = self.first_difference() else {
            self.viewer.left = 0;
            return;
        };
        self.show_offset(offset);
    }

    /// Scrolls to the side where the match under the cursor is out of sight.
    pub(super) fn show_match_columns(&mut self) {
        let pattern = &self.viewer.search.pattern;
        let offset = self.cursor_line().and_then(|line| text::find(line, pattern).next());
        self.show_offset(offset.map_or(0, |range| range.start));
    }

    fn show_offset(&mut self, offset: usize) {
        let Some(cells) = self.columns().map(|columns| columns.text) else { return };
        let Some(line) = self.cursor_line() else { return };
        let cell = text::cell_of(line, offset);
        let is_seen = cell >= self.viewer.left && cell + 8 < self.viewer.left + cells;
        if self.choices.wrap {
            // Wrapped: scroll down inside the line instead.
            let height = self.text_height();
            let row = cell / cells.max(1);
            self.viewer.skip = if row >= height { row - height / 3 } else { 0 };
            if self.viewer.skip > 0 {
                self.viewer.view.top = self.viewer.view.cursor;
            }
        } else if cell + 8 < cells {
            self.viewer.left = 0;
        } else if !is_seen {
            self.viewer.left = cell.saturating_sub(cells / 3);
        }
    }

    /// The line under the cursor: the new side where there is one.
    fn cursor_line(&self) -> Option<&[u8]> {
        let comparison = self.viewer.comparison()?;
        let row = self.cursor_row()?;
        match (row.new_line(), row.old()) {
            (Some(new), _) => Some(comparison.new.line(new)),
            (None, Some(old)) => Some(comparison.old.line(old)),
            (None, None) => None,
        }
    }

    fn cursor_row(&self) -> Option<Row> {
        self.viewer.plan.rows.get(self.viewer.view.cursor).copied()
    }

    /// Byte offset in the cursor's line where it begins to differ from its counterpart.
    fn first_difference(&self) -> Option<usize> {
        let comparison = self.viewer.comparison()?;
        let row = self.cursor_row().filter(Row::is_change)?;
        let change = comparison.changes.iter().find(|change| {
            row.new_line().is_some_and(|line| change.new.contains(&line))
                || row.old().is_some_and(|line| change.old.contains(&line))
        })?;
        let old = comparison.old.line(row.old().unwrap_or(change.old.start));
        let new = comparison.new.line(row.new_line().unwrap_or(change.new.start));
        if change.old.is_empty() || change.new.is_empty() {
            return Some(0);
        }
        Some(old.iter().zip(new).take_while(|(old, new)| old == new).count())
    }
}
