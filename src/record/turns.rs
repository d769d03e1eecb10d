//! Which turn is to be looked at, and when: log events in, actions out. No disk and no clock.

use crate::session::TurnState;
use crate::session::event::{EditOutcome, Header, LogEvent};
use crate::session::transcript::{Transcript, TurnRecord};
use std::collections::{BTreeMap, HashMap};

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// The work tree is to be taken as the turn's baseline.
    Baseline {
        /// The turn.
        turn: u32,
    },
    /// A file tool is about to touch a file (or has, if `too_late`).
    Capture {
        /// The turn.
        turn: u32,
        /// The tool call.
        call_id: String,
        /// As the log spells it.
        path: String,
        /// The call has its result already: what the file held before cannot be seen any more.
        too_late: bool,
    },
    /// What the turn changed is to be worked out and kept.
    Finish {
        /// The turn.
        turn: u32,
        /// The work tree is still the turn's own: look at it (again).
        look: bool,
    },
    /// The turn was over before it could be looked at.
    Missed {
        /// The turn.
        turn: u32,
    },
}

/// How far a turn has come.
#[derive(Debug)]
enum Stage {
    /// Never to be recorded.
    Over,
    /// It has a baseline; so many of its edits have been told as captures.
    Running { told: usize },
    /// Finished when so many of its events could have meant changes.
    Finished { marks: u32 },
}

/// The turns of one session. The log's events decide; what was done for each turn is remembered
/// over a log that is told anew.
#[derive(Debug, Default)]
pub(super) struct Turns {
    transcript: Transcript,
    /// How many events of each turn could mean that its changes are others by now.
    marks: HashMap<u32, u32>,
    stages: BTreeMap<u32, (Option<i64>, Stage)>,
    /// The log is being told anew, and is not complete yet.
    reading: bool,
    /// Turns below this one are over.
    first: u32,
    /// Turns that end could have been looked at.
    is_watched: bool,
}

impl Turns {
    /// Takes one thing that the log tells.
    pub(super) fn apply(&mut self, event: LogEvent) {
        match &event {
            LogEvent::Reset => {
                self.reading = true;
                self.marks.clear();
            }
            LogEvent::TurnStart { .. } => self.forget_what_is_over(),
            LogEvent::EditSettled { turn, .. }
            | LogEvent::CommandSettled { turn, .. }
            | LogEvent::ToolSettled { turn }
            | LogEvent::ChangesNoticed { turn }
            | LogEvent::TurnEnd { turn, .. } => *self.marks.entry(*turn).or_default() += 1,
            _ => {}
        }
        self.transcript.apply(event);
    }

    /// All that there is has been told.
    pub(super) fn caught_up(&mut self) {
        if !std::mem::take(&mut self.reading) {
            return;
        }
        let (transcript, marks) = (&self.transcript, &self.marks);
        self.stages.retain(|turn, (started_at, stage)| {
            if let Stage::Finished { marks: seen } = stage {
                // A log that was cut tells less than it did.
                *seen = (*seen).min(marks.get(turn).copied().unwrap_or_default());
            }
            transcript.turn(*turn).is_some_and(|record| record.started_at == *started_at)
        });
    }

    /// Takes every turn that has ended by now as one that nobody could look at.
    pub(super) fn skip_ended(&mut self) {
        self.is_watched = true;
        let Some(last) = self.transcript.turns.last() else { return };
        let next = last.turn.saturating_add(1);
        self.first = if last.state == TurnState::Open { last.turn } else { next };
    }

    /// Forgets what was done: the log is another session's.
    pub(super) fn forget_stages(&mut self) {
        self.stages.clear();
        (self.first, self.is_watched) = (0, false);
    }

    /// Whether the log is being told anew and is not complete yet.
    pub(super) fn is_being_told(&self) -> bool {
        self.reading
    }

    /// Whether the newest turn runs, as far as the log tells.
    pub(super) fn is_open(&self) -> bool {
        self.transcript.turns.last().is_some_and(|record| record.state == TurnState::Open)
    }

    /// Whether a turn is in hand.
    pub(super) fn is_running(&self) -> bool {
        self.stages.values().any(|(_, stage)| matches!(stage, Stage::Running { .. }))
    }

