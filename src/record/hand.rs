//! The turns in hand of one session: baselines, captures, ends.

use super::capture::keep_file;
use super::origin::Calls;
use super::summary::Maker;
use super::workspace::{Ground, Workspace};
use crate::content::ContentId;
use crate::log::again::LogRows;
use crate::session::transcript::TurnRecord;
use crate::store::kept::{Baseline, Capture, KeptSide, KeptTurn, Skipped};
use crate::store::{Named, SessionStore, StoreError, Writer};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

/// So many finished turns stay in hand: what settles later than that changes nothing any more.
const FINISHED_TURNS: usize = 8;

/// Said of a turn that another recorder began without a snapshot.
const NO_BASELINE: &str =
    "there is no snapshot of the turn's start: only files that file tools named are recorded";

/// So many files that could not be read are told one by one; all are kept.
const SKIPPED_TOLD: usize = 5;

/// What a file held before the first edit of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    /// The baseline has it.
    Covered,
    /// This.
    Side(KeptSide),
    /// Nobody can tell any more.
    TooLate,
}

/// What was seen at the end of a turn.
#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) tree: Option<String>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) files: HashMap<PathBuf, KeptSide>,
    /// Lines for a person.
    pub(super) notes: Vec<String>,
}

/// A turn that is being recorded.
#[derive(Debug, Default)]
pub(super) struct Hand {
    pub(super) baseline: Option<String>,
    pub(super) late: bool,
    /// By canonical path.
    pub(super) captures: BTreeMap<PathBuf, Before>,
    pub(super) end: End,
    /// What an earlier recorder kept of the turn before it ended, where its snapshot is gone.
    pub(super) earlier: Option<KeptTurn>,
    /// What the baseline's snapshot could not read, relative to the work tree, and why.
    pub(super) skipped: Vec<(PathBuf, String)>,
    /// A snapshot failed, so that nobody can say that nothing changed.
    pub(super) is_blind: bool,
    /// Lines for a person.
    pub(super) notes: Vec<String>,
}

/// The recorder of one session that may write.
pub(super) struct Hands {
    pub(super) writer: Box<Writer>,
    pub(super) workspace: Workspace,
    pub(super) max_file_bytes: u64,
    pub(super) time: Duration,
    turns: BTreeMap<u32, Hand>,
}

/// A turn that was kept.
pub(super) struct Finished {
    pub(super) kept: KeptTurn,
    pub(super) warnings: Vec<String>,
    /// Whether a snapshot failed: an empty list says nothing then.
    pub(super) is_blind: bool,
}

/// A baseline as told.
pub(super) struct Taken {
    pub(super) tree: Option<String>,
    pub(super) ms: u64,
    pub(super) warnings: Vec<String>,
    /// It is the one of an earlier recorder: whether that was late.
    pub(super) resumed: Option<bool>,
}

impl Hands {
    pub(super) fn new(
        writer: Box<Writer>,
        workspace: Workspace,
        max_file_bytes: u64,
        time: Duration,
    ) -> Self {
        Self { writer, workspace, max_file_bytes, time, turns: BTreeMap::new() }
    }

    /// Takes the turn's baseline, or goes on from the one of a recorder that ended during the turn.
    pub(super) fn baseline(
        &mut self,
        record: &TurnRecord,
        earlier: Option<&SessionStore>,
        cancel: &AtomicBool,
    ) -> Taken {
        while self.turns.len() > FINISHED_TURNS {
            self.turns.pop_first();
        }
        if let Some(hand) = earlier.and_then(|store| self.resumed(record, store)) {
            let (tree, resumed) = (hand.baseline.clone(), Some(hand.late));
            self.turns.insert(record.turn, hand);
            return Taken { tree, ms: 0, warnings: Vec::new(), resumed };
        }
        let start = Instant::now();
        let mut hand = Hand::default();
        let began = record.started_at.unwrap_or_default();
        let kept = earlier.and_then(|store| store.turns.get(&record.turn));
        hand.earlier = kept.filter(|kept| kept.is_after(began)).cloned();
        let mut warnings = Vec::new();
        match self.workspace.take(cancel) {
            Ok(Some(snapshot)) => {
                hand.baseline = Some(snapshot.tree);
                hand.skipped = snapshot.skipped;
            }
            Ok(None) => hand.notes.push(
                "there is no git repository: only files that file tools named are recorded".into(),
            ),
            Err(error) => {
                warnings.push(error.to_string());
                hand.is_blind = true;
                hand.notes.push(format!("no snapshot at the start of the turn: {error}"));
            }
        }
        let tree = hand.baseline.clone();
        self.turns.insert(record.turn, hand);
        let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Taken { tree, ms, warnings, resumed: None }
    }

