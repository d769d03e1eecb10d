//! A directory that is to be visited.

use super::tracked::Known;
use std::ops::Range;

/// What is known of a directory that is to be visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// It was there a moment ago.
    Present,
    /// It is gone: only entries that git does not look at stay.
    Gone,
    /// It cannot be read: every entry stays.
    Unreadable,
}

/// A directory to visit.
#[derive(Debug)]
pub(super) struct Job {
    /// Relative to the top; empty for the top.
    pub(super) path: Vec<u8>,
    /// The entries of the index below it.
    pub(super) entries: Range<usize>,
    pub(super) presence: Presence,
}

impl Job {
    /// The path of a name in the directory.
    pub(super) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.path.len() + 1 + name.len());
        if !self.path.is_empty() {
            path.extend_from_slice(&self.path);
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    /// The visit of a directory in it that the index knows.
    pub(super) fn child(&self, child: &Known<'_>, presence: Presence) -> Self {
        Self { path: self.path_of(child.name), entries: child.below.clone(), presence }
    }
}
