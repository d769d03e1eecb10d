//! What the commands do.

use super::command::COMMANDS;
use super::event::{Effect, Subject};
use super::history;
use super::listing::open_chosen;
use super::outline::Item;
use super::prompt::Prompt;
use super::{App, Focus, Overlay};
use crate::layout::{LayoutChoice, Row};
use crate::reader::Shown;
use std::sync::Arc;

type Effects = Vec<Effect>;

pub(super) fn next_turn(app: &mut App) -> Effects {
    turn(app, 1)
}

pub(super) fn previous_turn(app: &mut App) -> Effects {
    turn(app, -1)
}

fn turn(app: &mut App, by: isize) -> Effects {
    app.choices.follow = false;
    if let Some(effects) = history::step(app, by > 0) {
        return effects;
    }
    // With no turn open, from the one under the cursor.
    let from = match (app.outline.open, app.outline.chosen()) {
        (Some(open), _) | (None, Item::Turn(open)) => open,
        _ => 0,
    };
    let at = from.saturating_add_signed(by);
    if at >= app.turns.len() || at == from {
        let which = if by > 0 { "last" } else { "first" };
        app.message = Some(format!("this is the {which} turn"));
        return Vec::new();
    }
    app.open_turn_at(at)
}

pub(super) fn open(app: &mut App) -> Effects {
    match app.outline.chosen() {
        Item::Turn(at) if app.outline.open != Some(at) => {
            app.choices.follow = false;
            app.open_turn_at(at)
        }
        _ => {
            if app.viewer.subject.is_some() {
                app.focus = Focus::File;
            }
            open_chosen(app)
        }
    }
}

/// Opens what is closed under the cursor: a fold, or a file that is too large.
pub(super) fn unfold(app: &mut App) -> Effects {
    if let (Some(Shown::Oversized(..)), Some(Subject::Change(change))) =
        (&app.viewer.shown, &app.viewer.subject)
    {
        let subject = Subject::Anyway(change.clone());
        return app.ask(subject);
    }
    let row = app.viewer.plan.rows.get(app.viewer.view.cursor);
    let Some(line) = row.filter(|row| row.hidden > 0).and_then(Row::new_line) else {
        return Vec::new();
    };
    app.viewer.opened.insert(line);
    app.refit()
}

pub(super) fn messages(app: &mut App) -> Effects {
    app.overlay = Overlay::Messages;
    Vec::new()
}

pub(super) fn close(app: &mut App) -> Effects {
    if let Some(at) = app.outline.close() {
        app.choices.follow = false;
        let (len, height) = (app.outline.len(app.turns.len()), app.list_height());
        app.outline.view.go(at, len, height);
    }
    Vec::new()
}

pub(super) fn focus(app: &mut App) -> Effects {
    app.focus = match app.focus {
        Focus::List => Focus::File,
        Focus::File => Focus::List,
    };
    app.choices.sidebar |= app.focus == Focus::List;
    app.refit()
}

pub(super) fn sidebar(app: &mut App) -> Effects {
    app.choices.sidebar = !app.choices.sidebar;
    if !app.choices.sidebar {
        app.focus = Focus::File;
    }
    app.refit()
}

pub(super) fn layout(app: &mut App) -> Effects {
    app.choices.layout = app.choices.layout.next();
    let effects = app.refit();
    let shown = app.layout().name();
    app.message = Some(match app.choices.layout {
        LayoutChoice::Auto => format!("layout: auto ({shown})"),
        LayoutChoice::Fixed(_) => format!("layout: {shown}"),
    });
    effects
}

pub(super) fn wrap(app: &mut App) -> Effects {
    app.choices.wrap = !app.choices.wrap;
    (app.viewer.left, app.viewer.skip) = (0, 0);
    let how = if app.choices.wrap { "wrapped" } else { "cut at the edge" };
    app.message = Some(format!("long lines are {how}"));
    app.keep_cursor_in_wrapped_window();
    Vec::new()
}

pub(super) fn follow(app: &mut App) -> Effects {
    app.choices.follow = !app.choices.follow;
    app.news = None;
    let how = if app.choices.follow { "following the newest turn" } else { "staying here" };
    app.message = Some(how.into());
    match app.turns.len().checked_sub(1) {
        Some(last) if app.choices.follow && app.outline.open != Some(last) => {
            app.open_turn_at(last)
        }
        _ => Vec::new(),
    }
}

pub(super) fn search(app: &mut App) -> Effects {
    if app.viewer.comparison().is_some() {
        app.overlay = Overlay::Prompt(Prompt::default());
    } else {
        app.message = Some("nothing to search in".into());
    }
    Vec::new()
}

