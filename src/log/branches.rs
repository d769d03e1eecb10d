//! The turns of a log whose entries form a tree: which branch is live, and what each turn told.
//!
//! The live branch is told, or the one that was chosen. A turn goes on with the branch of the turn
//! before it, unless another one did so already: then it begins the next branch. So a branch keeps
//! its number, whatever is live.
//!
//! A turn belongs to the turn that stands before it on its branch, so its number never changes.
//! Entries belong to the turn of their nearest prompt: results of parallel calls, which hang on
//! side branches within one turn, are so no branch of their own.

use super::Output;
use super::entries::Entries;
use crate::session::archive::{Archive, Item};
use crate::session::event::{EditOutcome, Header, LogEvent};
use crate::session::{Branch, TurnState};
use serde::{Deserialize, Serialize};

/// The place before the first turn.
pub(super) const ROOT: usize = 0;

/// The tree of turns, and the events of each, so that another branch can be told.
#[derive(Debug)]
pub(super) struct Branches {
    turns: Vec<Turn>,
    /// What was told of each turn.
    events: Archive<Events>,
    entries: Entries,
    live: usize,
    /// The last turn of each branch, in order of number.
    tips: Vec<usize>,
    /// The branch to tell, where one was chosen.
    chosen: Option<u32>,
    /// What was told of the branches last.
    told: Option<Branch>,
    header: Header,
    /// How many events were told again since the reader last caught up.
    told_again: usize,
    /// Another branch is to be told and was not: that waits until the reader has caught up.
    stale: bool,
}

/// How many events may be told again for branches that change on the way through a log. A log that
/// changes its branch at every row would otherwise cost its length times its length.
const TOLD_AGAIN: usize = 100_000;

#[derive(Debug, Default)]
struct Turn {
    /// The turn before it on its branch.
    parent: Option<u32>,
    /// Its branch, by 0-based place.
    branch: u32,
    /// Another turn goes on from here.
    goes_on: bool,
    number: u32,
    state: TurnState,
    last_at: Option<i64>,
    /// Calls without a result.
    waiting: u32,
}

/// What was told of one turn, in order.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct Events(Vec<LogEvent>);

impl Item for Events {
    type Key = ();

    fn key(&self) {}
}

impl Default for Branches {
    fn default() -> Self {
        Self {
            turns: vec![Turn::default()],
            events: std::iter::once(Events::default()).collect(),
            entries: Entries::default(),
            live: ROOT,
            tips: vec![ROOT],
            chosen: None,
            told: None,
            header: Header::default(),
            told_again: 0,
            stale: false,
        }
    }
}

impl Branches {
    /// Tells this branch instead of the live one. Nothing was told yet.
    pub(super) fn choose(&mut self, branch: u32) {
        self.chosen = Some(branch);
        self.stale = true;
    }

    /// The last turn of the branch that is told.
    fn shown(&self) -> usize {
        self.chosen_tip().unwrap_or(self.live)
    }

    fn chosen_tip(&self) -> Option<usize> {
        let at = (self.chosen? as usize).checked_sub(1)?;
        self.tips.get(at).copied()
    }

    /// The last turn of the live branch.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// The turn of an entry that was noted.
    pub(super) fn turn_of(&self, id: &str) -> Option<usize> {
        self.entries.turn_of(id)
    }

    /// Whether this very entry was noted before (a copy of it comes along with a resumed session).
    pub(super) fn is_copy(&self, id: &str, at: Option<i64>) -> bool {
        self.entries.has(id, at)
    }

    /// Notes which turn an entry belongs to.
    pub(super) fn note(&mut self, id: &str, at: Option<i64>, turn: usize) {
        self.entries.note(id, at, turn);
        if let Some(turn) = self.turns.get_mut(turn) {
            turn.last_at = turn.last_at.max(at);
        }
    }

    /// What was told of the session as a whole.
    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// The 1-based number of a turn on its branch.
    pub(super) fn number(&self, turn: usize) -> u32 {
        self.turns.get(turn).map_or(0, |turn| turn.number)
    }

