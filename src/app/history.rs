//! One file through the turns that changed it.

use super::App;
use super::event::{Effect, Subject};
use crate::reader::{Base, Touch};

/// The file whose turns are stepped through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Its path as shown where it was chosen.
    pub display: String,
    /// The turns that changed it, in order; empty until they are known.
    pub touches: Vec<Touch>,
    /// What was asked: a turn, and the file's path there.
    subject: (u32, String),
    /// The number of the request that is not answered yet.
    awaited: Option<u64>,
    /// How many turns had ended when it was asked.
    ended: usize,
}

/// Begins or ends it.
pub(super) fn toggle(app: &mut App) -> Vec<Effect> {
    if app.history.take().is_some() {
        app.message = Some("( and ) go through all turns again".into());
        return Vec::new();
    }
    let chosen = app.viewer.subject.as_ref().and_then(|subject| match subject {
        Subject::Change(change) | Subject::Anyway(change) => {
            Some((change.file.display.clone(), subject.path()?))
        }
        Subject::Present(_) => subject.path().map(|path| (path.clone(), path)),
    });
    let Some((display, path)) = chosen else {
        app.message = Some("no file is open".into());
        return Vec::new();
    };
    // Against another base a list has the names of the newest turn.
    let newest = || app.turns.keys().next_back().map(|key| key.turn);
    let turn = if app.base == Base::Turn { app.open_number() } else { newest() };
    let Some(turn) = turn.filter(|turn| *turn > 0) else {
        app.message = Some("two trees have no history".into());
        return Vec::new();
    };
    app.history = Some(History { display, subject: (turn, path), ..History::default() });
    ask(app)
}

/// Asks for the turns once more where more of them have ended.
pub(super) fn refresh(app: &mut App) -> Vec<Effect> {
    let ended = ended(app);
    match &app.history {
        Some(history) if history.awaited.is_none() && history.ended != ended => ask(app),
        _ => Vec::new(),
    }
}

fn ask(app: &mut App) -> Vec<Effect> {
    let request = app.next_request();
    let ended = ended(app);
    let Some(history) = &mut app.history else { return Vec::new() };
    (history.awaited, history.ended) = (Some(request), ended);
    let (turn, path) = history.subject.clone();
    vec![Effect::FindHistory { request, turn, path }]
}

fn ended(app: &App) -> usize {
    app.turns.keys().filter(|key| !key.is_open).count()
}

/// Takes the turns; the first time, goes to the one that is open or the one before it.
pub(super) fn take(app: &mut App, request: u64, touches: Vec<Touch>) -> Vec<Effect> {
    let Some(history) = app.history.as_mut().filter(|h| h.awaited == Some(request)) else {
        return Vec::new();
    };
    history.awaited = None;
    let is_first = history.touches.is_empty();
    history.touches = touches;
    if !is_first {
        return refresh(app);
    }
    let open = number(app);
    let touches = history_of(app);
    let here = touches.iter().rfind(|touch| touch.turn <= open).or(touches.first()).cloned();
    let Some(here) = here else {
        let display = app.history.take().map(|history| history.display).unwrap_or_default();
        app.message = Some(format!("no turn is known to have changed {display}"));
        return Vec::new();
    };
    let is_open = app.base == Base::Turn && here.turn == open;
    app.base = Base::Turn;
    if is_open { Vec::new() } else { go(app, here) }
}

/// To the next (or previous) turn that changed the file; none where no file is followed.
pub(super) fn step(app: &mut App, forward: bool) -> Option<Vec<Effect>> {
    app.history.as_ref().filter(|history| !history.touches.is_empty())?;
    let open = number(app);
    let touches = history_of(app);
    let next = if forward {
        touches.iter().find(|touch| touch.turn > open)
    } else {
        touches.iter().rfind(|touch| touch.turn < open)
    };
    let Some(next) = next.cloned() else {
        let which = if forward { "last" } else { "first" };
        app.message = Some(format!("this is the {which} turn that changed it"));
        return Some(Vec::new());
    };
    Some(go(app, next))
}

fn history_of(app: &App) -> &[Touch] {
    app.history.as_ref().map_or(&[], |history| &history.touches)
}

fn number(app: &App) -> u32 {
    app.open_turn().map_or(0, |turn| turn.head.turn.turn)
}

fn go(app: &mut App, touch: Touch) -> Vec<Effect> {
    let at = app.place_of(touch.turn);
    at.map_or_else(Vec::new, |at| app.open_turn_on(at, Some(touch.path)))
}

impl App {
    /// "history of PATH: 2/5", where one is stepped through.
    pub fn history_words(&self, cells: usize) -> Option<String> {
        let history = self.history.as_ref()?;
        let path = crate::text::fit_path(&crate::text::clean(&history.display), cells);
        let open = number(self);
        let at = history.touches.partition_point(|touch| touch.turn <= open);
        let of = history.touches.len();
        Some(if of == 0 {
            format!("history of {path}…")
        } else {
            format!("history of {path}: {at}/{of}")
        })
    }
}
