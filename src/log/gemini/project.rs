//! The working directory of a Gemini CLI session, which its log does not name as such.

use crate::log::lazy;
use std::fs;
use std::path::Path;

/// The project's directory by the place of the log:
/// `<home>/tmp/<project>/chats/<session>`, where `<project>` is a short name that `.project_root`
/// beside `chats`, or `<home>/projects.json`, resolves. Older clients use a hash instead.
pub(super) fn directory(log: &Path) -> Option<String> {
    let chats = log.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "chats"))?;
    let project = chats.parent()?;
    let root = fs::read_to_string(project.join(".project_root")).ok();
    let root = root.map(|root| root.trim().to_owned()).filter(|root| !root.is_empty());
    root.or_else(|| by_name(project.parent()?.parent()?, project.file_name()?.to_str()?))
}

/// The directory that `projects.json` gives this short name.
fn by_name(home: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(home.join("projects.json")).ok()?;
    let file = lazy::objects(&text).0.into_iter().next()?;
    let projects = file.object("projects");
    projects
        .members()
        .find(|(_, short)| short.text().is_some_and(|short| short == name))
        .map(|(path, _)| path.to_owned())
}

/// The first workspace directory that the client's context text names.
pub(super) fn named_in(context: &str) -> Option<String> {
    if !context.trim_start().starts_with("<session_context>") {
        return None;
    }
    let (_, list) = context.split_once("Workspace Directories:**")?;
    let line = list.lines().map(str::trim).find(|line| !line.is_empty())?;
    let path = line.strip_prefix("- ")?.trim();
    Path::new(path).is_absolute().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_log_tells_its_project() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join("tmp/short/chats");
        fs::create_dir_all(chats.join("parent")).unwrap();
        let log = chats.join("session-1.jsonl");
        assert_eq!(directory(&log), None);
        let map = r#"{"projects":{"/w/other":"other","/w/p":"short"}}"#;
        fs::write(home.path().join("projects.json"), map).unwrap();
        assert_eq!(directory(&log).as_deref(), Some("/w/p"));
        fs::write(home.path().join("tmp/short/.project_root"), "/w/root\n").unwrap();
        assert_eq!(directory(&chats.join("parent/sub.jsonl")).as_deref(), Some("/w/root"));
    }

    #[test]
    fn the_context_names_the_directory() {
        let text = "<session_context>\n- **Workspace Directories:**\n  - /w/p\n- **Directory";
        assert_eq!(named_in(text).as_deref(), Some("/w/p"));
        assert_eq!(named_in("Workspace Directories:**\n  - /w/p"), None);
    }
}
