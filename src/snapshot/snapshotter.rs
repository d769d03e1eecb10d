//! A repository whose work tree can be taken as a tree, again and again.

use super::cache::{self, Cache};
use super::disk::Directory;
use super::repository::{self, Settings};
use super::scene::Scene;
use super::sparse::Sparse;
use super::walk::{Walked, walk};
use gix::ThreadSafeRepository;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The repository, its configuration or its patterns cannot be read.
    #[error("{path}: cannot open the repository: {cause}", path = .path.display())]
    Open {
        /// What could not be read.
        path: PathBuf,
        /// Why, in one line.
        cause: String,
    },
    /// The index cannot be read.
    #[error("{path}: cannot read the index: {cause}", path = .path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// Why, in one line.
        cause: String,
    },
    /// An object cannot be written.
    #[error("{path}: cannot write an object: {cause}", path = .path.display())]
    Write {
        /// The object directory.
        path: PathBuf,
        /// Why, in one line.
        cause: String,
    },
    /// The cancel flag was raised.
    #[error("cancelled")]
    Cancelled,
}

impl SnapshotError {
    pub(super) fn open(path: &Path, cause: impl std::fmt::Display) -> Self {
        Self::Open { path: path.to_path_buf(), cause: one_line(cause) }
    }

    pub(super) fn index(path: &Path, cause: impl std::fmt::Display) -> Self {
        Self::Index { path: path.to_path_buf(), cause: one_line(cause) }
    }

    pub(super) fn write(path: &Path, cause: impl std::fmt::Display) -> Self {
        Self::Write { path: path.to_path_buf(), cause: one_line(cause) }
    }
}

/// An error of gix with all its causes: the first alone seldom says why.
pub(super) fn with_causes(error: &gix::Error) -> String {
    error.iter_errors().map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn one_line(cause: impl std::fmt::Display) -> String {
    cause.to_string().lines().collect::<Vec<_>>().join(" ")
}

/// A work tree as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The id of its tree, hexadecimal. The tree is in our object directory or in the repository's.
    pub tree: String,
    /// What could not be read, relative to the root, and why, in one line each. An entry that the
    /// index had stays in the tree as it was; anything else is left out.
    pub skipped: Vec<(PathBuf, String)>,
    /// Other repositories within the work tree, relative to the root: submodules, and those that
    /// git takes for one.
    pub nested: Vec<PathBuf>,
    /// How many files, links and repositories the tree has.
    pub files: usize,
    /// How long it took.
    pub millis: u64,
}

/// Takes snapshots of one work tree. It writes into the object directory and the cache file that
/// it is given, and nowhere else.
pub struct Snapshotter {
    repository: ThreadSafeRepository,
    opened_from: PathBuf,
    named: Option<PathBuf>,
    root: PathBuf,
    objects: PathBuf,
    cache: Option<PathBuf>,
}

impl Snapshotter {
    /// Finds the repository of `cwd` upwards, as git does, or takes the one at `git_dir`. New
    /// objects will go to `objects`, an object directory that is made if it is not there; what was
    /// seen will be kept in `cache`. None where there is no repository with a work tree.
    ///
    /// # Errors
    /// The repository is there but cannot be opened, or the object directory cannot be made.
    pub fn open(
        cwd: &Path,
        git_dir: Option<&Path>,
        objects: &Path,
        cache: Option<&Path>,
    ) -> Result<Option<Self>, SnapshotError> {
        let Some(repository) = repository::open(cwd, git_dir)? else {
            return Ok(None);
        };
        let Some(root) = repository.work_dir() else {
            return Ok(None);
        };
        let root = root.canonicalize().map_err(|cause| SnapshotError::open(root, cause))?;
        std::fs::create_dir_all(objects).map_err(|cause| SnapshotError::write(objects, cause))?;
        Ok(Some(Self {
            repository,
            opened_from: cwd.to_path_buf(),
            named: git_dir.map(Path::to_path_buf),
            root,
            objects: objects.to_path_buf(),
            cache: cache.map(Path::to_path_buf),
        }))
    }

    /// The top of the work tree, canonical.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory (of a linked work tree: its own).
    pub fn git_dir(&self) -> &Path {
        self.repository.git_dir()
    }

    /// The object directories that a tree of a snapshot needs: ours, then the repository's (which
    /// names its alternates itself).
    pub fn objects_dirs(&self) -> Vec<PathBuf> {
        vec![self.objects.clone(), self.repository.objects_dir().to_path_buf()]
    }

    /// Takes the work tree as it is now. Raising `cancel` ends it soon.
    ///
    /// # Errors
    /// The repository or its index cannot be read, an object cannot be written, or it was cancelled.
    /// A file that cannot be read is no error.
    pub fn take(&mut self, cancel: &AtomicBool) -> Result<Snapshot, SnapshotError> {
        self.take_telling(cancel, &|_| {})
    }

    /// Like [`Self::take`]; `progress` hears of the number of files so far, from any thread.
    ///
    /// # Errors
    /// As those of [`Self::take`].
    pub fn take_telling(
        &mut self,
        cancel: &AtomicBool,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Snapshot, SnapshotError> {
        let start = Instant::now();
        // Settings, packs and alternates may have changed since.
        if let Some(repository) = repository::open(&self.opened_from, self.named.as_deref())? {
            self.repository = repository;
        }
        let local = self.repository.to_thread_local();
        let settings = Settings::new(&local, &self.root);
        let hash = settings.hash;
        let index = repository::index(&local)?;
        let sparse = Sparse::new(&local, &index)?;
        let cache =
            self.cache.as_ref().map(|file| Cache::load(file, &self.root, hash)).unwrap_or_default();
        let top =
            Directory::open(&self.root).map_err(|cause| SnapshotError::open(&self.root, cause))?;
        let scene = Scene {
            settings: &settings,
            index: &index,
            sparse: sparse.as_ref(),
            cache: &cache,
            aliases: settings.ignore_case.then(|| {
                index
                    .entries()
                    .iter()
                    .map(|entry| entry.path(&index).to_ascii_lowercase())
                    .collect()
            }),
            top,
            cancel,
        };
        let walked = walk(&scene, &self.repository, &self.objects, threads(), progress)?;
        self.keep_seen(&walked, &cache, hash);
        Ok(Snapshot {
            tree: walked.tree.to_string(),
            skipped: walked.findings.skipped,
            nested: walked.findings.nested,
            files: walked.files,
            millis: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn keep_seen(&self, walked: &Walked, cache: &Cache, hash: gix::hash::Kind) {
        let records = &walked.findings.records;
        let changed = walked.findings.fresh || records.len() != cache.len();
        if let Some(file) = self.cache.as_ref().filter(|_| changed) {
            // Without it the next snapshot is slower, and as right.
            let _ = cache::save(file, &self.root, hash, records);
        }
    }
}

/// Waiting for the disk is most of the work; more threads than this only wait for each other.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |count| count.get().clamp(1, 8))
}
