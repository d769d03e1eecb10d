//! What is kept on disk: per session the summaries of its turns and both sides of their files.
//!
//! ```text
//! <root>/version                               the layout's number
//! <root>/sessions/<format>-<id>/session.json   what session this is; with it the session is there
//!                               rows.log       summaries, appended and checksummed
//!                               objects/       a bare git object directory
//!                               lock           held by the session's one recorder
//!                               visitor        held by one of those who write for a moment
//!                               scratch/       objects of snapshots in hand
//!                               stat.cache     what the last snapshot saw
//! ```
//!
//! Directories are 0700, files 0600. Objects are on the disk before the row that names them, so
//! that a kill at any point costs the turn in hand and nothing else. Opening makes nothing: the
//! first recording does.

pub mod disk;
mod gc;
pub mod kept;
mod key;
mod lock;
mod objects;
mod rows;
mod session;
mod settings;
mod verify;
mod writer;

pub use gc::{GcReport, SessionSize};
pub use key::SessionKey;
pub use objects::Objects;
pub use rows::Note;
pub use session::SessionStore;
pub use settings::{Exclude, Settings};
pub use verify::VerifyReport;
pub use writer::{Named, Recording, Writer};

use disk::{Disk, RealDisk};
use kept::KeptSession;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The layout that this program reads and writes.
const VERSION: u32 = 1;

const SESSION_FILE: &str = "session.json";
const SCRATCH_FOLDER: &str = "scratch";
const STAT_CACHE: &str = "stat.cache";

/// A store that could not be read or written. One line each.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later program made it; nothing was touched.
    #[error("{}: the store is of version {found}, this program knows {VERSION}: update handback", .path.display())]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The disk refused.
    #[error("cannot {doing} {}: {cause}", .path.display())]
    Io {
        /// A verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A file of the store says something that cannot be.
    #[error("{}: {cause}", .path.display())]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// An object is not what its name says.
    #[error("object {id}: {cause}")]
    Object {
        /// Its hexadecimal id.
        id: String,
        /// What is wrong.
        cause: String,
    },
    /// A row that cannot be written.
    #[error("cannot write this row: {cause}")]
    Row {
        /// Why.
        cause: String,
    },
    /// A glob that says nothing.
    #[error("record.exclude: `{glob}` is not a glob")]
    Glob {
        /// As given.
        glob: String,
    },
}

fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> StoreError + use<> {
    let path = path.to_path_buf();
    move |cause| StoreError::Io { doing, path: path.clone(), cause }
}

/// Where the store stands unless told otherwise: `$XDG_STATE_HOME/handback`, else
/// `~/.local/state/handback`. A relative `XDG_STATE_HOME` does not count, as that standard says.
pub fn default_root(state_home: Option<&OsStr>, home: &Path) -> PathBuf {
    let state_home = state_home.map(Path::new).filter(|path| path.is_absolute());
    state_home.map_or_else(|| home.join(".local/state"), Path::to_path_buf).join("handback")
}

/// The store of one person on one machine.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    disk: Arc<dyn Disk>,
}

