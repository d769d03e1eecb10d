//! The one recorder of a session: objects first, then the row that names them.

use super::disk::{self, Disk};
use super::kept::{Baseline, Capture, KeptSession, KeptSide, KeptTurn, NotKept};
use super::objects::{ObjectWriter, Objects};
use super::rows::{self, Note, Row};
use super::session::{objects_path, read_info, rows_path};
use super::settings::Settings;
use super::{SCRATCH_FOLDER, SESSION_FILE, STAT_CACHE, StoreError, io_error, lock};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a second recorder of a session gets to know.
pub enum Recording {
    /// This one writes.
    Writer(Box<Writer>),
    /// Another one writes; follow it by `SessionStore::refresh`, and ask again when it may have ended.
    Follower,
}

/// Writes one session. Each method returns when what it wrote is on the disk; after an error the
/// same call may be made again.
pub struct Writer {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    settings: Settings,
    _lock: File,
    rows: File,
    /// Where the rows end. Bytes behind it are of a row that failed.
    end: u64,
    objects: ObjectWriter,
    /// How many bytes of content each turn has added.
    added: BTreeMap<u32, u64>,
    /// What was repaired, a line each.
    pub repairs: Vec<String>,
    /// No session had been recorded in this store before: time to say where things are kept.
    pub is_first: bool,
}

/// Names the file whose content is to be kept.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The turn that adds it.
    pub turn: u32,
    /// Its path: relative to the work tree, or absolute.
    pub path: &'a str,
    /// Its path as shown to a person.
    pub display: &'a str,
    /// Its git mode.
    pub mode: u32,
}

impl Writer {
    /// Opens a session's folder for writing; none where another recorder has it.
    pub(super) fn open(
        folder: &Path,
        info: &KeptSession,
        settings: Settings,
        disk: Arc<dyn Disk>,
        is_first: bool,
    ) -> Result<Option<Self>, StoreError> {
        let failed = |cause| StoreError::Io { doing: "prepare", path: folder.to_path_buf(), cause };
        let Some(lock) = lock::recorder(disk.as_ref(), folder).map_err(failed)? else {
            return Ok(None);
        };
        let known = read_info(folder, &mut Vec::new())?;
        if let Some(known) = &known
            && !known.format.is_empty()
            && known.objects != info.objects
        {
            let cause = "its objects are named by another hash than the repository's".to_owned();
            return Err(StoreError::Damaged { path: folder.to_path_buf(), cause });
        }
        let objects = Objects::at(objects_path(folder), info.objects);
        let objects = ObjectWriter::open(disk.as_ref(), objects).map_err(failed)?;
        let path = rows_path(folder);
        let (rows, end, torn) = open_rows(disk.as_ref(), &path).map_err(io_error("open", &path))?;
        if known.is_none_or(|known| known.format.is_empty()) {
            write_info(disk.as_ref(), folder, info).map_err(failed)?;
        }
        let repairs = match torn {
            0 => Vec::new(),
            torn => vec![format!("{}: removed {torn} bytes of a torn last row", path.display())],
        };
        Ok(Some(Self {
            folder: folder.to_path_buf(),
            disk,
            settings,
            _lock: lock,
            rows,
            end,
            objects,
            added: BTreeMap::new(),
            repairs,
            is_first,
        }))
    }

    /// Writes a turn's baseline.
    pub fn baseline(&mut self, baseline: Baseline) -> Result<(), StoreError> {
        self.append(&Row::Baseline(baseline))
    }

    /// Writes a captured file, whose content is kept already.
    pub fn capture(&mut self, capture: Capture) -> Result<(), StoreError> {
        self.append(&Row::Capture(capture))
    }

    /// Writes a turn's changes, whose contents are kept already. They replace the turn's earlier ones.
    pub fn turn(&mut self, turn: KeptTurn) -> Result<(), StoreError> {
        self.append(&Row::Turn(turn))
    }

    /// Writes a line for a person.
    pub fn note(&mut self, note: Note) -> Result<(), StoreError> {
        self.append(&Row::Note(note))
    }

    /// Keeps a content, if it may be kept; names it in any case.
    pub fn put_blob(&mut self, file: Named<'_>, bytes: &[u8]) -> Result<KeptSide, StoreError> {
        let id = self.objects.objects.blob_id(bytes)?;
        self.keep(file, &id, bytes.len() as u64, || Ok(bytes))
    }