    /// How a turn stands.
    pub(super) fn state(&self, turn: usize) -> TurnState {
        self.turns.get(turn).map_or(TurnState::Open, |turn| turn.state)
    }

    /// Whether anything of the kind was told of a turn so far.
    pub(super) fn has_told(&self, turn: usize, is_meant: impl Fn(&LogEvent) -> bool) -> bool {
        self.events.get(turn).is_some_and(|events| events.0.iter().any(is_meant))
    }

    /// Tells something of the session as a whole.
    pub(super) fn tell_header(&mut self, change: impl FnOnce(&mut Header), out: &mut Output) {
        let before = self.header.clone();
        change(&mut self.header);
        if self.header != before && !self.stale {
            out.events.push(LogEvent::Header(self.header.clone()));
        }
    }

    /// Begins a turn behind another one and makes its branch the live one.
    pub(super) fn start(&mut self, parent: usize, at: Option<i64>, out: &mut Output) -> usize {
        if parent == self.live {
            self.close(parent, out);
        }
        let number = self.number(parent).saturating_add(1);
        let turn = self.turns.len();
        let branch = self.branch_behind(parent, turn);
        self.events.push(Events::default());
        self.events.pack();
        let (parent, branch) = (Some(parent as u32), branch as u32);
        self.turns.push(Turn { parent, branch, number, ..Turn::default() });
        self.make_live(turn, out);
        self.tell(turn, LogEvent::TurnStart { turn: number, at }, out);
        turn
    }

    /// Tells an event of a turn; it is heard while the turn is on the live branch.
    pub(super) fn tell(&mut self, turn: usize, event: LogEvent, out: &mut Output) {
        let heard = !self.stale && self.is_before(turn, self.shown());
        if let Some(turn) = self.turns.get_mut(turn) {
            match &event {
                LogEvent::Edit(edit) if edit.outcome == EditOutcome::Pending => turn.waiting += 1,
                LogEvent::Command(_) => turn.waiting += 1,
                LogEvent::EditSettled { .. } | LogEvent::CommandSettled { .. } => {
                    turn.waiting = turn.waiting.saturating_sub(1);
                }
                LogEvent::TurnEnd { state, .. } => turn.state = *state,
                _ => {}
            }
            if heard {
                out.events.push(event.clone());
            }
        }
        if let Some(events) = self.events.get_mut(turn) {
            events.0.push(event);
        }
    }

    /// Ends a turn.
    pub(super) fn end(&mut self, turn: usize, at: Option<i64>, state: TurnState, out: &mut Output) {
        if turn != ROOT {
            let number = self.number(turn);
            self.tell(turn, LogEvent::TurnEnd { turn: number, at, state }, out);
        }
    }

    /// Makes the branch that ends in this turn the live one. A branch that goes on is told
    /// further; another branch is told anew.
    pub(super) fn make_live(&mut self, turn: usize, out: &mut Output) {
        if turn == self.live {
            return;
        }
        let goes_on = self.before(turn) == Some(self.live);
        self.live = turn;
        if goes_on || self.chosen_tip().is_some() {
            return;
        }
        self.stale = true;
        if self.told_again < TOLD_AGAIN {
            self.tell_again(out);
        }
    }

    /// All rows are read that there are: what waited is told.
    pub(super) fn caught_up(&mut self, out: &mut Output) {
        if self.stale {
            self.tell_again(out);
        }
        self.told_again = 0;
        let now = self.branch();
        if now.total > 1 && self.told != Some(now) {
            self.told = Some(now);
            out.events.push(LogEvent::Branches(now));
        }
    }

    fn branch(&self) -> Branch {
        let number = |turn: usize| self.turns.get(turn).map_or(0, |turn| turn.branch) + 1;
        Branch {
            shown: number(self.shown()),
            live: number(self.live),
            total: self.tips.len() as u32,
        }
    }

