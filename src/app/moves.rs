//! Moving: in the list, in the file, from change to change and from file to file.

use super::event::Effect;
use super::listing::open_chosen;
use super::outline::Item;
use super::{App, Focus};

type Effects = Vec<Effect>;

/// Moves in the pane that has the focus.
fn step(app: &mut App, rows: isize) -> Effects {
    app.choices.follow = false;
    match app.focus {
        Focus::List => {
            let (len, height) = (app.outline.len(app.turns.len()), app.list_height());
            let target = app.outline.view.cursor.saturating_add_signed(rows);
            if let Some(row) = app.outline.choice_from(target, rows >= 0, len) {
                app.outline.view.go(row, len, height);
            }
            open_chosen(app)
        }
        Focus::File => {
            let row = app.viewer.view.cursor.saturating_add_signed(rows);
            let (len, height) = (app.viewer.plan.rows.len(), app.text_height());
            app.viewer.view.go(row, len, height);
            app.viewer.skip = 0;
            app.keep_cursor_in_wrapped_window();
            Vec::new()
        }
    }
}

/// Turns the file's pages, wherever the focus is: paging is for reading.
fn page(app: &mut App, numerator: isize, denominator: isize) -> Effects {
    let (len, height) = (app.viewer.plan.rows.len(), app.text_height());
    if app.focus == Focus::List && len == 0 {
        let rows = app.list_height() as isize * numerator / denominator;
        return step(app, rows);
    }
    let rows = height as isize * numerator / denominator;
    app.choices.follow = false;
    if app.choices.wrap {
        app.scroll_wrapped(rows);
    } else {
        app.viewer.view.scroll(rows, len, height);
    }
    Vec::new()
}

pub(super) fn down(app: &mut App) -> Effects {
    step(app, 1)
}

pub(super) fn up(app: &mut App) -> Effects {
    step(app, -1)
}

pub(super) fn half_page_down(app: &mut App) -> Effects {
    page(app, 1, 2)
}

pub(super) fn half_page_up(app: &mut App) -> Effects {
    page(app, -1, 2)
}

pub(super) fn page_down(app: &mut App) -> Effects {
    page(app, 1, 1)
}

pub(super) fn page_up(app: &mut App) -> Effects {
    page(app, -1, 1)
}

pub(super) fn top(app: &mut App) -> Effects {
    app.viewer.skip = 0;
    step(app, isize::MIN / 2)
}

pub(super) fn bottom(app: &mut App) -> Effects {
    step(app, isize::MAX / 2)
}

pub(super) fn left(app: &mut App) -> Effects {
    let by = usize::from(app.areas().text.width) / 4;
    app.viewer.left = app.viewer.left.saturating_sub(by.max(1));
    Vec::new()
}

pub(super) fn right(app: &mut App) -> Effects {
    if !app.choices.wrap {
        let by = usize::from(app.areas().text.width / 4).max(1);
        app.viewer.left = (app.viewer.left + by).min(app.longest_left());
    }
    Vec::new()
}

pub(super) fn next_change(app: &mut App) -> Effects {
    change(app, true)
}

pub(super) fn previous_change(app: &mut App) -> Effects {
    change(app, false)
}

fn change(app: &mut App, forward: bool) -> Effects {
    app.choices.follow = false;
    match app.viewer.change_beside(forward) {
        Some(row) => {
            app.go_to_row(row);
            app.show_change_columns();
            Vec::new()
        }
        None if app.viewer.plan.changes.is_empty() => file(app, forward),
        None => {
            let key =
                if forward { ". goes to the next file" } else { ", goes to the previous file" };
            app.message = Some(format!("no further change here; {key}"));
            Vec::new()
        }
    }
}

pub(super) fn next_file(app: &mut App) -> Effects {
    file(app, true)
}

pub(super) fn previous_file(app: &mut App) -> Effects {
    file(app, false)
}

fn file(app: &mut App, forward: bool) -> Effects {
    app.choices.follow = false;
    if app.outline.open.is_none() {
        return Vec::new();
    }
    let (cursor, len) = (app.outline.view.cursor, app.outline.len(app.turns.len()));
    let is_file =
        |row: &usize| matches!(app.outline.item(*row), Item::Presented(_) | Item::File(_));
    let next = if forward {
        (cursor + 1..len).find(is_file)
    } else {
        (0..cursor.min(len)).rev().find(is_file)
    };
    if let Some(row) = next {
        app.choose(app.outline.item(row));
        return open_chosen(app);
    }
    let none = app.outline.first_file().is_none();
    let which = if forward { "last" } else { "first" };
    let there = format!("this is the turn's {which} file");
    app.message = Some(if none { "this turn has no file".into() } else { there });
    Vec::new()
}

impl App {
    /// Goes to a row with a match.
    pub(super) fn go_to_match(&mut self, row: usize) {
        let is_fold = self.viewer.plan.rows.get(row).is_some_and(|row| row.hidden > 0);
        self.go_to_row(row);
        if is_fold {
            self.message = Some("found in folded lines: Enter shows them".into());
        } else {
            self.show_match_columns();
        }
    }

    /// Puts the cursor on a row of the file, with what follows it in sight.
    pub(super) fn go_to_row(&mut self, row: usize) {
        let (len, height) = (self.viewer.plan.rows.len(), self.text_height());
        self.viewer.view.reveal(row, len, height);
        self.viewer.skip = 0;
        self.keep_cursor_in_wrapped_window();
    }
}
