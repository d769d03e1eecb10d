//! The turns of a Codex thread: which row belongs to which.

use super::call::join;
use std::collections::HashMap;

/// What is remembered of each turn.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(super) struct TurnNote {
    /// The agent's own id, where there is one.
    pub(super) id: Option<String>,
    /// The working directory, where it is another than the session's.
    pub(super) directory: Option<String>,
    /// It has a message of a person.
    pub(super) prompted: bool,
    /// It has ended.
    pub(super) ended: bool,
    /// An error ended it.
    pub(super) failed: bool,
    /// It left the conversation.
    pub(super) rolled_back: bool,
}

/// All turns so far, by number and by the agent's id.
#[derive(Debug, Default)]
pub(super) struct Turns {
    notes: Vec<TurnNote>,
    by_id: HashMap<String, u32>,
}

impl Turns {
    /// The number of the latest turn; 0 where there is none.
    pub(super) fn latest(&self) -> u32 {
        u32::try_from(self.notes.len()).unwrap_or(u32::MAX)
    }

    /// Adds a turn and gives its number.
    pub(super) fn begin(&mut self, id: Option<&str>) -> u32 {
        self.notes.push(TurnNote::default());
        let turn = self.latest();
        if let Some(id) = id {
            self.name(turn, id);
        }
        turn
    }

    /// Gives a turn its id.
    pub(super) fn name(&mut self, turn: u32, id: &str) {
        if let Some(note) = self.note(turn) {
            note.id = Some(id.to_owned());
            self.by_id.insert(id.to_owned(), turn);
        }
    }

    /// The turn of an id.
    pub(super) fn find(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// What is remembered of a turn.
    pub(super) fn note(&mut self, turn: u32) -> Option<&mut TurnNote> {
        self.notes.get_mut((turn as usize).checked_sub(1)?)
    }

    /// The latest turn, if it still runs.
    pub(super) fn running(&self) -> Option<u32> {
        self.notes.last().filter(|note| !note.ended).map(|_| self.latest())
    }

    /// The latest turn, if it runs and no id is known for it.
    pub(super) fn unnamed(&self) -> Option<u32> {
        self.notes.last().filter(|note| note.id.is_none() && !note.ended).map(|_| self.latest())
    }

    /// A path of a turn as the session's directory sees it.
    pub(super) fn path(&self, turn: u32, directory: Option<&str>, path: &str) -> String {
        let own = (turn as usize).checked_sub(1).and_then(|at| self.notes.get(at));
        let own = own.and_then(|note| note.directory.as_deref());
        match directory {
            Some(directory) => join(own, &join(Some(directory), path)),
            None => join(own, path),
        }
    }

    /// Marks the last `prompted` turns that have a person's message as rolled back, and with them
    /// those between and after. Gives how many turns that are.
    pub(super) fn roll_back(&mut self, prompted: u64) -> u32 {
        let (mut prompts, mut turns) = (0, 0);
        for note in self.notes.iter_mut().rev().filter(|note| !note.rolled_back) {
            if prompts == prompted {
                break;
            }
            note.rolled_back = true;
            turns += 1;
            prompts += u64::from(note.prompted);
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roll_back_counts_prompts_and_takes_what_stands_between() {
        let mut turns = Turns::default();
        for prompted in [true, true, false, true] {
            let turn = turns.begin(None);
            turns.note(turn).unwrap().prompted = prompted;
        }
        assert_eq!(turns.roll_back(2), 3);
        assert_eq!(turns.roll_back(9), 1);
    }

    #[test]
    fn a_path_is_seen_from_the_directory_of_its_turn() {
        let mut turns = Turns::default();
        let turn = turns.begin(Some("a"));
        assert_eq!(turns.path(turn, None, "x"), "x");
        assert_eq!(turns.path(turn, Some("sub"), "x"), "sub/x");
        turns.note(turn).unwrap().directory = Some("/other".into());
        assert_eq!(turns.path(turn, Some("sub"), "x"), "/other/sub/x");
        assert_eq!(turns.path(turn, None, "/abs"), "/abs");
        assert_eq!(turns.path(99, None, "x"), "x");
        assert_eq!((turns.find("a"), turns.find("b")), (Some(1), None));
    }
}
