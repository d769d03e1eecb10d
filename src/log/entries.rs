//! Which turn each entry of a log belongs to, by the entry's id. A log has very many entries: they take 16 bytes each, and little more.

use super::ids::hashed;
use std::num::NonZeroU32;

/// So many lists share the entries, so that one is short and grows alone.
const LISTS: usize = 4096;

/// The entries so far.
#[derive(Debug)]
pub(super) struct Entries(Vec<Vec<Entry>>);

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The hash of its id: ids are long.
    id: u64,
    turn: u32,
    /// The low bits of when it was written.
    at: Option<NonZeroU32>,
}

impl Default for Entries {
    fn default() -> Self {
        Self(vec![Vec::new(); LISTS])
    }
}

impl Entries {
    /// The turn of an entry that was noted.
    pub(super) fn turn_of(&self, id: &str) -> Option<usize> {
        self.find(hashed(id)).map(|entry| entry.turn as usize)
    }

    /// Whether an entry was noted that has this id and was written at this time, in milliseconds
    /// since the epoch. One whose time is not known is never the same.
    pub(super) fn has(&self, id: &str, at: Option<i64>) -> bool {
        let at = low_bits(at);
        at.is_some() && self.find(hashed(id)).is_some_and(|entry| entry.at == at)
    }

    /// Notes an entry, in the place of one with the same id.
    pub(super) fn note(&mut self, id: &str, at: Option<i64>, turn: usize) {
        let entry = Entry { id: hashed(id), turn: turn as u32, at: low_bits(at) };
        let Some(list) = self.0.get_mut(list(entry.id)) else { return };
        // What is said again is mostly said soon.
        if let Some(known) = list.iter_mut().rev().find(|known| known.id == entry.id) {
            *known = entry;
            return;
        }
        if list.len() == list.capacity() {
            // A list that doubles wastes half of what it has.
            list.reserve_exact(list.len() / 8 + 2);
        }
        list.push(entry);
    }

    fn find(&self, id: u64) -> Option<&Entry> {
        self.0.get(list(id))?.iter().rev().find(|entry| entry.id == id)
    }
}

fn list(id: u64) -> usize {
    (id % LISTS as u64) as usize
}

fn low_bits(at: Option<i64>) -> Option<NonZeroU32> {
    at.and_then(|at| NonZeroU32::new(at.cast_unsigned() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_its_id_and_known_again_by_its_time() {
        let mut entries = Entries::default();
        for n in 0..100_000_u32 {
            entries.note(&n.to_string(), Some(n.into()), n as usize);
        }
        entries.note("7", None, 70);
        entries.note("8", Some(80), 8);
        for (id, turn) in [("0", 0), ("7", 70), ("8", 8), ("99999", 99_999)] {
            assert_eq!(entries.turn_of(id), Some(turn));
        }
        assert_eq!(entries.turn_of("100000"), None);
        assert!(
            entries.has("9", Some(9)) && !entries.has("9", Some(10)) && !entries.has("9", None)
        );
        assert!(!entries.has("7", Some(7)) && !entries.has("8", Some(8)));
        let held: usize = entries.0.iter().map(Vec::capacity).sum();
        assert!(held < 130_000, "room for {held}");
    }
}
