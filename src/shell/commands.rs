//! Which turns' commands have been told to the reviewer, and which are to come.

use crate::reader::Reader;
use crate::session::RanCommand;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// So many turns are told at once at most, and so long is looked for them: who asks does not wait.
const MOST: usize = 256;
const TIME: Duration = Duration::from_millis(10);

/// What has been told: the revision of each turn by its number, once the log has been read.
#[derive(Debug, Default)]
pub(super) struct Commands {
    told: Option<HashMap<u32, u64>>,
}

impl Commands {
    /// All that the log held has been read: from now on there is time for this.
    pub(super) fn begin(&mut self) {
        self.told.get_or_insert_default();
    }

    /// The commands of some turns that have not been told as they are now, newest turns first; none
    /// where all have.
    pub(super) fn next(&mut self, reader: &mut Reader) -> Vec<(u32, Vec<RanCommand>)> {
        let Some(told) = &mut self.told else { return Vec::new() };
        let turns = reader.transcript().turns.keys().rev();
        let todo = turns
            .map(|key| (key.turn, key.revision))
            .filter(|(turn, revision)| told.get(turn) != Some(revision))
            .take(MOST);
        let todo: Vec<_> = todo.collect();
        let end = Instant::now() + TIME;
        let mut found = Vec::new();
        for (turn, revision) in todo {
            found.push((turn, reader.commands(turn)));
            told.insert(turn, revision);
            if Instant::now() > end {
                break;
            }
        }
        found
    }
}
