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
