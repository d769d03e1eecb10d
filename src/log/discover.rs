//! The sessions of this machine, of any agent, and which log a person means.

use super::open::LogError;
use super::{FORMATS, FoundSession, Places, dsh};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// All sessions, newest first; those of `cwd` where one is given.
pub fn discover_all(places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
    let mut found: Vec<_> =
        FORMATS.iter().flat_map(|format| format.discover(places, cwd)).collect();
    found.sort_by(|a, b| (Reverse(a.modified), &a.path).cmp(&(Reverse(b.modified), &b.path)));
    found
}

/// The log that `--session` means: a path to a log or to a folder that holds one, or the id (or
/// the only id that begins so) of a session on this machine.
///
/// # Errors
/// There is none.
pub fn resolve(session: &str, places: &Places) -> Result<PathBuf, LogError> {
    let path = PathBuf::from(session);
    if path.is_dir() {
        return Ok(in_folder(&path).unwrap_or(path));
    }
    if path.exists() {
        return Ok(path);
    }
    if session.split_once('#').is_some_and(|(file, _)| Path::new(file).exists()) {
        return Ok(path);
    }
    let missing = || LogError::NoSuchSession { name: session.to_owned() };
    if session.is_empty() || session.contains('/') {
        return Err(missing());
    }
    let found = discover_all(places, None);
    if let Some(exact) = found.iter().find(|found| found.id == session) {
        return Ok(exact.path.clone());
    }
    let mut begun = found.iter().filter(|found| found.id.starts_with(session));
    match (begun.next(), begun.next()) {
        (Some(only), None) => Ok(only.path.clone()),
        _ => Err(missing()),
    }
}

/// The log in a session's folder. A folder that is itself a log (some agents have that) stays.
fn in_folder(path: &Path) -> Option<PathBuf> {
    let whole = FORMATS.iter().filter_map(|format| format.whole());
    if whole.into_iter().any(|whole| whole.recognizes(path, &[])) {
        return None;
    }
    dsh::newest_generation(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, SystemTime};

    fn session(home: &Path, id: &str, file: &str, cwd: &str, more: &str, age: u64) -> PathBuf {
        let dir = home.join("sessions/--w--").join(id);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(file);
        let text = format!(
            "{{\"type\":\"session\",\"version\":0,\"id\":\"{id}\",\"createdAt\":1,\"cwd\":\"{cwd}\"{more}}}\n\
             {{\"type\":\"session/title\",\"seq\":0,\"time\":1,\"data\":{{\"title\":\"title of {id}\"}}}}\n"
        );
        let bytes = if file.ends_with("zstd") {
            zstd::encode_all(text.as_bytes(), 3).unwrap()
        } else {
            text.into()
        };
        fs::write(&path, bytes).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn places(home: &Path) -> Places {
        let env = [("DSH_HOME".to_owned(), home.to_string_lossy().into_owned())];
        Places { home: PathBuf::from("/nowhere"), env: env.into() }
    }

    #[test]
    fn dsh_sessions_are_found_newest_first_by_their_headers() {
        let home = tempfile::tempdir().unwrap();
        let old = session(home.path(), "session-a", "session.jsonl", "/w", "", 50);
        session(home.path(), "session-b", "session.jsonl", "/w", "", 10);
        session(home.path(), "session-b", "session.v9.jsonl.zstd", "/w", "", 30);
        let new = session(home.path(), "session-b", "session.v10.jsonl.zstd", "/w", "", 20);
        session(home.path(), "session-c", "session.jsonl", "/other", "", 5);
        session(home.path(), "child", "session.jsonl", "/w", ",\"origin\":\"subagent\"", 1);
        session(home.path(), "tmp", "session.jsonl.zstd.0123456789ab.tmp", "/w", "", 1);
        fs::write(home.path().join("sessions/--w--/session-a/session.lock"), "").unwrap();
        let places = places(home.path());
        let found = discover_all(&places, Some(Path::new("/w")));
        let seen: Vec<_> = found.iter().map(|f| (f.path.as_path(), f.title.as_deref())).collect();
        assert_eq!(
            seen,
            [
                (new.as_path(), Some("title of session-b")),
                (old.as_path(), Some("title of session-a"))
            ]
        );
        assert_eq!(discover_all(&places, None).len(), 3);
        assert_eq!(resolve("session-a", &places).unwrap(), old);
        assert_eq!(resolve(old.to_str().unwrap(), &places).unwrap(), old);
        assert_eq!(resolve(new.parent().unwrap().to_str().unwrap(), &places).unwrap(), new);
        assert!(resolve("session-", &places).is_err(), "two begin so");
        assert_eq!(
            resolve("nope", &places).unwrap_err().to_string(),
            "--session nope: no such file, and no session with this id"
        );
    }
}
