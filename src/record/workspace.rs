//! The directory that a session works in: its snapshots, and which of its files they cover.

use crate::content::disk::canonical;
use crate::content::{ContentError, ContentId, GitObjects};
use crate::session::path::{PathRules, resolve};
use crate::snapshot::{Snapshot, SnapshotError, Snapshotter};
use crate::store::Writer;
use crate::store::kept::ObjectFormat;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Where a session works and where its snapshots go.
#[derive(Debug, Clone, Default)]
pub(super) struct Site {
    /// Absolute.
    pub(super) cwd: PathBuf,
    /// `--git-dir`.
    pub(super) git_dir: Option<PathBuf>,
    /// The home directory; empty where it is not known.
    pub(super) home: PathBuf,
    /// Temporary directories.
    pub(super) temp: Vec<PathBuf>,
    /// Larger contents are not looked into, in bytes.
    pub(super) max_file_bytes: u64,
}

/// The ground that a file stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ground {
    /// In the work tree, at this slash-separated path: snapshots cover it unless it is ignored.
    Tree(Vec<u8>),
    /// Outside of it, or there is none: only captures cover it.
    Elsewhere,
    /// In a temporary directory: of no interest.
    Temporary,
    /// In a repository within the work tree: that one's business.
    Nested,
}

/// An opened site.
pub(super) struct Workspace {
    site: Site,
    scratch: PathBuf,
    cache: PathBuf,
    kept: PathBuf,
    snapshotter: Option<Snapshotter>,
    /// Repositories within the work tree, as the last snapshot found them; relative to its root.
    nested: Vec<PathBuf>,
    /// How paths are shown.
    pub(super) rules: PathRules,
    /// The repository's objects, those of snapshots in hand, and those that are kept.
    pub(super) objects: GitObjects,
}

impl Site {
    fn repository(&self) -> Option<GitObjects> {
        match &self.git_dir {
            Some(git_dir) => GitObjects::open(git_dir).ok(),
            None => GitObjects::discover(&self.cwd).ok().flatten(),
        }
    }

    /// How the repository names its objects.
    pub(super) fn object_format(&self) -> ObjectFormat {
        match self.repository().and_then(|objects| objects.id_digits()) {
            Some(64) => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        }
    }

    /// The top of the repository's work tree; the directory itself where the repository names none.
    pub(super) fn work_tree(&self) -> Option<PathBuf> {
        let objects = self.repository()?;
        Some(objects.work_tree().map_or_else(|| self.cwd.clone(), canonical))
    }
}

impl Workspace {
    /// Opens a site whose snapshots go to the writer's scratch objects. A repository that cannot
    /// be opened is told in the error beside it: files can still be captured.
    pub(super) fn open(site: Site, writer: &Writer) -> Result<(Self, Option<String>), String> {
        let cwd = canonical(&site.cwd);
        let mut workspace = Self {
            scratch: writer.scratch_objects().map_err(|error| error.to_string())?,
            cache: writer.stat_cache(),
            kept: writer.objects().path().to_path_buf(),
            snapshotter: None,
            nested: Vec::new(),
            rules: PathRules { root: cwd.clone(), home: canonical(&site.home), cwd },
            objects: GitObjects::default(),
            site,
        };
        let problem = workspace.find_repository().err();
        Ok((workspace, problem))
    }

