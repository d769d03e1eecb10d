//! One directory of the work tree against what the index knows of it: the rules of `git add --all`.
//!
//! The rules are those of git's `add_files_to_cache`, `run_diff_files`, `fill_directory` and
//! `add_to_index` (builtin/add.c, diff-lib.c, dir.c, read-cache.c), as far as they decide a tree.

use super::SnapshotError;
use super::cache::{FileRecord, Folder};
use super::convert::{Candidate, Converter};
use super::disk::{Directory, FileStat, Kind, Moment, Name, as_path};
use super::job::{Job, Presence};
use super::objects::Objects;
use super::scene::Scene;
use super::snapshotter::with_causes;
use super::tracked::{self, Known};
use super::tree::Rows;
use gix::index::Entry;
use gix::index::entry::Mode;
use gix::objs::tree::EntryKind;
use gix::{ObjectId, Repository};
use rustix::io::Errno;
use std::ops::Range;
use std::path::PathBuf;

/// What a thread found besides rows.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What could not be read, and why.
    pub(super) skipped: Vec<(PathBuf, String)>,
    /// Repositories within the repository.
    pub(super) nested: Vec<PathBuf>,
    /// Cache records of the directories.
    pub(super) records: Vec<Vec<u8>>,
    /// Whether a record differs from what the cache had.
    pub(super) fresh: bool,
}

/// Visits directories, one at a time. Each thread has its own.
pub(super) struct Visitor<'a> {
    scene: &'a Scene<'a>,
    repository: &'a Repository,
    pub(super) objects: &'a Objects,
    /// Made when it is first needed: a clean work tree needs none.
    converter: Option<Converter<'a>>,
    pub(super) findings: Findings,
}

/// One visit in the making.
struct Visit<'a> {
    job: &'a Job,
    directory: Directory,
    rows: Rows,
    below: Vec<Job>,
    /// As it was before this visit.
    old: Folder,
    files: Vec<(usize, FileRecord)>,
    now: Moment,
}

impl Visit<'_> {
    fn path(&self, name: &[u8]) -> Vec<u8> {
        self.job.path_of(name)
    }
}

impl<'a> Visitor<'a> {
    pub(super) fn new(
        scene: &'a Scene<'a>,
        repository: &'a Repository,
        objects: &'a Objects,
    ) -> Self {
        Self { scene, repository, objects, converter: None, findings: Findings::default() }
    }

    /// The rows of a directory without its directories, which are left as jobs.
    pub(super) fn visit(&mut self, job: &Job) -> Result<(Rows, Vec<Job>), SnapshotError> {
        let prefix = if job.path.is_empty() { 0 } else { job.path.len() + 1 };
        let known = tracked::children(self.scene.index, job.entries.clone(), prefix);
        let (mut rows, mut below) = (Rows::default(), Vec::new());
        let opened = match job.presence {
            Presence::Present => self.open(job),
            presence => Err(presence),
        };
        match opened {
            Ok((directory, stat)) => return self.compare(job, directory, &stat, known),
            Err(Presence::Unreadable) => {
                for child in &known {
                    self.keep_stages(child, &mut rows);
                    if !child.below.is_empty() {
                        below.push(job.child(child, Presence::Unreadable));
                    }
                }
            }
            Err(_) => {
                for child in &known {
                    self.missing(job, child, &mut rows, &mut below);
                }
            }
        }
        Ok((rows, below))
    }