pub(super) fn next_match(app: &mut App) -> Effects {
    next(app, false)
}

pub(super) fn previous_match(app: &mut App) -> Effects {
    next(app, true)
}

fn next(app: &mut App, against: bool) -> Effects {
    app.choices.follow = false;
    let pattern = app.viewer.search.pattern.clone();
    if pattern.is_empty() {
        app.message = Some("no search yet; / begins one".into());
    } else if app.viewer.search.rows.is_none() {
        // Another file: the pattern is looked for there.
        return app.search_again(pattern, true);
    } else if let Some(row) = app.viewer.match_beside(app.viewer.view.cursor, against) {
        app.go_to_match(row);
    } else {
        app.message = Some(format!("not found: {}", crate::text::clean(&pattern)));
    }
    Vec::new()
}

pub(super) fn back(app: &mut App) -> Effects {
    if app.overlay != Overlay::None {
        app.overlay = Overlay::None;
    } else if !app.viewer.search.pattern.is_empty() {
        app.viewer.search = super::Search::default();
    } else if app.history.is_some() {
        app.history = None;
    } else if app.focus == Focus::File && app.choices.sidebar {
        app.focus = Focus::List;
        return app.refit();
    }
    Vec::new()
}

pub(super) fn help(app: &mut App) -> Effects {
    app.overlay = Overlay::Help(0);
    Vec::new()
}

/// A key while the help is shown: it scrolls, or closes it.
pub(super) fn help_key(app: &mut App, name: &str) {
    let Overlay::Help(top) = &mut app.overlay else { return };
    let room = usize::from(app.size.1).saturating_sub(2).max(1);
    let last = COMMANDS.len().saturating_sub(room);
    let page = room as isize;
    let by = match name {
        "down" => 1,
        "up" => -1,
        "half-page-down" => page / 2,
        "half-page-up" => -page / 2,
        "page-down" => page,
        "page-up" => -page,
        "top" => isize::MIN,
        "bottom" => isize::MAX,
        "help" | "back" | "quit" => {
            app.overlay = Overlay::None;
            return;
        }
        _ => return,
    };
    *top = top.saturating_add_signed(by).min(last);
}

pub(super) fn suspend(_: &mut App) -> Effects {
    vec![Effect::Suspend]
}

pub(super) fn quit(_: &mut App) -> Effects {
    vec![Effect::Quit]
}

impl App {
    /// Asks for a comparison; what was asked before is no longer awaited. A file that is looked at
    /// and has changed stays until its answer comes; any other one's lines would stand under the
    /// wrong title.
    pub(super) fn ask(&mut self, subject: Subject) -> Effects {
        let request = self.next_request();
        let turn = self.open_turn().map(|turn| turn.head.turn.turn);
        let viewer = &mut self.viewer;
        let is_same = viewer.turn == turn
            && matches!(viewer.shown, Some(Shown::Text(_)))
            && viewer.subject.as_ref().map(Subject::path) == Some(subject.path());
        if !is_same {
            (viewer.shown, viewer.plan) = (None, Arc::default());
        }
        viewer.turn = turn;
        viewer.keeps_place = is_same;
        viewer.request = request;
        viewer.is_waiting = true;
        viewer.subject = Some(subject.clone());
        vec![Effect::Compare { request, subject }]
    }

    /// Fits everything after the size, the panes or the layout changed. Where the rows are others
    /// now, a search looks for its matches again.
    pub(super) fn refit(&mut self) -> Effects {
        let (layout, context) = (self.layout(), self.choices.context);
        let height = self.text_height();
        let is_new = self.viewer.replan(layout, context, height);
        self.keep_cursor_in_wrapped_window();
        let (len, height) = (self.outline.len(self.turns.len()), self.list_height());
        let cursor = self.outline.view.cursor;
        self.outline.view.go(cursor, len, height);
        let pattern = self.viewer.search.pattern.clone();
        if is_new && !pattern.is_empty() {
            return self.search_again(pattern, false);
        }
        Vec::new()
    }

    /// What a file's answer shows, from its beginning.
    pub(super) fn show(&mut self, shown: Shown) {
        self.viewer.shown = Some(shown);
        let (layout, context) = (self.layout(), self.choices.context);
        let height = self.text_height();
        if let Some(shown) = self.viewer.shown.take() {
            self.viewer.open(shown, layout, context, height);
        }
        self.keep_cursor_in_wrapped_window();
        self.show_change_columns();
    }
}