    /// Keeps the content of an object whose id and size (in bytes) are known, reading it only where
    /// that is needed. A content that cannot be read is named as such.
    ///
    /// # Errors
    /// Only where the store cannot be written, or the content is not the id's.
    pub fn keep<B: AsRef<[u8]>>(
        &mut self,
        file: Named<'_>,
        id: &str,
        len: u64,
        read: impl FnOnce() -> io::Result<B>,
    ) -> Result<KeptSide, StoreError> {
        let side =
            |not_kept| KeptSide::Blob { id: id.to_owned(), mode: file.mode, bytes: len, not_kept };
        if let Some(why) = self.refusal(file, id, len) {
            return Ok(side(Some(why)));
        }
        if self.objects.objects.contains(id) {
            return Ok(side(None));
        }
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(error) => return Ok(side(Some(NotKept::Unreadable(error.to_string())))),
        };
        if self.objects.objects.blob_id(bytes.as_ref())? != id {
            let cause = "the content read is another".to_owned();
            return Err(StoreError::Object { id: id.to_owned(), cause });
        }
        self.objects.put(self.disk.as_ref(), id, bytes.as_ref())?;
        *self.added.entry(file.turn).or_default() += len;
        Ok(side(None))
    }

    fn refusal(&self, file: Named<'_>, id: &str, len: u64) -> Option<NotKept> {
        let added = self.added.get(&file.turn).copied().unwrap_or_default();
        if file.mode == 0o160_000 {
            Some(NotKept::Submodule)
        } else if self.settings.exclude.matches(file.path, file.display) {
            Some(NotKept::Excluded)
        } else if len > self.settings.max_file_bytes {
            Some(NotKept::TooLarge)
        } else if !self.objects.objects.contains(id)
            && added.saturating_add(len) > self.settings.record_max_bytes
        {
            Some(NotKept::TurnFull)
        } else {
            None
        }
    }

    /// The session's objects.
    pub fn objects(&self) -> &Objects {
        &self.objects.objects
    }

    /// An object directory for snapshots in hand. Nothing in it is promised to stay: `gc` empties
    /// it once the recorder is gone.
    pub fn scratch_objects(&self) -> Result<PathBuf, StoreError> {
        let path = self.folder.join(SCRATCH_FOLDER);
        self.disk.make_dir(&path).map_err(io_error("make", &path))?;
        Ok(path)
    }

    /// Where a snapshot's stat cache stands. It goes together with the scratch objects, which
    /// it takes to be there.
    pub fn stat_cache(&self) -> PathBuf {
        self.folder.join(STAT_CACHE)
    }

    fn append(&mut self, row: &Row) -> Result<(), StoreError> {
        let bytes = rows::encode(row)?;
        let path = rows_path(&self.folder);
        self.write_row(&path, &bytes).map_err(io_error("write", &path))
    }

    fn write_row(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let disk = self.disk.as_ref();
        if !lock::is_at(&self.rows, path)? {
            return Err(io::Error::other("the session was removed from the store"));
        }
        self.objects.sync(disk)?;
        if self.rows.metadata()?.len() > self.end {
            disk.truncate(&self.rows, self.end)?;
        }
        disk.write(&self.rows, bytes)?;
        // From here on a reader may have seen the row: it stays, even if the sync fails.
        self.end += bytes.len() as u64;
        disk.sync(&self.rows)
    }
}

/// Opens the rows and cuts off a torn last one: the file, its length, and how much was cut.
fn open_rows(disk: &dyn Disk, path: &Path) -> io::Result<(File, u64, u64)> {
    let mut rows = disk.append_to(path)?;
    let end = rows::end_of_last_line(&mut rows)?;
    let torn = rows.metadata()?.len().saturating_sub(end);
    if torn > 0 {
        disk.truncate(&rows, end)?;
        disk.sync(&rows)?;
    }
    Ok((rows, end, torn))
}