    /// The 0-based place of the branch that a new turn behind this one is on.
    fn branch_behind(&mut self, parent: usize, turn: usize) -> usize {
        let Some(before) = self.turns.get_mut(parent) else { return 0 };
        if std::mem::replace(&mut before.goes_on, true) {
            self.tips.push(turn);
            // The chosen one may begin late.
            self.stale |= self.chosen == Some(self.tips.len() as u32);
            return self.tips.len() - 1;
        }
        let branch = before.branch as usize;
        if let Some(tip) = self.tips.get_mut(branch) {
            *tip = turn;
        }
        branch
    }

    /// Tells the branch anew.
    fn tell_again(&mut self, out: &mut Output) {
        self.stale = false;
        out.events.push(LogEvent::Reset);
        out.events.push(LogEvent::Header(self.header.clone()));
        self.told = None;
        for turn in self.path(self.shown()).into_iter().rev() {
            let Some(events) = self.events.get(turn) else { continue };
            out.events.extend(events.0.iter().cloned());
            self.told_again += events.0.len();
        }
        self.told_again += 1;
    }

    /// Whether a turn is on the live branch.
    pub(super) fn is_live(&self, turn: usize) -> bool {
        self.is_before(turn, self.live)
    }

    /// Whether a turn is another one, or before it on its branch.
    fn is_before(&self, turn: usize, other: usize) -> bool {
        let number = self.number(turn);
        let mut at = Some(other);
        while let Some(here) = at {
            if here == turn {
                return true;
            }
            let Some(record) = self.turns.get(here) else { return false };
            at = record.parent.filter(|_| record.number > number).map(|turn| turn as usize);
        }
        false
    }

    /// A next prompt came: a turn that has not ended was completed, or left with calls that
    /// never came back.
    fn close(&mut self, turn: usize, out: &mut Output) {
        let Some(record) = self.turns.get(turn) else { return };
        if record.state == TurnState::Open {
            let state =
                if record.waiting > 0 { TurnState::Interrupted } else { TurnState::Completed };
            let at = record.last_at;
            self.end(turn, at, state, out);
        }
    }

    /// A turn and those before it on its branch, last first.
    fn path(&self, turn: usize) -> Vec<usize> {
        std::iter::successors(Some(turn), |turn| self.before(*turn)).collect()
    }

