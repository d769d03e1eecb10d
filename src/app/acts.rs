//! What the commands do.

use super::event::{Effect, Subject};
use super::outline::{Item, Load};
use super::prompt::Prompt;
use super::{App, Focus, Overlay};
use crate::layout::LayoutChoice;
use crate::reader::Shown;

type Effects = Vec<Effect>;

/// Moves in the pane that has the focus.
fn step(app: &mut App, rows: isize) -> Effects {
    match app.focus {
        Focus::List => {
            let len = app.outline.len(app.turns.len());
            let height = app.list_height();
            app.outline.view.step(rows, len, height);
            // A heading or a total is no place to stay: go on in the same direction.
            let forward = if rows < 0 { -1 } else { 1 };
            while !app.outline.chosen().is_choice() {
                let before = app.outline.view.cursor;
                app.outline.view.step(forward, len, height);
                if app.outline.view.cursor == before {
                    app.outline.view.step(-forward, len, height);
                    if app.outline.chosen().is_choice() || app.outline.view.cursor == before {
                        break;
                    }
                }
            }
            app.choices.follow = false;
            open_chosen(app)
        }
        Focus::File => {
            let (len, height) = (app.viewer.plan.rows.len(), app.text_height());
            app.viewer.view.step(rows, len, height);
            app.viewer.skip = 0;
            app.choices.follow = false;
            Vec::new()
        }
    }
}

fn page(app: &mut App, numerator: isize, denominator: isize) -> Effects {
    if let Overlay::Help(top) = &mut app.overlay {
        let rows = app.size.1 as isize * numerator / denominator;
        *top = top.saturating_add_signed(rows);
        return Vec::new();
    }
    let (len, height) = (app.viewer.plan.rows.len(), app.text_height());
    if app.focus == Focus::List && len == 0 {
        let rows = app.list_height() as isize * numerator / denominator;
        return step(app, rows);
    }
    // Paging is for reading: with the focus on the list too it turns the file's pages.
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
    if let Overlay::Help(top) = &mut app.overlay {
        *top += 1;
        return Vec::new();
    }
    step(app, 1)
}

pub(super) fn up(app: &mut App) -> Effects {
    if let Overlay::Help(top) = &mut app.overlay {
        *top = top.saturating_sub(1);
        return Vec::new();
    }
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
        app.viewer.left += usize::from(app.areas().text.width / 4).max(1);
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
    let cursor = app.outline.view.cursor;
    let row_of = |item: &Item| app.outline.row_of(*item);
    let next = if forward {
        app.outline.files().find(|item| row_of(item) > cursor)
    } else {
        app.outline.files().rev().find(|item| row_of(item) < cursor)
    };
    if let Some(item) = next {
        app.choose(item);
        return open_chosen(app);
    }
    let which = if forward { "last" } else { "first" };
    app.message = Some(format!("this is the turn's {which} file"));
    Vec::new()
}

pub(super) fn next_turn(app: &mut App) -> Effects {
    turn(app, 1)
}

pub(super) fn previous_turn(app: &mut App) -> Effects {
    turn(app, -1)
}

