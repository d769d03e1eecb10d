//! A recorder for a moment: each of an agent's hooks is a process of its own, and has the session only while it looks.

use super::RecordOptions;
use super::hand::{Hands, now};
use super::seat::{Seat, Wanted, session_key};
use crate::log::LogFormat;
use crate::log::again::LogRows;
use crate::log::source::Stored;
use crate::session::transcript::TurnRecord;
use crate::store::kept::{Baseline, KeptSession};
use crate::store::{SessionKey, SessionStore};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The session that a hook is called for.
#[derive(Debug, Clone)]
pub struct Visited {
    /// The name of its log's format.
    pub format: &'static str,
    /// The agent's own session id.
    pub id: String,
    /// Its log, which need not be there yet.
    pub log: PathBuf,
    /// The session's working directory; absolute.
    pub cwd: PathBuf,
}

impl Visited {
    /// Its name in the store.
    pub fn key(&self) -> SessionKey {
        session_key(self.format, &self.id, &self.log)
    }
}

/// The session's seat, for one call. What goes wrong beside is given as lines.
pub struct Visit {
    hands: Box<Hands>,
    known: SessionStore,
    cancel: Arc<AtomicBool>,
}

impl Visit {
    /// Takes the seat; none where a recorder has it, who needs no help.
    ///
    /// # Errors
    /// The store refuses.
    pub fn pay(
        visited: &Visited,
        options: &RecordOptions,
        cancel: Arc<AtomicBool>,
    ) -> Result<Option<Self>, String> {
        let info = KeptSession {
            format: visited.format.to_owned(),
            id: visited.id.clone(),
            path: visited.log.to_string_lossy().into_owned(),
            cwd: Some(visited.cwd.to_string_lossy().into_owned()),
            ..KeptSession::default()
        };
        let wanted = Wanted { key: visited.key(), info, cwd: visited.cwd.clone() };
        let taking = Seat::ask(&wanted, options);
        match (taking.seat, taking.earlier) {
            (Seat::Recording(hands), Some(known)) => Ok(Some(Self { hands, known, cancel })),
            (Seat::Refused(cause), _) => Err(cause),
            _ => Ok(None),
        }
    }

    /// Takes the work tree as the baseline of a turn that a prompt begins.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(&mut self, turn: u32, prompt: String) -> Result<Vec<String>, String> {
        let record = TurnRecord { turn, ..TurnRecord::default() };
        let taken = self.hands.baseline(&record, None, &self.cancel);
        self.hands
            .keep_baseline(turn, false, taken.ms, Some(prompt))
            .map_err(|error| error.to_string())?;
        Ok(taken.warnings)
    }

    /// Keeps a file as it is before a tool call changes it, unless the baseline has it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn capture(&mut self, from: &Baseline, call_id: &str, path: &str) -> Result<(), String> {
        if self.hands.take_up(from.turn, from, &self.known, None) {
            let captured = self.hands.capture(from.turn, call_id, path, false);
            captured.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Ends the turn that began at `from` and that the log tells as `record`: takes the work tree
    /// again and keeps what changed, with a `note` for a person.
    ///
    /// # Errors
    /// The baseline is gone, or the store cannot be written.
    pub fn end(
        &mut self,
        from: &Baseline,
        record: &TurnRecord,
        log: Option<(&'static dyn LogFormat, Option<Stored>)>,
        note: Option<String>,
    ) -> Result<Vec<String>, String> {
        let turn = record.turn;
        if !self.hands.take_up(turn, from, &self.known, note) {
            return Err(format!("turn {turn} is not recorded: the snapshot of its start is gone"));
        }
        let log = log
            .map_or_else(LogRows::default, |(format, stored)| LogRows::new(Some(format), stored));
        match self.hands.finish(record, true, false, &log, &self.cancel) {
            Ok(finished) => Ok(finished.map(|finished| finished.warnings).unwrap_or_default()),
            Err(error) => Err(format!("turn {turn} could not be kept: {error}")),
        }
    }

    /// Gives up the turn that began at `from`: nobody knows when it ended.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn withdraw(mut self, from: &Baseline) -> Result<(), String> {
        let gone = Baseline { turn: from.turn, at: now(), withdrawn: true, ..Baseline::default() };
        self.hands.writer.baseline(gone).map_err(|error| error.to_string())?;
        self.leave();
        Ok(())
    }

    /// Leaves the session for good: no turn is in hand that would need the snapshots.
    pub fn leave(self) {
        self.hands.leave();
    }
}
