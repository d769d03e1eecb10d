//! Equal lines → equal numbers.

use super::compare::both;
use super::limit::{Limit, Stop, Ticker};
use super::split_score::{Indent, indent};
use super::text::Text;
use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};
use std::hash::BuildHasher;

/// Both texts with each line as the number of its class; lines are equal if and only if their
/// classes are.
pub(super) struct Classes {
    /// The class of each old line.
    pub(super) old: Vec<u32>,
    /// The class of each new line.
    pub(super) new: Vec<u32>,
    /// Of each class, how many old and new lines are in it.
    pub(super) counts: Vec<[u32; 2]>,
    /// Of each class, how far its line is indented.
    pub(super) indents: Vec<Indent>,
}

/// From this many bytes on, the two sides are hashed on two threads.
const PARALLEL: usize = 1 << 19;

/// Gives each line its class.
pub(super) fn classify(old: &Text, new: &Text, limit: &Limit) -> Result<Classes, Stop> {
    // Most lines of a text are unlike each other: room for all of them saves growing step by step.
    // A very large table is left to grow, so that a limit is kept to.
    const MOST: u32 = 1 << 20;
    let state = DefaultHashBuilder::default();
    let parallel = old.bytes().len() + new.bytes().len() >= PARALLEL;
    let (old_hashes, new_hashes) =
        both(parallel, || hashes(old, &state, limit), || hashes(new, &state, limit));
    let mut interner = Interner {
        table: HashTable::with_capacity(old.len().min(MOST) as usize),
        lines: Vec::new(),
        hashes: Vec::new(),
        counts: Vec::new(),
        indents: Vec::new(),
    };
    let old = interner.intern(old, old_hashes?, 0, limit)?;
    let new = interner.intern(new, new_hashes?, 1, limit)?;
    Ok(Classes { old, new, counts: interner.counts, indents: interner.indents })
}

/// Half of the hash of each line. Equal lines have equal ones; what else collides is told apart
/// by its bytes.
fn hashes(text: &Text, state: &DefaultHashBuilder, limit: &Limit) -> Result<Vec<u32>, Stop> {
    let mut ticker = Ticker::new(limit);
    let mut hashes = Vec::with_capacity(text.len() as usize);
    for line in text.lines(0..text.len()) {
        ticker.add(line.len() / 8 + 8)?;
        hashes.push((state.hash_one(line) >> 32) as u32);
    }
    Ok(hashes)
}

struct Interner<'a> {
    /// Half a hash and a class.
    table: HashTable<(u32, u32)>,
    /// The first line of each class.
    lines: Vec<&'a [u8]>,
    /// Half of its hash.
    hashes: Vec<u32>,
    counts: Vec<[u32; 2]>,
    indents: Vec<Indent>,
}

impl<'a> Interner<'a> {
    /// Turns the hashes of a text's lines into their classes, in place.
    fn intern(
        &mut self,
        text: &'a Text,
        mut hashes: Vec<u32>,
        side: usize,
        limit: &Limit,
    ) -> Result<Vec<u32>, Stop> {
        let mut ticker = Ticker::new(limit);
        // Classes are numbered as they appear, and texts resemble each other: behind a line that
        // the old text has once, most often the next class comes. To try it is much cheaper than
        // to look into a large table.
        let mut next = 0;
        for (slot, line) in hashes.iter_mut().zip(text.lines(0..text.len())) {
            ticker.add(line.len() / 8 + 16)?;
            let class = if self.is(next, *slot, line) { next } else { self.class(*slot, line) };
            let counts = &mut self.counts[class as usize];
            counts[side] += 1;
            if counts[0] == 1 {
                next = class + 1;
            }
            *slot = class;
        }
        Ok(hashes)
    }

    fn is(&self, class: u32, hash: u32, line: &[u8]) -> bool {
        let class = class as usize;
        self.hashes.get(class) == Some(&hash) && self.lines.get(class) == Some(&line)
    }

    fn class(&mut self, hash: u32, line: &'a [u8]) -> u32 {
        let lines = &self.lines;
        let entry = self.table.entry(
            spread(hash),
            |(other, class)| *other == hash && lines[*class as usize] == line,
            |(hash, _)| spread(*hash),
        );
        match entry {
            Entry::Occupied(found) => found.get().1,
            Entry::Vacant(free) => {
                let class = self.lines.len() as u32;
                free.insert((hash, class));
                self.lines.push(line);
                self.hashes.push(hash);
                self.counts.push([0; 2]);
                self.indents.push(indent(line));
                class
            }
        }
    }
}

/// The table places by the low bits and tags by the high ones: it needs both.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn equal_lines_share_a_class() {
        let old = Text::new(Arc::from(&b"a\nb\na\n\n"[..]));
        let new = Text::new(Arc::from(&b"\nb\r\na"[..]));
        let classes = classify(&old, &new, &Limit::default()).unwrap();
        assert_eq!(classes.old, [0, 1, 0, 2]);
        assert_eq!(classes.new, [2, 3, 0]);
        assert_eq!(classes.counts, [[2, 1], [1, 0], [1, 1], [0, 1]]);
    }
}