fn turn(app: &mut App, by: isize) -> Effects {
    app.choices.follow = false;
    let at = app.outline.open.map_or(0, |open| open.saturating_add_signed(by));
    if at >= app.turns.len() || Some(at) == app.outline.open {
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

pub(super) fn compare_anyway(app: &mut App) -> Effects {
    match (&app.viewer.shown, &app.viewer.subject) {
        (Some(Shown::Oversized(..)), Some(Subject::Change(change))) => {
            let subject = Subject::Anyway(change.clone());
            app.ask(subject)
        }
        _ => Vec::new(),
    }
}

pub(super) fn close(app: &mut App) -> Effects {
    if let Some(at) = app.outline.open.take() {
        app.choices.follow = false;
        let (len, height) = (app.outline.len(app.turns.len()), app.list_height());
        app.outline.view.go(at, len, height);
    }
    Vec::new()
}

/// Shows the file under the list's cursor.
pub(super) fn open_chosen(app: &mut App) -> Effects {
    let Some(turn) = app.open_turn() else { return Vec::new() };
    let subject = match app.outline.chosen() {
        Item::File(at) => {
            let change = turn.known().and_then(|changes| changes.files.get(at));
            change.map(|change| Subject::Change(Box::new(change.clone())))
        }
        Item::Presented(at) => presented(turn, at),
        _ => None,
    };
    match subject {
        // What is looked at already, even if anyway, is not asked for again.
        Some(subject) if !app.viewer.looks_at(&subject) => app.ask(subject),
        _ => Vec::new(),
    }
}

/// A presented file that the turn changed is shown as that change, else as it is on disk.
fn presented(turn: &super::TurnView, at: usize) -> Option<Subject> {
    let file = turn.head.turn.presented.get(at)?;
    let files = turn.known().map(|changes| changes.files.as_slice()).unwrap_or_default();
    match files.iter().find(|change| change.file.display == file.display) {
        Some(change) => Some(Subject::Change(Box::new(change.clone()))),
        None => turn.head.deliverables.get(at).cloned().map(Subject::Present),
    }
}

pub(super) fn focus(app: &mut App) -> Effects {
    app.focus = match app.focus {
        Focus::List => Focus::File,
        Focus::File => Focus::List,
    };
    app.choices.sidebar |= app.focus == Focus::List;
    app.refit();
    Vec::new()
}

pub(super) fn sidebar(app: &mut App) -> Effects {
    app.choices.sidebar = !app.choices.sidebar;
    if !app.choices.sidebar {
        app.focus = Focus::File;
    }
    app.refit();
    Vec::new()
}

pub(super) fn layout(app: &mut App) -> Effects {
    app.choices.layout = app.choices.layout.next();
    app.refit();
    let shown = app.layout().name();
    app.message = Some(match app.choices.layout {
        LayoutChoice::Auto => format!("layout: auto ({shown})"),
        LayoutChoice::Fixed(_) => format!("layout: {shown}"),
    });
    Vec::new()
}

pub(super) fn wrap(app: &mut App) -> Effects {
    app.choices.wrap = !app.choices.wrap;
    (app.viewer.left, app.viewer.skip) = (0, 0);
    let how = if app.choices.wrap { "wrapped" } else { "cut at the edge" };
    app.message = Some(format!("long lines are {how}"));
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
    if app.viewer.search.pattern.is_empty() {
        app.message = Some("no search yet; / begins one".into());
    } else if let Some(row) = app.viewer.match_beside(app.viewer.view.cursor, against) {
        app.go_to_row(row);
        app.show_match_columns();
    } else if app.viewer.search.rows.is_some() {
        app.message =
            Some(format!("not found: {}", crate::text::clean(&app.viewer.search.pattern)));
    }
    Vec::new()
}

pub(super) fn back(app: &mut App) -> Effects {
    if app.overlay != Overlay::None {
        app.overlay = Overlay::None;
    } else if !app.viewer.search.pattern.is_empty() {
        app.viewer.search = super::Search::default();
    } else if app.focus == Focus::File && app.choices.sidebar {
        app.focus = Focus::List;
        app.refit();
    }
    Vec::new()
}

pub(super) fn help(app: &mut App) -> Effects {
    app.overlay = match app.overlay {
        Overlay::Help(_) => Overlay::None,
        _ => Overlay::Help(0),
    };
    Vec::new()
}

pub(super) fn suspend(_: &mut App) -> Effects {
    vec![Effect::Suspend]
}

pub(super) fn quit(app: &mut App) -> Effects {
    if matches!(app.overlay, Overlay::Help(_)) {
        app.overlay = Overlay::None;
        return Vec::new();
    }
    vec![Effect::Quit]
}

impl App {
    /// Opens a turn in the list and asks what it changed.
    pub(super) fn open_turn_at(&mut self, at: usize) -> Effects {
        self.outline.open = Some(at);
        self.news = None;
        let mut effects = Vec::new();
        if let Some(turn) = self.turns.get_mut(at)
            && turn.changes == Load::Unasked
        {
            turn.changes = Load::Asked;
            let (turn, revision) = (turn.head.turn.turn, turn.head.revision);
            effects.push(Effect::LoadChanges { turn, revision });
        }
        self.refill();
        if let Some(item) = self.outline.first_file() {
            self.choose(item);
            effects.extend(open_chosen(self));
        } else {
            self.choose(Item::Turn(at));
            self.viewer.subject = None;
            self.viewer.shown = None;
            self.viewer.is_waiting = false;
            effects.push(Effect::CancelCompare);
        }
        effects
    }

    /// Puts the list's cursor on an item.
    pub(super) fn choose(&mut self, item: Item) {
        let (len, height) = (self.outline.len(self.turns.len()), self.list_height());
        let row = self.outline.row_of(item);
        self.outline.view.go(row, len, height);
        // The turn's own row, with its prompt, stays in sight where there is room for both.
        let header = self.outline.open.unwrap_or(row);
        if header < self.outline.view.top && row < header + height {
            self.outline.view.top = header;
        }
    }

    /// Lists the open turn's files anew.
    pub(super) fn refill(&mut self) {
        if let Some(turn) = self.outline.open.and_then(|at| self.turns.get(at)) {
            self.outline.fill(turn);
        }
    }

    /// Asks for a comparison; what was asked before is no longer awaited.
    pub(super) fn ask(&mut self, subject: Subject) -> Effects {
        let request = self.next_request();
        self.viewer.request = request;
        self.viewer.is_waiting = true;
        self.viewer.subject = Some(subject.clone());
        vec![Effect::Compare { request, subject }]
    }

    /// Plans and fits everything after the size, the panes or the layout changed.
    pub(super) fn refit(&mut self) {
        let (layout, context) = (self.layout(), self.choices.context);
        let height = self.text_height();
        self.viewer.replan(layout, context, height);
        let (len, height) = (self.outline.len(self.turns.len()), self.list_height());
        let cursor = self.outline.view.cursor;
        self.outline.view.go(cursor, len, height);
    }

    pub(super) fn go_to_row(&mut self, row: usize) {
        let (len, height) = (self.viewer.plan.rows.len(), self.text_height());
        self.viewer.view.reveal(row, len, height);
        self.viewer.skip = 0;
    }

    /// What a file's answer shows, from its beginning.
    pub(super) fn show(&mut self, shown: Shown) {
        self.viewer.shown = Some(shown);
        let (layout, context) = (self.layout(), self.choices.context);
        let height = self.text_height();
        if let Some(shown) = self.viewer.shown.take() {
            self.viewer.open(shown, layout, context, height);
        }
        self.show_change_columns();
    }
}