    /// Writes down a turn's baseline.
    pub(super) fn keep_baseline(
        &mut self,
        turn: u32,
        late: bool,
        ms: u64,
        prompt: Option<String>,
    ) -> Result<(), StoreError> {
        let Some(hand) = self.turns.get_mut(&turn) else { return Ok(()) };
        hand.late = late;
        let tree = hand.baseline.clone();
        self.writer.baseline(Baseline {
            turn,
            tree,
            late,
            ms,
            at: now(),
            prompt,
            ..Baseline::default()
        })
    }

    /// Removes the snapshots, which nobody needs when no turn is in hand.
    pub(super) fn leave(self) {
        // What cannot be removed now is removed by the next clean-up.
        let _ = fs::remove_file(self.writer.stat_cache());
        if let Ok(scratch) = self.writer.scratch_objects() {
            let _ = fs::remove_dir_all(scratch);
        }
    }

    /// The turn as an earlier recorder left it, if its snapshot is still there and it began when
    /// the log says.
    fn resumed(&self, record: &TurnRecord, store: &SessionStore) -> Option<Hand> {
        let baseline = store.baselines.get(&record.turn)?;
        let of_this_turn = record.started_at.is_none_or(|started| baseline.is_after(started));
        if baseline.tree.is_none() || !of_this_turn {
            return None;
        }
        self.left(baseline, store)
    }

    /// Takes a turn in hand as another recorder left it, under the number that the log gives it.
    /// Tells whether its snapshot is still there.
    pub(super) fn take_up(
        &mut self,
        turn: u32,
        baseline: &Baseline,
        store: &SessionStore,
        note: Option<String>,
    ) -> bool {
        let Some(mut hand) = self.left(baseline, store) else { return false };
        hand.notes.extend(note);
        if baseline.tree.is_none() {
            hand.notes.push(NO_BASELINE.to_owned());
        }
        self.turns.insert(turn, hand);
        true
    }

    fn left(&self, baseline: &Baseline, store: &SessionStore) -> Option<Hand> {
        if baseline.tree.as_ref().is_some_and(|tree| !self.workspace.has_tree(tree)) {
            return None;
        }
        let captures = store
            .captures
            .iter()
            .filter(|capture| capture.turn == baseline.turn && capture.at >= baseline.at)
            .map(|capture| (PathBuf::from(&capture.path), Before::Side(capture.side.clone())));
        Some(Hand {
            baseline: baseline.tree.clone(),
            late: baseline.late,
            captures: captures.collect(),
            ..Hand::default()
        })
    }

    /// Sees to it that what a file holds before an edit is known; gives its canonical path, or
    /// none where the file is of no interest.
    pub(super) fn capture(
        &mut self,
        turn: u32,
        call_id: &str,
        spelled: &str,
        too_late: bool,
    ) -> Result<Option<PathBuf>, StoreError> {
        let path = self.workspace.real_path(spelled);
        let ground = self.workspace.ground(&path);
        let Some(hand) = self.turns.get_mut(&turn) else { return Ok(None) };
        if matches!(ground, Ground::Temporary | Ground::Nested) {
            return Ok(None);
        }
        if hand.captures.contains_key(&path) {
            return Ok(Some(path));
        }
        let in_baseline = match &ground {
            Ground::Tree(inside) => {
                self.workspace.in_tree(hand.baseline.as_ref(), inside) != ContentId::Absent
            }
            _ => false,
        };
        let before = if in_baseline {
            Before::Covered
        } else if too_late {
            Before::TooLate
        } else {
            Before::Side(self.keep_capture(turn, call_id, &path)?)
        };
        if let Some(hand) = self.turns.get_mut(&turn) {
            hand.captures.insert(path.clone(), before);
        }
        Ok(Some(path))
    }

