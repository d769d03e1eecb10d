//! The one state, and the one function that changes it. No I/O, no clock, no terminal.

mod acts;
mod base;
mod branch;
mod chord;
mod columns;
mod command;
mod event;
mod history;
mod listing;
mod moves;
mod notes;
mod outline;
mod picker;
mod prompt;
mod ran;
mod update;
mod viewer;
mod viewport;
mod wrapped;

pub use crate::reader::{Base, Counts, Shown, TurnHead};
pub use base::{Against, name as base_name};
pub use branch::words as branch_words;
pub use chord::{Chord, Key};
pub use command::{COMMANDS, Command, Scope, lookup};
pub use event::{Effect, Event, Live, Subject};
pub use history::History;
pub use notes::size;
pub use outline::{Item, Load, Outline, TurnView};
pub use picker::{Picker, SessionRow, TurnCount, age};
pub use prompt::Prompt;
pub use ran::{Printed, Ran};
pub use update::update;
pub use viewer::{Search, Viewer};
pub use viewport::Viewport;

use crate::diff::Comparison;
use crate::layout::{Areas, Layout, LayoutChoice, Panes, areas};
use crate::session::SessionInfo;
use crate::session::archive::Archive;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which pane the keys act on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Focus {
    /// The list of turns and files.
    #[default]
    List,
    /// The file.
    File,
}

/// What lies over the panes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// The keys; scrolled down by some rows.
    Help(usize),
    /// What was told so far.
    Messages,
    /// A line is being typed.
    Prompt(Prompt),
    /// The commands of a turn.
    Ran(Ran),
    /// A session is being picked.
    Sessions(Box<Picker>),
}

/// What the person chose, and what stays when another file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// Unified, side by side, or by width.
    pub layout: LayoutChoice,
    /// Long lines are wrapped.
    pub wrap: bool,
    /// The list is shown.
    pub sidebar: bool,
    /// The newest turn is opened when it begins or changes.
    pub follow: bool,
    /// Unchanged lines around a change.
    pub context: u32,
}

impl Default for Choices {
    fn default() -> Self {
        Self { layout: LayoutChoice::Auto, wrap: false, sidebar: true, follow: true, context: 3 }
    }
}

/// The state of the reviewer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct App {
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// What is known of the session as a whole.
    pub info: SessionInfo,
    /// The turns, in order.
    pub turns: Archive<TurnHead>,
    /// Those that were opened, by number, with what has been found out about their changes.
    pub opened: BTreeMap<u32, TurnView>,
    /// The list.
    pub outline: Outline,
    /// The file.
    pub viewer: Viewer,
    /// Which pane the keys act on.
    pub focus: Focus,
    /// What lies over the panes.
    pub overlay: Overlay,
    /// What the person chose.
    pub choices: Choices,
    /// How the log is followed.
    pub live: Live,
    /// Whether all of the log has been read.
    pub is_indexed: bool,
    /// A turn began or changed that is not looked at.
    pub news: Option<u32>,
    /// The last thing to tell.
    pub message: Option<String>,
    /// Warnings so far, the newest last.
    pub messages: Vec<String>,
    /// What the recorder does.
    pub recorder: Option<String>,
    /// What the diff is against.
    pub base: Base,
    /// The open turn against that base; unused for `Base::Turn`.
    pub against: Against,
    /// The file whose turns are stepped through.
    pub history: Option<History>,
    /// A newer session of this directory that began in the meantime.
    pub newer: Option<Box<SessionRow>>,
    /// The path of the file to be opened once the open turn's list is there.
    wanted: Option<String>,
    requests: u64,
}

impl App {
    /// A state for a screen of this size.
    pub fn new(size: (u16, u16), choices: Choices) -> Self {
        Self { size, choices, ..Self::default() }
    }

    /// One file alone: the list would have nothing to tell.
    pub fn show_only_the_file(&mut self) {
        self.choices.sidebar = false;
        self.focus = Focus::File;
    }

    /// Where everything stands on the screen.
    pub fn areas(&self) -> Areas {
        let panes = Panes {
            sidebar: self.choices.sidebar,
            sidebar_focused: self.focus == Focus::List,
            notes: self.notes().len() as u16,
        };
        areas(self.size, panes)
    }

    /// The layout that the viewer's width asks for, or that was chosen. A file with one side has
    /// nothing to stand beside it.
    pub fn layout(&self) -> &'static dyn Layout {
        let one_sided = |c: &Arc<Comparison>| c.old.is_empty() || c.new.is_empty();
        let one_sided = self.viewer.comparison().is_some_and(one_sided);
        let choice = if one_sided { LayoutChoice::Fixed(0) } else { self.choices.layout };
        choice.layout(self.areas().text.width)
    }

    /// The turn that is open in the list, with what changed against the base.
    pub fn open_turn(&self) -> Option<&TurnView> {
        let turn = self.opened.get(&self.open_number()?)?;
        Some(if self.base == Base::Turn { turn } else { &self.against.view })
    }

    /// The number of the turn that is open in the list.
    fn open_number(&self) -> Option<u32> {
        self.turns.key(self.outline.open?).map(|key| key.turn)
    }

    /// The 0-based index of a turn, by its number.
    pub fn place_of(&self, turn: u32) -> Option<usize> {
        place_in(&self.turns, turn)
    }

    fn open_turn_mut(&mut self) -> Option<&mut TurnView> {
        let turn = self.opened.get_mut(&self.open_number()?)?;
        Some(if self.base == Base::Turn { turn } else { &mut self.against.view })
    }

    /// What is to be said of the file that is looked at, a line each.
    pub fn notes(&self) -> Vec<String> {
        let change = self.viewer.subject.as_ref().and_then(Subject::change);
        change.map_or_else(Vec::new, |change| notes::of(change, self.viewer.shown.as_ref()))
    }

    /// Nothing that was asked for is still awaited.
    pub fn is_settled(&self) -> bool {
        let is_asked = self.open_turn().is_some_and(|turn| turn.changes == Load::Asked);
        let is_read = match &self.overlay {
            Overlay::Ran(ran) => ran.is_known(),
            _ => true,
        };
        !is_asked
            && is_read
            && !self.viewer.is_waiting
            && (self.is_indexed || !self.turns.is_empty())
    }

    fn text_height(&self) -> usize {
        usize::from(self.areas().text.height)
    }

    fn list_height(&self) -> usize {
        usize::from(self.areas().sidebar.height.max(1))
    }

    fn next_request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }
}

fn place_in(turns: &Archive<TurnHead>, turn: u32) -> Option<usize> {
    let at = turns.partition_point(|key| key.turn < turn);
    turns.key(at).is_some_and(|key| key.turn == turn).then_some(at)
}
