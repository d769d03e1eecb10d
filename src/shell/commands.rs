//! Which turns' commands have been told to the reviewer, and which are to come.

use crate::reader::Reader;
use crate::session::RanCommand;
use std::time::{Duration, Instant};

/// So many turns are told at once at most, and so long is looked for them: who asks does not wait.
const MOST: usize = 64;
const TIME: Duration = Duration::from_millis(10);

/// What has been told: the revision of each turn by its 0-based index, once the log has been read. No
/// two turns ever have the same.
#[derive(Debug, Default)]
pub(super) struct Commands {
    told: Option<Vec<u64>>,
}

impl Commands {
    /// All that the log held has been read: from now on there is time for this.
    pub(super) fn begin(&mut self) {
        self.told.get_or_insert_default();
    }

    /// The commands of turns from this 0-based index on are known no more to whom they were told.
    pub(super) fn forget_from(&mut self, at: usize) {
        if let Some(told) = &mut self.told {
            told.truncate(at);
        }
    }

    /// The commands of some turns that have not been told as they are now, newest turns first; none
    /// where all have.
    pub(super) fn next(&mut self, reader: &mut Reader) -> Vec<(u32, Vec<RanCommand>)> {
        let Some(told) = &mut self.told else { return Vec::new() };
        let turns = &reader.transcript().turns;
        told.resize(turns.len(), 0);
        let turns = (0..turns.len()).rev().filter_map(|at| Some((at, turns.key(at)?)));
        let todo = turns
            .filter(|(at, key)| told.get(*at) != Some(&key.revision))
            .map(|(at, key)| (at, key.turn, key.revision))
            .take(MOST);
        let todo: Vec<_> = todo.collect();
        let end = Instant::now() + TIME;
        let mut found = Vec::new();
        for (at, turn, revision) in todo {
            found.push((turn, reader.commands(turn)));
            if let Some(told) = told.get_mut(at) {
                *told = revision;
            }
            if Instant::now() > end {
                break;
            }
        }
        found
    }
}
