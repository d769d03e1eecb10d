//! The rows of the file that is looked at: only those in the window.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{App, Focus, Shown};
use crate::diff::{Comparison, words};
use crate::layout::{Columns, Row, RowKind};
use crate::text;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::ops::Range;

type Marks = Vec<(Range<usize>, Style)>;

pub(super) fn draw(app: &App, area: Rect, painter: &mut Painter<'_>) {
    if area.is_empty() {
        return;
    }
    let message = match &app.viewer.shown {
        Some(Shown::Text(comparison)) => {
            return Rows { app, area, comparison, painter }.draw();
        }
        Some(Shown::Failed(why)) => text::clean(why),
        Some(Shown::Binary(..)) => "binary file: nothing to compare line by line".into(),
        Some(Shown::Oversized(..)) => {
            "too large to compare unasked: Enter compares it anyway".into()
        }
        None if app.viewer.is_waiting => "reading…".into(),
        None => return super::overview::draw(app, area, painter),
    };
    let role =
        if matches!(app.viewer.shown, Some(Shown::Failed(_))) { Role::Bad } else { Role::Dim };
    painter.write(area.x + 1, area.y, area.right(), &message, painter.style(role));
}

struct Rows<'a, 'p, 'b> {
    app: &'a App,
    area: Rect,
    comparison: &'a Comparison,
    painter: &'p mut Painter<'b>,
}

/// One side of a row while it is drawn.
struct Side<'a> {
    line: &'a [u8],
    number: Option<u32>,
    style: Style,
    sign: &'static str,
    marks: Marks,
}

impl<'a> Rows<'a, '_, '_> {
    fn draw(&mut self) {
        let Some(columns) = self.app.columns() else { return };
        let viewer = &self.app.viewer;
        if viewer.plan.rows.is_empty() {
            let style = self.painter.style(Role::Dim);
            self.painter.write(
                self.area.x + 1,
                self.area.y,
                self.area.right(),
                "empty file",
                style,
            );
            return;
        }
        let (mut y, mut skip) = (self.area.y, viewer.skip);
        for (at, row) in viewer.plan.rows.iter().enumerate().skip(viewer.view.top) {
            if y >= self.area.bottom() {
                break;
            }
            let is_cursor = at == viewer.view.cursor && self.app.focus == Focus::File;
            let room = usize::from(self.area.bottom() - y);
            let parts = self.parts(row, skip, room, columns);
            for part in parts {
                self.row(y, row, &part, is_cursor, columns);
                y += 1;
            }
            skip = 0;
        }
    }

    /// The screen rows of a row of the plan, from `skip` on: one where lines are cut.
    fn parts(&self, row: &Row, skip: usize, room: usize, columns: Columns) -> Vec<Part> {
        let is_line = !matches!(row.kind, RowKind::Fold | RowKind::Gap);
        if !self.app.choices.wrap || !is_line {
            return vec![Part::default()];
        }
        let wrapped = |line: Option<&[u8]>, cells| {
            line.map_or_else(Vec::new, |line| text::wrapped(line, cells, skip, room))
        };
        let old = row.old().filter(|_| columns.is_split || row.new_line().is_none());
        let old = old.map(|line| self.comparison.old.line(line));
        let new = row.new_line().map(|line| self.comparison.new.line(line));
        let old_cells = if columns.is_split { columns.left_text() } else { columns.text };
        let (old, new) = (wrapped(old, old_cells), wrapped(new, columns.text));
        let parts = (0..old.len().max(new.len())).map(|at| Part {
            is_first: skip + at == 0,
            old: Some(old.get(at).cloned().unwrap_or_default()),
            new: Some(new.get(at).cloned().unwrap_or_default()),
        });
        parts.collect()
    }

    fn row(&mut self, y: u16, row: &Row, part: &Part, is_cursor: bool, columns: Columns) {
        match row.kind {
            RowKind::Fold => self.fold(y, row, is_cursor),
            RowKind::Gap => self.rule(y, "⋯ lines that the log does not hold", is_cursor),
            _ if columns.is_split => self.split(y, row, part, is_cursor, columns),
            _ => self.unified(y, row, part, is_cursor, columns),
        }
    }