    /// The turn before a turn on its branch.
    fn before(&self, turn: usize) -> Option<usize> {
        self.turns.get(turn)?.parent.map(|turn| turn as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::transcript::Transcript;

    fn prompt(branches: &mut Branches, parent: usize, text: &str, out: &mut Output) -> usize {
        let turn = branches.start(parent, None, out);
        let number = branches.number(turn);
        branches.tell(turn, LogEvent::Prompt { turn: number, text: text.into() }, out);
        turn
    }

    fn prompts(out: &Output) -> Vec<String> {
        let mut transcript = Transcript::default();
        out.events.iter().for_each(|event| transcript.apply(event.clone()));
        transcript.turns.into_iter().map(|turn| turn.prompt).collect()
    }

    #[test]
    fn another_branch_is_told_anew_and_the_old_one_can_come_back() {
        let (mut branches, mut out) = (Branches::default(), Output::default());
        let a = prompt(&mut branches, ROOT, "a", &mut out);
        let b = prompt(&mut branches, a, "b", &mut out);
        let c = prompt(&mut branches, b, "c", &mut out);
        assert_eq!(prompts(&out), ["a", "b", "c"]);
        let d = prompt(&mut branches, a, "d", &mut out);
        assert_eq!(prompts(&out), ["a", "d"]);
        assert!(branches.is_live(a) && branches.is_live(d) && !branches.is_live(c));
        branches.tell(b, LogEvent::ToolSettled { turn: 2 }, &mut out);
        branches.make_live(c, &mut out);
        assert_eq!(prompts(&out), ["a", "b", "c"]);
        branches.make_live(a, &mut out);
        assert_eq!(prompts(&out), ["a"]);
    }

    #[test]
    fn a_branch_of_very_many_turns_is_told_anew_as_it_was() {
        let (mut branches, mut out) = (Branches::default(), Output::default());
        let mut turns = vec![ROOT];
        for n in 1..=600_usize {
            // Behind the third turn the agent goes back once.
            let parent = if n == 401 { turns[3] } else { turns[n - 1] };
            turns.push(prompt(&mut branches, parent, &n.to_string(), &mut out));
            branches.tell(turns[n], LogEvent::ToolSettled { turn: 1 }, &mut out);
        }
        let names = |numbers: Vec<usize>| -> Vec<String> {
            numbers.iter().map(ToString::to_string).collect()
        };
        assert_eq!(prompts(&out), names((1..=3).chain(401..=600).collect()));
        branches.tell(turns[5], LogEvent::ChangesNoticed { turn: 5 }, &mut out);
        branches.make_live(turns[400], &mut out);
        assert_eq!(prompts(&out), names((1..=400).collect()));
        let late = out.events.iter().filter(|e| matches!(e, LogEvent::ChangesNoticed { .. }));
        assert_eq!(late.count(), 1, "what was told of a turn that was left is told with it");
        assert!(branches.has_told(turns[5], |e| matches!(e, LogEvent::ChangesNoticed { .. })));
    }

    #[test]
    fn a_chosen_branch_is_told_whatever_is_live() {
        // A tree of turns whose next turn stands behind some turn before it, by luck.
        let mut luck = 7_usize;
        let parents: Vec<usize> = (0..60)
            .map(|turns| {
                luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (luck >> 33) % (turns + 1)
            })
            .collect();
        let total = {
            let (mut branches, mut out) = (Branches::default(), Output::default());
            for parent in &parents {
                branches.start(*parent, None, &mut out);
            }
            branches.branch().total
        };
        assert!(total > 10);
        for chosen in 1..=total {
            // Told as it comes, in the end, or now and then: it is the same.
            for every in [1, 7, 1000] {
                let (mut branches, mut out) = (Branches::default(), Output::default());
                branches.choose(chosen);
                for (at, parent) in parents.iter().enumerate() {
                    prompt(&mut branches, *parent, &at.to_string(), &mut out);
                    if at % every == 0 {
                        branches.caught_up(&mut out);
                    }
                }
                branches.caught_up(&mut out);
                let tip = branches.tips[chosen as usize - 1];
                let path: Vec<String> = branches
                    .path(tip)
                    .into_iter()
                    .rev()
                    .skip(1)
                    .map(|turn| (turn - 1).to_string())
                    .collect();
                assert_eq!(prompts(&out), path, "branch {chosen}");
                let mut transcript = Transcript::default();
                out.events.iter().for_each(|event| transcript.apply(event.clone()));
                assert_eq!(transcript.branch.map(|branch| branch.shown), Some(chosen));
            }
        }
    }

    #[test]
    fn branches_that_change_without_end_are_told_when_the_log_is_read() {
        let (mut branches, mut out) = (Branches::default(), Output::default());
        let a = prompt(&mut branches, ROOT, "a", &mut out);
        let b = prompt(&mut branches, ROOT, "b", &mut out);
        for _ in 0..10_000 {
            branches.tell(a, LogEvent::ToolSettled { turn: 1 }, &mut out);
            branches.make_live(a, &mut out);
            branches.make_live(b, &mut out);
        }
        let changes = out.events.len();
        assert!(changes < 2 * TOLD_AGAIN, "{changes} events");
        prompt(&mut branches, a, "c", &mut out);
        assert_eq!(out.events.len(), changes);
        branches.caught_up(&mut out);
        assert_eq!(prompts(&out), ["a", "c"]);
        let told = out.events.len();
        branches.caught_up(&mut out);
        prompt(&mut branches, b, "d", &mut out);
        assert_eq!((out.events.len() > told, prompts(&out)), (true, vec!["b".into(), "d".into()]));
    }

    #[test]
    fn only_a_prompt_on_the_same_branch_closes_a_turn() {
        let (mut branches, mut out) = (Branches::default(), Output::default());
        let a = prompt(&mut branches, ROOT, "a", &mut out);
        prompt(&mut branches, ROOT, "again", &mut out);
        assert_eq!(branches.state(a), TurnState::Open);
        let live = branches.live();
        prompt(&mut branches, live, "next", &mut out);
        assert_eq!(branches.state(live), TurnState::Completed);
    }
}
