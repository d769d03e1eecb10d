//! How paths are spelled and shown: pure rules on components, no look at the disk.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The three directories that decide how a path is shown, each absolute and canonical.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRules {
    /// The session's working directory.
    pub cwd: PathBuf,
    /// The repository's work tree, or `cwd` where there is no repository.
    pub root: PathBuf,
    /// The person's home directory; empty where it is not known.
    pub home: PathBuf,
}

/// The two spellings of one file, slash-separated. A byte that is not UTF-8 stands as `\xNN`, so
/// that two names that differ stay different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownPath {
    /// Relative to the working directory if inside it, else the absolute path as given.
    pub path: String,
    /// For a person: inside the working directory or the repository, relative to the working
    /// directory (perhaps `../…`); else inside home, `~/…`; else absolute.
    pub display: String,
}

impl PathRules {
    /// Shows an absolute path.
    ///
    /// Whether a path is inside a directory is decided by whole components, so a file named
    /// `..name` is inside. A directory that is literally named `~` in the working directory is
    /// shown as `./~/…`, so that it cannot be taken for home.
    pub fn show(&self, absolute: &Path) -> ShownPath {
        let normal = normalize(absolute);
        let path = match normal.strip_prefix(&self.cwd) {
            Ok(inside) => or_dot(slashes(inside)),
            Err(_) => slashes(absolute),
        };
        let display = if normal.starts_with(&self.cwd) || normal.starts_with(&self.root) {
            let shown = or_dot(slashes(&relative(&self.cwd, &normal)));
            if shown == "~" || shown.starts_with("~/") { format!("./{shown}") } else { shown }
        } else {
            match normal.strip_prefix(&self.home) {
                Ok(inside) if self.home.has_root() => format!("~/{}", slashes(inside)),
                _ => slashes(&normal),
            }
        };
        ShownPath { path, display }
    }
}

/// The absolute path behind a spelling in a log, normalised without a look at the disk. `~` is an
/// ordinary name, as it is for the agents' file tools.
pub fn resolve(cwd: &Path, spelled: &str) -> PathBuf {
    normalize(&cwd.join(spelled))
}

/// Drops `.` and empty components, and takes each `..` off the name before it.
pub fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => {
                    out.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => out.push(".."),
            },
            other => out.push(other),
        }
    }
    out
}

/// Orders by UTF-16 code units, as the file lists of the outside interface are (JavaScript's `<`).
pub fn cmp_utf16(a: &str, b: &str) -> Ordering {
    // Equal up to the first scalar that differs; only there can the two orders disagree.
    match a.chars().zip(b.chars()).find(|(x, y)| x != y) {
        None => a.len().cmp(&b.len()),
        Some((x, y)) => {
            let (mut left, mut right) = ([0; 2], [0; 2]);
            x.encode_utf16(&mut left).iter().cmp(y.encode_utf16(&mut right).iter())
        }
    }
}

/// A file name's bytes as text; a byte that is not UTF-8 stands as `\xNN`.
pub fn escape_name(name: &OsStr) -> String {
    escape_bytes(name.as_encoded_bytes())
}

/// Like `escape_name`, for a path of a git tree.
pub fn escape_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn slashes(path: &Path) -> String {
    let text = escape_name(path.as_os_str());
    if std::path::MAIN_SEPARATOR == '/' { text } else { text.replace('\\', "/") }
}

fn or_dot(text: String) -> String {
    if text.is_empty() { ".".into() } else { text }
}

/// `to` as seen from `from`; both absolute and normalised.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut out = PathBuf::new();
    for _ in from.components().skip(shared) {
        out.push("..");
    }
    out.extend(to.components().skip(shared));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> PathRules {
        PathRules {
            cwd: "/home/dev/acme/sub".into(),
            root: "/home/dev/acme".into(),
            home: "/home/dev".into(),
        }
    }

    fn display(absolute: &str) -> String {
        rules().show(Path::new(absolute)).display
    }

    #[test]
    fn names_that_begin_with_two_dots_are_inside() {
        let shown = rules().show(Path::new("/home/dev/acme/sub/..hidden/...x"));
        assert_eq!(
            shown,
            ShownPath { path: "..hidden/...x".into(), display: "..hidden/...x".into() }
        );
    }

    #[test]
    fn a_directory_named_tilde_is_not_home() {
        assert_eq!(display("/home/dev/acme/sub/~/x"), "./~/x");
        assert_eq!(display("/home/dev/acme/sub/~"), "./~");
        assert_eq!(display("/home/dev/acme/sub/~x"), "~x");
        assert_eq!(display("/home/dev/x"), "~/x");
        assert_eq!(rules().show(Path::new("/home/dev/acme/sub/~/x")).path, "~/x");
    }

    #[test]
    fn outside_the_repository_home_comes_before_absolute() {
        assert_eq!(display("/home/dev/acme/x"), "../x");
        assert_eq!(display("/home/dev/acme-two/x"), "~/acme-two/x");
        assert_eq!(display("/home/developer/x"), "/home/developer/x");
        let nowhere = PathRules { home: PathBuf::new(), ..rules() };
        assert_eq!(nowhere.show(Path::new("/home/dev/x")).display, "/home/dev/x");
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_utf8_stay_different() {
        use std::os::unix::ffi::OsStrExt;
        let shown = |bytes: &[u8]| {
            rules().show(&Path::new("/home/dev/acme/sub").join(OsStr::from_bytes(bytes))).path
        };
        assert_eq!(shown(b"a\xffb"), "a\\xffb");
        assert_ne!(shown(b"a\xffb"), shown(b"a\xfeb"));
    }

    #[test]
    fn spellings_of_one_file_resolve_to_one_path() {
        let cwd = Path::new("/w");
        for spelled in ["a/b", "./a/b", "/w/a/b", "a//c/../b", "../w/a/b", "/../w/a/b"] {
            assert_eq!(resolve(cwd, spelled), Path::new("/w/a/b"), "{spelled}");
        }
        assert_eq!(resolve(cwd, "~/x"), Path::new("/w/~/x"));
    }

    #[test]
    fn order_is_by_utf16_code_unit() {
        assert_eq!(cmp_utf16("\u{1f642}", "\u{e000}"), Ordering::Less);
        assert_eq!(cmp_utf16("\u{d7ff}", "\u{1f642}"), Ordering::Less);
        assert_eq!(cmp_utf16("a", "ab"), Ordering::Less);
        assert_eq!(cmp_utf16("ä", "ä"), Ordering::Equal);
    }
}
