//! Putting text into cells. All text goes through `text::window`: nothing raw reaches a cell.

use super::theme::{Role, Theme};
use crate::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::ops::Range;

/// A buffer with a theme.
pub(super) struct Painter<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) theme: &'a Theme,
}

impl Painter<'_> {
    pub(super) fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Fills a rectangle with blanks of a style.
    pub(super) fn fill(&mut self, area: Rect, style: Style) {
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(style);
                }
            }
        }
    }

    /// Writes text of one style from `x` on, at most to `end`; gives the column behind it.
    pub(super) fn write(&mut self, x: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
        let window = text::window(text.as_bytes(), 0, usize::from(end.saturating_sub(x)));
        self.line(x, y, &window, style, &[])
    }

    /// Writes a window of a line. `marks` are byte ranges of the line with styles of their own,
    /// later ones on top.
    pub(super) fn line(
        &mut self,
        x: u16,
        y: u16,
        window: &text::Window<'_>,
        style: Style,
        marks: &[(Range<usize>, Style)],
    ) -> u16 {
        let stand_in = self.style(Role::StandIn);
        let mut end = x;
        for column in &window.columns {
            let at = x + column.cell as u16;
            end = at + column.cells as u16;
            let Some(glyph) = &column.glyph else {
                continue;
            };
            let mut style = style;
            for (range, mark) in marks {
                if range.contains(&glyph.start()) {
                    style = style.patch(*mark);
                }
            }
            if glyph.is_stand_in() {
                style = style.patch(stand_in);
            }
            self.glyph(at, y, column.cells as u16, glyph.text(), style);
        }
        end
    }

    /// One glyph over its cells. A stand-in of several cells is written letter by letter.
    fn glyph(&mut self, x: u16, y: u16, cells: u16, text: &str, style: Style) {
        let spelled = text.starts_with('<') && text.is_ascii() && text.len() > 1;
        if spelled {
            for (at, letter) in text.char_indices().take(usize::from(cells)) {
                if let Some(cell) = self.buffer.cell_mut((x + at as u16, y)) {
                    cell.set_char(letter).set_style(style);
                }
            }
            return;
        }
        for at in 0..cells {
            if let Some(cell) = self.buffer.cell_mut((x + at, y)) {
                // The cells behind a wide glyph's first, and those of a tab, are blanks.
                cell.reset();
                if at == 0 && !text.is_empty() {
                    cell.set_symbol(text);
                }
                cell.set_style(style);
            }
        }
    }
}
