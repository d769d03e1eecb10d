//! The first rows of a log file, for discovery: quick, bounded, and never an error.

use super::lazy::{self, Object};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How much of a log is looked at, in bytes.
const LIMIT: u64 = 256 * 1024;

/// How large a log that is one document may be to be looked at, in bytes.
const DOCUMENT: u64 = 4 * 1024 * 1024;

/// A prompt as a title: its first line, at most this many characters.
const TITLE: usize = 120;

/// The first whole rows of a file.
pub(super) fn rows(path: &Path) -> impl Iterator<Item = String> {
    let file = open(path).map(|file| BufReader::new(file.take(LIMIT)));
    file.into_iter().flat_map(|file| file.split(b'\n').map_while(Result::ok)).map(|row| {
        String::from_utf8(row).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into())
    })
}

/// What the first record of the first row of a file tells.
pub(super) fn of_first<T>(path: &Path, tells: impl FnOnce(&Object<'_>) -> Option<T>) -> Option<T> {
    let first = rows(path).next()?;
    lazy::objects(&first).0.first().and_then(tells)
}

/// The text of a file, up to a size at which a whole document is still quick to read.
pub(super) fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = open(path).map(|file| file.take(DOCUMENT).read_to_end(&mut bytes));
    if !matches!(read, Some(Ok(_))) {
        bytes.clear();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A regular file. Anything else (a pipe, a device) may never end, or never begin.
fn open(path: &Path) -> Option<File> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()
}

/// The entries of a directory; none where it cannot be read.
pub(super) fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The files of a directory with this extension.
pub(super) fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = entries(dir);
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files
}

/// When a file changed last; the epoch where that cannot be said.
pub(super) fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Whether two paths name one directory, perhaps by a symbolic link.
pub(super) fn same_directory(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|o| o == one))
}

/// The title that a prompt makes.
pub(super) fn title(prompt: &str) -> Option<String> {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(TITLE).collect())
}
