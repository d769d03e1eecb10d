//! What decides the row of one name: the index, the settings, the sparse checkout.

use super::SnapshotError;
use super::cache::Cache;
use super::disk::{Directory, FileStat, Kind, Moment, as_path};
use super::repository::Settings;
use super::sparse::Sparse;
use super::tracked::{self, Known};
use gix::index::entry::{Mode, Stat, stat::Time};
use gix::index::{Entry, State};
use gix::objs::tree::{EntryKind, EntryMode};
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What all threads of a walk look at.
pub(super) struct Scene<'a> {
    pub(super) settings: &'a Settings,
    pub(super) index: &'a State,
    pub(super) sparse: Option<&'a Sparse>,
    pub(super) cache: &'a Cache,
    /// Lower-cased paths of the index, where case is ignored.
    pub(super) aliases: Option<HashSet<Vec<u8>>>,
    pub(super) top: Directory,
    pub(super) cancel: &'a AtomicBool,
}

impl<'a> Scene<'a> {
    pub(super) fn stays_though_missing(&self, stages: Range<usize>) -> bool {
        let first = stages.start;
        let entries = self.index.entries().get(stages);
        entries.unwrap_or_default().first().is_some_and(|entry| {
            entry.mode.is_sparse()
                || tracked::assumed(entry)
                || tracked::skipped(entry)
                || self.sparse.is_some_and(|sparse| sparse.is_out(first))
        })
    }

    pub(super) fn stays_though_present(&self, child: &Known<'_>, entry: &Entry) -> bool {
        let unmarks = self.sparse.is_some_and(Sparse::unmarks_present);
        entry.mode.is_sparse()
            || tracked::assumed(entry)
            || (tracked::skipped(entry) && !unmarks)
            || self.sparse.is_some_and(|sparse| sparse.is_out(child.stages.start))
    }

    pub(super) fn stages(&self, child: &Known<'_>) -> &'a [Entry] {
        self.index.entries().get(child.stages.clone()).unwrap_or_default()
    }

    /// Whether the disk shows the file as the index has it, so that git would not read it.
    pub(super) fn is_unchanged(&self, entry: &Entry, stat: &FileStat) -> bool {
        let settings = self.settings;
        let link = entry.mode == Mode::SYMLINK;
        let same_type = match stat.kind() {
            Kind::Link => link,
            Kind::File if link => !settings.symlinks,
            Kind::File if settings.file_mode => {
                (entry.mode == Mode::FILE_EXECUTABLE) == stat.executable()
            }
            kind => kind == Kind::File && !entry.mode.is_submodule(),
        };
        let smudged = entry.stat.size == 0 && !entry.id.is_empty_blob();
        same_type
            && !smudged
            && entry.stat.matches(&as_index_stat(stat), settings.stat)
            && !entry.stat.is_racy(self.index.timestamp(), settings.stat)
    }

    /// The mode of a row (`ce_mode_from_stat` in git's read-cache.h).
    pub(super) fn mode(&self, stat: &FileStat, indexed: Option<Mode>) -> EntryMode {
        let settings = self.settings;
        let kind = match (stat.kind(), indexed) {
            (Kind::Link, _) => EntryKind::Link,
            (_, Some(Mode::SYMLINK)) if !settings.symlinks => EntryKind::Link,
            (_, Some(Mode::FILE_EXECUTABLE)) if !settings.file_mode => EntryKind::BlobExecutable,
            _ if settings.file_mode && stat.executable() => EntryKind::BlobExecutable,
            _ => EntryKind::Blob,
        };
        kind.into()
    }

    pub(super) fn is_out_of_checkout(
        &self,
        path: &[u8],
        mode: Mode,
    ) -> Result<bool, SnapshotError> {
        match self.sparse {
            Some(sparse) => sparse.leaves_out(path, mode, self.settings.hash.null()),
            None => Ok(false),
        }
    }

    pub(super) fn absolute(&self, path: &[u8]) -> PathBuf {
        self.settings.root.join(as_path(path))
    }
}

#[allow(clippy::cast_sign_loss, reason = "the index keeps the low 32 bits, as git does")]
fn as_index_stat(stat: &FileStat) -> Stat {
    let time = |moment: Moment| Time { secs: moment.seconds as u32, nsecs: moment.nanos };
    Stat {
        mtime: time(stat.mtime),
        ctime: time(stat.ctime),
        dev: 0,
        ino: stat.ino as u32,
        uid: stat.uid,
        gid: stat.gid,
        size: stat.size as u32,
    }
}
