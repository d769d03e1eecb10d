//! Text as a terminal may show it: graphemes, cells, and visible glyphs for what must not be sent.
//!
//! Nothing that was read reaches the screen but through `glyphs`, `clean` or `fit`.

mod find;
mod glyph;
mod line;

pub use find::find;
pub use glyph::{Glyph, glyphs};
pub use line::{Column, Window, cell_of, window, word_wrapped, wrap_rows, wrapped};

/// Cells between tab stops.
pub const TAB_STOP: usize = 4;

/// How many cells `text` takes once every glyph is made visible (tabs count to the next stop).
pub fn width(text: &str) -> usize {
    let mut column = 0;
    for glyph in glyphs(text.as_bytes()) {
        column += glyph.cells_at(column);
    }
    column
}

/// The text on one line with every control character made visible; line breaks become `⏎`.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for glyph in glyphs(text.as_bytes()) {
        out.push_str(if glyph.is_tab() { " " } else { glyph.text() });
    }
    out
}

/// The first line that has something on it, cleaned; of a very long one the beginning.
pub fn first_line(text: &str) -> String {
    const LONG: usize = 1024;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    clean(beginning(line, LONG))
}

/// At most the first `bytes` bytes of a text, whole characters only.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Cuts `text` (already clean) to at most `cells` cells, with `…` where something was left out.
pub fn fit(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for glyph in glyphs(text.as_bytes()) {
        let cells_here = glyph.cells_at(used);
        if used + cells_here + 1 > cells {
            break;
        }
        used += cells_here;
        out.push_str(glyph.text());
    }
    if cells > 0 {
        out.push('…');
    }
    out
}

/// Cuts a path (already clean) to at most `cells` cells, keeping its end: the file's name.
pub fn fit_path(path: &str, cells: usize) -> String {
    let total = width(path);
    if total <= cells {
        return path.to_owned();
    }
    let mut left = total;
    let mut at = 0;
    for glyph in glyphs(path.as_bytes()) {
        if left < cells {
            break;
        }
        left -= glyph.cells_at(0);
        at = glyph.end();
    }
    if cells == 0 { String::new() } else { format!("…{}", path.get(at..).unwrap_or_default()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_wide_glyph_and_never_exceeds_its_cells() {
        for cells in 0..12 {
            let cut = fit("日本語テキスト", cells);
            assert!(width(&cut) <= cells, "{cut:?} in {cells}");
            let cut = fit_path("目録/日本/ファイル.rs", cells);
            assert!(width(&cut) <= cells, "{cut:?} in {cells}");
        }
        assert_eq!(fit("short", 10), "short");
        assert_eq!(fit_path("src/deep/file.rs", 9), "…/file.rs");
    }

    #[test]
    fn cleaning_leaves_no_control_character() {
        let hostile = "a\x1b]0;t\x07b\r\n\u{202e}c\u{200b}\u{85}\0\tz";
        assert!(clean(hostile).chars().all(|c| !c.is_control()), "{:?}", clean(hostile));
        assert_eq!(first_line("\n\n  hello\nworld"), "hello");
    }
}
