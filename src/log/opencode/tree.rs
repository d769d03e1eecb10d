//! opencode without a data base: the folder of JSON files (to 1.1), and `opencode export`.
//!
//! `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
//! `storage/part/<message>/<part>.json`; in 0.5 `storage/session/{info,message,part}/…`.

use super::places::snapshot_dir;
use super::session::{SessionRow, Sessions, TakeMessage, Teller, is_session, tell_session};
use crate::log::loose::owned;
use crate::log::messages::each_message;
use crate::log::{Output, SoFar};
use crate::session::Damage;
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// A folder `storage`.
pub(super) struct Storage {
    root: PathBuf,
    /// 0.5 keeps messages and parts below `session`.
    nested: bool,
}

/// A session's file with what it says.
pub(super) struct SessionFile {
    pub(super) path: PathBuf,
    pub(super) info: Value,
}

impl Storage {
    /// The storage that a path means (itself, the folder above it, or a session file in it), and
    /// the session, where the path means one.
    pub(super) fn of(path: &Path) -> Option<(Self, Option<String>)> {
        if path.is_dir() {
            let inner = path.join("storage");
            let root = if inner.is_dir() { inner } else { path.to_owned() };
            return Some((Self::at(root)?, None));
        }
        let id = path.file_stem()?.to_str()?.to_owned();
        let folder = path.extension().filter(|end| *end == "json").and(path.parent())?;
        let root = folder.parent().filter(|session| session.ends_with("session"))?.parent()?;
        Some((Self::at(root.to_owned())?, Some(id)))
    }

    fn at(root: PathBuf) -> Option<Self> {
        let nested = root.join("session/info").is_dir();
        let flat = root.join("session").is_dir() && root.join("message").is_dir();
        (nested || flat).then_some(Self { root, nested })
    }

    /// All sessions, the newest first.
    pub(super) fn sessions(&self) -> Vec<SessionFile> {
        let mut found: Vec<SessionFile> = files(&self.root.join("session"))
            .into_iter()
            .flat_map(|folder| files(&folder))
            .filter_map(|path| {
                let info = parse(&path).ok()?;
                (info["id"].is_string() && info.get("role").is_none())
                    .then_some(SessionFile { path, info })
            })
            .collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.info["time"]["updated"].as_i64()));
        found
    }

    fn find(&self, session: Option<&str>) -> io::Result<SessionFile> {
        let mut sessions = self.sessions();
        let at = match session {
            Some(wanted) => sessions
                .iter()
                .position(|one| one.info["id"].as_str().is_some_and(|id| is_session(id, wanted))),
            None => sessions
                .iter()
                .position(|one| one.info["parentID"].is_null())
                .or((!sessions.is_empty()).then_some(0)),
        };
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such session in this folder");
        Ok(sessions.swap_remove(at.ok_or_else(missing)?))
    }

    fn messages(&self, session: &str) -> PathBuf {
        self.root.join(if self.nested { "session/message" } else { "message" }).join(session)
    }

    fn parts(&self, session: &str, message: &str) -> PathBuf {
        if self.nested {
            self.root.join("session/part").join(session).join(message)
        } else {
            self.root.join("part").join(message)
        }
    }

    /// Differs when a file of the session may have changed.
    pub(super) fn version(&self, session: Option<&str>) -> io::Result<u64> {
        let file = self.find(session)?;
        let id = file.info["id"].as_str().unwrap_or_default();
        let own = self.with_delegated(id);
        let mut hasher = DefaultHasher::new();
        let mut add = |path: &Path| {
            let meta = fs::metadata(path).ok();
            let seen = meta.map(|meta| (meta.len(), meta.modified().ok()));
            (path, seen).hash(&mut hasher);
        };
        // A session's file is written again with each of its messages.
        files(&self.root.join("session"))
            .iter()
            .flat_map(|folder| files(folder))
            .for_each(|file| add(&file));
        for id in &own {
            for message in files(&self.messages(id)) {
                add(&message);
                let parts = message.file_stem().and_then(|stem| stem.to_str());
                parts
                    .map(|message| files(&self.parts(id, message)))
                    .iter()
                    .flatten()
                    .for_each(|part| add(part));
            }
        }
        Ok(hasher.finish())
    }

    /// A session and those of its sub-agents, by id.
    fn with_delegated(&self, session: &str) -> Vec<String> {
        let sessions = self.sessions();
        let mut own = vec![session.to_owned()];
        let mut at = 0;
        while let Some(parent) = own.get(at).cloned() {
            let children = sessions.iter().filter(|one| one.info["parentID"] == *parent);
            let ids = children.filter_map(|one| one.info["id"].as_str().map(str::to_owned));
            let new: Vec<String> = ids.filter(|id| !own.contains(id)).collect();
            own.extend(new);
            at += 1;
        }
        own
    }

    /// Tells one session; without an id the newest that no other delegated.
    pub(super) fn read(
        &self,
        session: Option<&str>,
        out: &mut Output,
        so_far: &mut SoFar<'_>,
    ) -> io::Result<()> {
        let file = self.find(session)?;
        let mut row = SessionRow::from_info(&file.info);
        let project = file.info["projectID"].as_str().unwrap_or_default();
        let known = parse(&self.root.join("project").join(format!("{project}.json"))).ok();
        let root = known.and_then(|project| Some(project["worktree"].as_str()?.to_owned()));
        row.worktree = root.or_else(|| row.directory.clone());
        row.snapshots = self
            .root
            .parent()
            .zip(row.worktree.as_deref())
            .and_then(|(data, worktree)| snapshot_dir(data, project, worktree));
        tell_session(&row, self, out, so_far)
    }
}

