//! What a session's log tells by the time of a hook, and which of its turns a prompt began.
//!
//! At a prompt's hook the log may have the prompt or not: Claude Code writes it after the hooks
//! have run, Codex may have begun the turn before. And a prompt after a rewind takes an earlier
//! number. So a baseline gets the number that is expected, and bears its prompt; at the turn's end
//! the log has the prompt, and tells the number.

use crate::log::open::{LogFile, OpenOptions};
use crate::log::source::Stored;
use crate::log::{LogFormat, Output};
use crate::session::TurnState;
use crate::session::event::EditOutcome;
use crate::session::transcript::{Transcript, TurnRecord};
use crate::store::SessionStore;
use crate::store::kept::Baseline;
use std::collections::BTreeMap;
use std::path::Path;

/// A turn that began so much earlier than a baseline was taken is another one's, in milliseconds.
const SLACK: i64 = 10_000;

/// So much of a prompt tells it from others, in characters.
const PROMPT_START: usize = 200;

/// A log as far as it has been written.
#[derive(Default)]
pub(super) struct Told {
    /// What it tells.
    pub(super) transcript: Transcript,
    format: Option<&'static dyn LogFormat>,
    stored: Option<Stored>,
}

impl Told {
    /// Reads a log. One that is not there yet tells nothing.
    ///
    /// # Errors
    /// It is there and cannot be read, or is no log of this format.
    pub(super) fn read(path: &Path, format: &str) -> Result<Self, String> {
        if std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == 0)
            || !path.exists()
        {
            return Ok(Self::default());
        }
        let options = OpenOptions { format: Some(format.to_owned()), ..OpenOptions::default() };
        let mut out = Output::default();
        let mut log = LogFile::open(path, &options).map_err(|error| error.to_string())?;
        log.read_all(&mut out).map_err(|error| error.to_string())?;
        let mut transcript = Transcript::default();
        out.events.into_iter().for_each(|event| transcript.apply(event));
        Ok(Self { transcript, format: log.format(), stored: log.stored().cloned() })
    }

    /// What is needed to read its rows again.
    pub(super) fn rows(&self) -> Option<(&'static dyn LogFormat, Option<Stored>)> {
        self.format.map(|format| (format, self.stored.clone()))
    }

    /// The number that the turn has, or will have, that a prompt begins at `now`.
    pub(super) fn expected(&self, prompt: &str, now: i64, known: Option<&SessionStore>) -> u32 {
        let Some(last) = self.transcript.turns.last() else { return 1 };
        let is_begun = last.state == TurnState::Open
            && (last.prompt.is_empty() || start_of(&last.prompt) == prompt)
            && last.started_at.is_some_and(|started| started >= now - SLACK)
            && !has_called(last);
        // The same prompt a moment ago began a turn of its own.
        let baseline = known.and_then(|store| store.baselines.get(&last.turn));
        let is_taken = baseline.is_some_and(|baseline| {
            let started = last.started_at.unwrap_or(now);
            baseline.prompt.as_deref() == Some(prompt) && baseline.at >= started - SLACK
        });
        if is_begun && !is_taken { last.turn } else { last.turn.saturating_add(1) }
    }

    /// The turn that began at a baseline, one of `all`; none where the log does not tell of it (yet,
    /// or because the prompt was refused).
    pub(super) fn turn_of(
        &self,
        baseline: &Baseline,
        all: &BTreeMap<u32, Baseline>,
    ) -> Option<&TurnRecord> {
        let Some(prompt) = &baseline.prompt else { return self.transcript.turn(baseline.turn) };
        let may_be = |record: &&TurnRecord| {
            let Some(started) = record.started_at else { return record.turn == baseline.turn };
            let distance = |other: &Baseline| (started - other.at).abs();
            let is_nearest =
                all.get(&record.turn).is_none_or(|other| distance(other) >= distance(baseline));
            started >= baseline.at - SLACK && baseline.is_after(started) && is_nearest
        };
        let turns = &self.transcript.turns;
        let has_prompt = |record: &&TurnRecord| start_of(&record.prompt) == *prompt;
        turns.iter().rev().filter(may_be).find(has_prompt).or_else(|| {
            // An agent may write another text than the one it was given.
            let expected = self.transcript.turn(baseline.turn).filter(may_be);
            expected.or_else(|| turns.iter().find(may_be))
        })
    }

    /// Whether it is a sub-agent's own log: some agents call hooks for those under the parent's id.
    pub(super) fn is_of_sub_agent(&self) -> bool {
        self.transcript.header.is_subagent == Some(true)
    }

    /// Whether a turn came after this one.
    pub(super) fn goes_on_after(&self, turn: u32) -> bool {
        self.transcript.turns.last().is_some_and(|last| last.turn > turn)
    }
}

