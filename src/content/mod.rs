//! Where bytes come from: git objects, the store's objects, captured files, the log, the work tree.
//!
//! A reader asks `Source` for one side of a file and never learns who answered.

pub mod disk;
mod loose;
pub mod objects;
mod upstream;

pub use objects::GitObjects;
pub use upstream::Commit;

use crate::session::event::AppliedHunk;
use crate::session::{ChangedFile, ChangesSource, TreePair};
use std::sync::Arc;

/// One side of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// There is no file on this side.
    Absent,
    /// Its bytes; no NUL in the first 8000. A symbolic link is its target, a submodule its commit
    /// in the words of git (`Subproject commit <id>`).
    Text(Arc<[u8]>),
    /// A NUL in the first 8000 bytes.
    Binary {
        /// Its size in bytes.
        len: u64,
    },
    /// Larger than the limit.
    Oversized {
        /// Its size in bytes.
        len: u64,
    },
}

impl Content {
    /// What bytes are: too large, binary, or text. `max_bytes` is the largest that is not too large.
    pub fn classify(bytes: Arc<[u8]>, max_bytes: u64) -> Self {
        /// As far as git looks for a NUL.
        const LOOKED_AT: usize = 8000;
        let len = bytes.len() as u64;
        if len > max_bytes {
            Self::Oversized { len }
        } else if memchr::memchr(0, bytes.get(..LOOKED_AT).unwrap_or(&bytes)).is_some() {
            Self::Binary { len }
        } else {
            Self::Text(bytes)
        }
    }
}

/// Names one side of a file, wherever its bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ContentId {
    /// No file.
    Absent,
    /// A git object, by hexadecimal id; `mode` is the entry's git mode (0o100644, 0o120000, 0o160000 …).
    Blob {
        /// Hexadecimal object id.
        id: String,
        /// Git mode of the tree entry.
        mode: u32,
    },
    /// A file on disk as it is now, absolute path.
    File(std::path::PathBuf),
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// A file that was too large to be kept; who wants so much gets it where git has it still.
    TooLarge {
        /// Hexadecimal object id.
        id: String,
        /// Its size in bytes.
        len: u64,
    },
}

/// Gives the bytes behind a `ContentId`.
pub trait Source: Send {
    /// Reads one side.
    ///
    /// # Errors
    /// One line that names the object or file and the cause (a missing blob of a partial clone is
    /// named as such).
    fn read(&self, id: &ContentId) -> Result<Content, ContentError>;
}

/// A side that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {cause}")]
pub struct ContentError {
    /// The object or file.
    pub what: String,
    /// Why.
    pub cause: String,
}

/// One changed file with what is needed to compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// As listed. `added` and `deleted` are 0 until `counted`.
    pub file: ChangedFile,
    /// Its two sides, or its hunks.
    pub pair: Pair,
    /// Whether the counts in `file` are known already.
    pub counted: bool,
    /// A line for a person: why this is not better known (a step that did not match, a late
    /// baseline), or nothing.
    pub note: Option<String>,
}

/// What there is to compare of a changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pair {
    /// Both sides whole.
    Sides {
        /// Before.
        old: ContentId,
        /// After.
        new: ContentId,
    },
    /// Only the applied hunks, in file order, with line numbers where they are known.
    Hunks(Vec<AppliedHunk>),
}

/// The changed files of one turn, or of two trees, in `display` order and not capped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Where this is known from.
    pub source: ChangesSource,
    /// The directory that paths are relative to.
    pub cwd: String,
    /// The trees compared, where there are trees.
    pub snapshot: Option<TreePair>,
    /// All changed files.
    pub files: Vec<FileChange>,
    /// Lines for a person about the whole turn.
    pub notes: Vec<String>,
}