    fn keep_capture(
        &mut self,
        turn: u32,
        call_id: &str,
        path: &Path,
    ) -> Result<KeptSide, StoreError> {
        let shown = self.workspace.rules.show(path);
        let named = Named { turn, path: &shown.path, display: &shown.display, mode: 0 };
        let side = keep_file(&mut self.writer, named, path, self.max_file_bytes)?;
        // A path that is no text could not be found again.
        if let Some(text) = path.to_str() {
            self.writer.capture(Capture {
                turn,
                call_id: call_id.to_owned(),
                path: text.to_owned(),
                side: side.clone(),
                at: now(),
            })?;
        }
        Ok(side)
    }

    /// Works out what a turn changed and keeps it. None where the turn is not in hand. What went
    /// wrong beside comes with it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(super) fn finish(
        &mut self,
        record: &TurnRecord,
        look: bool,
        overtaken: bool,
        log: &LogRows,
        cancel: &AtomicBool,
    ) -> Result<Option<Finished>, StoreError> {
        let Some(mut hand) = self.turns.remove(&record.turn) else { return Ok(None) };
        let warnings = if look { self.look(&mut hand, cancel) } else { Vec::new() };
        if look && overtaken {
            let note = "the end was seen late: changes of the next turn may be among these";
            hand.end.notes.push(note.to_owned());
        }
        let is_blind = hand.is_blind || !warnings.is_empty();
        let workspace = &self.workspace;
        let before = |path: &Path| match (hand.captures.get(path), workspace.ground(path)) {
            (Some(Before::Side(side)), _) => side.content_id(),
            (_, Ground::Tree(inside)) => workspace.in_tree(hand.baseline.as_ref(), &inside),
            // Nothing can be told of it: no object has this name.
            _ => ContentId::Blob { id: String::new(), mode: 0o100_644 },
        };
        let calls = Calls::of(record, workspace, log, &before);
        let mut maker = Maker {
            turn: record.turn,
            workspace,
            writer: &mut self.writer,
            max_file_bytes: self.max_file_bytes,
            time: self.time,
        };
        let made = maker.make(&mut hand, &calls);
        self.turns.insert(record.turn, hand);
        let mut kept = made?;
        kept.at = now();
        self.writer.turn(kept.clone())?;
        Ok(Some(Finished { kept, warnings, is_blind }))
    }

    fn look(&mut self, hand: &mut Hand, cancel: &AtomicBool) -> Vec<String> {
        hand.end = End::default();
        let mut warnings = Vec::new();
        if hand.baseline.is_none() {
            return warnings;
        }
        match self.workspace.take(cancel) {
            Ok(Some(snapshot)) => {
                hand.end.tree = Some(snapshot.tree);
                // What could not be read at the start either is no news of this turn.
                let skipped = snapshot.skipped.into_iter().filter(|s| !hand.skipped.contains(s));
                hand.end.skipped = skipped.map(|skipped| self.skipped(skipped)).collect();
                warnings.extend(hand.end.skipped.iter().take(SKIPPED_TOLD).map(in_words));
            }
            Ok(None) => warnings.push("the git repository is gone".to_owned()),
            Err(error) => warnings.push(error.to_string()),
        }
        if hand.end.tree.is_none() {
            let note = |warning| format!("no snapshot at the end of the turn: {warning}");
            hand.end.notes.extend(warnings.iter().map(note));
        }
        warnings
    }

    fn skipped(&self, (path, cause): (PathBuf, String)) -> Skipped {
        let path = self.workspace.root().join(path);
        Skipped { path: self.workspace.rules.show(&path).display, cause }
    }
}

fn in_words(skipped: &Skipped) -> String {
    format!("{}: {}", skipped.path, skipped.cause)
}

/// Milliseconds since the Unix epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
