//! What the diff is against: the open turn's own beginning, or another base that is on for all.

use super::App;
use super::event::Effect;
use super::outline::{Load, TurnView};
use crate::content::Changes;
use crate::reader::Base;
use std::sync::Arc;

/// The open turn with what changed against another base than its own beginning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Against {
    /// The open turn; `revision` is that of the session for which `changes` is the answer.
    pub view: TurnView,
    /// What was asked and not answered yet: turn, revision, base.
    asked: Option<(u32, u64, Base)>,
}

/// What a base is called.
pub fn name(base: Base, turn: u32) -> String {
    match base {
        Base::Turn => format!("turn {turn}"),
        Base::Since => format!("since turn {turn}"),
        Base::Session => "whole session".into(),
        Base::Head => "HEAD".into(),
        Base::MergeBase => "merge base".into(),
    }
}

/// The next base.
pub(super) fn next(app: &mut App) -> Vec<Effect> {
    let Some(turn) = app.open_turn().map(|turn| turn.head.turn.turn) else {
        app.message = Some("open a turn first".into());
        return Vec::new();
    };
    if turn == 0 {
        app.message = Some("two trees have no other base".into());
        return Vec::new();
    }
    app.history = None;
    let base = app.base.next();
    app.set_base(base)
}

impl App {
    /// Asks for the changes against another base; the file that is open stays so if it is listed.
    pub(super) fn set_base(&mut self, base: Base) -> Vec<Effect> {
        let path = self.viewer.subject.as_ref().and_then(super::Subject::path);
        let path = path.or_else(|| self.wanted.take());
        self.base = base;
        self.against = Against::default();
        let Some(at) = self.outline.open else { return Vec::new() };
        let turn = self.open_number().unwrap_or_default();
        self.message = Some(format!("base: {}", name(base, turn)));
        self.open_turn_on(at, path)
    }

    /// Asks what there is to list below the open turn, where that is not known or asked yet.
    pub(super) fn load_open(&mut self) -> Vec<Effect> {
        let head = self.outline.open.and_then(|at| self.turns.get(at));
        let Some(head) = head.map(|head| head.clone()) else { return Vec::new() };
        let (number, revision) = (head.turn.turn, head.revision);
        let turn = self.opened.entry(number).or_default();
        turn.head = head;
        if self.base != Base::Turn {
            return self.load_against();
        }
        if turn.loaded != Some(revision) {
            // What is known of an earlier state stays until the answer comes.
            if turn.changes == Load::Unasked {
                turn.changes = Load::Asked;
            }
            return vec![Effect::LoadChanges { turn: number, revision, base: Base::Turn }];
        }
        // Another list may have been counted instead in the meantime.
        let uncounted = turn.uncounted().into_iter();
        uncounted
            .map(|changes| Effect::Count { turn: number, revision, base: Base::Turn, changes })
            .collect()
    }

    /// The same for another base. What is shown stays until the answer comes; while one is
    /// awaited no other is asked, so that a log that grows all the time cannot put it off for ever.
    pub(super) fn load_against(&mut self) -> Vec<Effect> {
        let head = self.outline.open.and_then(|at| self.turns.get(at));
        let Some(mut head) = head.map(|head| head.clone()) else { return Vec::new() };
        let (number, base) = (head.turn.turn, self.base);
        let revision = self.session_revision();
        let against = &mut self.against;
        if base.is_of_turn() && against.view.head.turn.turn != number {
            *against = Against::default();
        }
        head.revision = against.view.head.revision;
        against.view.head = head;
        if against.asked.is_some() || against.view.loaded == Some(revision) {
            return Vec::new();
        }
        if against.view.changes == Load::Unasked {
            against.view.changes = Load::Asked;
        }
        against.asked = Some((number, revision, base));
        vec![Effect::LoadChanges { turn: number, revision, base }]
    }

    /// Takes an answer for another base. A commit that is not there is passed over.
    pub(super) fn take_against(
        &mut self,
        asked: (u32, u64, Base),
        changes: Result<Option<Arc<Changes>>, String>,
    ) -> Vec<Effect> {
        if self.against.asked != Some(asked) {
            return Vec::new();
        }
        let (turn, revision, base) = asked;
        self.against.asked = None;
        let view = &self.against.view;
        if let (Err(why), Load::Asked, true) = (&changes, &view.changes, base.is_commit()) {
            let message = format!("{} is passed over: {why}", name(base, turn));
            let effects = self.set_base(base.next());
            self.message = Some(message);
            return effects;
        }
        let chosen = self.chosen_path();
        let view = &mut self.against.view;
        let is_first = view.loaded.is_none();
        view.head.revision = revision;
        view.set_changes(changes);
        let mut effects = self.list_anew(chosen.as_deref(), is_first);
        if let Some(changes) = self.against.view.uncounted() {
            effects.push(Effect::Count { turn, revision, base, changes });
        }
        effects.extend(self.load_against());
        effects
    }

    /// Differs when anything of any turn may differ.
    fn session_revision(&self) -> u64 {
        self.turns.keys().fold(self.turns.len() as u64, |sum, turn| {
            sum.wrapping_mul(31).wrapping_add(turn.revision)
        })
    }
}
