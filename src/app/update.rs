//! The one function that changes the state: an event in, effects out.

use super::acts;
use super::command::lookup;
use super::event::{Effect, Event, Subject};
use super::outline::{Item, Load, TurnView};
use super::prompt::Typed;
use super::{App, Focus, Overlay, Search};
use crate::reader::Shown;
use crate::reader::TurnHead;
use std::sync::Arc;

/// Takes an event and tells what the world shall do.
pub fn update(app: &mut App, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(chord) => key(app, chord),
        Event::Paste(text) => {
            if let Overlay::Prompt(prompt) = &mut app.overlay {
                prompt.paste(&text);
            }
            Vec::new()
        }
        Event::Resize(width, height) => {
            app.size = (width, height);
            app.refit();
            Vec::new()
        }
        Event::Resumed => {
            app.refit();
            Vec::new()
        }
        Event::Suspend => vec![Effect::Suspend],
        Event::Quit => vec![Effect::Quit],
        Event::Info(info) => {
            app.info = *info;
            Vec::new()
        }
        Event::Turns { from, turns } => take_turns(app, from, turns),
        Event::Indexed(done) => {
            app.is_indexed = done;
            Vec::new()
        }
        Event::Live(live) => {
            app.live = live;
            Vec::new()
        }
        Event::Changes { turn, revision, changes } => take_changes(app, turn, revision, changes),
        Event::Counted { turn, revision, counts } => {
            if let Some(turn) = find(app, turn, revision) {
                for (index, count) in counts {
                    if let Some(slot) = turn.counts.get_mut(index) {
                        *slot = Some(count);
                    }
                }
            }
            Vec::new()
        }
        Event::Compared { request, shown } => {
            take_comparison(app, request, shown);
            Vec::new()
        }
        Event::Found { request, rows } => {
            take_matches(app, request, rows);
            Vec::new()
        }
        Event::Warning(text) => {
            app.message = Some(text);
            Vec::new()
        }
        Event::Recorder(text) => {
            app.recorder = text;
            Vec::new()
        }
    }
}

fn key(app: &mut App, chord: super::Chord) -> Vec<Effect> {
    app.message = None;
    if let Overlay::Prompt(prompt) = &mut app.overlay {
        return match prompt.key(chord) {
            Typed::More => Vec::new(),
            Typed::Given => {
                app.overlay = Overlay::None;
                Vec::new()
            }
            Typed::Done => {
                let pattern = std::mem::take(&mut prompt.text);
                app.overlay = Overlay::None;
                begin_search(app, pattern)
            }
        };
    }
    let before = app.viewer.view.cursor;
    let effects = lookup(chord, app.focus).map_or_else(Vec::new, |command| (command.run)(app));
    if app.viewer.view.cursor != before {
        app.keep_cursor_in_wrapped_window();
    }
    effects
}

fn begin_search(app: &mut App, pattern: String) -> Vec<Effect> {
    if pattern.is_empty() {
        return Vec::new();
    }
    let request = app.next_request();
    let origin = app.viewer.view.cursor;
    app.viewer.search =
        Search { pattern: pattern.clone(), request, rows: None, origin, backward: false };
    app.focus = Focus::File;
    match app.viewer.comparison() {
        Some(comparison) => vec![Effect::Search {
            request,
            pattern,
            comparison: Arc::clone(comparison),
            plan: Arc::clone(&app.viewer.plan),
        }],
        None => Vec::new(),
    }
}

fn take_matches(app: &mut App, request: u64, rows: Vec<u32>) {
    if request != app.viewer.search.request {
        return;
    }
    let origin = app.viewer.search.origin;
    let is_empty = rows.is_empty();
    app.viewer.search.rows = Some(rows);
    if is_empty {
        app.message =
            Some(format!("not found: {}", crate::text::clean(&app.viewer.search.pattern)));
    } else if let Some(row) = app.viewer.match_beside(origin.wrapping_sub(1), false) {
        app.go_to_row(row);
        app.show_match_columns();
    }
}

fn take_comparison(app: &mut App, request: u64, shown: Shown) {
    if request != app.viewer.request {
        return;
    }
    note_counts(app, &shown);
    let replaces = !app.viewer.is_waiting;
    app.viewer.is_waiting = false;
    if replaces {
        // The exact comparison behind a coarse one: the cursor stays on its line.
        app.viewer.shown = Some(shown);
        app.refit();
    } else {
        app.show(shown);
    }
    let pattern = std::mem::take(&mut app.viewer.search).pattern;
    if !pattern.is_empty() {
        // Another text: the old rows say nothing about it. The pattern stays for `n`.
        app.viewer.search.pattern = pattern;
    }
}