impl Sessions for Storage {
    fn each_message(
        &self,
        session: &str,
        damages: &mut Vec<Damage>,
        take: &mut TakeMessage<'_>,
    ) -> io::Result<()> {
        // An id stands in paths.
        if session.contains('/') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut messages = read_all(&self.messages(session), damages);
        messages.sort_by_key(|(id, message)| (message["time"]["created"].as_i64(), id.clone()));
        for (id, message) in messages {
            let parts = read_all(&self.parts(session, &id), damages);
            let parts: Vec<Value> = parts.into_iter().map(|(_, part)| part).collect();
            if !take(&id, &message, &parts) {
                break;
            }
        }
        Ok(())
    }
}

/// Whether the head of a file is that of an export.
pub(super) fn is_export(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let inner = head.trim_start().strip_prefix('{').map(str::trim_start);
    let info = inner.and_then(|inner| inner.strip_prefix("\"info\"")).map(str::trim_start);
    info.is_some_and(|info| info.starts_with(':') && info.contains("\"directory\""))
}

/// Tells an export: `{info, messages: [{info, parts}]}`.
pub(super) fn read_export(path: &Path, out: &mut Output, so_far: &mut SoFar<'_>) -> io::Result<()> {
    // The directory stands in many messages; the first one is enough.
    let mut root = None;
    let mut look = |message: &Value| {
        root = root.take().or_else(|| owned(&message["info"]["path"]["root"]));
        true
    };
    // It is looked through first: one that is not quite in order is held in memory.
    let looked = each_message(path, &mut |message| look(&value(message)));
    let (info, kept) = if let Ok(head) = looked {
        (serde_json::from_str::<Value>(&head)?, None)
    } else {
        let mut export = parse(path)?;
        let messages = export["messages"].take();
        let messages = messages.as_array().cloned().unwrap_or_default();
        messages.iter().all(&mut look);
        (export, Some(messages))
    };
    let mut row = SessionRow::from_info(&info["info"]);
    row.worktree = root.or_else(|| row.directory.clone());
    let mut teller = Teller::new(&row, None, out);
    let mut tell = |message: &Value| {
        let parts = message["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let info = &message["info"];
        teller.message(info["id"].as_str().unwrap_or_default(), info, parts);
        so_far(teller.so_far())
    };
    match kept {
        Some(messages) if !messages.iter().all(&mut tell) => {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Some(_) => {}
        None => {
            each_message(path, &mut |message| tell(&value(message)))?;
        }
    }
    teller.finish();
    Ok(())
}

/// A message that was found to be JSON.
fn value(message: &str) -> Value {
    serde_json::from_str(message).unwrap_or_default()
}

fn parse(path: &Path) -> io::Result<Value> {
    let bytes = fs::read(path)?;
    serde_json::from_str(&String::from_utf8_lossy(&bytes)).map_err(io::Error::other)
}

/// The files of a folder by name; none where there is no folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// All JSON files of a folder by name; one that cannot be read is damage.
fn read_all(folder: &Path, damages: &mut Vec<Damage>) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for path in files(folder) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        match parse(&path) {
            Ok(value) => found.push((name.to_owned(), value)),
            Err(error) => damages.push(Damage {
                line: None,
                offset: None,
                message: format!("{name}: {error}"),
            }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::transcript::Transcript;
    use serde_json::json;

    fn write(root: &Path, file: &str, value: &Value) -> PathBuf {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, value.to_string()).unwrap();
        path
    }

    fn fill(root: &Path, [session, message, part]: [&str; 3]) -> PathBuf {
        let info = json!({"id": "ses_a", "projectID": "p", "directory": "/w", "title": "T",
            "time": {"created": 1, "updated": 2}});
        let user = json!({"id": "msg_1", "role": "user", "time": {"created": 3}});
        write(root, message, &user);
        write(root, part, &json!({"type": "text", "text": "hello"}));
        write(root, session, &info)
    }

    fn told(path: &Path) -> Transcript {
        let (storage, session) = Storage::of(path).unwrap();
        let (mut out, mut told) = (Output::default(), Transcript::default());
        storage.read(session.as_deref(), &mut out, &mut |_| true).unwrap();
        out.events.into_iter().for_each(|event| told.apply(event));
        told
    }

    #[test]
    fn a_folder_and_a_session_file_in_it_are_read() {
        let data = tempfile::tempdir().unwrap();
        let root = data.path().join("storage");
        let file = fill(
            &root,
            ["session/p/ses_a.json", "message/ses_a/msg_1.json", "part/msg_1/prt_1.json"],
        );
        write(&root, "project/p.json", &json!({"worktree": "/w"}));
        for path in [data.path(), root.as_path(), file.as_path()] {
            assert_eq!(told(path).turns[0].prompt, "hello", "{}", path.display());
        }
        assert!(Storage::of(&root.join("message/ses_a/msg_1.json")).is_none());
    }

    #[test]
    fn the_oldest_layout_is_read() {
        let data = tempfile::tempdir().unwrap();
        let root = data.path().join("storage");
        fill(
            &root,
            [
                "session/info/ses_a.json",
                "session/message/ses_a/msg_1.json",
                "session/part/ses_a/msg_1/prt_1.json",
            ],
        );
        assert_eq!(told(&root).turns[0].prompt, "hello");
    }

    #[test]
    fn the_version_differs_with_any_part_and_a_torn_file_is_damage() {
        let data = tempfile::tempdir().unwrap();
        fill(
            data.path(),
            ["session/p/ses_a.json", "message/ses_a/msg_1.json", "part/msg_1/prt_1.json"],
        );
        let (storage, _) = Storage::of(data.path()).unwrap();
        let before = storage.version(None).unwrap();
        fs::write(data.path().join("part/msg_1/prt_2.json"), "{torn").unwrap();
        assert_ne!(storage.version(None).unwrap(), before);
        let mut out = Output::default();
        storage.read(None, &mut out, &mut |_| true).unwrap();
        assert!(out.damages[0].message.contains("prt_2"));
    }

    #[test]
    fn an_export_is_known_by_its_head() {
        let data = tempfile::tempdir().unwrap();
        let export = json!({"info": {"id": "ses_a", "directory": "/w"}, "messages": [
            {"info": {"id": "m1", "role": "user"}, "parts": [{"type": "text", "text": "hello"}]}]});
        let path = write(data.path(), "export.json", &export);
        assert!(is_export(&fs::read(&path).unwrap()));
        assert!(!is_export(b"{\"info\": 3}") && !is_export(b"\xff{"));
        let prompt = || {
            let (mut out, mut told) = (Output::default(), Transcript::default());
            read_export(&path, &mut out, &mut |_| true).unwrap();
            out.events.into_iter().for_each(|event| told.apply(event));
            told.turns.remove(0).prompt
        };
        assert_eq!(prompt(), "hello");
        // One that is not quite in order is read all the same.
        let broken = fs::read(&path).unwrap();
        let broken = [&broken[..broken.len() - 1], b",\"z\":\"\xff\"}"].concat();
        fs::write(&path, broken).unwrap();
        assert_eq!(prompt(), "hello");
        let end = read_export(&path, &mut Output::default(), &mut |_| false).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::Interrupted);
    }
}
