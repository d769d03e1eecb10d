//! Cells → the fewest bytes that a terminal needs.
//!
//! The frame is compared with what is shown. Moving a page of text by a line changes nearly all
//! cells; where most rows only moved, the terminal moves them (insert and delete lines inside
//! margins) and only the rest is written. ratatui's own output writes 25 KB for each such step.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};
use std::io::{self, Write};

/// Writes frames to `out`. It asks the terminal nothing.
pub(super) struct Painter<W: Write> {
    out: W,
    /// What the terminal shows.
    shown: Buffer,
    /// Whether erased cells take the background colour.
    erases_in_colour: bool,
    /// Nothing is known of what the terminal shows.
    is_blank: bool,
    cursor: Option<Position>,
}

impl<W: Write> Painter<W> {
    /// A painter for a terminal of which nothing is known.
    pub(super) fn new(out: W, erases_in_colour: bool) -> Self {
        let shown = Buffer::empty(Rect::ZERO);
        Self { out, shown, erases_in_colour, is_blank: true, cursor: None }
    }

    /// What the terminal shows is no longer known: the next frame is written whole.
    pub(super) fn forget(&mut self) {
        self.is_blank = true;
    }

    /// Makes the terminal show a frame, and its cursor at a position or hidden.
    pub(super) fn paint(&mut self, frame: &Buffer, cursor: Option<Position>) -> io::Result<()> {
        let mut body = Vec::new();
        if self.is_blank || self.shown.area != frame.area {
            body.extend_from_slice(b"\x1b[0m\x1b[H\x1b[2J");
            self.shown = Buffer::empty(frame.area);
            self.is_blank = false;
        }
        let mut wanted = frame.clone();
        hide_halves(&mut wanted);
        if let Some(shift) = best_shift(&self.shown, &wanted) {
            shift.write(&mut body);
            shift.apply(&mut self.shown);
        }
        let mut pen = Pen { out: &mut body, style: None, at: None };
        for y in 0..wanted.area.height {
            pen.row(y, &self.shown, &wanted, self.erases_in_colour);
        }
        pen.finish();
        self.shown = wanted;
        if body.is_empty() && cursor == self.cursor {
            return Ok(());
        }
        self.cursor = cursor;
        // Synchronized output: the terminal shows the frame whole or not at all.
        self.out.write_all(b"\x1b[?2026h\x1b[?25l")?;
        self.out.write_all(&body)?;
        if let Some(position) = cursor {
            write!(self.out, "\x1b[{};{}H\x1b[?25h", position.y + 1, position.x + 1)?;
        }
        self.out.write_all(b"\x1b[?2026l")?;
        self.out.flush()
    }
}

/// Marks the cells that wide glyphs cover beside their first one.
fn hide_halves(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    for row in buffer.content.chunks_mut(width) {
        let mut x = 0;
        while let Some(wide) = row.get(x).map(cells) {
            for hidden in row.iter_mut().take(x + wide).skip(x + 1) {
                hidden.set_symbol(HIDDEN);
            }
            x += wide;
        }
    }
}

/// The symbol of a cell that is the second half of a wide glyph.
const HIDDEN: &str = "";

/// Rows that only moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shift {
    /// First row of the moving block.
    top: u16,
    /// Row behind the block.
    bottom: u16,
    /// Rows it moves down; up where negative.
    by: isize,
}

impl Shift {
    fn write(self, out: &mut Vec<u8>) {
        let (top, bottom, rows) = (self.top + 1, self.bottom, self.by.unsigned_abs());
        let (verb, reset) = (if self.by < 0 { 'M' } else { 'L' }, "\x1b[0m");
        // Margins, then delete or insert lines at the block's first row.
        let code = format!("{reset}\x1b[{top};{bottom}r\x1b[{top};1H\x1b[{rows}{verb}\x1b[r");
        out.extend_from_slice(code.as_bytes());
    }

