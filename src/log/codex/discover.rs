//! Codex sessions on this machine: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-*.jsonl`.
//!
//! A thread may have several files: a reverted thread goes on in a newer segment
//! (`rollout-<time>-<thread>_<segment>.jsonl`), and the newest segment is the live one. A file may
//! be kept compressed (`.jsonl.zst`); the plain one wins. `archived_sessions` is flat.

use super::reader::CodexReader;
use crate::log::{FoundSession, LogReader, Output, Places};
use crate::session::event::Place;
use crate::session::transcript::Transcript;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// How much of a log is looked at for its directory and first prompt.
const HEAD_BYTES: u64 = 256 * 1024;

pub(super) fn discover(places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
    let home = places.env.get("CODEX_HOME").filter(|home| !home.is_empty());
    let home = home.map_or_else(|| places.home.join(".codex"), PathBuf::from);
    let mut files = Vec::new();
    collect(&home.join("sessions"), 3, &mut files);
    collect(&home.join("archived_sessions"), 0, &mut files);
    let mut live: HashMap<String, (String, PathBuf)> = HashMap::new();
    for path in files {
        let Some((thread, stamp)) = named(&path) else { continue };
        let newer = live.get(&thread).is_none_or(|(known, _)| *known < stamp);
        if newer {
            live.insert(thread, (stamp, path));
        }
    }
    live.into_iter().filter_map(|(thread, (_, path))| found(thread, path, cwd)).collect()
}

/// The files below a folder, to a depth.
pub(super) fn collect(folder: &Path, depth: u8, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, files);
            }
        } else {
            files.push(path);
        }
    }
}

/// The thread of a rollout by its name, and what sorts its files: time, then plain before packed.
fn named(path: &Path) -> Option<(String, String)> {
    let name = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
    let (stem, packed) = match name.strip_suffix(".jsonl") {
        Some(stem) => (stem, "plain"),
        None => (name.strip_suffix(".jsonl.zst")?, "packed"),
    };
    let (time, ids) = stem.split_at_checked("2026-12-01T00-35-31".len())?;
    let thread = ids.strip_prefix('-')?.split('_').next()?;
    // "plain" sorts behind "packed", so that it wins.
    Some((thread.to_owned(), format!("{time} {packed}")))
}

fn found(thread: String, path: PathBuf, cwd: Option<&Path>) -> Option<FoundSession> {
    let modified = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
    let told = head(&path, cwd)?;
    let prompt = told.turns.iter().map(|turn| &turn.prompt).find(|prompt| !prompt.is_empty());
    Some(FoundSession {
        format: "codex",
        id: told.header.id.unwrap_or(thread),
        cwd: told.header.cwd.map(PathBuf::from),
        title: told.header.title.or_else(|| prompt.cloned()),
        path,
        modified,
    })
}

/// The decoded bytes of a log.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = File::open(path)?;
    let packed = path.extension().is_some_and(|extension| extension == "zst");
    Ok(if packed { Box::new(zstd::Decoder::new(file)?) } else { Box::new(file) })
}

/// What the first rows of a log tell; none for a sub-agent's, or one of another directory.
fn head(path: &Path, cwd: Option<&Path>) -> Option<Transcript> {
    let mut lines = BufReader::new(open(path).ok()?.take(HEAD_BYTES));
    let (mut reader, mut out, mut line) = (CodexReader::default(), Output::default(), Vec::new());
    let mut told = Transcript::default();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if line.pop() != Some(b'\n') {
            break;
        }
        reader.line(Place::default(), &line, &mut out);
        line.clear();
        out.events.drain(..).for_each(|event| told.apply(event));
        let elsewhere = |own: &String| cwd.is_some_and(|cwd| Path::new(own) != cwd);
        if told.header.is_subagent == Some(true) || told.header.cwd.as_ref().is_some_and(elsewhere)
        {
            return None;
        }
        if told.turns.iter().any(|turn| !turn.prompt.is_empty()) {
            break;
        }
    }
    // The oldest logs do not say where they ran.
    (cwd.is_none() || told.header.cwd.is_some()).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "01a22f07-02fe-72e3-b9cc-2d19704a0b0f";

    fn write(home: &Path, name: &str, cwd: &str, prompt: &str) -> PathBuf {
        let folder = home.join(".codex/sessions/2026/12/01");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        let rows = [
            format!(r#"{{"type":"session_meta","payload":{{"id":"{THREAD}","cwd":"{cwd}"}}}}"#),
            r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}"#.to_owned(),
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"user_message","message":"{prompt}"}}}}"#
            ),
        ];
        fs::write(&path, rows.join("\n") + "\n").unwrap();
        path
    }

    #[test]
    fn the_newest_segment_of_a_thread_is_the_session() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &format!("rollout-2026-12-01T00-35-18-{THREAD}.jsonl"), "/w", "old");
        let live = write(
            home.path(),
            &format!(
                "rollout-2026-12-01T00-35-31-{THREAD}_01a22f07-37d2-7981-8e2e-79b5763c6a44.jsonl"
            ),
            "/w",
            "new",
        );
        fs::write(home.path().join(".codex/sessions/2026/12/01/notes.txt"), "x").unwrap();
        let places = Places { home: home.path().to_owned(), ..Places::default() };
        let sessions = discover(&places, Some(Path::new("/w")));
        assert_eq!(sessions.len(), 1);
        assert_eq!(sessions[0].path, live);
        assert_eq!(sessions[0].title.as_deref(), Some("new"));
        assert_eq!(discover(&places, Some(Path::new("/other"))), []);
    }

    #[test]
    fn a_packed_log_is_found_and_a_plain_one_wins() {
        let home = tempfile::tempdir().unwrap();
        let name = format!("rollout-2026-12-01T00-35-18-{THREAD}.jsonl");
        let plain = write(home.path(), &name, "/w", "p");
        let packed = plain.with_extension("jsonl.zst");
        fs::write(&packed, zstd::encode_all(File::open(&plain).unwrap(), 1).unwrap()).unwrap();
        let places = Places { home: home.path().to_owned(), ..Places::default() };
        assert_eq!(discover(&places, None)[0].path, plain);
        fs::remove_file(&plain).unwrap();
        assert_eq!(discover(&places, None)[0].path, packed);
        assert_eq!(discover(&places, None)[0].cwd.as_deref(), Some(Path::new("/w")));
    }
}
