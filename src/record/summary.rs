//! Both sides of a turn's files, kept, counted and attributed: the row that is written.

use super::capture::keep_file;
use super::event::RecordEvent;
use super::hand::{Before, Hand};
use super::kinds;
use super::origin::Calls;
use super::workspace::{Ground, Workspace};
use crate::content::{Content, ContentError, ContentId, FileChange, Pair, Source};
use crate::diff::{Limit, compare as compare_texts};
use crate::session::path::{cmp_utf16, escape_name};
use crate::session::{ChangedFile, ChangesSource, ChangesSummary, FileStatus, TreePair};
use crate::snapshot::compare::{TreePlace, changes_between};
use crate::store::kept::{KeptFile, KeptSide, KeptTurn, NotKept, Skipped};
use crate::store::{Named, StoreError, Writer};
use std::io;
use std::path::Path;
use std::time::Duration;

/// What a summary is made with.
pub(super) struct Maker<'a> {
    pub(super) turn: u32,
    pub(super) workspace: &'a Workspace,
    pub(super) writer: &'a mut Writer,
    /// Larger files are not looked into, in bytes.
    pub(super) max_file_bytes: u64,
    /// How long one comparison may take.
    pub(super) time: Duration,
}

impl Maker<'_> {
    /// The turn's row, from what was taken at its start and at its end.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(super) fn make(&mut self, hand: &mut Hand, calls: &Calls) -> Result<KeptTurn, StoreError> {
        let mut kept = KeptTurn {
            turn: self.turn,
            cwd: escape_name(self.workspace.rules.cwd.as_os_str()),
            late: hand.late,
            notes: [hand.notes.as_slice(), &hand.end.notes].concat(),
            ..KeptTurn::default()
        };
        let pair = hand.baseline.clone().zip(hand.end.tree.clone());
        if let Some((before, after)) = &pair {
            kept.skipped.clone_from(&hand.end.skipped);
            match self.between_trees(before, after, calls) {
                Ok(files) => kept.files = files?,
                Err(error) => kept.notes.push(format!("the snapshots cannot be read: {error}")),
            }
            kept.snapshot = Some(TreePair { before: before.clone(), after: after.clone() });
        }
        self.add_captures(hand, calls, &mut kept)?;
        if let Some(earlier) = &hand.earlier {
            self.join(earlier, calls, &mut kept);
        }
        kept.files.sort_by(|a, b| cmp_utf16(&a.file.display, &b.file.display));
        Ok(kept)
    }

    fn between_trees(
        &mut self,
        before: &str,
        after: &str,
        calls: &Calls,
    ) -> Result<Result<Vec<KeptFile>, StoreError>, ContentError> {
        let workspace = self.workspace;
        let place = TreePlace { root: workspace.root(), rules: &workspace.rules };
        let changes = changes_between(&workspace.objects, before, after, &place)?;
        Ok(changes.files.into_iter().map(|change| self.keep_change(change, calls)).collect())
    }

    fn keep_change(&mut self, change: FileChange, calls: &Calls) -> Result<KeptFile, StoreError> {
        let Pair::Sides { old, new } = &change.pair else {
            return Err(StoreError::Row { cause: "a tree's change has no sides".into() });
        };
        let old = self.keep_object(&change.file, old)?;
        let new = self.keep_object(&change.file, new)?;
        Ok(self.file(change.file, old, new, calls))
    }

    /// Copies an object of a snapshot into the store.
    fn keep_object(&mut self, file: &ChangedFile, id: &ContentId) -> Result<KeptSide, StoreError> {
        let ContentId::Blob { id, mode } = id else { return Ok(KeptSide::Absent) };
        let objects = &self.workspace.objects;
        let named =
            Named { turn: self.turn, path: &file.path, display: &file.display, mode: *mode };
        let hash = gix::ObjectId::from_hex(id.as_bytes())
            .map_err(|_| StoreError::Object { id: id.clone(), cause: "no object id".into() })?;
        let len = if *mode == 0o160_000 { Ok(0) } else { objects.blob_size(&hash) };
        match len {
            Ok(len) => {
                self.writer.keep(named, id, len, || objects.blob(&hash).map_err(io::Error::other))
            }
            Err(error) => Ok(KeptSide::Blob {
                id: id.clone(),
                mode: *mode,
                bytes: 0,
                not_kept: Some(NotKept::Unreadable(error.to_string())),
            }),
        }
    }

    /// The captured files that no snapshot covers.
    fn add_captures(
        &mut self,
        hand: &mut Hand,
        calls: &Calls,
        kept: &mut KeptTurn,
    ) -> Result<(), StoreError> {
        let Hand { captures, baseline, end, .. } = hand;
        for (path, before) in captures {
            if self.is_covered(path, baseline.as_ref(), end.tree.as_ref()) {
                continue;
            }
            let shown = self.workspace.rules.show(path);
            let new = match end.files.get(path) {
                Some(side) => side.clone(),
                None => self.keep_now(path)?,
            };
            end.files.insert(path.clone(), new.clone());
            let old = match before {
                Before::Covered => continue,
                Before::Side(side) if *side != new => side.clone(),
                Before::Side(_) if !calls.came_before_capture(&shown.path) => continue,
                Before::Side(_) | Before::TooLate => {
                    let cause = "changed before it could be captured: what it held is not known";
                    kept.skipped.push(Skipped { path: shown.path, cause: cause.into() });
                    continue;
                }
            };
            let mode = |side: &KeptSide| match side {
                KeptSide::Blob { mode, .. } => Some(format!("{mode:06o}")),
                KeptSide::Absent => None,
            };
            let differ = mode(&old).zip(mode(&new)).is_some_and(|(old, new)| old != new);
            let told = |mode: Option<String>| mode.filter(|mode| differ || mode != "100644");
            let file = ChangedFile {
                path: shown.path,
                display: shown.display,
                status: kinds::status(&old, &new),
                old_mode: told(mode(&old)),
                new_mode: told(mode(&new)),
                ..ChangedFile::default()
            };
            let file = self.file(file, old, new, calls);
            kept.files.push(file);
        }
        Ok(())
    }

    /// Adds what an earlier recorder kept of the turn: its sides before are those of the turn.
    fn join(&self, earlier: &KeptTurn, calls: &Calls, kept: &mut KeptTurn) {
        for first in &earlier.files {
            let place = kept.files.iter().position(|file| file.file.path == first.file.path);
            let Some(at) = place else {
                kept.files.push(first.clone());
                continue;
            };
            let (old, new) = (first.old.clone(), kept.files.swap_remove(at).new);
            if old != new {
                let mut file = first.file.clone();
                if file.status != FileStatus::Renamed {
                    file.status = kinds::status(&old, &new);
                }
                kept.files.push(self.file(file, old, new, calls));
            }
        }
    }

    /// Whether the snapshots tell of a file. One that is in neither is ignored, or never was there.
    fn is_covered(&self, path: &Path, before: Option<&String>, after: Option<&String>) -> bool {
        match self.workspace.ground(path) {
            Ground::Temporary | Ground::Nested => true,
            Ground::Elsewhere => false,
            Ground::Tree(inside) => [before, after]
                .iter()
                .any(|tree| self.workspace.in_tree(*tree, &inside) != ContentId::Absent),
        }
    }

    /// Keeps a file as the disk has it now.
    fn keep_now(&mut self, path: &Path) -> Result<KeptSide, StoreError> {
        let shown = self.workspace.rules.show(path);
        let named = Named { turn: self.turn, path: &shown.path, display: &shown.display, mode: 0 };
        keep_file(self.writer, named, path, self.max_file_bytes)
    }

    /// Counts and attributes a file.
    fn file(&self, mut file: ChangedFile, old: KeptSide, new: KeptSide, calls: &Calls) -> KeptFile {
        let sides = self.content(&old).and_then(|before| Ok((before, self.content(&new)?)));
        let (mut counted, mut note) = (false, None);
        file.origin = calls.origin(&file, sides.as_ref().map_or(&Content::Absent, |(_, new)| new));
        if let Ok((before, after)) = &sides {
            counted = self.count(&mut file, before, after);
            note = kinds::describe(&file, (&old, &new), (before, after));
        }
        KeptFile { file, old, new, counted, note }
    }

    fn content(&self, side: &KeptSide) -> Result<Content, ContentError> {
        match side {
            KeptSide::Blob { bytes, mode, .. }
                if *bytes > self.max_file_bytes && *mode != 0o160_000 =>
            {
                Ok(Content::Oversized { len: *bytes })
            }
            side => self.workspace.objects.read(&side.content_id()),
        }
    }

    /// Whether the counts are exact: a later look may have more time.
    fn count(&self, file: &mut ChangedFile, old: &Content, new: &Content) -> bool {
        let is = |wanted: fn(&Content) -> bool| wanted(old) || wanted(new);
        file.oversized = is(|content| matches!(content, Content::Oversized { .. }));
        file.binary = !file.oversized && is(|content| matches!(content, Content::Binary { .. }));
        if file.oversized || file.binary {
            return true;
        }
        let bytes = |content: &Content| match content {
            Content::Text(bytes) => Some(bytes.clone()),
            _ => None,
        };
        match compare_texts(bytes(old), bytes(new), &Limit::within(self.time)) {
            Ok(comparison) => {
                file.added = comparison.added().into();
                file.deleted = comparison.deleted().into();
                !comparison.coarse
            }
            Err(_) => false,
        }
    }
}

/// A kept turn as the outside sees it; at most `max_files` are listed.
fn summary(kept: &KeptTurn, max_files: usize) -> ChangesSummary {
    let count = |of: fn(&ChangedFile) -> u64| kept.files.iter().map(|kept| of(&kept.file)).sum();
    ChangesSummary {
        turn: Some(kept.turn),
        cwd: kept.cwd.clone(),
        files: kept.files.iter().take(max_files).map(|kept| kept.file.clone()).collect(),
        total: kept.files.len(),
        added: count(|file| file.added),
        deleted: count(|file| file.deleted),
        snapshot: kept.snapshot.clone(),
        source: ChangesSource::Recorded,
    }
}

/// What is told of a kept turn.
pub(super) fn told(kept: &KeptTurn, max_files: usize) -> RecordEvent {
    if kept.files.is_empty() {
        RecordEvent::Unchanged { turn: kept.turn }
    } else {
        RecordEvent::Changes(summary(kept, max_files))
    }
}
