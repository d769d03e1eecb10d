//! The sessions of pi on this machine.

use super::reader::prompt;
use crate::log::{FoundSession, Places, head, lazy};
use std::path::{Path, PathBuf};

/// All sessions, or those of one working directory.
pub(super) fn sessions(places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
    let own = places.env.get("PI_CODING_AGENT_DIR").map(PathBuf::from);
    let home = own.unwrap_or_else(|| places.home.join(".pi/agent"));
    let folders = head::entries(&home.join("sessions"));
    let logs = folders.into_iter().flat_map(|folder| head::files(&folder, "jsonl"));
    logs.filter_map(|log| session(&log, cwd)).collect()
}

/// The session of this log: its header, and its name or first prompt as the title.
fn session(log: &Path, cwd: Option<&Path>) -> Option<FoundSession> {
    let mut rows = head::rows(log);
    let first = rows.next()?;
    let header =
        lazy::objects(&first).0.into_iter().next().filter(|row| row.is("type", "session"))?;
    let found_cwd = header.string("cwd").map(PathBuf::from);
    if let Some(wanted) = cwd {
        head::same_directory(wanted, found_cwd.as_deref()?).then_some(())?;
    }
    let title = rows.find_map(|row| {
        lazy::objects(&row).0.iter().find_map(|entry| {
            let message = entry.object("message");
            let text = message.is("role", "user").then(|| prompt(&message));
            entry.string("name").filter(|_| entry.is("type", "session_info")).or(text)
        })
    });
    Some(FoundSession {
        format: "pi",
        id: header.string("id")?,
        modified: head::modified(log),
        path: log.to_path_buf(),
        cwd: found_cwd,
        title: title.and_then(|title| head::title(&title)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sessions_are_found_by_their_header() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".pi/agent/sessions/--w-p--");
        fs::create_dir_all(&folder).unwrap();
        let rows = "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/w/p\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"Do it\"}}\n";
        fs::write(folder.join("a.jsonl"), rows).unwrap();
        fs::write(folder.join("b.jsonl"), "no header\n").unwrap();
        let places = Places { home: home.path().into(), ..Places::default() };
        let found = sessions(&places, Some(Path::new("/w/p")));
        assert_eq!((found[0].id.as_str(), found[0].title.as_deref()), ("s", Some("Do it")));
        assert_eq!((found.len(), sessions(&places, Some(Path::new("/w"))).len()), (1, 0));
    }
}