    fn apply(self, buffer: &mut Buffer) {
        let source = buffer.clone();
        let width = buffer.area.width;
        for y in self.top..self.bottom {
            let from = usize::from(y).checked_add_signed(-self.by);
            let from = from.and_then(|from| u16::try_from(from).ok());
            let from = from.filter(|from| (self.top..self.bottom).contains(from));
            for x in 0..width {
                let Some(cell) = buffer.cell_mut((x, y)) else { continue };
                match from.and_then(|from| source.cell((x, from))) {
                    Some(moved) => cell.clone_from(moved),
                    None => cell.reset(),
                }
            }
        }
    }
}

/// The move that saves most, if it saves enough. Rows are told by their right half: the list at
/// the left stays where it is.
fn best_shift(shown: &Buffer, wanted: &Buffer) -> Option<Shift> {
    if shown.area != wanted.area || shown.area.height < 8 {
        return None;
    }
    let (old, new) = (row_hashes(shown), row_hashes(wanted));
    let height = old.len();
    let changed = |y: &usize| old.get(*y) != new.get(*y);
    let top = (0..height).find(changed)?;
    let bottom = (0..height).rev().find(changed)? + 1;
    if bottom - top < 6 {
        return None;
    }
    let old = old.get(top..bottom)?;
    let new = new.get(top..bottom)?;
    let rows = old.len() as isize;
    let same = |by: isize| {
        let kept = new.iter().enumerate().filter(|(y, hash)| {
            y.checked_add_signed(-by).and_then(|from| old.get(from)) == Some(*hash)
        });
        kept.count()
    };
    let (by, kept) = (1 - rows..rows).map(|by| (by, same(by))).max_by_key(|(_, kept)| *kept)?;
    let shift = Shift { top: top as u16, bottom: bottom as u16, by };
    if by == 0 || kept * 3 < old.len() {
        return None;
    }
    let mut moved = shown.clone();
    shift.apply(&mut moved);
    (differing(&moved, wanted) * 2 < differing(shown, wanted)).then_some(shift)
}

fn row_hashes(buffer: &Buffer) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content.chunks(width).map(|row| {
        let mut hasher = DefaultHasher::new();
        for cell in row.get(width / 2..).unwrap_or_default() {
            cell.symbol().hash(&mut hasher);
            (cell.fg, cell.bg, cell.modifier).hash(&mut hasher);
        }
        hasher.finish()
    });
    rows.collect()
}

fn differing(a: &Buffer, b: &Buffer) -> usize {
    a.content.iter().zip(&b.content).filter(|(a, b)| a != b).count()
}

/// Writes cells with as few codes as they need.
struct Pen<'a> {
    out: &'a mut Vec<u8>,
    style: Option<(Color, Color, Modifier)>,
    /// Where the terminal's cursor stands, if that is known.
    at: Option<(u16, u16)>,
}

/// So many unchanged cells are written again rather than stepped over with a code.
const BRIDGE: usize = 6;

