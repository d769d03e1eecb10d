//! The open turn's list and the file that is open in it: what stays chosen when either changes.

use super::App;
use super::event::{Effect, Subject};
use super::outline::{Item, Load, TurnView};
use crate::reader::Base;

/// Shows the file under the list's cursor.
pub(super) fn open_chosen(app: &mut App) -> Vec<Effect> {
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
fn presented(turn: &TurnView, at: usize) -> Option<Subject> {
    let file = turn.head.turn.presented.get(at)?;
    let files = turn.known().map(|changes| changes.files.as_slice()).unwrap_or_default();
    match files.iter().find(|change| change.file.display == file.display) {
        Some(change) => Some(Subject::Change(Box::new(change.clone()))),
        None => turn.head.deliverables.get(at).cloned().map(Subject::Present),
    }
}

impl App {
    /// Opens a turn in the list and asks what it changed.
    pub(super) fn open_turn_at(&mut self, at: usize) -> Vec<Effect> {
        self.open_turn_on(at, None)
    }

    /// The same, and the file with this path (as the list spells it) if the turn lists it.
    pub(super) fn open_turn_on(&mut self, at: usize, path: Option<String>) -> Vec<Effect> {
        self.outline.open = Some(at);
        self.news = None;
        self.wanted = path;
        let mut effects = self.load_open();
        self.refill();
        let wanted = self.take_wanted();
        let is_awaited = self.wanted.is_some();
        let first = || self.outline.first_file().filter(|_| !is_awaited);
        if let Some(item) = wanted.or_else(first) {
            self.choose(item);
            effects.extend(open_chosen(self));
        } else {
            self.choose(Item::Turn(at));
            effects.extend(self.show_no_file());
        }
        effects
    }

    /// The file that was asked for; it is asked for no longer once the list is known.
    pub(super) fn take_wanted(&mut self) -> Option<Item> {
        let path = self.wanted.as_ref()?;
        let turn = self.open_turn()?;
        if matches!(turn.changes, Load::Unasked | Load::Asked) {
            return None;
        }
        let files = turn.known().map(|changes| changes.files.as_slice()).unwrap_or_default();
        let at = files.iter().position(|change| change.file.path == *path);
        self.wanted = None;
        at.map(Item::File)
    }

    /// The viewer is empty: there is the turn's overview instead.
    pub(super) fn show_no_file(&mut self) -> Vec<Effect> {
        self.viewer.subject = None;
        self.viewer.shown = None;
        self.viewer.is_waiting = false;
        vec![Effect::CancelCompare]
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
        let Some(turn) = self.open_number().and_then(|turn| self.opened.get(&turn)) else { return };
        self.outline.fill(if self.base == Base::Turn { turn } else { &self.against.view });
    }

    /// The path of the file under the list's cursor, which stays when the list is read anew.
    pub(super) fn chosen_path(&self) -> Option<String> {
        self.path_of(self.outline.chosen())
    }

    fn path_of(&self, item: Item) -> Option<String> {
        let turn = self.open_turn()?;
        match item {
            Item::File(at) => turn.known()?.files.get(at).map(|change| change.file.display.clone()),
            Item::Presented(at) => turn.head.turn.presented.get(at).map(|file| file.path.clone()),
            _ => None,
        }
    }

    /// The open turn's list is another one: the file that was asked for is opened, else the one
    /// that was chosen, else the first. Whoever stands on a turn stays there, unless that turn has
    /// just been opened or is followed.
    pub(super) fn list_anew(&mut self, chosen: Option<&str>, is_first: bool) -> Vec<Effect> {
        let stands_on = match self.outline.chosen() {
            Item::Turn(at) => Some(at),
            _ => None,
        };
        let is_own = stands_on == self.outline.open && (is_first || self.choices.follow);
        self.refill();
        if let Some(at) = stands_on.filter(|_| !is_own && self.wanted.is_none()) {
            self.choose(Item::Turn(at));
            return Vec::new();
        }
        let wanted = self.take_wanted();
        let again = || {
            let mut files = self.outline.files();
            files.find(|item| chosen.is_some() && self.path_of(*item).as_deref() == chosen)
        };
        if let Some(item) = wanted.or_else(again).or_else(|| self.outline.first_file()) {
            self.choose(item);
            open_chosen(self)
        } else {
            self.choose(Item::Turn(self.outline.open.unwrap_or(0)));
            self.show_no_file()
        }
    }
}
