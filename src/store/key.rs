//! A session's name in the store.

use super::rows::sha256;
use std::fmt::Write;
use std::path::Path;

/// The longest part of a folder's name that an id is spelled out in, in bytes.
const LONGEST: usize = 150;

/// Names a session: the log's format with the agent's own id, or with the log's path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    folder: String,
}

impl SessionKey {
    /// A session with an id. Any text is an id; different ones have different folders.
    pub fn named(format: &str, id: &str) -> Self {
        let mut name = escaped(id);
        if name.len() > LONGEST {
            name.truncate(LONGEST);
            // No escape ends in `%%`, so that no other id has this name.
            let _ = write!(name, "%%{}", sha256(id.as_bytes()));
        }
        Self::of(format, &name)
    }

    /// A session without an id, by its log's canonical path.
    pub fn of_log(format: &str, path: &Path) -> Self {
        let hash = sha256(path.as_os_str().as_encoded_bytes());
        Self::of(format, &format!("%%{hash}"))
    }

    fn of(format: &str, name: &str) -> Self {
        // The first `-` ends the format.
        Self { folder: format!("{}-{name}", escaped(format).replace('-', "%2D")) }
    }

    /// The name of its folder.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }
}

/// Letters, digits, `-`, `_` and `.` as they are; all else as `%XX`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn any_id_makes_one_safe_name_of_its_own() {
        let long = "é".repeat(4000);
        let longer = format!("{long}x");
        let ids = [
            "a",
            "A",
            "",
            ".",
            "..",
            "../../etc",
            "a/b",
            "a%2Fb",
            "\u{1b}[2J",
            "a\0b",
            &long,
            &longer,
        ];
        let folders: HashSet<String> = ids
            .iter()
            .map(|id| SessionKey::named("dsh", id).folder().to_owned())
            .chain([
                SessionKey::of_log("dsh", Path::new("/a")).folder().to_owned(),
                SessionKey::named("dsh-a", "b").folder().to_owned(),
                SessionKey::named("dsh", "a-b").folder().to_owned(),
            ])
            .collect();
        assert_eq!(folders.len(), ids.len() + 3);
        for folder in folders {
            assert!(folder.starts_with("dsh") && folder.len() <= 255, "{folder}");
            assert!(folder.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'), "{folder}");
        }
    }
}