    /// What is known of the session.
    pub(super) fn header(&self) -> &Header {
        &self.transcript.header
    }

    /// What the log tells of a turn.
    pub(super) fn record(&self, turn: u32) -> Option<&TurnRecord> {
        self.transcript.turn(turn)
    }

    /// Whether a tool has been called in the turn, as far as is known by now.
    pub(super) fn has_called(&self, turn: u32) -> bool {
        self.record(turn).is_some_and(|record| {
            record.tool_settled || !record.edits.is_empty() || !record.commands.is_empty()
        })
    }

    /// Whether a turn after this one has begun and called a tool.
    pub(super) fn is_overtaken(&self, turn: u32) -> bool {
        let later = self.transcript.turns.iter().rev().take_while(|record| record.turn > turn);
        later.into_iter().any(|record| self.has_called(record.turn))
    }

    /// The next thing to do; it counts as done. Turns come in order.
    pub(super) fn next(&mut self) -> Option<Action> {
        if self.reading {
            return None;
        }
        let turns = &self.transcript.turns;
        let last = turns.last()?.turn;
        let from = turns.partition_point(|record| record.turn < self.first);
        let (stages, marks) = (&mut self.stages, &self.marks);
        turns.get(from..)?.iter().find_map(|record| {
            let is_last = record.turn == last;
            let marks = marks.get(&record.turn).copied().unwrap_or_default();
            step(record, is_last, marks, stages)
        })
    }

    /// The turn that runs now, which counts as finished from here on.
    pub(super) fn finish_running(&mut self) -> Option<Action> {
        let marks = &self.marks;
        self.stages.iter_mut().rev().find_map(|(turn, (_, stage))| {
            matches!(stage, Stage::Running { .. }).then(|| {
                *stage = Stage::Finished { marks: marks.get(turn).copied().unwrap_or_default() };
                Action::Finish { turn: *turn, look: true }
            })
        })
    }

    /// A turn that will not be recorded needs no edits, and one that was over before anything was
    /// recorded need not be known: a long log has many.
    fn forget_what_is_over(&mut self) {
        let (stages, is_watched, first) = (&self.stages, self.is_watched, self.first);
        let is_known = |turn: u32| is_watched && turn >= first || stages.contains_key(&turn);
        self.marks.retain(|turn, _| is_known(*turn));
        self.transcript.turns.retain(|record| is_known(record.turn));
        let Some(last) = self.transcript.turns.last_mut() else { return };
        if last.state != TurnState::Open && !stages.contains_key(&last.turn) {
            last.edits = Vec::new();
            last.commands = Vec::new();
            last.known_texts = Vec::new();
            last.presented = Vec::new();
            last.prompt = String::new();
        }
    }
}

