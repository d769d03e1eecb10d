//! The working directory of a Gemini CLI session, which its log does not name as such.

use crate::log::lazy;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// The project's directory by the place of the log:
/// `<home>/tmp/<project>/chats/<session>`, where `<project>` is a short name that `.project_root`
/// beside `chats`, or `<home>/projects.json`, resolves. Older clients use a hash instead.
pub(super) fn directory(log: &Path) -> Option<String> {
    let project = folder(log)?;
    let root = fs::read_to_string(project.join(".project_root")).ok();
    let root = root.map(|root| root.trim().to_owned()).filter(|root| !root.is_empty());
    root.or_else(|| by_name(project.parent()?.parent()?, project.file_name()?.to_str()?))
}

/// What the client keeps of a log's project: the folder above `chats`.
pub(super) fn folder(log: &Path) -> Option<&Path> {
    let mut folders = log.ancestors();
    folders.find(|dir| dir.file_name().is_some_and(|name| name == "chats"))?.parent()
}

/// Whether a project of this hash lies in a directory. The hash that a log names is the SHA-256 of
/// the directory's path, hexadecimal.
pub(super) fn is_of(hash: &str, directory: &Path) -> bool {
    let path = directory.as_os_str().as_encoded_bytes();
    let digest = Sha256::digest(path);
    hash.len() == 2 * digest.len()
        && digest.iter().zip(hash.as_bytes().chunks(2)).all(|(byte, digits)| {
            std::str::from_utf8(digits)
                .is_ok_and(|digits| u8::from_str_radix(digits, 16) == Ok(*byte))
        })
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

    const HASH: &str = "6153bc205717a804d7c08dfc2b3e05cf5ef8f898eb9c725ab5a386d60bd144f6";

    #[test]
    fn a_hash_is_of_one_directory() {
        assert!(is_of(HASH, Path::new("/w/p")));
        assert!(is_of(&HASH.to_uppercase(), Path::new("/w/p")));
        assert!(!is_of(HASH, Path::new("/w/p/")) && !is_of("", Path::new("/w/p")));
        assert!(!is_of(&"é".repeat(32), Path::new("/w/p")));
    }

    #[test]
    fn the_context_names_the_directory() {
        let text = "<session_context>\n- **Workspace Directories:**\n  - /w/p\n- **Directory";
        assert_eq!(named_in(text).as_deref(), Some("/w/p"));
        assert_eq!(named_in("Workspace Directories:**\n  - /w/p"), None);
    }
}
