//! The repository as found: its work tree, its settings, its index, the repositories within it.

use super::SnapshotError;
use gix::discover::upwards;
use gix::index::entry::stat::Options as StatOptions;
use gix::validate::path::component;
use gix::validate::path::component::{Mode as NameMode, Options as NameOptions};
use gix::{ObjectId, Repository, ThreadSafeRepository};
use std::path::{Path, PathBuf};

/// Finds the repository of `cwd` as git does (`GIT_CEILING_DIRECTORIES` holds), or opens `git_dir`.
/// None where there is none, or none with a work tree.
///
/// A repository of another owner is opened with less trust: its filter programs do not run.
pub(super) fn open(
    cwd: &Path,
    git_dir: Option<&Path>,
) -> Result<Option<ThreadSafeRepository>, SnapshotError> {
    let opened = match git_dir {
        Some(git_dir) => open_named(cwd, git_dir),
        None => ThreadSafeRepository::discover_opts(
            cwd,
            upwards::Options::default().apply_environment(),
            gix::sec::trust::Mapping::default(),
        ),
    };
    match opened {
        Ok(repository) => Ok(repository.work_dir().is_some().then_some(repository)),
        Err(cause) if git_dir.is_none() && none_here(&cause) => Ok(None),
        Err(cause) => Err(SnapshotError::open(git_dir.unwrap_or(cwd), cause)),
    }
}

fn none_here(cause: &gix::Error) -> bool {
    matches!(
        cause.downcast_any_ref::<upwards::Error>(),
        Some(
            upwards::Error::NoGitRepository { .. }
                | upwards::Error::NoGitRepositoryWithinCeiling { .. }
                | upwards::Error::NoGitRepositoryWithinFs { .. }
        )
    )
}

/// Opens a git directory by name. One that names no work tree takes `cwd` for it, as with `GIT_DIR`.
fn open_named(cwd: &Path, git_dir: &Path) -> gix::Result<ThreadSafeRepository> {
    let mut repository = gix::open(git_dir)?;
    let bare = repository.config_snapshot().boolean("core.bare");
    if repository.workdir().is_none() && bare != Some(true) {
        let work_tree = std::path::absolute(cwd).map_err(gix::Error::from_error)?;
        repository.set_workdir(work_tree)?;
    }
    Ok(repository.into_sync())
}

/// What the repository's configuration says of how files become entries.
#[derive(Debug)]
pub(super) struct Settings {
    /// The top of the work tree.
    pub(super) root: PathBuf,
    /// The git directory, canonical where that can be had.
    pub(super) git_dir: PathBuf,
    /// `core.fileMode`: whether the executable bit is believed.
    pub(super) file_mode: bool,
    /// `core.symlinks`: whether links are links.
    pub(super) symlinks: bool,
    /// `core.ignoreCase`.
    pub(super) ignore_case: bool,
    /// How entries are compared with the disk.
    pub(super) stat: StatOptions,
    /// Which names are refused.
    names: NameOptions,
    /// The length and kind of ids.
    pub(super) hash: gix::hash::Kind,
}

impl Settings {
    pub(super) fn new(repository: &Repository, root: &Path) -> Self {
        let config = repository.config_snapshot();
        let on = |key: &str, default: bool| config.boolean(key).unwrap_or(default);
        let minimal = config
            .string("core.checkStat")
            .is_some_and(|value| value.eq_ignore_ascii_case(b"minimal"));
        Self {
            root: root.to_path_buf(),
            git_dir: canonical(repository.git_dir()),
            file_mode: on("core.fileMode", true),
            symlinks: on("core.symlinks", true),
            ignore_case: on("core.ignoreCase", false),
            stat: StatOptions {
                trust_ctime: on("core.trustCtime", true),
                check_stat: !minimal,
                ..StatOptions::default()
            },
            names: NameOptions {
                protect_windows: false,
                protect_hfs: on("core.protectHFS", cfg!(target_os = "macos")),
                protect_ntfs: on("core.protectNTFS", true),
            },
            hash: repository.object_hash(),
        }
    }

    /// Whether git refuses an entry of this name (`verify_path` in its read-cache.c).
    pub(super) fn refuses(&self, name: &[u8], link: bool) -> bool {
        let mode = link.then_some(NameMode::Symlink);
        name.eq_ignore_ascii_case(b".git") || component(name.into(), mode, self.names).is_err()
    }

    /// Whether git takes this name for a repository's own and never looks at it.
    pub(super) fn is_git_name(&self, name: &[u8]) -> bool {
        name == b".git" || (self.ignore_case && name.eq_ignore_ascii_case(b".git"))
    }

    /// Whether the directory is the top of another repository.
    pub(super) fn is_nested(&self, directory: &Path) -> bool {
        let git = directory.join(".git");
        git.symlink_metadata().is_ok()
            && gix::discover::is_git(&git).is_ok()
            && canonical(&git) != self.git_dir
    }

    /// The commit that a nested repository is at; none where it has none, or one of another hash.
    pub(super) fn nested_head(&self, directory: &Path) -> Option<ObjectId> {
        if !self.is_nested(directory) {
            return None;
        }
        let nested = gix::open_opts(directory, gix::open::Options::isolated()).ok()?;
        let id = nested.head_id().ok()?.detach();
        (id.kind() == self.hash).then_some(id)
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The repository's index; an empty one where there is none yet.
pub(super) fn index(repository: &Repository) -> Result<gix::index::File, SnapshotError> {
    let path = repository.index_path();
    // Git does not verify the checksum either when it reads.
    gix::index::File::at_or_default(
        &path,
        repository.object_hash(),
        true,
        gix::index::decode::Options::default(),
    )
    .map_err(|cause| SnapshotError::index(&path, cause))
}