/// Writes `session.json`, with which the session is there.
fn write_info(disk: &dyn Disk, folder: &Path, info: &KeptSession) -> io::Result<()> {
    let bytes = serde_json::to_vec_pretty(info)?;
    let path = folder.join(SESSION_FILE);
    disk::replace(disk, &path, &path.with_extension("new"), &bytes)?;
    disk::sync_dir(disk, folder)?;
    disk::sync_dir(disk, folder.parent().unwrap_or(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Exclude, SessionKey, Store};

    fn writer(store: &Store, id: &str, settings: Settings) -> Box<Writer> {
        let info = KeptSession { format: "dsh".into(), id: id.into(), ..KeptSession::default() };
        match store.writer(&SessionKey::named("dsh", id), &info, settings).unwrap() {
            Recording::Writer(writer) => writer,
            Recording::Follower => panic!("nobody else records"),
        }
    }

    fn file(turn: u32, path: &str) -> Named<'_> {
        Named { turn, path, display: path, mode: 0o100_644 }
    }

    fn why(side: &KeptSide) -> Option<NotKept> {
        match side {
            KeptSide::Blob { not_kept, .. } => not_kept.clone(),
            KeptSide::Absent => panic!("there is a file"),
        }
    }

    #[test]
    fn an_excluded_file_is_named_and_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let exclude = Exclude::new([".env"]).unwrap();
        let mut writer = writer(&store, "s", Settings { exclude, ..Settings::default() });
        let side = writer.put_blob(file(1, "a/.env"), b"TOKEN=1").unwrap();
        assert_eq!(why(&side), Some(NotKept::Excluded));
        assert_eq!(writer.objects().ids().count(), 0);
        let id = writer.objects().blob_id(b"TOKEN=1").unwrap();
        assert!(matches!(side, KeptSide::Blob { id: named, bytes: 7, .. } if named == id));
    }

    #[test]
    fn a_file_up_to_the_limit_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let settings = Settings { max_file_bytes: 10, ..Settings::default() };
        let mut writer = writer(&store, "s", settings);
        assert_eq!(why(&writer.put_blob(file(1, "a"), &[b'x'; 10]).unwrap()), None);
        let side = writer.put_blob(file(1, "a"), &[b'x'; 11]).unwrap();
        assert_eq!(why(&side), Some(NotKept::TooLarge));
        assert_eq!(writer.objects().ids().count(), 1);
    }

    #[test]
    fn what_a_turn_adds_is_bounded_and_the_next_turn_adds_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let settings = Settings { record_max_bytes: 25, ..Settings::default() };
        let mut writer = writer(&store, "s", settings);
        let mut put = |turn, byte| why(&writer.put_blob(file(turn, "a"), &[byte; 10]).unwrap());
        assert_eq!([put(1, b'a'), put(1, b'b')], [None, None]);
        assert_eq!(put(1, b'c'), Some(NotKept::TurnFull));
        assert_eq!(put(1, b'a'), None, "what is there adds nothing");
        assert_eq!(put(2, b'c'), None);
    }

    #[test]
    fn a_content_is_read_only_where_it_is_needed_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut writer = writer(&store, "s", Settings::default());
        let id = writer.objects().blob_id(b"text").unwrap();
        let denied = || Err::<Vec<u8>, _>(io::ErrorKind::PermissionDenied.into());
        let side = writer.keep(file(1, "a"), &id, 4, denied).unwrap();
        assert_eq!(why(&side), Some(NotKept::Unreadable("permission denied".into())));
        assert!(writer.keep(file(1, "a"), &id, 4, || Ok(b"other")).is_err());
        assert_eq!(why(&writer.keep(file(1, "a"), &id, 4, || Ok(b"text")).unwrap()), None);
        assert_eq!(why(&writer.keep(file(1, "a"), &id, 4, denied).unwrap()), None);
        let submodule = Named { mode: 0o160_000, ..file(1, "sub") };
        let side = writer.keep(submodule, &"1".repeat(40), 0, denied).unwrap();
        assert_eq!(why(&side), Some(NotKept::Submodule));
    }

    #[test]
    fn only_the_first_recording_of_a_store_is_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert!(writer(&store, "a", Settings::default()).is_first);
        assert!(!writer(&store, "a", Settings::default()).is_first);
        assert!(!writer(&store, "b", Settings::default()).is_first);
    }

    #[test]
    fn a_session_keeps_its_kind_of_object_names() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        drop(writer(&store, "s", Settings::default()));
        let info = KeptSession {
            objects: crate::store::kept::ObjectFormat::Sha256,
            ..KeptSession::default()
        };
        let key = SessionKey::named("dsh", "s");
        let refused = store.writer(&key, &info, Settings::default()).err().unwrap();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    }

    #[test]
    fn the_second_recorder_follows() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut first = writer(&store, "s", Settings::default());
        let key = SessionKey::named("dsh", "s");
        let second = store.writer(&key, &KeptSession::default(), Settings::default()).unwrap();
        assert!(matches!(second, Recording::Follower));
        let mut session = store.session(&key).unwrap().unwrap();
        assert!(!session.refresh().unwrap());
        first.turn(KeptTurn { turn: 2, ..KeptTurn::default() }).unwrap();
        first.turn(KeptTurn { turn: 2, late: true, ..KeptTurn::default() }).unwrap();
        assert!(session.refresh().unwrap());
        assert_eq!(session.turns.len(), 1);
        assert!(session.turns.values().all(|turn| turn.late), "the later row replaces the earlier");
    }
}
