//! How large the store is, and what goes when it is too old or too large.

use super::kept::KeptSession;
use super::session::{read_info, rows_path};
use super::settings::Settings;
use super::{SCRATCH_FOLDER, STAT_CACHE, Store, StoreError, io_error, lock};
use serde::Serialize;
use std::cmp::Reverse;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Scratch objects stay so long behind their recorder: the next one may go on with the same turn.
const SCRATCH_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is to be removed is renamed to this first, so that nobody meets half of it.
const GONE: &str = ".gone-";

/// One session's share of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSize {
    /// Its folder.
    pub folder: PathBuf,
    /// What session it is; empty where nothing was recorded.
    pub session: KeptSession,
    /// What it takes of the disk, in bytes.
    pub bytes: u64,
    /// When it was recorded last, in milliseconds since the Unix epoch.
    pub changed_at: i64,
    /// Whether a recorder has it now.
    pub recorded: bool,
    /// Why this is not known; such a session stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What a clean-up did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GcReport {
    /// The sessions that were removed.
    pub removed: Vec<SessionSize>,
    /// How much of the disk is free again, in bytes.
    pub freed: u64,
    /// How much the store takes now, in bytes.
    pub left: u64,
    /// What could not be removed, a line each.
    pub problems: Vec<String>,
}

impl Store {
    /// Every session with its size, the one recorded last first.
    pub fn status(&self) -> Result<Vec<SessionSize>, StoreError> {
        let folders = self.session_folders()?;
        let mut sizes: Vec<SessionSize> = folders.into_iter().map(size_of_session).collect();
        sizes.sort_by_key(|size| Reverse(size.changed_at));
        Ok(sizes)
    }

    /// Removes what no recorder needs: scratch objects after a day, sessions that are too old, and
    /// the oldest ones while the store is too large. A session that is open stays.
    pub fn gc(&self, settings: &Settings, now: SystemTime) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        // A clean-up that was killed may have left something.
        self.sweep(&mut report);
        for folder in self.session_folders()? {
            let until = written_at(&folder).ok().and_then(|at| at.checked_add(SCRATCH_AGE));
            if until.is_some_and(|until| now < until) {
                continue;
            }
            for part in [SCRATCH_FOLDER, STAT_CACHE] {
                let set_aside = self.set_aside(&folder, &folder.join(part), part);
                set_aside.map_or_else(|error| report.problems.push(error.to_string()), drop);
            }
        }
        let max_age = u64::try_from(settings.max_age.as_millis()).unwrap_or(u64::MAX);
        let oldest = milliseconds(now).saturating_sub_unsigned(max_age);
        let sizes = self.status()?;
        report.left = sizes.iter().map(|size| size.bytes).sum();
        for size in sizes.into_iter().rev() {
            if let Some(problem) = size.problem {
                report.problems.push(problem);
                continue;
            }
            if size.changed_at >= oldest && report.left <= settings.max_bytes {
                continue;
            }
            match self.set_aside(&size.folder, &size.folder, "") {
                Ok(true) => {
                    report.left -= size.bytes;
                    report.removed.push(size);
                }
                Ok(false) => {}
                Err(error) => report.problems.push(error.to_string()),
            }
        }
        self.sweep(&mut report);
        Ok(report)
    }

    /// Renames a session's folder, or a `part` of it, for `sweep`; tells whether it was there and
    /// nobody had the session open.
    fn set_aside(&self, folder: &Path, path: &Path, part: &str) -> Result<bool, StoreError> {
        let failed = io_error("remove", path);
        let Some(name) = folder.file_name().filter(|_| path.exists()) else { return Ok(false) };
        let Some(_locks) = lock::for_removal(folder).map_err(&failed)? else { return Ok(false) };
        let gone = self.sessions().join(format!("{GONE}{part}-{}", name.to_string_lossy()));
        self.disk.rename(path, &gone).map_err(&failed)?;
        Ok(true)
    }

    /// Removes what was set aside.
    fn sweep(&self, report: &mut GcReport) {
        let Ok(entries) = fs::read_dir(self.sessions()) else { return };
        for entry in entries.flatten() {
            if !entry.file_name().as_encoded_bytes().starts_with(GONE.as_bytes()) {
                continue;
            }
            let path = entry.path();
            let bytes = disk_use(&path).unwrap_or(0);
            match self.disk.remove(&path) {
                Ok(()) => report.freed += bytes,
                Err(cause) => report.problems.push(io_error("remove", &path)(cause).to_string()),
            }
        }
    }
}

fn size_of_session(folder: PathBuf) -> SessionSize {
    let mut problem = None;
    let session = read_info(&folder, &mut Vec::new()).unwrap_or_else(|error| {
        problem = Some(error.to_string());
        None
    });
    let mut failed = |cause| problem = Some(io_error("read", &folder)(cause).to_string());
    let changed = written_at(&folder).map_err(&mut failed);
    let bytes = disk_use(&folder).map_err(&mut failed);
    let recorded = lock::is_recorded(&folder).map_err(&mut failed);
    SessionSize {
        session: session.unwrap_or_default(),
        bytes: bytes.unwrap_or_default(),
        changed_at: changed.map_or(0, milliseconds),
        recorded: recorded.unwrap_or_default(),
        problem,
        folder,
    }
}

/// When a session was recorded last.
fn written_at(folder: &Path) -> io::Result<SystemTime> {
    let rows = fs::metadata(rows_path(folder)).or_else(|_| fs::metadata(folder));
    rows.and_then(|meta| meta.modified())
}

