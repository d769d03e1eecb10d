//! The commands of a turn over the panes: a list, and what one of them printed.

use super::command::lookup;
use super::event::Effect;
use super::outline::Item;
use super::viewport::Viewport;
use super::{App, Chord, Focus, Overlay};
use crate::diff::Text;
use crate::layout::overlay;
use crate::session::RanCommand;
use std::sync::Arc;

/// The list of a turn's commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// The turn's number.
    pub turn: u32,
    /// Whether the list is still to come.
    pub is_waiting: bool,
    /// Cursor and window, in rows of the list.
    pub view: Viewport,
    /// What the command under the cursor printed, once it was asked for.
    pub output: Option<Printed>,
}

/// What a command printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// The number of the request; an answer with another one is stale.
    pub request: u64,
    /// What there is to show, or why there is nothing; none before the answer.
    pub text: Option<Result<Arc<Text>, String>>,
    /// The first visible line, 0-based.
    pub top: usize,
    /// Cells scrolled to the right.
    pub left: usize,
}

/// Shows the commands of the turn under the list's cursor, or closes them.
pub(super) fn output(app: &mut App) -> Vec<Effect> {
    let at = match app.outline.chosen() {
        Item::Turn(at) => Some(at),
        _ => app.outline.open,
    };
    let Some(turn) = at.and_then(|at| app.turns.key(at)).map(|key| key.turn) else {
        app.message = Some("there is no turn yet".into());
        return Vec::new();
    };
    app.overlay = Overlay::Ran(Ran { turn, is_waiting: true, ..Ran::default() });
    vec![Effect::LoadCommands { turn }]
}

/// Takes the commands of some turns.
pub(super) fn take_commands(app: &mut App, turns: Vec<(u32, Vec<RanCommand>)>) {
    for (turn, commands) in turns {
        if let Overlay::Ran(ran) = &mut app.overlay
            && ran.turn == turn
            && std::mem::take(&mut ran.is_waiting)
            && commands.is_empty()
        {
            app.overlay = Overlay::None;
            app.message = Some(format!("no command ran in turn {turn}"));
        }
        if let Some(head) = app.place_of(turn).and_then(|at| app.turns.get_mut(at)) {
            head.turn.commands = commands;
        }
    }
    app.turns.pack();
}

/// Takes what a command printed.
pub(super) fn take_output(app: &mut App, request: u64, output: Result<Arc<Text>, String>) {
    if let Overlay::Ran(Ran { output: Some(printed), .. }) = &mut app.overlay
        && printed.request == request
    {
        printed.text = Some(output);
    }
}

/// Rows that a command of the panes moves by, in a window of `height` rows.
fn rows(name: &str, height: usize) -> Option<isize> {
    let height = height.max(1) as isize;
    Some(match name {
        "down" => 1,
        "up" => -1,
        "half-page-down" => (height / 2).max(1),
        "half-page-up" => -(height / 2).max(1),
        "page-down" => height,
        "page-up" => -height,
        "top" => isize::MIN / 2,
        "bottom" => isize::MAX / 2,
        _ => return None,
    })
}

/// A key while the commands are shown. The keys are those of the panes.
pub(super) fn key(app: &mut App, chord: Chord) -> Vec<Effect> {
    let height = usize::from(overlay(app.size).height.saturating_sub(1));
    let request = app.requests + 1;
    let Overlay::Ran(ran) = &mut app.overlay else { return Vec::new() };
    let focus = if ran.output.is_some() { Focus::File } else { Focus::List };
    let Some(name) = lookup(chord, focus).map(|command| command.name) else { return Vec::new() };
    if name == "suspend" {
        return vec![Effect::Suspend];
    }
    if name == "output" {
        app.overlay = Overlay::None;
        return Vec::new();
    }
    if let Some(printed) = &mut ran.output {
        let step = usize::from(app.size.0 / 4).max(1);
        match name {
            "back" | "quit" => ran.output = None,
            "left" => printed.left = printed.left.saturating_sub(step),
            "right" => printed.left += step,
            _ => printed.scroll(rows(name, height).unwrap_or(0), height),
        }
        return Vec::new();
    }
    let turn = ran.turn;
    let head = super::place_in(&app.turns, turn).and_then(|at| app.turns.get(at));
    let len = head.map_or(0, |head| head.turn.commands.len());
    match name {
        "back" | "quit" | "close" => app.overlay = Overlay::None,
        "open" if ran.view.cursor < len => {
            ran.output = Some(Printed { request, ..Printed::default() });
            let nth = ran.view.cursor;
            app.requests = request;
            return vec![Effect::LoadOutput { request, turn, nth }];
        }
        _ => {
            if let Some(rows) = rows(name, height) {
                ran.view.step(rows, len, height);
            }
        }
    }
    Vec::new()
}

impl Ran {
    /// Nothing that it shows is still to come.
    pub(super) fn is_known(&self) -> bool {
        match &self.output {
            Some(printed) => printed.text.is_some(),
            None => !self.is_waiting,
        }
    }
}

impl Printed {
    fn scroll(&mut self, rows: isize, height: usize) {
        let len = match &self.text {
            Some(Ok(text)) => text.len() as usize,
            _ => 0,
        };
        self.top = self.top.saturating_add_signed(rows).min(len.saturating_sub(height));
    }
}
