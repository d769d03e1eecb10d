//! The commands of a turn: what they were for, how they went, what they printed.

use crate::log::LogFormat;
use crate::log::source::{Rows, Stored};
use crate::session::command;
use crate::session::event::Place;
use crate::session::transcript::{CommandRecord, TurnRecord};
use crate::session::{CommandOutcome, RanCommand, TurnState};
use std::collections::HashMap;

/// What has been found out of the commands of turns that go on: they may have many, and one whose
/// record is as it was is not looked at again.
#[derive(Debug, Default)]
pub(super) struct Commands {
    turns: HashMap<u32, Vec<(Told, RanCommand)>>,
}

/// What the log has told of a command's result.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    call_id: String,
    exit_code: Option<i32>,
    outcome: CommandOutcome,
    result: Option<Place>,
    settled: bool,
}

impl Told {
    fn of(record: &CommandRecord) -> Self {
        Self {
            call_id: record.call.call_id.clone(),
            exit_code: record.exit_code,
            outcome: record.outcome,
            result: record.result,
            settled: record.settled,
        }
    }
}

/// The shell's commands of a turn, in log order. Other tools are not among them.
fn shell(record: &TurnRecord) -> impl Iterator<Item = &CommandRecord> {
    record.commands.iter().filter(|command| command.call.is_shell)
}

impl Commands {
    /// The commands of a turn, as the outside sees them.
    pub(super) fn of(&mut self, record: &TurnRecord, printed: &mut Printed) -> Vec<RanCommand> {
        let mut earlier = self.turns.remove(&record.turn).unwrap_or_default().into_iter();
        let now: Vec<_> = shell(record)
            .map(|command| {
                let told = Told::of(command);
                match earlier.next() {
                    Some((before, ran)) if before == told => (told, ran),
                    _ => (told, command::ran(command, || printed.by(command).ok())),
                }
            })
            .collect();
        let commands = now.iter().map(|(_, ran)| ran.clone()).collect();
        if record.state == TurnState::Open {
            self.turns.insert(record.turn, now);
        }
        commands
    }
}

/// Where outputs are read from: the log's own rows, opened when the first one is wanted.
pub(super) struct Printed {
    format: Option<&'static dyn LogFormat>,
    /// Until it is opened.
    stored: Option<Stored>,
    rows: Option<Rows>,
}

impl Printed {
    pub(super) fn new(format: Option<&'static dyn LogFormat>, stored: Option<Stored>) -> Self {
        Self { format, stored, rows: None }
    }

    /// What the command at a place of [`Commands::of`]'s list printed.
    ///
    /// # Errors
    /// One line: it is not in the log, or cannot be read.
    pub(super) fn nth(&mut self, record: &TurnRecord, nth: usize) -> Result<String, String> {
        let command = shell(record).nth(nth).ok_or("there is no such command")?;
        self.by(command)
    }

    fn by(&mut self, command: &CommandRecord) -> Result<String, String> {
        if let Some(output) = &command.output {
            return Ok(output.to_string());
        }
        match (&command.result, self.format) {
            (Some(place), Some(format)) => {
                let damage = |cause: &dyn std::fmt::Display| {
                    format!("log, line {}: the output cannot be read: {cause}", place.line)
                };
                let row = self.row(place).map_err(|error| damage(&error))?;
                format.command_output(&row).ok_or_else(|| damage(&"the row holds none"))
            }
            _ if command.settled => Err("the log does not hold its output".into()),
            _ => Err("it has not ended, as far as the log tells".into()),
        }
    }

    fn row(&mut self, place: &Place) -> std::io::Result<Vec<u8>> {
        if let Some(stored) = self.stored.take() {
            self.rows = Some(Rows::new(stored)?);
        }
        let gone = || std::io::Error::other("the log's bytes are not at hand");
        self.rows.as_mut().ok_or_else(gone)?.row(place)
    }
}
