//! A turn as the list shows it, before anybody asked what it changed.

use crate::session::archive::Item;
use crate::session::{Turn, TurnState};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A turn without its changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

/// What is known of every turn of the list at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadKey {
    /// The turn's number.
    pub turn: u32,
    /// `TurnHead::revision`.
    pub revision: u64,
    /// The turn has not ended.
    pub is_open: bool,
}

impl Item for TurnHead {
    type Key = HeadKey;

    fn key(&self) -> HeadKey {
        let is_open = self.turn.state == TurnState::Open;
        HeadKey { turn: self.turn.turn, revision: self.revision, is_open }
    }
}
