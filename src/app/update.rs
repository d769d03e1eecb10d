//! The one function that changes the state: an event in, effects out.

use super::acts;
use super::command::lookup;
use super::event::{Effect, Event, Subject};
use super::outline::{Load, TurnView};
use super::prompt::Typed;
use super::{App, Focus, Overlay, Search, history, picker, ran};
use crate::reader::{Base, HeadKey, Shown, TurnHead};
use crate::session::archive::Archive;
use std::sync::Arc;

/// Takes an event and tells what the world shall do.
pub fn update(app: &mut App, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(chord) => key(app, chord),
        Event::Paste(text) => {
            match &mut app.overlay {
                Overlay::Prompt(prompt) => prompt.paste(&text),
                Overlay::Sessions(picker) => picker.paste(&text),
                Overlay::None | Overlay::Help(_) | Overlay::Ran(_) | Overlay::Messages => {}
            }
            picker::count(app)
        }
        Event::Resize(width, height) => {
            app.size = (width, height);
            let mut effects = app.refit();
            effects.extend(picker::count(app));
            effects
        }
        Event::Resumed => app.refit(),
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
        Event::Changes { turn, revision, base: Base::Turn, changes } => {
            take_changes(app, turn, revision, changes)
        }
        Event::Changes { turn, revision, base, changes } => {
            app.take_against((turn, revision, base), changes)
        }
        Event::Counted { turn, revision, base, counts } => {
            if let Some(turn) = find(app, turn, revision, base) {
                for (index, count) in counts {
                    // What the viewer found out exactly is not put back to a coarse count.
                    if let Some(slot) = turn.counts.get_mut(index)
                        && !(count.coarse && slot.is_some_and(|known| !known.coarse))
                    {
                        *slot = Some(count);
                    }
                }
            }
            Vec::new()
        }
        Event::Compared { request, shown } => take_comparison(app, request, shown),
        Event::Found { request, rows } => {
            take_matches(app, request, rows);
            Vec::new()
        }
        Event::Commands(turns) => {
            ran::take_commands(app, turns);
            Vec::new()
        }
        Event::Output { request, output } => {
            ran::take_output(app, request, output);
            Vec::new()
        }
        Event::History { request, touches } => history::take(app, request, touches),
        Event::Sessions(rows) => picker::take(app, rows),
        Event::Brief { request, at, brief } => {
            picker::take_brief(app, request, at, brief);
            Vec::new()
        }
        Event::Newer(row) => {
            let is_open = row.path.to_string_lossy() == app.info.path;
            app.newer = Some(row).filter(|_| !is_open);
            Vec::new()
        }
        Event::Warning(text) => {
            const MOST: usize = 100;
            let told = app.messages.len().saturating_sub(MOST);
            app.messages.drain(..told);
            app.messages.push(text.clone());
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
    if matches!(app.overlay, Overlay::Ran(_)) {
        return ran::key(app, chord);
    }
    if let Overlay::Sessions(_) = app.overlay {
        return picker::key(app, chord);
    }
    let Some(command) = lookup(chord, app.focus) else { return Vec::new() };
    match app.overlay {
        Overlay::Help(_) => acts::help_key(app, command.name),
        // Any key closes it; nothing happens behind it.
        Overlay::Messages => app.overlay = Overlay::None,
        _ => return (command.run)(app),
    }
    Vec::new()
}

fn begin_search(app: &mut App, pattern: String) -> Vec<Effect> {
    if pattern.is_empty() {
        return Vec::new();
    }
    app.focus = Focus::File;
    app.search_again(pattern, true)
}

impl App {
    /// Searches the shown text; `goes` says whether to go to the first match from the cursor on.
    pub(super) fn search_again(&mut self, pattern: String, goes: bool) -> Vec<Effect> {
        let request = self.next_request();
        let origin = goes.then_some(self.viewer.view.cursor);
        self.viewer.search = Search { pattern: pattern.clone(), request, rows: None, origin };
        let Some(comparison) = self.viewer.comparison().map(Arc::clone) else { return Vec::new() };
        let plan = Arc::clone(&self.viewer.plan);
        vec![Effect::Search { request, pattern, comparison, plan }]
    }
}

fn take_matches(app: &mut App, request: u64, rows: Vec<u32>) {
    if request != app.viewer.search.request {
        return;
    }
    let is_empty = rows.is_empty();
    app.viewer.search.rows = Some(rows);
    let Some(origin) = app.viewer.search.origin.take() else { return };
    if is_empty {
        app.message =
            Some(format!("not found: {}", crate::text::clean(&app.viewer.search.pattern)));
    } else if let Some(row) = app.viewer.match_from(origin) {
        app.go_to_match(row);
    }
}

fn take_comparison(app: &mut App, request: u64, shown: Shown) -> Vec<Effect> {
    if request != app.viewer.request {
        return Vec::new();
    }
    note_counts(app, &shown);
    // The exact comparison behind a coarse one, or the same file changed: the cursor stays.
    let stays = !app.viewer.is_waiting || app.viewer.keeps_place;
    app.viewer.is_waiting = false;
    if stays {
        app.viewer.shown = Some(shown);
        return app.refit();
    }
    app.show(shown);
    // Another text: the old rows say nothing about it. The pattern stays for `n`.
    let pattern = std::mem::take(&mut app.viewer.search).pattern;
    app.viewer.search.pattern = pattern;
    Vec::new()
}

/// The list and the viewer tell the same numbers: what is shown is what counts.
fn note_counts(app: &mut App, shown: &Shown) {
    let Some(change) = app.viewer.subject.as_ref().and_then(Subject::change) else { return };
    let Some(turn) = app.open_turn() else { return };
    let at = turn.known().and_then(|changes| changes.files.iter().position(|file| file == change));
    let Some((at, open)) = at.zip(app.open_turn_mut()) else { return };
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
    let chosen = app.chosen_path();
    let Some(view) = find(app, turn, revision, Base::Turn) else { return Vec::new() };
    let is_first = view.loaded.is_none();
    view.set_changes(changes);
    let mut effects = Vec::new();
    if let Some(changes) = view.uncounted() {
        effects.push(Effect::Count { turn, revision, base: Base::Turn, changes });
    }
    let is_open = app.open_turn().is_some_and(|open| open.head.turn.turn == turn);
    if is_open && app.base == Base::Turn {
        let asked = app.list_anew(chosen.as_deref(), is_first);
        // A comparison is what the person waits for; the counts can wait.
        effects.splice(0..0, asked);
    }
    effects
}

fn find(app: &mut App, turn: u32, revision: u64, base: Base) -> Option<&mut TurnView> {
    let is_meant = |view: &TurnView| view.head.turn.turn == turn && view.head.revision == revision;
    if base != Base::Turn {
        let view = &mut app.against.view;
        let same = app.base == base && view.head.revision == revision;
        return Some(view).filter(|view| same && (!base.is_of_turn() || is_meant(view)));
    }
    app.opened.get_mut(&turn).filter(|view| is_meant(view))
}

/// Takes the turns from index `from` on. What is known of a turn's changes is kept until its
/// revision changes, and shown until the new answer is there.
fn take_turns(app: &mut App, from: usize, turns: Archive<TurnHead>) -> Vec<Effect> {
    let open_number = app.open_turn().map(|turn| turn.head.turn.turn);
    let news = replace_turns(app, from, turns, open_number);
    app.news = news.or(app.news);
    let open = open_number.and_then(|number| app.place_of(number));
    if open.is_none() {
        app.outline.close();
    }
    app.outline.open = open;
    let last = app.turns.len().checked_sub(1);
    // Since a turn is since that turn, however many follow.
    let follow = app.choices.follow && app.base != Base::Since;
    let follows = follow || app.outline.open.is_none() && open_number.is_some();
    let mut effects = match last {
        Some(last) if follows && app.outline.open != Some(last) => app.open_turn_at(last),
        _ => reload_open(app, from),
    };
    effects.extend(history::refresh(app));
    if app.turns.is_empty() {
        effects.extend(app.show_no_file());
    }
    // Rows may have gone: the cursor stays on one that is there.
    let (len, height) = (app.outline.len(app.turns.len()), app.list_height());
    let cursor = app.outline.view.cursor;
    app.outline.view.go(cursor, len, height);
    effects
}

/// Puts the turns from index `from` on in the place of those that stand there; gives the number of
/// the last one that is new or changed. `open` is the number of the turn that is looked at.
fn replace_turns(
    app: &mut App,
    from: usize,
    mut turns: Archive<TurnHead>,
    open: Option<u32>,
) -> Option<u32> {
    let earlier = app.turns.split_off(from.min(app.turns.len()));
    let was = |turn: u32| {
        let at = earlier.partition_point(|key| key.turn < turn);
        earlier.key(at).filter(|key| key.turn == turn).map(|key| (at, key.revision))
    };
    let is_new = |key: &HeadKey| was(key.turn).is_none_or(|(_, revision)| revision != key.revision);
    let news = turns.keys().rev().find(is_new).map(|key| key.turn);
    // Commands are told apart, and told again of turns further back.
    for head in turns.newest_mut() {
        if let Some(known) = was(head.turn.turn).and_then(|(at, _)| earlier.get(at)) {
            head.turn.commands.clone_from(&known.turn.commands);
        }
    }
    app.turns.append(turns);
    app.turns.pack();
    let mut opened = std::mem::take(&mut app.opened);
    opened.retain(|number, view| {
        let Some(at) = app.place_of(*number) else { return false };
        // One that is as it was need not be unpacked before it is looked at again.
        let is_new = app.turns.key(at).is_some_and(|key| key.revision != view.head.revision);
        if (is_new || Some(*number) == open)
            && let Some(head) = app.turns.get(at)
        {
            view.head = head.clone();
        }
        if is_new && !matches!(view.changes, Load::Known(_)) {
            view.changes = Load::Unasked;
        }
        true
    });
    while opened.len() > OPENED
        && let Some(oldest) = opened.keys().find(|number| Some(**number) != open).copied()
    {
        opened.remove(&oldest);
    }
    app.opened = opened;
    news
}

/// What so many turns changed is remembered, when others come.
const OPENED: usize = 256;

/// The open turn may have changed: ask again, and keep what is shown until the answer comes.
fn reload_open(app: &mut App, from: usize) -> Vec<Effect> {
    app.refill();
    let Some(at) = app.outline.open else { return Vec::new() };
    let is_last = at + 1 == app.turns.len();
    let Some(number) = app.open_number() else { return Vec::new() };
    if app.news == Some(number) || is_last {
        app.news = app.news.filter(|news| *news != number);
    }
    if app.base != Base::Turn {
        return app.load_against();
    }
    let Some(view) = app.opened.get(&number) else { return Vec::new() };
    if at < from || view.loaded == Some(view.head.revision) {
        return Vec::new();
    }
    vec![Effect::LoadChanges { turn: number, revision: view.head.revision, base: Base::Turn }]
}