impl Pen<'_> {
    fn row(&mut self, y: u16, shown: &Buffer, wanted: &Buffer, erases_in_colour: bool) {
        let width = usize::from(wanted.area.width);
        let start = usize::from(y) * width;
        let Some(new) = wanted.content.get(start..start + width) else { return };
        let old = shown.content.get(start..start + width).unwrap_or_default();
        let is_changed = |x: usize| old.get(x) != new.get(x);
        let mut x = 0;
        while let Some(first) = (x..width).find(|x| is_changed(*x)) {
            // A run ends where more cells than a code is worth are as they shall be.
            let mut end = first;
            let mut next = Some(first);
            while let Some(at) = next {
                end = at + 1;
                next = (end..(end + BRIDGE).min(width)).find(|x| is_changed(*x));
            }
            self.run(y, first, end, new, erases_in_colour);
            x = end;
        }
    }

    fn run(&mut self, y: u16, from: usize, to: usize, row: &[Cell], erases_in_colour: bool) {
        // Never begin in the second half of a wide glyph.
        let mut x = from;
        while x > 0 && row.get(x).is_some_and(|cell| cell.symbol() == HIDDEN) {
            x -= 1;
        }
        while let Some(cell) = row.get(x).filter(|_| x < to) {
            self.go(x as u16, y);
            self.style(cell);
            let blanks = blank_run(row.get(x..).unwrap_or_default());
            let may_erase = erases_in_colour || cell.bg == Color::Reset;
            if may_erase && blanks >= 8 && x + blanks == row.len() {
                self.out.extend_from_slice(b"\x1b[K");
                self.at = None;
                return;
            }
            if may_erase && blanks >= 12 && x + blanks <= to {
                self.out.extend_from_slice(format!("\x1b[{blanks}X").as_bytes());
                self.at = None;
                x += blanks;
                continue;
            }
            let cells = cells(cell);
            self.out.extend_from_slice(cell.symbol().as_bytes());
            x += cells;
            // Behind the last column the terminal's cursor is in a state of its own.
            self.at = (x < row.len()).then_some((x as u16, y));
        }
    }

    fn go(&mut self, x: u16, y: u16) {
        if self.at == Some((x, y)) {
            return;
        }
        match self.at {
            Some((from, row)) if row == y && from < x => {
                self.out.extend_from_slice(format!("\x1b[{}C", x - from).as_bytes());
            }
            _ if x == 0 => self.out.extend_from_slice(format!("\x1b[{}H", y + 1).as_bytes()),
            _ => self.out.extend_from_slice(format!("\x1b[{};{}H", y + 1, x + 1).as_bytes()),
        }
        self.at = Some((x, y));
    }

    fn style(&mut self, cell: &Cell) {
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if self.style == Some(wanted) {
            return;
        }
        let plain = (Color::Reset, Color::Reset, Modifier::empty());
        let mut now = self.style.unwrap_or(plain);
        let mut codes: Vec<String> = Vec::new();
        // Attributes are only ever taken away all at once.
        if self.style.is_none() || !wanted.2.contains(now.2) {
            codes.push("0".into());
            now = plain;
        }
        for (modifier, code) in MODIFIERS {
            if wanted.2.contains(*modifier) && !now.2.contains(*modifier) {
                codes.push((*code).into());
            }
        }
        if wanted.0 != now.0 {
            codes.push(color_code(wanted.0, 30));
        }
        if wanted.1 != now.1 {
            codes.push(color_code(wanted.1, 40));
        }
        self.out.extend_from_slice(format!("\x1b[{}m", codes.join(";")).as_bytes());
        self.style = Some(wanted);
    }

    fn finish(&mut self) {
        if self.style.is_some() {
            self.out.extend_from_slice(b"\x1b[0m");
        }
    }
}

const MODIFIERS: &[(Modifier, &str)] = &[
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
];