impl Store {
    /// Opens a store, which may be missing: then it is empty.
    ///
    /// # Errors
    /// A store of a newer version, or one that cannot be read.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        Self::open_on(root, Arc::new(RealDisk))
    }

    /// Opens a store that writes through `disk`.
    pub fn open_on(root: &Path, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        check_version(root)?;
        Ok(Self { root: root.to_path_buf(), disk })
    }

    /// Where it stands.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads what is kept of a session; none where nothing is.
    pub fn session(&self, key: &SessionKey) -> Result<Option<SessionStore>, StoreError> {
        SessionStore::open(&self.folder(key))
    }

    /// Opens a session to be written, and makes it (and the store) where it is missing.
    pub fn writer(
        &self,
        key: &SessionKey,
        info: &KeptSession,
        settings: Settings,
    ) -> Result<Recording, StoreError> {
        self.prepare().map_err(io_error("prepare", &self.root))?;
        let is_first = self.session_folders()?.is_empty();
        let folder = self.folder(key);
        let writer = Writer::open(&folder, info, settings, Arc::clone(&self.disk), is_first)?;
        Ok(writer.map_or(Recording::Follower, |writer| Recording::Writer(Box::new(writer))))
    }

    /// Waits, for `most` of time, until no other process has the session for a moment, as the hooks
    /// of an agent do; while the file lives, the others wait. A recorder asks nobody.
    ///
    /// # Errors
    /// The session's folder cannot be written.
    pub fn queue(&self, key: &SessionKey, most: Duration) -> Result<Option<File>, StoreError> {
        let folder = self.folder(key);
        lock::visitor(self.disk.as_ref(), &folder, most).map_err(io_error("lock", &folder))
    }

    fn folder(&self, key: &SessionKey) -> PathBuf {
        self.sessions().join(key.folder())
    }

    fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Makes the store where it is missing.
    fn prepare(&self) -> io::Result<()> {
        let disk = self.disk.as_ref();
        let parent = self.root.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            fs::create_dir_all(parent)?;
        }
        disk.make_dir(&self.root)?;
        let version = self.root.join("version");
        if !version.exists() {
            disk::sync_dir(disk, parent.unwrap_or(Path::new(".")))?;
            let beside = self.root.join(format!("version.{}", std::process::id()));
            disk::replace(disk, &version, &beside, format!("{VERSION}\n").as_bytes())?;
        }
        disk.make_dir(&self.sessions())?;
        disk::sync_dir(disk, &self.root)
    }

    /// The folders of all sessions, in name order.
    fn session_folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let path = self.sessions();
        let failed = io_error("list", &path);
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(&failed)?,
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(&failed)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !entry.file_name().as_encoded_bytes().starts_with(b".") {
                folders.push(entry.path());
            }
        }
        folders.sort();
        Ok(folders)
    }
}

/// Refuses a store of another version. A store without a version is one that is still to be made.
fn check_version(root: &Path) -> Result<(), StoreError> {
    let path = root.join("version");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(StoreError::Io { doing: "read", path, cause }),
    };
    match text.trim().parse() {
        Ok(VERSION) => Ok(()),
        Ok(found) if found > VERSION => Err(StoreError::Newer { path: root.to_path_buf(), found }),
        _ => Err(StoreError::Damaged { path, cause: "this is no version of a store".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_follows_the_standard() {
        let home = Path::new("/home/me");
        let at = |state: Option<&str>| default_root(state.map(OsStr::new), home);
        assert_eq!(at(Some("/var/state")), Path::new("/var/state/handback"));
        assert_eq!(at(Some("relative")), Path::new("/home/me/.local/state/handback"));
        assert_eq!(at(None), Path::new("/home/me/.local/state/handback"));
    }

    #[test]
    fn opening_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let store = Store::open(&root).unwrap();
        assert!(store.session(&SessionKey::named("dsh", "x")).unwrap().is_none());
        assert!(store.status().unwrap().is_empty());
        assert!(store.verify().unwrap().problems.is_empty());
        assert!(!root.exists());
    }

    #[test]
    fn those_who_come_for_a_moment_wait_for_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let key = SessionKey::named("claude", "s");
        let soon = Duration::from_millis(20);
        assert!(store.queue(&key, soon).unwrap().is_none(), "nothing was recorded");
        assert!(!store.root().exists());
        drop(store.writer(&key, &KeptSession::default(), Settings::default()).unwrap());
        let first = store.queue(&key, soon).unwrap();
        assert!(first.is_some());
        assert!(store.queue(&key, soon).unwrap().is_none());
        let other = store.clone();
        let waiting = std::thread::spawn(move || {
            let key = SessionKey::named("claude", "s");
            other.queue(&key, Duration::from_secs(60)).unwrap().is_some()
        });
        drop(first);
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn another_version_is_refused_in_one_line_and_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("version"), "2\n").unwrap();
        let error = Store::open(dir.path()).unwrap_err().to_string();
        assert!(
            error.ends_with("the store is of version 2, this program knows 1: update handback")
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        for spoilt in ["", "one", "0"] {
            fs::write(dir.path().join("version"), spoilt).unwrap();
            assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged { .. })), "{spoilt}");
        }
    }
}
