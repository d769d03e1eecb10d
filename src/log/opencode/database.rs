//! `opencode.db`: the data base of opencode 1.2 and later, read beside a running client.
//!
//! Nothing is ever created or changed on disk. The data base is in WAL mode: an ordinary read-only
//! connection would make its `-shm` file. So there are three ways to open it:
//! no log (`-wal`) beside it: as a file that does not change; a log with its `-shm`: through that,
//! opened read-only; else (a copy without its `-shm`): from a copy of both in a temporary folder.

use super::places::snapshot_dir;
use super::session::{SessionRow, Sessions, TakeMessage, is_session, tell_session};
use crate::log::{Output, SoFar};
use crate::session::Damage;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every `SQLite` file begins with this.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// An open data base.
pub(super) struct Database {
    connection: Connection,
    /// The folder of opencode's data.
    folder: PathBuf,
    /// The copy that is read, as long as it is.
    _copy: Option<Copy>,
}

/// A session as a list shows it.
pub(super) struct Listed {
    pub(super) id: String,
    pub(super) directory: Option<String>,
    pub(super) title: Option<String>,
    /// Milliseconds since the epoch.
    pub(super) updated: i64,
    pub(super) parent: Option<String>,
}

/// Whether a file with this head is an opencode data base.
pub(super) fn recognizes(path: &Path, head: &[u8]) -> bool {
    head.starts_with(MAGIC) && Database::open(path).is_ok_and(|base| base.has_tables())
}

/// Both copies of the head of a log's index, which tells how far the log counts
/// (<https://www.sqlite.org/walformat.html>, 2.1).
const INDEX_HEAD: u64 = 96;

/// Differs when the data base or its log may have changed. A log grows a moment before its index
/// says that it has, and only then can the new rows be read: so the index counts too.
pub(super) fn version(path: &Path) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for (index, file) in [path.to_owned(), beside(path, "-wal")].iter().enumerate() {
        match fs::metadata(file) {
            Ok(meta) => (meta.len(), meta.modified().ok()).hash(&mut hasher),
            Err(error) if index == 0 => return Err(error),
            Err(_) => 0_u8.hash(&mut hasher),
        }
    }
    let mut head = Vec::new();
    if let Ok(index) = File::open(beside(path, "-shm")) {
        index.take(INDEX_HEAD).read_to_end(&mut head)?;
    }
    head.hash(&mut hasher);
    Ok(hasher.finish())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A temporary copy of a data base and its log; gone when dropped.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    fn make(path: &Path) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        (path, std::process::id(), std::time::SystemTime::now()).hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("handback-db-{:016x}", hasher.finish()));
        // Nobody else's business, whatever the temporary folder allows.
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let copy = Self { folder };
        fs::copy(path, copy.file())?;
        fs::copy(beside(path, "-wal"), beside(&copy.file(), "-wal"))?;
        Ok(copy)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("copy.db")
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // A folder that cannot be removed is left to the system's temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Database {
    /// Opens it to read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // A missing file would otherwise be named in SQLite's words only.
        File::open(path)?;
        let has_log = fs::metadata(beside(path, "-wal")).is_ok_and(|meta| meta.len() > 0);
        let has_index = beside(path, "-shm").exists();
        let beside_writer = match (has_log, has_index) {
            (false, _) => Some(connect(path, "immutable=1").map_err(io::Error::other)?),
            (true, true) => connect(path, "readonly_shm=1").ok(),
            (true, false) => None,
        };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        if let Some(connection) = beside_writer {
            return Ok(Self { connection, folder, _copy: None });
        }
        let copy = Copy::make(path)?;
        let connection = connect(&copy.file(), "cache=private").map_err(io::Error::other)?;
        Ok(Self { connection, folder, _copy: Some(copy) })
    }

    fn has_tables(&self) -> bool {
        let count = "SELECT count(*) FROM sqlite_master WHERE type = 'table' \
            AND name IN ('session', 'message', 'part')";
        self.connection
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .is_ok_and(|found| found == 3)
    }

    /// All sessions, the newest first.
    pub(super) fn sessions(&self) -> io::Result<Vec<Listed>> {
        self.list().map_err(io::Error::other)
    }

    fn list(&self) -> rusqlite::Result<Vec<Listed>> {
        let mut query =
            self.connection.prepare("SELECT * FROM session ORDER BY time_updated DESC, id")?;
        let rows = query.query_map([], |row| {
            Ok(Listed {
                id: text(row, "id").unwrap_or_default(),
                directory: text(row, "directory"),
                title: text(row, "title"),
                updated: row.get("time_updated").unwrap_or(0),
                parent: text(row, "parent_id"),
            })
        })?;
        rows.collect()
    }

    /// Tells one session; without an id the newest that no other delegated.
    pub(super) fn read(
        &self,
        session: Option<&str>,
        out: &mut Output,
        so_far: &mut SoFar<'_>,
    ) -> io::Result<()> {
        let listed = self.sessions()?;
        let found = match session {
            Some(wanted) => listed.iter().find(|one| is_session(&one.id, wanted)),
            None => listed.iter().find(|one| one.parent.is_none()).or(listed.first()),
        };
        let missing = || {
            let wanted = session.map_or_else(String::new, |id| format!(" {id}"));
            io::Error::new(io::ErrorKind::NotFound, format!("no session{wanted} in this data base"))
        };
        let id = &found.ok_or_else(missing)?.id;
        let row = self.session(id).map_err(io::Error::other)?;
        tell_session(&row, self, out, so_far)
    }

    fn session(&self, id: &str) -> rusqlite::Result<SessionRow> {
        let mut session =
            self.connection.query_row("SELECT * FROM session WHERE id = ?", [id], |row| {
                let revert =
                    text(row, "revert").and_then(|json| serde_json::from_str::<Value>(&json).ok());
                let project = text(row, "project_id");
                let row = SessionRow {
                    id: id.to_owned(),
                    parent: text(row, "parent_id"),
                    directory: text(row, "directory"),
                    title: text(row, "title"),
                    version: text(row, "version"),
                    created: row.get("time_created").ok(),
                    reverted_from: revert
                        .and_then(|revert| Some(revert["messageID"].as_str()?.to_owned())),
                    ..SessionRow::default()
                };
                Ok((row, project))
            })?;
        self.locate(&mut session.0, session.1.as_deref());
        Ok(session.0)
    }

    fn messages(
        &self,
        session: &str,
        damages: &mut Vec<Damage>,
        take: &mut TakeMessage<'_>,
    ) -> rusqlite::Result<()> {
        let messages =
            "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id";
        let mut messages = self.connection.prepare(messages)?;
        let parts = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id";
        let mut parts = self.connection.prepare(parts)?;
        // A session may have very many messages: they are read one by one.
        let mut rows = messages.query([session])?;
        while let Some(row) = rows.next()? {
            let Some((id, message)) = json(row, damages) else { continue };
            let mut found = Vec::new();
            let mut rows = parts.query([&id])?;
            while let Some(row) = rows.next()? {
                found.extend(json(row, damages).map(|(_, part)| part));
            }
            if !take(&id, &message, &found) {
                break;
            }
        }
        Ok(())
    }

    fn locate(&self, session: &mut SessionRow, project: Option<&str>) {
        let root = "SELECT worktree FROM project WHERE id = ?";
        let root = self.connection.query_row(root, [project], |row| Ok(text(row, "worktree")));
        session.worktree = root.ok().flatten().or_else(|| session.directory.clone());
        session.snapshots = project
            .and_then(|project| snapshot_dir(&self.folder, project, session.worktree.as_deref()?));
    }
}

