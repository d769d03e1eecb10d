//! Windows and wraps of one line: which glyphs stand in which cells, however long the line is.

use super::glyph::{Glyph, glyphs};
use std::ops::Range;

/// One glyph in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column<'a> {
    /// 0-based cell in the window.
    pub cell: usize,
    /// How many cells of the window it takes.
    pub cells: usize,
    /// The glyph; none where a wide glyph or a tab is cut by the window's edge: draw blanks.
    pub glyph: Option<Glyph<'a>>,
}

/// Part of a line, as cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window<'a> {
    /// The glyphs in order.
    pub columns: Vec<Column<'a>>,
    /// Something stands left of the window.
    pub more_before: bool,
    /// Something stands right of the window.
    pub more_after: bool,
}

/// The glyphs in cells `from .. from + cells` of a line.
pub fn window(line: &[u8], from: usize, cells: usize) -> Window<'_> {
    let mut out = Window { more_before: from > 0 && !line.is_empty(), ..Window::default() };
    let mut walk = glyphs(line);
    let mut column = 0;
    // Printable ASCII before the window is stepped over without looking at each glyph.
    while column < from {
        let run = walk.ascii_run(from - column);
        if run > 0 {
            walk.skip_ascii(run);
            column += run;
            continue;
        }
        let Some(glyph) = walk.next() else { return out };
        let end = column + glyph.cells_at(column);
        if end > from {
            let visible = (end - from).min(cells);
            out.columns.push(Column { cell: 0, cells: visible, glyph: None });
        }
        column = end;
    }
    for glyph in walk {
        if column >= from + cells {
            out.more_after = true;
            break;
        }
        let width = glyph.cells_at(column);
        let cell = column - from;
        let fits = cell + width <= cells;
        out.columns.push(Column {
            cell,
            cells: width.min(cells - cell),
            glyph: (fits || glyph.is_tab()).then_some(glyph),
        });
        out.more_after = !fits;
        column += width;
    }
    out
}

/// The 0-based cell at which byte `offset` of a line stands.
pub fn cell_of(line: &[u8], offset: usize) -> usize {
    let mut walk = glyphs(line.get(..offset).unwrap_or(line));
    let mut column = 0;
    loop {
        let run = walk.ascii_run(usize::MAX - 1);
        walk.skip_ascii(run);
        column += run;
        match walk.next() {
            Some(glyph) => column += glyph.cells_at(column),
            None => return column,
        }
    }
}

/// How many rows of `cells` cells the line takes when wrapped, counted up to `most`; at least 1.
pub fn wrap_rows(line: &[u8], cells: usize, most: usize) -> usize {
    let mut rows = 1;
    breaks(line, cells, |_| {
        rows += 1;
        rows < most
    });
    rows
}

/// The wrapped rows of a line from row `from` on, at most `most`, as byte ranges of the line.
pub fn wrapped(line: &[u8], cells: usize, from: usize, most: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut row, mut start) = (0, 0);
    breaks(line, cells, |offset| {
        if row >= from {
            rows.push(start..offset);
        }
        (row, start) = (row + 1, offset);
        rows.len() < most
    });
    if rows.len() < most && row >= from {
        rows.push(start..line.len());
    }
    rows
}

/// The rows of a text that is read, not reviewed: broken between words where that is possible, at
/// most `most` of them. The text is clean.
pub fn word_wrapped(text: &str, cells: usize, most: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() && rows.len() < most {
        let fits = wrapped(rest.as_bytes(), cells, 0, 1).pop().map_or(rest.len(), |row| row.end);
        let row = rest.get(..fits).unwrap_or(rest);
        let end = match row.rfind(' ') {
            Some(blank) if fits < rest.len() && blank > 0 => blank,
            _ => row.len(),
        };
        rows.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default().trim_start_matches(' ');
    }
    if rows.is_empty() && most > 0 {
        rows.push("");
    }
    rows
}