    fn fold(&mut self, y: u16, row: &Row, is_cursor: bool) {
        let from = row.new_line().and_then(|line| self.comparison.new_number(line));
        let lines = row.hidden;
        let text = match from {
            Some(from) => format!("⋯ {lines} unchanged lines, {from} to {}", from + lines - 1),
            None => format!("⋯ {lines} unchanged lines"),
        };
        self.rule(y, &text, is_cursor);
    }

    fn rule(&mut self, y: u16, text: &str, is_cursor: bool) {
        let style = self.painter.style(if is_cursor { Role::Cursor } else { Role::Fold });
        self.painter.write(self.area.x + 1, y, self.area.right(), text, style);
    }

    fn unified(&mut self, y: u16, row: &Row, part: &Part, is_cursor: bool, columns: Columns) {
        let comparison = self.comparison;
        let side = match (row.new_line(), row.old()) {
            (Some(_), _) => self.side(row, false),
            (None, _) => self.side(row, true),
        };
        let old = row.old().and_then(|line| comparison.old_number(line));
        let new = row.new_line().and_then(|line| comparison.new_number(line));
        let numbers: Vec<Option<u32>> = match (comparison.has_old, comparison.has_new) {
            (true, true) => vec![old, new],
            (true, false) => vec![old],
            _ => vec![new],
        };
        let end = self.area.right();
        let bytes = if row.new_line().is_some() { &part.new } else { &part.old };
        let part = (part.is_first, bytes.as_ref());
        self.line(self.area.x, end, y, &side, &numbers, part, is_cursor, columns.digits);
    }

    fn split(&mut self, y: u16, row: &Row, part: &Part, is_cursor: bool, columns: Columns) {
        let middle = self.area.x + columns.left as u16;
        for is_old in [true, false] {
            let (x, end) =
                if is_old { (self.area.x, middle) } else { (middle + 1, self.area.right()) };
            let there = if is_old { row.old() } else { row.new_line() };
            if there.is_some() {
                let side = self.side(row, is_old);
                let bytes = if is_old { &part.old } else { &part.new };
                let part = (part.is_first, bytes.as_ref());
                self.line(x, end, y, &side, &[side.number], part, is_cursor, columns.digits);
            }
        }
        let style = self.painter.style(Role::Divider);
        self.painter.write(middle, y, middle + 1, "│", style);
    }