impl Sessions for Database {
    fn each_message(
        &self,
        session: &str,
        damages: &mut Vec<Damage>,
        take: &mut TakeMessage<'_>,
    ) -> io::Result<()> {
        self.messages(session, damages, take).map_err(io::Error::other)
    }
}

fn connect(path: &Path, option: &str) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push('%');
            for half in [byte >> 4, byte & 15] {
                uri.extend(char::from_digit(u32::from(half), 16));
            }
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("{uri}?mode=ro&{option}"), flags)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    // One transaction: a client that writes meanwhile is not seen half.
    connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master")?;
    Ok(connection)
}

/// A row's id and JSON; what does not parse is damage.
fn json(row: &Row<'_>, damages: &mut Vec<Damage>) -> Option<(String, Value)> {
    let id = text(row, "id").unwrap_or_default();
    match serde_json::from_str(&text(row, "data").unwrap_or_default()) {
        Ok(value) => Some((id, value)),
        Err(error) => {
            let message = format!("row {id}: not JSON: {error}");
            damages.push(Damage { line: None, offset: None, message });
            None
        }
    }
}

/// A column as text, lossily; none where the version has no such column.
fn text(row: &Row<'_>, column: &str) -> Option<String> {
    let value = row.get_ref(column).ok()?;
    let bytes = value.as_bytes_or_null().ok()??;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::TurnState;
    use crate::session::event::LogEvent;
    use crate::session::transcript::Transcript;
    use std::collections::BTreeMap;

    const TABLES: &str = "
        CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT NOT NULL);
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
            title TEXT, version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT);
        INSERT INTO project VALUES ('p', '/w');
        INSERT INTO session VALUES ('ses_a', 'p', NULL, '/w', 'A', '1.18', NULL, 1, 10),
            ('ses_b', 'p', NULL, '/w', 'B', '1.18', NULL, 2, 20),
            ('ses_c', 'p', 'ses_b', '/w', 'C', '1.18', NULL, 3, 30);";

    /// A writer with a log that is not yet in the data base.
    fn writer(path: &Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        let mode: String =
            connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
        connection.execute_batch(TABLES).unwrap();
        say(&connection, "ses_b", 1, "hello");
        connection
    }

    fn say(connection: &Connection, session: &str, number: u32, text: &str) {
        connection
            .execute_batch(&format!(
                r#"INSERT INTO message VALUES ('msg_{number}', '{session}', {number}, '{{"role":"user"}}');
                INSERT INTO part VALUES ('prt_{number}', 'msg_{number}', '{{"type":"text","text":"{text}"}}');"#
            ))
            .unwrap();
    }

    fn read(path: &Path, session: Option<&str>) -> io::Result<Transcript> {
        let mut out = Output::default();
        Database::open(path)?.read(session, &mut out, &mut |_| true)?;
        assert_eq!(out.events.first(), Some(&LogEvent::Reset));
        let mut told = Transcript::default();
        out.events.into_iter().for_each(|event| told.apply(event));
        Ok(told)
    }

    fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    #[test]
    fn a_running_writers_log_is_read_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode ä#?.db");
        let live = writer(&path);
        assert_eq!(read(&path, None).unwrap().turns[0].prompt, "hello");
        // The three files as the writer left them, read without it.
        let left = tempfile::tempdir().unwrap();
        for file in files(folder.path()).keys() {
            fs::copy(file, left.path().join(file.file_name().unwrap())).unwrap();
        }
        let before = files(left.path());
        assert_eq!(before.len(), 3);
        let copied = left.path().join("opencode ä#?.db");
        assert_eq!(read(&copied, None).unwrap().turns[0].prompt, "hello");
        assert_eq!(files(left.path()), before);
        // Without the index of the log.
        fs::remove_file(beside(&copied, "-shm")).unwrap();
        let before = files(left.path());
        assert_eq!(read(&copied, None).unwrap().turns[0].prompt, "hello");
        assert_eq!(files(left.path()), before);
        drop(live);
    }

    #[test]
    fn a_closed_data_base_is_read_and_stays_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        drop(writer(&path));
        let before = files(folder.path());
        assert_eq!(before.len(), 1);
        assert!(recognizes(&path, &before[&path]));
        assert_eq!(read(&path, None).unwrap().header.title.as_deref(), Some("B"));
        assert_eq!(files(folder.path()), before);
    }

    #[test]
    fn the_version_differs_once_the_writer_has_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let live = writer(&path);
        let before = version(&path).unwrap();
        assert_eq!(version(&path).unwrap(), before);
        say(&live, "ses_b", 2, "more");
        assert_ne!(version(&path).unwrap(), before);
        assert_eq!(read(&path, None).unwrap().turns.len(), 2);
    }

    #[test]
    fn a_session_is_picked_by_id_and_a_missing_one_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let live = writer(&path);
        for wanted in ["ses_a", "#ses_a", "a"] {
            assert_eq!(read(&path, Some(wanted)).unwrap().header.title.as_deref(), Some("A"));
        }
        assert_eq!(read(&path, Some("ses_c")).unwrap().header.is_subagent, Some(true));
        let error = read(&path, Some("ses_x")).unwrap_err();
        assert!(error.to_string().contains("ses_x"));
        drop(live);
    }

    #[test]
    fn a_row_that_is_no_json_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let live = writer(&path);
        live.execute_batch(
            "INSERT INTO message VALUES ('msg_0', 'ses_b', 0, '{torn');
            INSERT INTO part VALUES ('prt_0', 'msg_1', x'ff');",
        )
        .unwrap();
        let mut out = Output::default();
        Database::open(&path).unwrap().read(Some("ses_b"), &mut out, &mut |_| true).unwrap();
        let said: Vec<_> = out.damages.iter().map(|damage| damage.message.as_str()).collect();
        assert!(
            said.len() == 2 && said[0].contains("msg_0") && said[1].contains("prt_0"),
            "{said:?}"
        );
        let mut told = Transcript::default();
        out.events.into_iter().for_each(|event| told.apply(event));
        assert_eq!((told.turns.len(), told.turns[0].state), (1, TurnState::Open));
    }

    #[test]
    fn other_data_bases_are_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE session (id)").unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(!recognizes(&path, &bytes));
        fs::write(&path, &bytes[..20]).unwrap();
        assert!(!recognizes(&path, &bytes));
        assert!(read(&folder.path().join("none.db"), None).is_err());
        assert!(!folder.path().join("none.db").exists());
    }
}