/// The next thing to do for one turn.
fn step(
    record: &TurnRecord,
    is_last: bool,
    marks: u32,
    stages: &mut BTreeMap<u32, (Option<i64>, Stage)>,
) -> Option<Action> {
    let turn = record.turn;
    // A log whose turns have no end ends one by beginning the next.
    let has_ended = record.state != TurnState::Open || !is_last;
    let Some((_, stage)) = stages.get_mut(&turn) else {
        let (stage, action) = if has_ended {
            (Stage::Over, Action::Missed { turn })
        } else {
            (Stage::Running { told: 0 }, Action::Baseline { turn })
        };
        stages.insert(turn, (record.started_at, stage));
        return Some(action);
    };
    match stage {
        Stage::Running { told } => {
            if let Some(edit) = record.edits.get(*told) {
                *told += 1;
                return Some(Action::Capture {
                    turn,
                    call_id: edit.call_id.clone(),
                    path: edit.path.clone(),
                    too_late: edit.outcome == EditOutcome::Applied,
                });
            }
            has_ended.then(|| {
                *stage = Stage::Finished { marks };
                Action::Finish { turn, look: true }
            })
        }
        Stage::Finished { marks: seen } => (marks > *seen).then(|| {
            *seen = marks;
            // Once the next turn has begun, the work tree is that turn's.
            Action::Finish { turn, look: is_last }
        }),
        Stage::Over => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::{Edit, EditSource, Stamp};
    use std::sync::Arc;

    fn start(turn: u32) -> LogEvent {
        LogEvent::TurnStart { turn, at: Some(i64::from(turn)) }
    }

    fn end(turn: u32) -> LogEvent {
        LogEvent::TurnEnd { turn, at: None, state: TurnState::Completed }
    }

    fn edit(turn: u32, call: &str, path: &str) -> LogEvent {
        LogEvent::Edit(Edit {
            turn,
            call_id: call.into(),
            tool: "write".into(),
            path: path.into(),
            outcome: EditOutcome::Pending,
            body: EditSource::Kept(Arc::default()),
            stamp: Stamp::default(),
        })
    }

    fn settled(turn: u32, call: &str) -> LogEvent {
        LogEvent::EditSettled {
            turn,
            call_id: call.into(),
            outcome: EditOutcome::Applied,
            result: None,
            body: None,
        }
    }

    fn tell(turns: &mut Turns, events: Vec<LogEvent>) -> Vec<Action> {
        for event in events {
            turns.apply(event);
        }
        std::iter::from_fn(|| turns.next()).collect()
    }

    /// A session that was caught up with after these events.
    fn found(events: Vec<LogEvent>) -> Turns {
        let mut turns = Turns::default();
        assert_eq!(tell(&mut turns, [vec![LogEvent::Reset], events].concat()), []);
        turns.caught_up();
        turns.skip_ended();
        turns
    }

    fn baseline(turn: u32) -> Action {
        Action::Baseline { turn }
    }

    fn finish(turn: u32, look: bool) -> Action {
        Action::Finish { turn, look }
    }

    fn capture(turn: u32, call: &str, path: &str, too_late: bool) -> Action {
        Action::Capture { turn, call_id: call.into(), path: path.into(), too_late }
    }

    #[test]
    fn a_turn_has_a_baseline_captures_and_an_end() {
        let mut turns = found(vec![]);
        assert_eq!(tell(&mut turns, vec![start(1)]), [baseline(1)]);
        assert!(!turns.has_called(1));
        assert_eq!(tell(&mut turns, vec![edit(1, "a", "x")]), [capture(1, "a", "x", false)]);
        assert!(turns.has_called(1));
        assert_eq!(tell(&mut turns, vec![settled(1, "a")]), []);
        assert_eq!(tell(&mut turns, vec![LogEvent::ChangesNoticed { turn: 1 }]), []);
        assert_eq!(tell(&mut turns, vec![end(1)]), [finish(1, true)]);
        assert_eq!(tell(&mut turns, vec![start(2), end(2)]), [Action::Missed { turn: 2 }]);
    }

    #[test]
    fn turns_that_were_over_are_left_alone_and_a_running_one_is_taken_up() {
        let mut turns = found(vec![start(1), edit(1, "a", "x"), settled(1, "a"), end(1)]);
        assert_eq!(tell(&mut turns, vec![LogEvent::ChangesNoticed { turn: 1 }]), []);
        let mut turns = found(vec![start(1), end(1), start(2), edit(2, "b", "y")]);
        assert_eq!(tell(&mut turns, vec![]), [baseline(2), capture(2, "b", "y", false)]);
        assert!(turns.has_called(2));
    }

    #[test]
    fn of_turns_that_were_over_nothing_is_kept() {
        let over = |turn| [start(turn), edit(turn, "a", "x"), settled(turn, "a"), end(turn)];
        let events = (1..=1000).flat_map(over).chain([start(1001)]);
        let mut turns = found(events.clone().collect());
        assert_eq!((turns.transcript.turns.len(), turns.marks.len()), (1, 0));
        // The same, told anew while the last turn is looked at, and with ends that come late.
        assert_eq!(tell(&mut turns, vec![]), [baseline(1001)]);
        let late = (1..=1000).flat_map(|turn| [start(turn + 1), end(turn)]);
        for again in [events.collect::<Vec<_>>(), late.collect()] {
            tell(&mut turns, std::iter::once(LogEvent::Reset).chain(again).collect());
            assert!(turns.transcript.turns.len() <= 2, "{}", turns.transcript.turns.len());
            turns.caught_up();
        }
        assert_eq!(tell(&mut turns, vec![LogEvent::ChangesNoticed { turn: 3 }]), []);
        assert_eq!(tell(&mut turns, vec![end(1001)]), [finish(1001, true)]);
    }

    #[test]
    fn a_turn_that_was_missed_is_told_also_when_the_log_is_told_anew() {
        let mut turns = found(vec![]);
        let anew = vec![LogEvent::Reset, start(1), end(1), start(2)];
        assert_eq!(tell(&mut turns, anew), []);
        turns.caught_up();
        assert_eq!(tell(&mut turns, vec![]), [Action::Missed { turn: 1 }, baseline(2)]);
    }

    #[test]
    fn what_settles_after_the_end_finishes_the_turn_again() {
        let mut turns = found(vec![]);
        tell(&mut turns, vec![start(1)]);
        assert_eq!(tell(&mut turns, vec![end(1)]), [finish(1, true)]);
        let noticed = LogEvent::ChangesNoticed { turn: 1 };
        assert_eq!(tell(&mut turns, vec![noticed.clone()]), [finish(1, true)]);
        assert_eq!(tell(&mut turns, vec![start(2)]), [baseline(2)]);
        // The work tree is the next turn's by now.
        assert_eq!(tell(&mut turns, vec![noticed]), [finish(1, false)]);
    }

    #[test]
    fn a_capture_that_comes_behind_the_result_is_too_late() {
        let mut turns = found(vec![]);
        let told = tell(&mut turns, vec![start(1), edit(1, "a", "x"), settled(1, "a")]);
        assert_eq!(told, [baseline(1), capture(1, "a", "x", true)]);
    }

    #[test]
    fn the_next_turn_ends_one_without_an_end() {
        let mut turns = found(vec![]);
        tell(&mut turns, vec![start(1)]);
        assert!(!turns.is_overtaken(1));
        assert_eq!(tell(&mut turns, vec![start(2)]), [finish(1, true), baseline(2)]);
        tell(&mut turns, vec![edit(2, "b", "y")]);
        assert!(turns.is_overtaken(1) && !turns.is_overtaken(2));
    }

    #[test]
    fn a_log_told_anew_changes_nothing_that_was_done() {
        let mut turns = found(vec![]);
        let begun = vec![start(1), edit(1, "a", "x")];
        assert_eq!(tell(&mut turns, begun.clone()).len(), 2);
        let again = [vec![LogEvent::Reset], begun, vec![settled(1, "a"), end(1)]].concat();
        assert_eq!(tell(&mut turns, again.clone()), [], "not complete yet");
        turns.caught_up();
        assert_eq!(tell(&mut turns, vec![]), [finish(1, true)]);
        tell(&mut turns, again);
        turns.caught_up();
        assert_eq!(tell(&mut turns, vec![]), []);
    }

    #[test]
    fn a_turn_that_begins_anew_after_a_cut_is_another_turn() {
        let mut turns = found(vec![]);
        tell(&mut turns, vec![start(1), end(1)]);
        tell(&mut turns, vec![start(2)]);
        tell(&mut turns, vec![end(2)]);
        let other = LogEvent::TurnStart { turn: 2, at: Some(77) };
        tell(&mut turns, vec![LogEvent::Reset, start(1), end(1), other]);
        turns.caught_up();
        assert_eq!(tell(&mut turns, vec![]), [baseline(2)]);
        // Cut within the turn: its end comes again.
        tell(&mut turns, vec![end(2)]);
        let other = LogEvent::TurnStart { turn: 2, at: Some(77) };
        tell(&mut turns, vec![LogEvent::Reset, start(1), end(1), other]);
        turns.caught_up();
        assert_eq!(tell(&mut turns, vec![end(2)]), [finish(2, true)]);
    }

    #[test]
    fn the_turn_in_hand_can_be_finished_at_any_time_and_once() {
        let mut turns = found(vec![]);
        assert_eq!(turns.finish_running(), None);
        tell(&mut turns, vec![start(1)]);
        assert_eq!(turns.finish_running(), Some(finish(1, true)));
        assert_eq!(turns.finish_running(), None);
    }
}
