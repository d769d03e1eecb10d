//! The sessions of Gemini CLI on this machine.

use super::reader::Reader;
use crate::log::{FoundSession, LogReader, Output, Places, head};
use crate::session::event::{LogEvent, Place};
use crate::session::transcript::Transcript;
use std::path::{Path, PathBuf};

/// All sessions, or those of one working directory.
pub(super) fn sessions(places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
    let home = places.env.get("GEMINI_CLI_HOME").map_or(places.home.as_path(), Path::new);
    let projects = head::entries(&home.join(".gemini/tmp"));
    let chats = projects.into_iter().map(|project| project.join("chats"));
    let logs = chats.flat_map(|chats| {
        let mut logs = head::files(&chats, "jsonl");
        logs.extend(head::files(&chats, "json"));
        logs
    });
    logs.filter_map(|log| session(log, cwd)).collect()
}

/// The session of this log, from its first rows. An older log is one document: it is read as far
/// as it is small.
fn session(log: PathBuf, cwd: Option<&Path>) -> Option<FoundSession> {
    let mut out = Output::default();
    let mut reader = Reader::new(Some(&log));
    if log.extension().is_some_and(|extension| extension == "json") {
        reader.document(&head::text(&log), &mut out);
    } else {
        for row in head::rows(&log) {
            reader.line(Place::default(), row.as_bytes(), &mut out);
            if out.events.iter().any(|event| matches!(event, LogEvent::Prompt { .. })) {
                break;
            }
        }
    }
    let mut transcript = Transcript::default();
    out.events.into_iter().for_each(|event| transcript.apply(event));
    let header = transcript.header;
    let mut found_cwd = header.cwd.map(PathBuf::from);
    if let Some(wanted) = cwd {
        if reader.is_in(wanted) {
            found_cwd = Some(wanted.to_owned());
        }
        head::same_directory(wanted, found_cwd.as_deref()?).then_some(())?;
    }
    let prompt = transcript.turns.first().and_then(|turn| head::title(&turn.prompt));
    Some(FoundSession {
        format: "gemini",
        id: header.id?,
        modified: head::modified(&log),
        path: log,
        cwd: found_cwd,
        title: header.title.or(prompt),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sessions_of_both_generations_are_found() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join(".gemini/tmp/p");
        fs::create_dir_all(project.join("chats")).unwrap();
        fs::write(project.join(".project_root"), "/w/p").unwrap();
        let rows = "{\"sessionId\":\"new\",\"projectHash\":\"h\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":[{\"text\":\"Do\"}]}\n";
        fs::write(project.join("chats/session-a.jsonl"), rows).unwrap();
        let document = r#"{"sessionId":"old","projectHash":"h","messages":[{"id":"1","type":"user","content":"Did"}]}"#;
        fs::write(project.join("chats/session-b.json"), document).unwrap();
        fs::write(project.join("chats/session-c.json"), "{").unwrap();
        let places = Places { home: home.path().into(), ..Places::default() };
        let mut found = sessions(&places, Some(Path::new("/w/p")));
        found.sort_by(|a, b| a.id.cmp(&b.id));
        let seen: Vec<_> = found.iter().map(|s| (s.id.as_str(), s.title.as_deref())).collect();
        assert_eq!(seen, [("new", Some("Do")), ("old", Some("Did"))]);
        assert!(sessions(&places, Some(Path::new("/w"))).is_empty());
        // A folder that only the hash names, with a log that names no file.
        let hash = "c26a62324a724a995c10f3f3c9e0def91a53cc2be15022f1bd0a832a56498c71";
        let project = home.path().join(".gemini/tmp").join(hash).join("chats");
        fs::create_dir_all(&project).unwrap();
        let document = format!(r#"{{"sessionId":"hashed","projectHash":"{hash}","messages":[]}}"#);
        fs::write(project.join("session-d.json"), document).unwrap();
        let found = sessions(&places, Some(Path::new("/w/hashed")));
        assert_eq!(found.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["hashed"]);
    }
}