/// The list and the viewer tell the same numbers: what is shown is what counts.
fn note_counts(app: &mut App, shown: &Shown) {
    let Some(change) = app.viewer.subject.as_ref().and_then(Subject::change) else { return };
    let Some(turn) = app.open_turn() else { return };
    let at = turn.known().and_then(|changes| changes.files.iter().position(|file| file == change));
    let open = app.outline.open.and_then(|open| app.turns.get_mut(open));
    let Some((at, open)) = at.zip(open) else { return };
    if let Some(slot) = open.counts.get_mut(at) {
        *slot = Some(shown.counts());
    }
}

fn take_changes(
    app: &mut App,
    turn: u32,
    revision: u64,
    changes: Result<Option<Arc<crate::content::Changes>>, String>,
) -> Vec<Effect> {
    let Some(view) = find(app, turn, revision) else { return Vec::new() };
    view.set_changes(changes);
    let mut effects = Vec::new();
    // A single file is counted by being looked at.
    let uncounted = view.counts.iter().filter(|counts| counts.is_none()).count();
    if let Some(changes) = view.known().filter(|changes| uncounted > 0 && changes.files.len() > 1) {
        let changes = Arc::clone(changes);
        effects.push(Effect::Count { turn, revision, changes });
    }
    let is_open = app.open_turn().is_some_and(|open| open.head.turn.turn == turn);
    if is_open {
        let chosen = path_of(app, app.outline.chosen());
        app.refill();
        let again =
            app.outline.files().find(|item| chosen.is_some() && path_of(app, *item) == chosen);
        let open = app.outline.open.unwrap_or(0);
        let item = again.or_else(|| app.outline.first_file()).unwrap_or(Item::Turn(open));
        app.choose(item);
        let asked = acts::open_chosen(app);
        // A comparison is what the person waits for; the counts can wait.
        effects.splice(0..0, asked);
    }
    effects
}

/// The path of a listed file, which stays when the list is read anew.
fn path_of(app: &App, item: Item) -> Option<String> {
    let turn = app.open_turn()?;
    match item {
        Item::File(at) => turn.known()?.files.get(at).map(|change| change.file.display.clone()),
        Item::Presented(at) => turn.head.turn.presented.get(at).map(|file| file.path.clone()),
        _ => None,
    }
}

fn find(app: &mut App, turn: u32, revision: u64) -> Option<&mut TurnView> {
    let is_meant =
        |view: &&mut TurnView| view.head.turn.turn == turn && view.head.revision == revision;
    app.turns.iter_mut().rev().find(is_meant)
}

/// Takes the turns from index `from` on. What is known of a turn's changes is kept until its
/// revision changes, and shown until the new answer is there.
fn take_turns(app: &mut App, from: usize, turns: Vec<TurnHead>) -> Vec<Effect> {
    let from = from.min(app.turns.len());
    let open_number = app.open_turn().map(|turn| turn.head.turn.turn);
    let mut earlier: Vec<TurnView> = app.turns.split_off(from);
    for head in turns {
        let known = earlier.iter_mut().find(|view| view.head.turn.turn == head.turn.turn);
        let mut view = TurnView::new(head);
        if let Some(known) = known {
            let same = known.head.revision == view.head.revision;
            view.counts = std::mem::take(&mut known.counts);
            view.changes = std::mem::take(&mut known.changes);
            view.loaded = known.loaded;
            if !same {
                app.news = Some(view.head.turn.turn);
                if !matches!(view.changes, Load::Known(_)) {
                    view.changes = Load::Unasked;
                }
            }
        } else {
            app.news = Some(view.head.turn.turn);
        }
        app.turns.push(view);
    }
    let number_at = |number: u32| app.turns.iter().position(|t| t.head.turn.turn == number);
    app.outline.open = open_number.and_then(number_at);
    let last = app.turns.len().checked_sub(1);
    let follows = app.choices.follow || app.outline.open.is_none() && open_number.is_some();
    match last {
        Some(last) if follows && app.outline.open != Some(last) => app.open_turn_at(last),
        _ => reload_open(app, from),
    }
}

/// The open turn may have changed: ask again, and keep what is shown until the answer comes.
fn reload_open(app: &mut App, from: usize) -> Vec<Effect> {
    app.refill();
    let Some(at) = app.outline.open else { return Vec::new() };
    let is_last = at + 1 == app.turns.len();
    let Some(view) = app.turns.get(at) else { return Vec::new() };
    let number = view.head.turn.turn;
    if app.news == Some(number) || is_last {
        app.news = app.news.filter(|news| *news != number);
    }
    if at < from || view.loaded == Some(view.head.revision) {
        return Vec::new();
    }
    vec![Effect::LoadChanges { turn: number, revision: view.head.revision }]
}
