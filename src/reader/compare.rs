//! One changed file → what there is to show of it, and its counts. The list and the viewer both ask here.

use crate::content::{Content, ContentError, ContentId, FileChange, GitObjects, Pair, Source};
use crate::diff::{Cancelled, Comparison, Limit, compare as compare_texts, compare_hunks};
use std::path::Path;
use std::sync::Arc;

/// What a file's comparison counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "what may be said instead of numbers")]
pub struct Counts {
    /// Lines added.
    pub added: u32,
    /// Lines deleted.
    pub deleted: u32,
    /// A side is binary.
    pub binary: bool,
    /// A side is too large.
    pub oversized: bool,
    /// Time ran out: every line counts as changed.
    pub coarse: bool,
    /// A side cannot be read: nothing is counted.
    pub failed: bool,
}

/// What the viewer can show of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Two texts, or one.
    Text(Arc<Comparison>),
    /// Binary: sizes in bytes of the sides that are there.
    Binary(Option<u64>, Option<u64>),
    /// Too large: sizes in bytes of the sides that are there.
    Oversized(Option<u64>, Option<u64>),
    /// It cannot be read, and why.
    Failed(String),
}

impl Shown {
    /// What there is to count.
    pub fn counts(&self) -> Counts {
        match self {
            Self::Text(comparison) => Counts {
                added: comparison.added(),
                deleted: comparison.deleted(),
                coarse: comparison.coarse,
                ..Counts::default()
            },
            Self::Binary(..) => Counts { binary: true, ..Counts::default() },
            Self::Oversized(..) => Counts { oversized: true, ..Counts::default() },
            Self::Failed(_) => Counts { failed: true, ..Counts::default() },
        }
    }
}

type Side = Result<Content, ContentError>;

/// Compares both sides of a changed file.
///
/// # Errors
/// [`Cancelled`] once nobody wants the answer any more.
pub fn compare(
    source: &dyn Source,
    change: &FileChange,
    limit: &Limit,
) -> Result<Shown, Cancelled> {
    compare_sides(change, limit, |old, new| (source.read(old), source.read(new)))
}

/// The same, for somebody who waits for it: both sides are read at the same time.
///
/// # Errors
/// [`Cancelled`] once nobody wants the answer any more.
pub fn compare_soon(
    objects: &GitObjects,
    change: &FileChange,
    limit: &Limit,
) -> Result<Shown, Cancelled> {
    compare_sides(change, limit, |old, new| {
        let theirs = objects.clone();
        std::thread::scope(|scope| {
            let old = scope.spawn(move || theirs.read(old));
            let new = objects.read(new);
            let old = old.join().unwrap_or_else(|_| Err(unread()));
            (old, new)
        })
    })
}

/// A reader that panicked read nothing.
fn unread() -> ContentError {
    ContentError { what: "the old side".into(), cause: "internal error while reading".into() }
}

fn compare_sides(
    change: &FileChange,
    limit: &Limit,
    read: impl FnOnce(&ContentId, &ContentId) -> (Side, Side),
) -> Result<Shown, Cancelled> {
    let (old, new) = match &change.pair {
        Pair::Sides { old, new } => read(old, new),
        Pair::Hunks(hunks) => {
            let has = |status| change.file.status != status;
            let has_old = has(crate::session::FileStatus::Added);
            let has_new = has(crate::session::FileStatus::Deleted);
            return compare_hunks(hunks, has_old, has_new, limit).map(text);
        }
    };
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) | (_, Err(error)) => return Ok(Shown::Failed(error.to_string())),
    };
    Ok(match (&old, &new) {
        (Content::Oversized { .. }, _) | (_, Content::Oversized { .. }) => {
            Shown::Oversized(size(&old), size(&new))
        }
        (Content::Binary { .. }, _) | (_, Content::Binary { .. }) => {
            Shown::Binary(size(&old), size(&new))
        }
        _ => text(compare_texts(bytes(old), bytes(new), limit)?),
    })
}

/// A file as it is on disk now, to be read: both sides are the same.
pub fn whole(source: &dyn Source, path: &Path) -> Shown {
    match source.read(&ContentId::File(path.to_owned())) {
        Err(error) => Shown::Failed(error.to_string()),
        Ok(Content::Absent) => Shown::Failed(format!("{}: no such file", path.display())),
        Ok(Content::Binary { len }) => Shown::Binary(None, Some(len)),
        Ok(Content::Oversized { len }) => Shown::Oversized(None, Some(len)),
        Ok(Content::Text(bytes)) => {
            let limit = Limit::default();
            let same = compare_texts(Some(Arc::clone(&bytes)), Some(bytes), &limit);
            same.map_or_else(|error| Shown::Failed(error.to_string()), text)
        }
    }
}

fn text(comparison: Comparison) -> Shown {
    Shown::Text(Arc::new(comparison))
}

fn bytes(content: Content) -> Option<Arc<[u8]>> {
    match content {
        Content::Text(bytes) => Some(bytes),
        _ => None,
    }
}

fn size(content: &Content) -> Option<u64> {
    match content {
        Content::Absent => None,
        Content::Text(bytes) => Some(bytes.len() as u64),
        Content::Binary { len } | Content::Oversized { len } => Some(*len),
    }
}
