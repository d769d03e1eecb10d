//! opencode: its data base, its older folder of files, `opencode export`, `opencode run --format json`.

mod database;
mod part;
mod places;
mod session;
mod stream;
mod tree;

use super::loose::values_again;
use super::{FoundSession, LogFormat, LogReader, Output, Places, SoFar, WholeLog};
use crate::session::event::EditBody;
use database::Database;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tree::Storage;

/// The format of opencode logs.
#[derive(Debug)]
pub(super) struct Opencode;

impl LogFormat for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn recognizes(&self, rows: &[Value]) -> bool {
        rows.iter().any(|row| {
            let kind = row["type"].as_str();
            matches!(kind, Some("step_start" | "tool_use" | "step_finish" | "text"))
                && row["sessionID"].is_string()
                && row["part"].is_object()
        })
    }

    fn reader(&self) -> Box<dyn LogReader> {
        Box::<stream::StreamReader>::default()
    }

    fn edit_body(&self, call: &[u8], _result: Option<&[u8]>, nth: usize) -> EditBody {
        let rows = values_again(call);
        let edits = |row: &&Value| row["type"] == "tool_use";
        rows.iter().find(edits).map(|row| part::body(&row["part"], nth)).unwrap_or_default()
    }

    fn whole(&self) -> Option<&dyn WholeLog> {
        Some(self)
    }

    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        let folder = places::data_folder(places);
        let mut found: Vec<FoundSession> =
            data_bases(&folder).iter().flat_map(|path| in_base(path)).collect();
        if let Some((storage, _)) = Storage::of(&folder) {
            let known = |id: &str| found.iter().any(|one| one.id == id);
            let older: Vec<_> =
                in_folder(&storage).into_iter().filter(|one| !known(&one.id)).collect();
            found.extend(older);
        }
        found.retain(|one| cwd.is_none_or(|cwd| one.cwd.as_deref() == Some(cwd)));
        found
    }
}

impl WholeLog for Opencode {
    fn recognizes(&self, path: &Path, head: &[u8]) -> bool {
        database::recognizes(path, head) || tree::is_export(head) || Storage::of(path).is_some()
    }

    fn version(&self, path: &Path) -> io::Result<u64> {
        match Storage::of(path) {
            Some((storage, session)) => storage.version(session.as_deref()),
            None => database::version(path),
        }
    }

    fn read(
        &self,
        path: &Path,
        session: Option<&str>,
        out: &mut Output,
        so_far: &mut SoFar<'_>,
    ) -> io::Result<()> {
        if let Some((storage, own)) = Storage::of(path) {
            return storage.read(own.as_deref().or(session), out, so_far);
        }
        let mut head = [0; 16];
        io::Read::read_exact(&mut fs::File::open(path)?, &mut head)?;
        if head.starts_with(b"SQLite format 3\0") {
            Database::open(path)?.read(session, out, so_far)
        } else {
            tree::read_export(path, out, so_far)
        }
    }
}

/// `opencode.db`, and those of other channels (`opencode-<channel>.db`).
fn data_bases(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name == "opencode.db"
            || name.starts_with("opencode-") && path.extension().is_some_and(|end| end == "db")
    };
    entries.map(|entry| entry.path()).filter(named).collect()
}

fn in_base(path: &Path) -> Vec<FoundSession> {
    let listed = Database::open(path).and_then(|base| base.sessions()).unwrap_or_default();
    let found = |one: database::Listed| FoundSession {
        format: "opencode",
        path: PathBuf::from(format!("{}#{}", path.display(), one.id)),
        id: one.id,
        cwd: one.directory.map(PathBuf::from),
        title: one.title,
        modified: time(one.updated),
    };
    listed.into_iter().filter(|one| one.parent.is_none()).map(found).collect()
}

fn in_folder(storage: &Storage) -> Vec<FoundSession> {
    let own = |one: &tree::SessionFile| one.info["parentID"].is_null();
    let text = |one: &tree::SessionFile, key: &str| one.info[key].as_str().map(str::to_owned);
    let found = |one: tree::SessionFile| FoundSession {
        format: "opencode",
        id: text(&one, "id").unwrap_or_default(),
        cwd: text(&one, "directory").map(PathBuf::from),
        title: text(&one, "title"),
        modified: time(one.info["time"]["updated"].as_i64().unwrap_or(0)),
        path: one.path,
    };
    storage.sessions().into_iter().filter(own).map(found).collect()
}

fn time(milliseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sessions_of_the_data_base_and_of_the_folder_are_found() {
        let data = tempfile::tempdir().unwrap();
        let base = rusqlite::Connection::open(data.path().join("opencode.db")).unwrap();
        base.execute_batch(
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_updated INTEGER);
            INSERT INTO session VALUES ('ses_a', NULL, '/w', 'A', 1000), ('ses_b', 'ses_a', '/w', 'B', 2000),
                ('ses_c', NULL, '/other', 'C', 3000);",
        )
        .unwrap();
        drop(base);
        let sessions = data.path().join("storage/session/p");
        fs::create_dir_all(&sessions).unwrap();
        fs::create_dir_all(data.path().join("storage/message")).unwrap();
        for id in ["ses_a", "ses_d"] {
            let info = json!({"id": id, "directory": "/w", "title": "from the folder"});
            fs::write(sessions.join(format!("{id}.json")), info.to_string()).unwrap();
        }
        let env = [("OPENCODE_DATA_DIR".to_owned(), data.path().display().to_string())].into();
        let places = Places { env, ..Places::default() };
        let mut found = Opencode.discover(&places, Some(Path::new("/w")));
        found.sort_by(|one, other| one.id.cmp(&other.id));
        let named: Vec<_> =
            found.iter().map(|one| (one.id.as_str(), one.title.as_deref())).collect();
        assert_eq!(named, [("ses_a", Some("A")), ("ses_d", Some("from the folder"))]);
        assert_eq!(found[0].path, data.path().join("opencode.db#ses_a"));
        assert_eq!(found[0].modified, UNIX_EPOCH + Duration::from_secs(1));
        assert_eq!(Opencode.discover(&places, None).len(), 3);
    }

    #[test]
    fn only_rows_of_its_own_are_recognized() {
        let row = json!({"type": "tool_use", "sessionID": "s", "part": {}});
        assert!(LogFormat::recognizes(&Opencode, &[row]));
        let other = json!({"type": "tool_use", "tool_name": "x"});
        assert!(!LogFormat::recognizes(&Opencode, &[other, json!(3)]));
    }
}
