//! Scrolling where a row of the plan may take many rows of the screen.

use super::App;
use crate::layout::RowKind;
use crate::text;

/// Rows of the screen that no screen has.
const MOST: usize = 1 << 16;

impl App {
    /// How many rows of the screen a row of the plan takes when wrapped, counted up to `most`.
    fn wrapped_height(&self, row: usize, most: usize) -> usize {
        let row = self.viewer.plan.rows.get(row);
        let Some(((row, comparison), columns)) =
            row.zip(self.viewer.comparison()).zip(self.columns())
        else {
            return 1;
        };
        if matches!(row.kind, RowKind::Fold | RowKind::Gap) {
            return 1;
        }
        let old_cells = if columns.is_split { columns.left_text() } else { columns.text };
        let old = row.old().filter(|_| columns.is_split || row.new_line().is_none());
        let old = old.map_or(1, |line| text::wrap_rows(comparison.old.line(line), old_cells, most));
        let new = row.new_line();
        let new =
            new.map_or(1, |line| text::wrap_rows(comparison.new.line(line), columns.text, most));
        old.max(new)
    }

    /// Scrolls by rows of the screen, through lines taller than the screen too.
    pub(super) fn scroll_wrapped(&mut self, rows: isize) {
        let (mut top, mut skip) = (self.viewer.view.top, self.viewer.skip);
        let mut left = rows.unsigned_abs();
        let last = self.viewer.plan.rows.len().saturating_sub(1);
        while left > 0 && rows > 0 {
            let tall = self.wrapped_height(top, skip + left + 1);
            let step = left.min(tall - skip.min(tall));
            (skip, left) = (skip + step, left - step);
            if skip >= tall && top < last {
                (top, skip) = (top + 1, 0);
            } else if step == 0 {
                break;
            }
        }
        while left > 0 && rows < 0 {
            let step = left.min(skip);
            (skip, left) = (skip - step, left - step);
            if left == 0 || top == 0 {
                break;
            }
            top -= 1;
            skip = self.wrapped_height(top, MOST);
        }
        // The last window is a full one.
        (top, skip) = (top, skip).min(self.last_window());
        let height = self.text_height();
        let shows_next = self.wrapped_height(top, skip + height) < skip + height;
        let cursor = if skip > 0 && shows_next { top + 1 } else { top };
        (self.viewer.view.top, self.viewer.skip) = (top, skip);
        self.viewer.view.cursor = match (rows > 0, (top, skip) == self.last_window()) {
            (true, true) => last,
            _ => cursor.min(last),
        };
    }

    /// The first row, and its rows that are scrolled away, of the window that ends with the text.
    fn last_window(&self) -> (usize, usize) {
        let mut room = self.text_height();
        let mut row = self.viewer.plan.rows.len();
        while row > 0 {
            row -= 1;
            let tall = self.wrapped_height(row, MOST);
            if tall >= room {
                return (row, tall - room);
            }
            room -= tall;
        }
        (0, 0)
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
            used += self.wrapped_height(first, height + 1);
            if used > height && first < cursor {
                first += 1;
                break;
            }
            if first == 0 || used > height {
                break;
            }
            first -= 1;
        }
        if self.viewer.view.top < first {
            self.viewer.view.top = first;
            self.viewer.skip = 0;
        }
    }
}
