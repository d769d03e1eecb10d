//! What the index knows below a directory, name by name.

use gix::index::entry::Flags;
use gix::index::{Entry, State};
use std::ops::Range;

/// One name of a directory as the index knows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known<'a> {
    pub(super) name: &'a [u8],
    /// The entries of exactly this name: one, or up to three stages of a conflict; perhaps none.
    pub(super) stages: Range<usize>,
    /// The entries below this name; perhaps none.
    pub(super) below: Range<usize>,
}

/// The names directly below a directory, by byte order. `range` are its entries and `prefix` is
/// the length of its path with the slash. A name that no file of ours could have (`..`, an empty
/// one) is left out: an index is input like any other.
pub(super) fn children(index: &State, range: Range<usize>, prefix: usize) -> Vec<Known<'_>> {
    let mut known: Vec<Known<'_>> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let Some(rest) = path_of(index, at).and_then(|path| path.get(prefix..)) else {
            at += 1;
            continue;
        };
        let next = match memchr::memchr(b'/', rest) {
            Some(slash) if slash + 1 < rest.len() => {
                let end = at + run(index, at..range.end, prefix + slash + 1);
                known.push(Known { name: &rest[..slash], stages: at..at, below: at..end });
                end
            }
            // A sparse index ends the name of a whole directory with a slash.
            slash => {
                let name = &rest[..slash.unwrap_or(rest.len())];
                push_stage(&mut known, name, at);
                at + 1
            }
        };
        at = next;
    }
    known.retain(|child| !matches!(child.name, b"" | b"." | b"..") && !child.name.contains(&0));
    known.sort_by(|a, b| a.name.cmp(b.name));
    known.dedup_by(|later, first| {
        let same = later.name == first.name;
        if same {
            // A conflict between a file and a directory: the same name on both sides.
            if first.stages.is_empty() {
                first.stages = later.stages.clone();
            }
            if first.below.is_empty() {
                first.below = later.below.clone();
            }
        }
        same
    });
    known
}

fn push_stage<'a>(known: &mut Vec<Known<'a>>, name: &'a [u8], at: usize) {
    match known.last_mut() {
        Some(last) if last.name == name && last.stages.end == at && last.below.is_empty() => {
            last.stages.end = at + 1;
        }
        _ => known.push(Known { name, stages: at..at + 1, below: at..at }),
    }
}

/// How many entries of `range` begin with the first `len` bytes of its first one.
fn run(index: &State, range: Range<usize>, len: usize) -> usize {
    let head = path_of(index, range.start).and_then(|path| path.get(..len));
    let entries = index.entries().get(range).unwrap_or_default();
    entries.partition_point(|entry| entry.path(index).get(..len) == head).max(1)
}

fn path_of(index: &State, at: usize) -> Option<&[u8]> {
    index.entries().get(at).map(|entry| &**entry.path(index))
}

/// The entry that git goes by among the stages of one name: the only one, or of a conflict "ours",
/// else the base, else "theirs" (`index_name_pos_also_unmerged` in its read-cache.c).
pub(super) fn preferred(stages: &[Entry]) -> Option<&Entry> {
    stages.iter().find(|entry| entry.stage_raw() == 2).or_else(|| stages.first())
}

/// Whether these stages are one merged entry.
pub(super) fn merged(stages: &[Entry]) -> bool {
    matches!(stages, [only] if only.stage_raw() == 0)
}

/// Whether git would not even look at the file of an entry: assume-unchanged.
pub(super) fn assumed(entry: &Entry) -> bool {
    entry.flags.contains(Flags::ASSUME_VALID)
}

/// Whether the file of an entry is left out of the work tree on purpose.
pub(super) fn skipped(entry: &Entry) -> bool {
    entry.flags.contains(Flags::SKIP_WORKTREE)
}

/// Whether an entry only announces a file (`git add --intent-to-add`); no tree ever holds it.
pub(super) fn announced(entry: &Entry) -> bool {
    entry.flags.contains(Flags::INTENT_TO_ADD)
}