/// The code of a colour; `base` is 30 for the foreground, 40 for the background.
fn color_code(color: Color, base: u8) -> String {
    let basic = |at: u8| format!("{}", base + at);
    let bright = |at: u8| format!("{}", base + 60 + at);
    match color {
        Color::Reset => basic(9),
        Color::Black => basic(0),
        Color::Red => basic(1),
        Color::Green => basic(2),
        Color::Yellow => basic(3),
        Color::Blue => basic(4),
        Color::Magenta => basic(5),
        Color::Cyan => basic(6),
        Color::Gray => basic(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
        Color::Indexed(index) => format!("{};5;{index}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
    }
}

fn cells(cell: &Cell) -> usize {
    crate::text::width(cell.symbol()).max(1)
}

/// How many cells at the front are blanks of one style.
fn blank_run(cells: &[Cell]) -> usize {
    let Some(first) = cells.first().filter(|cell| cell.symbol() == " ") else { return 0 };
    if first.modifier.intersects(Modifier::UNDERLINED | Modifier::REVERSED) {
        return 0;
    }
    let is_same = |cell: &&Cell| {
        cell.symbol() == " " && cell.bg == first.bg && cell.modifier == first.modifier
    };
    cells.iter().take_while(is_same).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;

    type Draw = fn(&mut Buffer, usize);

    /// Draws frames through the painter into a terminal emulator, and compares every cell.
    fn check(draw: Draw, frames: &[usize]) -> Vec<usize> {
        let (width, height) = (60, 20);
        let mut painter = Painter::new(Vec::new(), true);
        let mut emulator = vt100::Parser::new(height, width, 0);
        let mut sizes = Vec::new();
        for frame in frames {
            let mut wanted = Buffer::empty(Rect::new(0, 0, width, height));
            draw(&mut wanted, *frame);
            painter.paint(&wanted, None).unwrap();
            let bytes = std::mem::take(&mut painter.out);
            sizes.push(bytes.len());
            emulator.process(&bytes);
            for (at, wanted) in wanted.content.iter().enumerate() {
                let (x, y) = (at as u16 % width, at as u16 / width);
                let cell = emulator.screen().cell(y, x).unwrap();
                let text = if cell.contents().is_empty() { " " } else { cell.contents() };
                if !cell.is_wide_continuation() {
                    assert_eq!(text, wanted.symbol(), "frame {frame}, {x},{y}");
                    assert_eq!(cell.bgcolor(), color(wanted.bg), "frame {frame}, {x},{y}");
                }
            }
        }
        sizes
    }

    fn color(color: Color) -> vt100::Color {
        match color {
            Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
            Color::Indexed(at) => vt100::Color::Idx(at),
            _ => vt100::Color::Default,
        }
    }

    fn page(buffer: &mut Buffer, top: usize) {
        for y in 0..19u16 {
            let line = top + usize::from(y);
            buffer.set_string(0, y, format!("list {y}"), Style::default());
            let green = Style::default().bg(Color::Rgb(0, 60, 0));
            let style = if line.is_multiple_of(7) { green } else { Style::default() };
            buffer.set_string(
                12,
                y,
                format!("{:<48}", format!("{line} some text 日本 {}", line * 37)),
                style,
            );
        }
        buffer.set_string(0, 19, format!("status {top}"), Style::default());
    }

    #[test]
    fn what_is_shown_is_what_was_wanted() {
        let frames = [0, 1, 2, 40, 39, 38, 20, 20, 500, 501, 483, 0];
        check(page, &frames);
    }

    #[test]
    fn a_line_of_scrolling_costs_little_more_than_that_line() {
        let sizes = check(page, &[100, 101, 102, 101]);
        assert!(sizes[0] > 700, "{sizes:?}");
        assert!(sizes[1..].iter().all(|size| *size < 400), "{sizes:?}");
    }

    #[test]
    fn an_unchanged_frame_writes_nothing() {
        assert_eq!(check(page, &[3, 3])[1], 0);
    }

    #[test]
    fn wide_glyphs_are_replaced_whole() {
        fn wide(buffer: &mut Buffer, frame: usize) {
            let texts = ["日本語日本語", "a日本語日本", "plain ascii text", "日x本y語"];
            for y in 0..10 {
                buffer.set_string(0, y, texts[(frame + usize::from(y)) % 4], Style::default());
            }
        }
        check(wide, &[0, 1, 2, 3, 2, 0]);
    }

    #[test]
    fn attributes_are_taken_away() {
        fn styled(buffer: &mut Buffer, frame: usize) {
            let on = Style::default().add_modifier(Modifier::REVERSED).bg(Color::Indexed(22));
            let style = if frame.is_multiple_of(2) { on } else { Style::default() };
            buffer.set_string(3, 3, "word", style);
            buffer.set_string(8, 3, "word", Style::default());
        }
        check(styled, &[0, 1, 0]);
    }
}
