//! Where dsh keeps its sessions: `<home>/sessions/<project>/<session>/session[.vN].jsonl[.zstd]`.

use crate::log::companions::latest_call;
use crate::log::decode::{Decoder, Sink};
use crate::log::source::Stored;
use crate::log::{Companion, FoundSession, LogReader, Output, Places};
use crate::session::Damage;
use crate::session::event::{Delegation, Place};
use crate::session::transcript::Transcript;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Enough for a header.
const HEADER: usize = 4 << 10;

/// Enough for the rows before the first answer, where title and prompt stand.
const HEAD: usize = 64 << 10;

/// All sessions but those of delegates, which a person never started.
pub(super) fn discover(places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
    let home = match places.env.get("DSH_HOME") {
        Some(home) if !home.is_empty() => PathBuf::from(home),
        _ => places.home.join(".dsh"),
    };
    let projects = folders(&home.join("sessions"));
    let sessions = projects.iter().flat_map(|project| folders(project));
    sessions.filter_map(|session| found(&newest_generation(&session)?, cwd)).collect()
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}

/// The log with the numerically highest generation in a session's folder: older ones are frozen.
/// Of two encodings of one generation, the one that changed last.
pub fn newest_generation(session: &Path) -> Option<PathBuf> {
    let logs = fs::read_dir(session).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let generation = generation(path.file_name()?)?;
        let changed = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.modified().ok();
        Some((generation, changed, path))
    });
    logs.max().map(|(_, _, path)| path)
}

/// The generation in a log's name: `session.jsonl` is 0, `session.v4.jsonl.zstd` is 4.
pub(in crate::log) fn generation(name: &OsStr) -> Option<u64> {
    let name = name.to_str()?;
    let name = name.strip_suffix(".zstd").unwrap_or(name);
    let number = name.strip_prefix("session")?.strip_suffix(".jsonl")?;
    if number.is_empty() {
        return Some(0);
    }
    let digits = number.strip_prefix(".v")?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

fn found(path: &Path, cwd: Option<&Path>) -> Option<FoundSession> {
    let stored = Stored::open(path).ok()?;
    let header = told(&stored, HEADER)?.header;
    let here = header.cwd.as_deref().map(PathBuf::from);
    let wanted = cwd.is_none_or(|cwd| here.as_deref().is_some_and(|here| same_folder(here, cwd)));
    if !wanted || header.is_subagent == Some(true) {
        return None;
    }
    let head = told(&stored, HEAD)?;
    let prompt =
        head.turns.first().map(|turn| turn.prompt.clone()).filter(|prompt| !prompt.is_empty());
    Some(FoundSession {
        format: "dsh",
        id: header.id?,
        path: path.to_owned(),
        cwd: here,
        title: head.header.title.or(prompt),
        modified: fs::metadata(path).ok()?.modified().ok()?,
    })
}

/// The logs of the sub-agents of the session at `path`: sessions of their own beside it, whose
/// headers name it. One belongs to the latest call before it began.
pub(super) fn companions(path: &Path, calls: &[Delegation]) -> Vec<Companion> {
    let header = |path: &Path| Some(told(&Stored::open(path).ok()?, HEADER)?.header);
    let Some(id) = header(path).and_then(|header| header.id) else { return Vec::new() };
    let project = path.parent().and_then(Path::parent);
    let first = calls.iter().filter_map(|call| call.at).min().unwrap_or(0);
    // A folder changes when its log is made, which is after the call.
    let since = UNIX_EPOCH + Duration::from_millis(u64::try_from(first).unwrap_or(0));
    let is_later = |folder: &PathBuf| {
        fs::metadata(folder).and_then(|data| data.modified()).is_ok_and(|at| at >= since)
    };
    let sessions = project.map(folders).unwrap_or_default().into_iter().filter(is_later);
    let logs = sessions.filter_map(|session| newest_generation(&session));
    let found = logs.filter_map(|log| {
        let header = header(&log)?;
        let is_own = header.is_subagent == Some(true) && header.parent.as_ref() == Some(&id);
        let turn = latest_call(calls, header.created_at).filter(|_| is_own)?.turn;
        Some(Companion { path: log, agent: header.id?, turn })
    });
    found.collect()
}

fn same_folder(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one)
            .is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// What a log's first bytes tell; none where they are not of this format.
fn told(stored: &Stored, len: usize) -> Option<Transcript> {
    let mut bytes = vec![0; len];
    let read = stored.read_at(0, &mut bytes).ok()?;
    let mut head = Head::default();
    Decoder::new(stored.encoding().ok()?, 0, 1).push(bytes.get(..read)?, &mut head);
    let mut transcript = Transcript::default();
    head.out.events.into_iter().for_each(|event| transcript.apply(event));
    transcript.header.id.is_some().then_some(transcript)
}

#[derive(Default)]
struct Head {
    reader: super::reader::Reader,
    out: Output,
}

impl Sink for Head {
    fn line(&mut self, place: Place, line: &[u8]) {
        self.reader.line(place, line, &mut self.out);
    }

    fn damage(&mut self, _: Damage) {}
}
