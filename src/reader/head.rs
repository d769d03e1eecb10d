//! A turn as the list shows it, before anybody asked what it changed.

use crate::session::Turn;
use std::path::PathBuf;

/// A turn without its changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnHead {
    /// As the outside sees it; `changes` is none here, and `commands` is empty.
    pub turn: Turn,
    /// Where the presented files are, in the order of `turn.presented`.
    pub deliverables: Vec<PathBuf>,
    /// Came from a parent session (fork).
    pub inherited: bool,
    /// Left the conversation by a roll-back.
    pub rolled_back: bool,
    /// Goes up when what the turn changed may have become something else.
    pub revision: u64,
}
