//! A log's edits → whole texts, or hunks where those cannot be had → changed files.
//!
//! An edit counts only if its log says that it was applied. A file's whole text is taken from where
//! the log holds one (a write, a full read, a text kept before or after an edit), else from the base
//! commit or the disk, and led on from there edit by edit: forwards by doing each, backwards by
//! undoing each, and only while each can be done in just one way. Where that fails, the file's
//! applied hunks are shown instead, with a note that says why.

mod apply;
mod chain;
mod listing;
mod locate;

use crate::content::Changes;
use crate::session::event::{Edit, EditBody, KnownText};
use crate::session::path::PathRules;
use crate::session::transcript::{TranscriptOf, TurnList, TurnRecord};
use chain::Chains;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a file held at some point.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Nobody can tell.
    #[default]
    Unknown,
    /// There was no file.
    Absent,
    /// This.
    Text(Arc<[u8]>),
}

/// Where replay gets its texts from.
pub trait Texts {
    /// What an edit did; `nth` is its number among the edits of its call (0-based, applied or not).
    fn edit_body(&self, edit: &Edit, nth: usize) -> Option<Arc<EditBody>>;

    /// A whole text that the log knows of.
    fn known_text(&self, known: &KnownText) -> State;

    /// The path that stands for a file however it is spelled (links followed); absolute.
    fn real_path(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }

    /// What the work tree holds now; the path is absolute.
    fn on_disk(&self, path: &Path) -> State {
        let _ = path;
        State::Unknown
    }

    /// What the commit held that was checked out when the session began; the path is absolute.
    fn at_base(&self, path: &Path) -> State {
        let _ = path;
        State::Unknown
    }
}

/// The changed files of each turn, from the log alone. Grows with its log: what was found out of
/// earlier turns is kept, and a turn is worked out when it is asked for.
#[derive(Debug)]
pub struct Replay {
    rules: PathRules,
    chains: Chains,
    /// The transcript's revision that the chains are of, where one is known.
    revision: Option<u64>,
}

impl Replay {
    /// Nothing yet. The paths of edits are relative to `rules.cwd`.
    pub fn new(rules: PathRules) -> Self {
        let chains = Chains::new(&rules.cwd);
        Self { rules, chains, revision: None }
    }

    /// The changed files of a turn of which nothing but its own record is known.
    pub fn alone(rules: PathRules, record: &TurnRecord, texts: &dyn Texts) -> Option<Changes> {
        let mut replay = Self::new(rules);
        let turns = vec![record.clone()];
        replay.chains.update(&turns, texts);
        replay.list(record.turn, &turns, texts)
    }

    /// The changed files of a turn (by number), net: what it changed and changed back is not
    /// listed. None where the transcript has no such turn.
    ///
    /// The turns are looked through only where the transcript has changed, so that to ask for one
    /// after the other does not cost their number times their number.
    pub fn turn(
        &mut self,
        turn: u32,
        transcript: &TranscriptOf<impl TurnList>,
        texts: &dyn Texts,
    ) -> Option<Changes> {
        if self.revision != Some(transcript.revision) {
            self.chains.update(&transcript.turns, texts);
            self.revision = Some(transcript.revision);
        }
        self.list(turn, &transcript.turns, texts)
    }

    fn list(&mut self, turn: u32, turns: &dyn TurnList, texts: &dyn Texts) -> Option<Changes> {
        let place = turns.find(turn)?;
        let mut listing =
            listing::Listing { rules: &self.rules, chains: &mut self.chains, turns, texts };
        Some(listing.turn(place))
    }
}