    fn find_repository(&mut self) -> Result<(), String> {
        let git_dir = self.site.git_dir.as_deref();
        let opened = Snapshotter::open(&self.rules.cwd, git_dir, &self.scratch, Some(&self.cache));
        let (found, problem) = match opened {
            Ok(found) => (found, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut directories = vec![self.kept.clone()];
        if let Some(snapshotter) = &found {
            // The repository's own first: it tells which hash names objects.
            directories.splice(0..0, snapshotter.objects_dirs().into_iter().rev());
            let root = snapshotter.root().to_path_buf();
            self.rules.root =
                if self.rules.cwd.starts_with(&root) { root } else { self.rules.cwd.clone() };
        }
        self.snapshotter = found;
        self.objects = open_all(&directories).map_err(|error| error.to_string())?;
        self.objects = self.objects.clone().with_max_file_bytes(self.site.max_file_bytes);
        problem.map_or(Ok(()), Err)
    }

    /// Takes the work tree as it is; none where there is no repository (still).
    pub(super) fn take(&mut self, cancel: &AtomicBool) -> Result<Option<Snapshot>, SnapshotError> {
        if self.snapshotter.is_none() {
            // One may have been made since; a broken one was told of when it was found.
            let _ = self.find_repository();
        }
        let Some(snapshotter) = &mut self.snapshotter else { return Ok(None) };
        let snapshot = snapshotter.take(cancel)?;
        self.nested.clone_from(&snapshot.nested);
        Ok(Some(snapshot))
    }

    /// The top of the work tree (not always above the working directory).
    pub(super) fn root(&self) -> &Path {
        self.snapshotter.as_ref().map_or(&self.rules.root, Snapshotter::root)
    }

    /// The canonical path behind a log's spelling.
    pub(super) fn real_path(&self, spelled: &str) -> PathBuf {
        canonical(&resolve(&self.rules.cwd, spelled))
    }

    /// Which ground a file stands on, by canonical path.
    pub(super) fn ground(&self, path: &Path) -> Ground {
        let inside = self.snapshotter.as_ref().and_then(|s| path.strip_prefix(s.root()).ok());
        if let Some(inside) = inside {
            return if self.nested.iter().any(|nested| inside.starts_with(nested)) {
                Ground::Nested
            } else {
                Ground::Tree(inside.as_os_str().as_encoded_bytes().to_vec())
            };
        }
        let is_temporary = || self.site.temp.iter().any(|temp| self.is_temporary(path, temp));
        if !path.starts_with(&self.rules.cwd) && is_temporary() {
            Ground::Temporary
        } else {
            Ground::Elsewhere
        }
    }

    /// Whether a file is in a temporary directory. Where the session itself works in there, what
    /// shares its topmost folder belongs to it and is not temporary.
    fn is_temporary(&self, path: &Path, temp: &Path) -> bool {
        let temp = canonical(temp);
        let Ok(inside) = path.strip_prefix(&temp) else { return false };
        match self.rules.cwd.strip_prefix(&temp) {
            Ok(own) => own.components().next() != inside.components().next(),
            Err(_) => true,
        }
    }

    /// A file of a tree; absent where it is not there, or the tree cannot be read.
    pub(super) fn in_tree(&self, tree: Option<&String>, path: &[u8]) -> ContentId {
        tree.and_then(|tree| self.objects.find(tree, path).ok()).unwrap_or(ContentId::Absent)
    }

    /// Whether a tree of an earlier snapshot can still be read.
    pub(super) fn has_tree(&self, tree: &str) -> bool {
        self.objects.find(tree, b"\0").is_ok()
    }
}

fn open_all(directories: &[PathBuf]) -> Result<GitObjects, ContentError> {
    directories.iter().try_fold(GitObjects::default(), |objects, dir| objects.with_objects(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cwd: &Path, temp: &[&Path]) -> Workspace {
        let site = Site {
            cwd: cwd.to_path_buf(),
            temp: temp.iter().map(|path| path.to_path_buf()).collect(),
            ..Site::default()
        };
        Workspace {
            rules: PathRules { cwd: cwd.into(), root: cwd.into(), home: PathBuf::new() },
            site,
            scratch: PathBuf::new(),
            cache: PathBuf::new(),
            kept: PathBuf::new(),
            snapshotter: None,
            nested: Vec::new(),
            objects: GitObjects::default(),
        }
    }

    #[test]
    fn temporary_is_what_lies_in_a_temporary_directory_and_not_beside_the_session() {
        let temp = Path::new("/no-such-tmp");
        let ground = |cwd: &str, path: &str| at(Path::new(cwd), &[temp]).ground(Path::new(path));
        assert_eq!(ground("/home/me/w", "/no-such-tmp/x"), Ground::Temporary);
        assert_eq!(ground("/home/me/w", "/no-such-tmp-not/x"), Ground::Elsewhere);
        assert_eq!(ground("/no-such-tmp/s/w", "/no-such-tmp/x"), Ground::Temporary);
        assert_eq!(ground("/no-such-tmp/s/w", "/no-such-tmp/s/notes"), Ground::Elsewhere);
        assert_eq!(ground("/no-such-tmp/s/w", "/no-such-tmp/s/w/x"), Ground::Elsewhere);
    }
}