/// Since the Unix epoch; a time before it counts as that.
fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// What a file, or a directory with all that is in it, takes of the disk, in bytes. What vanishes
/// meanwhile takes nothing.
fn disk_use(path: &Path) -> io::Result<u64> {
    match disk_use_of_present(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        bytes => bytes,
    }
}

fn disk_use_of_present(path: &Path) -> io::Result<u64> {
    let meta = fs::symlink_metadata(path)?;
    let mut bytes = meta.blocks() * 512;
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += disk_use(&entry?.path())?;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Named, Note, Recording, SessionKey, Writer};
    use std::fs::File;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn writer(store: &Store, id: &str) -> Box<Writer> {
        let info = KeptSession { format: "dsh".into(), id: id.into(), ..KeptSession::default() };
        match store.writer(&SessionKey::named("dsh", id), &info, Settings::default()).unwrap() {
            Recording::Writer(writer) => writer,
            Recording::Follower => panic!("nobody else records"),
        }
    }

    /// Records a session that was written last so many days before `now`.
    fn record(store: &Store, id: &str, now: SystemTime, days: u32) {
        let mut writer = writer(store, id);
        let named = Named { turn: 1, path: "a", display: "a", mode: 0o100_644 };
        writer.put_blob(named, &vec![b'x'; 10_000]).unwrap();
        writer.note(Note { at: 0, text: id.into() }).unwrap();
        let rows = File::options()
            .append(true)
            .open(store.root().join(format!("sessions/dsh-{id}/rows.log")));
        rows.unwrap().set_modified(now - DAY * days).unwrap();
    }

    fn ids(sizes: &[SessionSize]) -> Vec<&str> {
        sizes.iter().map(|size| size.session.id.as_str()).collect()
    }

    #[test]
    fn sessions_that_are_too_old_go() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = SystemTime::now();
        for (id, days) in [("old", 31), ("older", 400), ("fresh", 29)] {
            record(&store, id, now, days);
        }
        assert_eq!(ids(&store.status().unwrap()), ["fresh", "old", "older"]);
        let report = store.gc(&Settings::default(), now).unwrap();
        assert_eq!(ids(&report.removed), ["older", "old"]);
        assert_eq!(ids(&store.status().unwrap()), ["fresh"]);
        assert_eq!(report.left, store.status().unwrap()[0].bytes);
        assert!(report.freed >= 2 * 4096 && report.problems.is_empty());
    }

    #[test]
    fn the_oldest_go_until_the_rest_is_small_enough() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = SystemTime::now();
        for (id, days) in [("c", 3), ("a", 1), ("b", 2)] {
            record(&store, id, now, days);
        }
        let one = store.status().unwrap()[0].bytes;
        let settings = Settings { max_bytes: 2 * one, ..Settings::default() };
        assert_eq!(ids(&store.gc(&settings, now).unwrap().removed), ["c"]);
        assert_eq!(ids(&store.gc(&settings, now).unwrap().removed), [""; 0]);
    }

    #[test]
    fn a_session_that_is_recorded_or_read_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = SystemTime::now();
        for id in ["recorded", "read", "closed"] {
            record(&store, id, now, 99);
        }
        let recorder = writer(&store, "recorded");
        fs::create_dir(recorder.scratch_objects().unwrap().join("aa")).unwrap();
        let reader = store.session(&SessionKey::named("dsh", "read")).unwrap();
        let report = store.gc(&Settings::default(), now).unwrap();
        assert_eq!(ids(&report.removed), ["closed"]);
        assert!(recorder.scratch_objects().unwrap().join("aa").exists());
        drop((recorder, reader));
        assert_eq!(store.gc(&Settings::default(), now).unwrap().removed.len(), 2);
    }

    #[test]
    fn scratch_goes_with_its_recorder() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let recorder = writer(&store, "s");
        let scratch = recorder.scratch_objects().unwrap();
        let cache = recorder.stat_cache();
        fs::write(&cache, b"cache").unwrap();
        fs::write(scratch.join("object"), [0; 5000]).unwrap();
        drop(recorder);
        let now = SystemTime::now();
        store.gc(&Settings::default(), now).unwrap();
        assert!(scratch.exists() && cache.exists(), "the turn may go on");
        let report = store.gc(&Settings::default(), now + DAY).unwrap();
        assert!(!scratch.exists() && !cache.exists() && report.freed >= 5000);
        assert_eq!(store.status().unwrap().len(), 1);
    }

    #[test]
    fn a_session_that_cannot_be_read_is_told_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = SystemTime::now();
        record(&store, "good", now, 99);
        let odd = store.root().join("sessions/dsh-odd");
        fs::create_dir_all(odd.join("session.json")).unwrap();
        let all = Settings { max_bytes: 0, ..Settings::default() };
        let report = store.gc(&all, now).unwrap();
        assert_eq!(ids(&report.removed), ["good"]);
        assert_eq!(report.problems.len(), 1);
        assert!(report.problems[0].starts_with(&format!("cannot read {}", odd.display())));
        assert!(odd.exists());
        assert_eq!(store.verify().unwrap().problems, report.problems);
    }

    #[test]
    fn without_a_limit_nothing_goes() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = SystemTime::now();
        record(&store, "s", now, 4000);
        let settings =
            Settings { max_age: Duration::MAX, max_bytes: u64::MAX, ..Settings::default() };
        assert_eq!(store.gc(&settings, now).unwrap().removed, []);
    }
}
