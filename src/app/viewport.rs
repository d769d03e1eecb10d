//! Cursor, first visible row, and the arithmetic between them.

/// A window on a list of rows. All in 0-based rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Viewport {
    /// The row that keys act on.
    pub cursor: usize,
    /// The first visible row.
    pub top: usize,
}

/// Rows kept between the cursor and the edge.
const MARGIN: usize = 3;

impl Viewport {
    /// Puts the cursor on `row` of `len` rows and keeps it in a window of `height` rows.
    pub fn go(&mut self, row: usize, len: usize, height: usize) {
        self.cursor = row.min(len.saturating_sub(1));
        let margin = MARGIN.min(height.saturating_sub(1) / 2);
        let lowest_top = (self.cursor + margin + 1).saturating_sub(height);
        let highest_top = self.cursor.saturating_sub(margin);
        self.top = self.top.clamp(lowest_top.min(highest_top), highest_top);
        self.top = self.top.min(len.saturating_sub(height));
    }

    /// Moves the cursor by some rows.
    pub fn step(&mut self, rows: isize, len: usize, height: usize) {
        self.go(self.cursor.saturating_add_signed(rows), len, height);
    }

    /// Moves window and cursor together, as paging does.
    pub fn scroll(&mut self, rows: isize, len: usize, height: usize) {
        let top = self.top.saturating_add_signed(rows);
        self.top = top.min(len.saturating_sub(height));
        self.step(rows, len, height);
    }

    /// Puts `row` a third below the window's top, so that what follows it shows.
    pub fn reveal(&mut self, row: usize, len: usize, height: usize) {
        let is_well_inside = row >= self.top && row + height / 3 < self.top + height;
        if !is_well_inside {
            self.top = row.saturating_sub(height / 3).min(len.saturating_sub(height));
        }
        self.go(row, len, height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_always_in_the_window() {
        for height in 1..12 {
            for len in 0..30 {
                let mut v = Viewport::default();
                for (at, rows) in [1isize, 7, -3, 40, -100, 5, 5, 5, -1].into_iter().enumerate() {
                    match at % 3 {
                        0 => v.step(rows, len, height),
                        1 => v.scroll(rows, len, height),
                        _ => v.reveal(rows.unsigned_abs(), len, height),
                    }
                    assert!(v.cursor < len.max(1) && v.top <= v.cursor, "{v:?}");
                    assert!(v.cursor < v.top + height, "{v:?} {len} {height}");
                    assert!(v.top <= len.saturating_sub(height), "{v:?} {len} {height}");
                }
            }
        }
    }
}
