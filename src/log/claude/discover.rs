//! The sessions of Claude Code on this machine.

use super::prompts::{Spoken, spoken};
use crate::log::{FoundSession, Places, head, lazy};
use std::path::{Path, PathBuf};

/// All sessions, or those of one working directory.
pub(super) fn sessions(places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
    let homes = homes(places).into_iter();
    let projects = homes.flat_map(|home| head::entries(&home.join("projects")));
    let logs = projects.flat_map(|project| head::files(&project, "jsonl"));
    logs.filter_map(|log| session(log, cwd)).collect()
}

/// `CLAUDE_CONFIG_DIR` (perhaps several, separated by commas), else the two usual places.
fn homes(places: &Places) -> Vec<PathBuf> {
    match places.env.get("CLAUDE_CONFIG_DIR").filter(|dirs| !dirs.is_empty()) {
        Some(dirs) => dirs.split(',').map(|dir| PathBuf::from(dir.trim())).collect(),
        None => vec![places.home.join(".claude"), places.home.join(".config/claude")],
    }
}

/// The session of this log, from its head. The folder's name does not tell the directory: many
/// directories have one such name.
fn session(log: PathBuf, cwd: Option<&Path>) -> Option<FoundSession> {
    let id = log.file_stem()?.to_str()?.to_owned();
    // Logs of sub-agents stand beside those of sessions.
    if id.starts_with("agent-") {
        return None;
    }
    let (mut found_cwd, mut name, mut title, mut prompt) = (None, None, None, None);
    for row in head::rows(&log) {
        for record in lazy::objects(&row).0 {
            found_cwd = found_cwd.or_else(|| record.string("cwd").map(PathBuf::from));
            name = record.string("customTitle").or(name);
            title = record.string("aiTitle").or(title);
            if prompt.is_none() && record.is("type", "user") && !record.flag("isSidechain") {
                prompt = match spoken(&record) {
                    Some(Spoken::Prompt(text) | Spoken::Slash(text)) => head::title(&text),
                    _ => None,
                };
            }
        }
        if found_cwd.is_some() && prompt.is_some() {
            break;
        }
    }
    let wanted = match (cwd, &found_cwd) {
        (Some(wanted), Some(found)) => head::same_directory(wanted, found),
        (wanted, _) => wanted.is_none(),
    };
    let modified = head::modified(&log);
    wanted.then(|| FoundSession {
        format: "claude",
        id,
        path: log,
        cwd: found_cwd,
        title: name.or(title).or(prompt),
        modified,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sessions_are_found_by_the_directory_in_their_records() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join(".claude/projects/-w-a-b");
        fs::create_dir_all(&project).unwrap();
        let write = |name: &str, cwd: &str| {
            let rows = format!(
                "{{\"type\":\"mode\"}}\nnot json\n{{\"type\":\"user\",\"cwd\":\"{cwd}\",\"message\":{{\"content\":\"\\n Fix it\\nnow\"}}}}\n"
            );
            fs::write(project.join(name), rows).unwrap();
        };
        write("one.jsonl", "/w/a-b");
        write("two.jsonl", "/w/a/b");
        write("agent-3.jsonl", "/w/a-b");
        fs::write(project.join("empty.jsonl"), "").unwrap();
        let places = Places { home: home.path().into(), ..Places::default() };
        let found = sessions(&places, Some(Path::new("/w/a-b")));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id.as_str(), found[0].title.as_deref()), ("one", Some("Fix it")));
        assert_eq!(sessions(&places, None).len(), 3);
        let env = [("CLAUDE_CONFIG_DIR".to_owned(), "/nowhere".to_owned())].into();
        assert!(sessions(&Places { env, ..places }, None).is_empty());
    }
}