    fn open(&mut self, job: &Job) -> Result<(Directory, FileStat), Presence> {
        let opened = self
            .scene
            .top
            .below(&job.path)
            .and_then(|directory| directory.own_stat().map(|stat| (directory, stat)));
        opened.map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Presence::Gone,
            error => {
                self.skip(&job.path, &error);
                Presence::Unreadable
            }
        })
    }

    fn compare(
        &mut self,
        job: &Job,
        directory: Directory,
        stat: &FileStat,
        known: Vec<Known<'_>>,
    ) -> Result<(Rows, Vec<Job>), SnapshotError> {
        let now = Moment::now();
        let mut old = self.scene.cache.folder(&job.path).unwrap_or_default();
        let names = if old.stat == Some(*stat) {
            std::mem::take(&mut old.names)
        } else {
            directory.names().unwrap_or_else(|error| {
                self.skip(&job.path, &error);
                super::disk::Names::default()
            })
        };
        let mut visit = Visit {
            job,
            directory,
            rows: Rows::default(),
            below: Vec::new(),
            old,
            files: Vec::new(),
            now,
        };
        let mut known = known.into_iter().peekable();
        for (place, name) in names.iter().enumerate() {
            while let Some(child) = known.next_if(|child| child.name < name.name) {
                self.missing(job, &child, &mut visit.rows, &mut visit.below);
            }
            let child = known.next_if(|child| child.name == name.name);
            if !self.scene.settings.is_git_name(name.name) {
                self.name(&mut visit, place, name, child.as_ref())?;
            }
        }
        for child in known {
            self.missing(job, &child, &mut visit.rows, &mut visit.below);
        }
        let folder = Folder { stat: stat.settled(now).then_some(*stat), names, files: visit.files };
        let mut record = Vec::new();
        folder.encode(&job.path, &mut record);
        self.findings.fresh |= self.scene.cache.raw(&job.path) != Some(record.as_slice());
        self.findings.records.push(record);
        Ok((visit.rows, visit.below))
    }

    /// One name that the directory has.
    fn name(
        &mut self,
        visit: &mut Visit<'_>,
        place: usize,
        name: Name<'_>,
        child: Option<&Known<'_>>,
    ) -> Result<(), SnapshotError> {
        let Some(child) = child else {
            return self.untracked(visit, place, name, 0..0);
        };
        let Some(entry) = tracked::preferred(self.scene.stages(child)) else {
            if name.kind == Kind::Directory {
                visit.below.push(visit.job.child(child, Presence::Present));
                return Ok(());
            }
            self.missing(visit.job, child, &mut visit.rows, &mut visit.below);
            return self.untracked(visit, place, name, 0..0);
        };
        if self.scene.stays_though_present(child, entry) {
            self.keep_stages(child, &mut visit.rows);
            let may_give_way =
                name.kind == Kind::Directory && !entry.mode.is_dir_for_pattern_matching();
            if may_give_way {
                self.untracked(visit, place, name, child.below.clone())?;
            }
            return Ok(());
        }
        match visit.directory.stat(name.name) {
            Ok(stat) => self.tracked(visit, place, name.name, &stat, child, entry),
            Err(Errno::NOENT | Errno::NOTDIR) => {
                self.missing(visit.job, child, &mut visit.rows, &mut visit.below);
                Ok(())
            }
            Err(error) => {
                self.skip(&visit.path(name.name), &error);
                self.keep_stages(child, &mut visit.rows);
                Ok(())
            }
        }
    }

    /// A name that the index has an entry for, with what the disk has there now.
    fn tracked(
        &mut self,
        visit: &mut Visit<'_>,
        place: usize,
        name: &[u8],
        stat: &FileStat,
        child: &Known<'_>,
        entry: &Entry,
    ) -> Result<(), SnapshotError> {
        match stat.kind() {
            Kind::File | Kind::Link => {
                self.missing_below(visit.job, child, &mut visit.below);
                let merged =
                    tracked::merged(self.scene.stages(child)) && !tracked::announced(entry);
                match entry.mode.to_tree_entry_mode() {
                    Some(mode) if merged && self.scene.is_unchanged(entry, stat) => {
                        visit.rows.push(name, mode, entry.id);
                    }
                    _ if self.add(visit, place, name, stat, Some(entry))? => {}
                    _ => self.keep_stages(child, &mut visit.rows),
                }
                Ok(())
            }
            Kind::Directory if entry.mode.is_submodule() => {
                let path = visit.path(name);
                match self.scene.settings.nested_head(&self.scene.absolute(&path)) {
                    Some(head) => visit.rows.push(name, EntryKind::Commit.into(), head),
                    None => self.keep_stages(child, &mut visit.rows),
                }
                self.findings.nested.push(as_path(&path).into());
                Ok(())
            }
            kind @ Kind::Directory => {
                self.untracked(visit, place, Name { name, kind }, child.below.clone())
            }
            Kind::Other | Kind::Unknown => {
                self.skip(&visit.path(name), &"neither a file, nor a link, nor a directory");
                self.keep_stages(child, &mut visit.rows);
                Ok(())
            }
        }
    }

    /// A name that the index has no entry for (but perhaps entries below it).
    fn untracked(
        &mut self,
        visit: &mut Visit<'_>,
        place: usize,
        name: Name<'_>,
        below: Range<usize>,
    ) -> Result<(), SnapshotError> {
        let path = visit.path(name.name);
        let mut stat = None;
        let mut kind = name.kind;
        if kind == Kind::Unknown {
            stat = visit.directory.stat(name.name).ok();
            kind = stat.map_or(Kind::Other, |stat| stat.kind());
        }
        if kind == Kind::Other {
            return Ok(());
        }
        let directory = kind == Kind::Directory;
        if (!directory || below.is_empty()) && self.is_left_out(&path, directory)? {
            return Ok(());
        }
        if directory {
            if self.scene.settings.refuses(name.name, false) {
                self.skip(&path, &"git refuses this name");
                return Ok(());
            }
            if below.is_empty() && self.scene.settings.is_nested(&self.scene.absolute(&path)) {
                return self.nested(visit, name.name, &path);
            }
            visit.below.push(Job { path, entries: below, presence: Presence::Present });
            return Ok(());
        }
        if self.scene.is_out_of_checkout(&path, Mode::FILE)? {
            return Ok(());
        }
        match stat.map_or_else(|| visit.directory.stat(name.name), Ok) {
            Ok(stat) if matches!(stat.kind(), Kind::File | Kind::Link) => {
                self.add(visit, place, name.name, &stat, None)?;
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => self.skip(&path, &error),
        }
        Ok(())
    }

    /// An untracked repository within the work tree: a row that names its commit.
    fn nested(
        &mut self,
        visit: &mut Visit<'_>,
        name: &[u8],
        path: &[u8],
    ) -> Result<(), SnapshotError> {
        self.findings.nested.push(as_path(path).into());
        if self.scene.is_out_of_checkout(path, Mode::COMMIT)? {
            return Ok(());
        }
        match self.scene.settings.nested_head(&self.scene.absolute(path)) {
            Some(head) => visit.rows.push(name, EntryKind::Commit.into(), head),
            None => self.skip(path, &"a repository without a commit of this hash"),
        }
        Ok(())
    }

    /// Adds the row of a file or link; false where it cannot be had, which is then among the skipped.
    fn add(
        &mut self,
        visit: &mut Visit<'_>,
        place: usize,
        name: &[u8],
        stat: &FileStat,
        entry: Option<&Entry>,
    ) -> Result<bool, SnapshotError> {
        let path = visit.path(name);
        let link = stat.kind() == Kind::Link;
        if self.scene.settings.refuses(name, link) {
            self.skip(&path, &"git refuses this name");
            return Ok(false);
        }
        let found = if link {
            self.link(visit, name, stat)
        } else {
            self.file(visit, name, &path, stat, entry.map(|entry| entry.id))?
        };
        match found {
            Ok(record) => {
                if record.stat.settled(visit.now) {
                    visit.files.push((place, record));
                }
                let mode = self.scene.mode(stat, entry.map(|entry| entry.mode));
                visit.rows.push(name, mode, record.id);
                Ok(true)
            }
            Err(cause) => {
                self.skip(&path, &with_causes(&cause));
                Ok(false)
            }
        }
    }

    fn link(&self, visit: &Visit<'_>, name: &[u8], stat: &FileStat) -> gix::Result<FileRecord> {
        let target = visit.directory.link_target(name).map_err(gix::Error::from_error)?;
        Ok(FileRecord {
            stat: *stat,
            digest: 0,
            id: self.objects.put(gix::objs::Kind::Blob, &target)?,
        })
    }

    /// The blob of a regular file: from the cache if it looks the same, else read. The outer error
    /// ends the snapshot, the inner one costs this file.
    fn file(
        &mut self,
        visit: &Visit<'_>,
        name: &[u8],
        path: &[u8],
        stat: &FileStat,
        indexed: Option<ObjectId>,
    ) -> Result<gix::Result<FileRecord>, SnapshotError> {
        let (objects, cancel) = (self.objects, self.scene.cancel);
        let candidate = Candidate { directory: &visit.directory, name, path, indexed };
        let converter = self.converter()?;
        let digest = match converter.digest(&candidate) {
            Ok(digest) => digest,
            Err(cause) => return Ok(Err(cause)),
        };
        let same = |record: &&FileRecord| record.stat == *stat && record.digest == digest;
        if let Some(record) = visit.old.file(name).filter(same)
            && objects.contains(&record.id)
        {
            return Ok(Ok(*record));
        }
        let read = converter.blob(&candidate, objects, cancel);
        Ok(read.map(|(id, unchanged)| FileRecord {
            // One that changed while it was read is never settled, and so never kept.
            stat: unchanged
                .unwrap_or(FileStat { mtime: Moment { seconds: i64::MAX, nanos: 0 }, ..*stat }),
            digest,
            id,
        }))
    }

    /// An entry whose file is not there.
    fn missing(&self, job: &Job, child: &Known<'_>, rows: &mut Rows, below: &mut Vec<Job>) {
        if self.scene.stays_though_missing(child.stages.clone()) {
            self.keep_stages(child, rows);
        }
        self.missing_below(job, child, below);
    }

    fn missing_below(&self, job: &Job, child: &Known<'_>, below: &mut Vec<Job>) {
        if child.below.clone().any(|at| self.scene.stays_though_missing(at..at + 1)) {
            below.push(job.child(child, Presence::Gone));
        }
    }

    fn keep_stages(&self, child: &Known<'_>, rows: &mut Rows) {
        if let Some(entry) = tracked::preferred(self.scene.stages(child))
            && !tracked::announced(entry)
            && let Some(mode) = entry.mode.to_tree_entry_mode()
        {
            rows.keep(child.name, mode, entry.id);
        }
    }

    /// Whether git would not list an untracked path: it is ignored, or another spelling is tracked.
    fn is_left_out(&mut self, path: &[u8], directory: bool) -> Result<bool, SnapshotError> {
        let alias = self
            .scene
            .aliases
            .as_ref()
            .is_some_and(|aliases| aliases.contains(&path.to_ascii_lowercase()));
        if alias {
            return Ok(true);
        }
        match self.converter()?.ignores(path, directory) {
            Ok(ignored) => Ok(ignored),
            Err(cause) => {
                self.skip(path, &with_causes(&cause));
                Ok(true)
            }
        }
    }

    fn converter(&mut self) -> Result<&mut Converter<'a>, SnapshotError> {
        let made = match self.converter.take() {
            Some(made) => made,
            None => Converter::new(self.repository, self.scene.index, self.scene.sparse)
                .map_err(|cause| SnapshotError::open(&self.scene.settings.root, cause))?,
        };
        Ok(self.converter.insert(made))
    }

    fn skip(&mut self, path: &[u8], cause: &dyn std::fmt::Display) {
        self.findings.skipped.push((as_path(path).into(), cause.to_string()));
    }
}
