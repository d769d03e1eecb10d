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
    let state = DefaultHashBuilder::default();
    let parallel = old.bytes().len() + new.bytes().len() >= PARALLEL;
    let mut interner = Interner::with_room_for(old.len());
    let (hashes, old) =
        both(parallel, || hashes(new, &state, limit), || interner.intern_old(old, &state, limit));
    let (old, new) = (old?, interner.intern_new(new, hashes?, limit)?);
    Ok(Classes { old, new, counts: interner.counts, indents: interner.indents })
}

/// Half of the hash of a line. Equal lines have equal ones; what else collides is told apart by
/// its bytes.
fn half_hash(line: &[u8], state: &DefaultHashBuilder) -> u32 {
    (state.hash_one(line) >> 32) as u32
}

fn hashes(text: &Text, state: &DefaultHashBuilder, limit: &Limit) -> Result<Vec<u32>, Stop> {
    let mut ticker = Ticker::new(limit);
    let mut hashes = Vec::with_capacity(text.len() as usize);
    for line in text.lines(0..text.len()) {
        ticker.add(line.len() / 8 + 8)?;
        hashes.push(half_hash(line, state));
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
    /// Classes are numbered as they appear, and texts resemble each other: behind a line that the
    /// old text has once, most often the next class comes. To try it is much cheaper than to look
    /// into a large table.
    next: u32,
}

impl<'a> Interner<'a> {
    /// Most lines of a text are unlike each other: room for all of them saves growing step by step.
    /// A very large table is left to grow, so that a limit is kept to.
    fn with_room_for(lines: u32) -> Self {
        const MOST: u32 = 1 << 20;
        let lines = lines.min(MOST) as usize;
        Self {
            table: HashTable::with_capacity(lines),
            lines: Vec::with_capacity(lines),
            hashes: Vec::with_capacity(lines),
            counts: Vec::with_capacity(lines),
            indents: Vec::with_capacity(lines),
            next: 0,
        }
    }

    /// The classes of the old text's lines.
    fn intern_old(
        &mut self,
        text: &'a Text,
        state: &DefaultHashBuilder,
        limit: &Limit,
    ) -> Result<Vec<u32>, Stop> {
        let mut ticker = Ticker::new(limit);
        let mut classes = Vec::with_capacity(text.len() as usize);
        for line in text.lines(0..text.len()) {
            ticker.add(line.len() / 8 + 24)?;
            classes.push(self.intern(half_hash(line, state), line, 0));
        }
        self.next = 0;
        Ok(classes)
    }

    /// Turns the hashes of the new text's lines into their classes, in place.
    fn intern_new(
        &mut self,
        text: &'a Text,
        mut hashes: Vec<u32>,
        limit: &Limit,
    ) -> Result<Vec<u32>, Stop> {
        let mut ticker = Ticker::new(limit);
        for (slot, line) in hashes.iter_mut().zip(text.lines(0..text.len())) {
            ticker.add(line.len() / 8 + 16)?;
            *slot = self.intern(*slot, line, 1);
        }
        Ok(hashes)
    }

    fn intern(&mut self, hash: u32, line: &'a [u8], side: usize) -> u32 {
        let class = if self.is(self.next, hash, line) { self.next } else { self.class(hash, line) };
        let counts = &mut self.counts[class as usize];
        counts[side] += 1;
        if counts[0] == 1 {
            self.next = class + 1;
        }
        class
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
