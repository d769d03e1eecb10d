//! Scrolling where a row of the plan may take many rows of the screen.

use super::App;
use crate::text;

impl App {
    /// How many rows of the screen a row of the plan takes when wrapped.
    pub fn wrapped_height(&self, row: usize) -> Option<usize> {
        let row = self.viewer.plan.rows.get(row)?;
        let comparison = self.viewer.comparison()?;
        let columns = self.columns()?;
        let old_cells = if columns.is_split { columns.left_text() } else { columns.text };
        let old = row.old().filter(|_| columns.is_split || row.new_line().is_none());
        let old = old.map_or(1, |line| text::wrap_rows(comparison.old.line(line), old_cells));
        let new = row.new_line();
        let new = new.map_or(1, |line| text::wrap_rows(comparison.new.line(line), columns.text));
        Some(if row.kind == crate::layout::RowKind::Fold { 1 } else { old.max(new) })
    }

    /// Scrolls by rows of the screen, through lines taller than the screen too.
    pub(super) fn scroll_wrapped(&mut self, rows: isize) {
        let mut left = rows.unsigned_abs();
        let mut top = self.viewer.view.top;
        let mut skip = self.viewer.skip;
        if rows > 0 {
            let last = self.viewer.plan.rows.len().saturating_sub(1);
            while left > 0 {
                let tall = self.wrapped_height(top).unwrap_or(1);
                let step = left.min(tall.saturating_sub(skip));
                (skip, left) = (skip + step, left - step);
                if skip >= tall {
                    if top == last {
                        skip = tall.saturating_sub(self.text_height().min(tall));
                        break;
                    }
                    (top, skip) = (top + 1, 0);
                }
            }
        } else {
            while left > 0 {
                let step = left.min(skip);
                (skip, left) = (skip - step, left - step);
                if skip == 0 && left > 0 {
                    if top == 0 {
                        break;
                    }
                    top -= 1;
                    skip = self.wrapped_height(top).unwrap_or(1);
                }
            }
        }
        self.viewer.view.top = top;
        self.viewer.skip = skip;
        self.viewer.view.cursor =
            if rows > 0 && top == self.viewer.plan.rows.len().saturating_sub(1) {
                top
            } else {
                (top + usize::from(skip > 0)).min(self.viewer.plan.rows.len().saturating_sub(1))
            };
    }

    /// After the cursor moved: the window follows until the cursor's row begins in it.
    pub(super) fn keep_cursor_in_wrapped_window(&mut self) {
        if !self.choices.wrap || self.viewer.comparison().is_none() {
            return;
        }
        let height = self.text_height();
        let cursor = self.viewer.view.cursor;
        let mut used = 0;
        let mut first = cursor;
        // From the cursor upwards: as many whole rows as fit above it.
        loop {
            used += self.wrapped_height(first).unwrap_or(1);
            if used > height && first < cursor {
                first += 1;
                break;
            }
            if first == 0 || used > height {
                break;
            }
            first -= 1;
        }
        let top = &mut self.viewer.view.top;
        if *top < first {
            *top = first;
            self.viewer.skip = 0;
        }
    }
}