    /// The old or new side of a row.
    fn side(&self, row: &Row, is_old: bool) -> Side<'a> {
        let comparison = self.comparison;
        let (line, number) = if is_old {
            let at = row.old().unwrap_or(0);
            (comparison.old.line(at), comparison.old_number(at))
        } else {
            let at = row.new_line().unwrap_or(0);
            (comparison.new.line(at), comparison.new_number(at))
        };
        let (role, sign) = match (row.kind, is_old) {
            (RowKind::Context, _) => (Role::Text, " "),
            (_, true) => (Role::DeletedLine, "-"),
            (_, false) => (Role::AddedLine, "+"),
        };
        let mut marks = if row.is_change() { self.words(row, is_old) } else { Marks::new() };
        let pattern = &self.app.viewer.search.pattern;
        let found = self.painter.style(Role::Match);
        // A match far right in a very long line is found by `n`, not by drawing.
        let near = line.get(..64 * 1024).unwrap_or(line);
        marks.extend(text::find(near, pattern).map(|range| (range, found)));
        Side { line, number, style: self.painter.style(role), sign, marks }
    }

    /// The words of a changed line that are not in the line it stands against.
    fn words(&self, row: &Row, is_old: bool) -> Marks {
        let Some((old, new)) = self.counterparts(row) else { return Marks::new() };
        let (old, new) =
            words::changed(self.comparison.old.line(old), self.comparison.new.line(new));
        let (ranges, role) = if is_old { (old, Role::DeletedWord) } else { (new, Role::AddedWord) };
        let style = self.painter.style(role);
        ranges.into_iter().map(|range| (range, style)).collect()
    }

    /// The old and new line that stand against each other in a change: paired in order.
    fn counterparts(&self, row: &Row) -> Option<(u32, u32)> {
        if let (Some(old), Some(new)) = (row.old(), row.new_line()) {
            return Some((old, new));
        }
        let changes = &self.comparison.changes;
        let (at, is_old) = match (row.old(), row.new_line()) {
            (Some(old), None) => (changes.partition_point(|change| change.old.end <= old), true),
            (None, Some(new)) => (changes.partition_point(|change| change.new.end <= new), false),
            _ => return None,
        };
        let change = changes.get(at)?;
        let (old, new) = if is_old {
            let old = row.old()?;
            (old, change.new.start + (old - change.old.start))
        } else {
            let new = row.new_line()?;
            (change.old.start + (new - change.new.start), new)
        };
        (change.old.contains(&old) && change.new.contains(&new)).then_some((old, new))
    }

    #[expect(clippy::too_many_arguments, reason = "a place, a side, and which part of it")]
    fn line(
        &mut self,
        x: u16,
        end: u16,
        y: u16,
        side: &Side<'_>,
        numbers: &[Option<u32>],
        (is_first, bytes): (bool, Option<&Range<usize>>),
        is_cursor: bool,
        digits: usize,
    ) {
        let area = Rect { x, y, width: end.saturating_sub(x), height: 1 };
        self.painter.fill(area, side.style);
        let number = self.painter.style(Role::Number);
        let number =
            if is_cursor { number.patch(self.painter.style(Role::Cursor)) } else { number };
        let mut x = x;
        for value in numbers {
            let text = match value.filter(|_| is_first) {
                Some(value) => format!("{value:>digits$} "),
                None => " ".repeat(digits + 1),
            };
            let style = side.style.patch(number);
            x = self.painter.write(x, y, end, &text, style);
        }
        let goes_on = bytes.is_some_and(|bytes| !is_first && !bytes.is_empty());
        let sign = match (is_first, goes_on) {
            (true, _) => side.sign,
            (false, true) => "↪",
            (false, false) => " ",
        };
        let sign_style = match side.sign {
            "+" => side.style.patch(self.painter.style(Role::Added)),
            "-" => side.style.patch(self.painter.style(Role::Deleted)),
            _ => side.style,
        };
        self.painter.write(x, y, end, sign, sign_style);
        x += 2;
        let cells = end.saturating_sub(x);
        let style = side.style;
        if let Some(bytes) = bytes {
            let line = side.line.get(bytes.clone()).unwrap_or_default();
            let window = text::window(line, 0, usize::from(cells));
            let marks = within(&side.marks, bytes.start, &window);
            self.painter.line(x, y, &window, style, &marks);
        } else {
            let window = text::window(side.line, self.app.viewer.left, usize::from(cells));
            let marks = within(&side.marks, 0, &window);
            self.painter.line(x, y, &window, style, &marks);
            self.overflow(x, y, end, style, &window);
        }
    }

    /// Marks at the edges that the line goes on.
    fn overflow(&mut self, x: u16, y: u16, end: u16, style: Style, window: &text::Window<'_>) {
        let style = style.patch(self.painter.style(Role::Fold));
        if window.more_before && x > 0 {
            self.painter.write(x - 1, y, x, "‹", style);
        }
        if window.more_after && end > 0 {
            self.painter.write(end - 1, y, end, "›", style);
        }
    }
}

/// One screen row of a row: which bytes of its sides stand there; none: as lines are cut.
#[derive(Debug, Clone)]
struct Part {
    is_first: bool,
    old: Option<Range<usize>>,
    new: Option<Range<usize>>,
}

impl Default for Part {
    fn default() -> Self {
        Self { is_first: true, old: None, new: None }
    }
}

/// The marks that touch what the window shows, counted from byte `start` of the line.
fn within(marks: &Marks, start: usize, window: &text::Window<'_>) -> Marks {
    let mut glyphs = window.columns.iter().filter_map(|column| column.glyph.as_ref());
    let Some(first) = glyphs.next() else { return Marks::new() };
    let (from, to) = (first.start(), glyphs.next_back().unwrap_or(first).end());
    let shift =
        |range: &Range<usize>| range.start.saturating_sub(start)..range.end.saturating_sub(start);
    let shifted = marks.iter().map(|(range, style)| (shift(range), *style));
    shifted.filter(|(range, _)| range.start < to && range.end > from).collect()
}