/// As much of a prompt as is kept to find its turn by.
pub(super) fn start_of(prompt: &str) -> String {
    prompt.trim().chars().take(PROMPT_START).collect()
}

/// A turn that its agent says is done: a file tool whose result is not in the log yet has one that
/// is on its way there.
pub(super) fn done(record: &TurnRecord) -> TurnRecord {
    let mut record = record.clone();
    let waiting = record.edits.iter_mut().filter(|edit| edit.outcome == EditOutcome::Pending);
    waiting.for_each(|edit| edit.outcome = EditOutcome::Applied);
    record
}

fn has_called(record: &TurnRecord) -> bool {
    record.tool_settled || !record.edits.is_empty() || !record.commands.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::LogEvent;

    fn told(turns: &[(u32, &str, i64)]) -> Told {
        let mut told = Told::default();
        for (turn, prompt, at) in turns {
            let (turn, text) = (*turn, (*prompt).to_owned());
            told.transcript.apply(LogEvent::TurnStart { turn, at: Some(*at) });
            told.transcript.apply(LogEvent::Prompt { turn, text });
        }
        told
    }

    fn baseline(turn: u32, prompt: &str, at: i64) -> Baseline {
        let prompt = Some(prompt.to_owned());
        Baseline { turn, at, prompt, ..Baseline::default() }
    }

    #[test]
    fn the_number_is_expected_whether_the_log_has_the_prompt_or_not() {
        assert_eq!(told(&[]).expected("a", 0, None), 1);
        let log = told(&[(1, "a", 0), (2, "b", 100_000)]);
        assert_eq!(log.expected("c", 200_000, None), 3, "not there yet");
        assert_eq!(log.expected("b", 100_500, None), 2, "there");
        assert_eq!(log.expected("b", 200_000, None), 3, "the same words again");
        let begun = told(&[(1, "a", 0), (2, "", 100_000)]);
        assert_eq!(begun.expected("b", 100_500, None), 2, "begun, and not told yet");
    }

    #[test]
    fn a_turn_is_found_by_its_prompt_whatever_number_was_expected() {
        let log = told(&[(1, "a", 0), (2, "b", 100_000)]);
        let of_first = baseline(1, "a", 50);
        let all = BTreeMap::from([(1, of_first)]);
        let turn = |baseline| log.turn_of(&baseline, &all).map(|record| record.turn);
        assert_eq!(turn(baseline(2, "b", 100_100)), Some(2));
        assert_eq!(turn(baseline(7, "b", 100_100)), Some(2), "after a rewind");
        assert_eq!(turn(baseline(2, "<b>", 100_100)), Some(2), "written in other words");
        assert_eq!(turn(baseline(7, "<b>", 100_100)), Some(2));
        assert_eq!(turn(baseline(3, "b", 300_000)), None, "refused, or not written yet");
        assert_eq!(turn(baseline(2, "a", 5_000)), None, "the same words, refused, and soon");
        assert_eq!(turn(baseline(3, "c", 300_000)), None);
        let mut recorders = baseline(1, "", 300_000);
        recorders.prompt = None;
        assert_eq!(turn(recorders), Some(1));
    }

    #[test]
    fn the_newest_of_equal_prompts_is_meant() {
        let log = told(&[(1, "go on", 0), (2, "go on", 5_000)]);
        assert_eq!(log.turn_of(&baseline(2, "go on", 5_100), &BTreeMap::new()).unwrap().turn, 2);
    }
}