/// Calls `each` with the byte offset of every wrap; it says whether to go on.
fn breaks(line: &[u8], cells: usize, mut each: impl FnMut(usize) -> bool) {
    let cells = cells.max(2);
    let mut walk = glyphs(line);
    let (mut column, mut offset) = (0, 0);
    loop {
        // A full row is only broken when something follows it.
        if column == cells {
            if offset >= line.len() || !each(offset) {
                return;
            }
            column = 0;
        }
        let run = walk.ascii_run(cells - column);
        if run > 0 {
            walk.skip_ascii(run);
            column += run;
            offset += run;
            continue;
        }
        let Some(glyph) = walk.next() else { return };
        let width = glyph.cells_at(column).min(cells);
        if column + width > cells {
            if !each(offset) {
                return;
            }
            // A tab that is cut starts the next row at its own stop.
            column = glyph.cells_at(0).min(cells);
        } else {
            column += width;
        }
        offset = glyph.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(line: &str, from: usize, cells: usize) -> String {
        let mut row = vec![" ".to_owned(); cells];
        for column in window(line.as_bytes(), from, cells).columns {
            row[column.cell..column.cell + column.cells].fill(String::new());
            row[column.cell] = match column.glyph {
                Some(glyph) if !glyph.is_tab() => glyph.text().to_owned(),
                _ => " ".repeat(column.cells),
            };
        }
        row.concat()
    }

    #[test]
    fn a_window_never_cuts_a_wide_glyph() {
        assert_eq!(drawn("a日本b", 0, 4), "a日 ");
        assert_eq!(drawn("a日本b", 2, 4), " 本b");
        assert_eq!(drawn("a日本b", 1, 4), "日本");
        assert_eq!(drawn("\tx", 2, 4), "  x ");
        assert_eq!(drawn("abc", 10, 4), "    ");
    }

    #[test]
    fn a_window_tells_what_it_leaves_out() {
        let w = window(b"abcdef", 0, 6);
        assert!(!w.more_after && !w.more_before);
        let w = window(b"abcdefg", 1, 5);
        assert!(w.more_after && w.more_before);
        assert!(window("abcde日".as_bytes(), 0, 6).more_after);
    }

    #[test]
    fn wraps_cover_the_line() {
        let line = "日本語abc\tdef\u{1b}[0m".as_bytes();
        for cells in 2..12 {
            let rows = wrapped(line, cells, 0, usize::MAX);
            assert_eq!(wrap_rows(line, cells, usize::MAX), rows.len());
            assert_eq!(rows.first().map(|row| row.start), Some(0));
            assert_eq!(rows.last().map(|row| row.end), Some(line.len()));
            assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].start));
            for from in 0..rows.len() + 2 {
                let expected: Vec<_> = rows.iter().skip(from).take(2).cloned().collect();
                assert_eq!(wrapped(line, cells, from, 2), expected, "{cells} {from}");
            }
        }
        assert_eq!(wrap_rows(b"abcd", 4, 9), 1);
        assert_eq!(wrap_rows(b"abcde", 4, 9), 2);
        assert_eq!(wrap_rows(b"", 4, 9), 1);
        assert_eq!(wrap_rows(&[b'x'; 400], 4, 9), 9);
    }

    #[test]
    fn a_long_line_is_walked_to_its_end() {
        let line = vec![b'x'; 5_000_000];
        assert_eq!(window(&line, 4_999_990, 20).columns.len(), 10);
        assert_eq!(cell_of(&line, 4_999_990), 4_999_990);
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(word_wrapped("one two three", 8, 9), ["one two", "three"]);
        assert_eq!(word_wrapped("abcdefghij kl", 4, 9), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(word_wrapped("日本 語", 4, 9), ["日本", "語"]);
        assert_eq!(word_wrapped("", 4, 9), [""]);
        assert_eq!(word_wrapped("a b c d", 2, 2).len(), 2);
    }

    #[test]
    fn the_cell_of_a_byte_counts_tabs_and_wide_glyphs() {
        assert_eq!(cell_of("\t日x".as_bytes(), 4), 6);
        assert_eq!(cell_of(b"abc", 99), 3);
    }
}
