//! The work tree as it is now: canonical paths, and files read without ever waiting for one.

use super::{Content, ContentError};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The real path: links are followed in the nearest ancestor that exists, and what does not exist
/// stands behind it as spelled.
pub fn canonical(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = fs::canonicalize(ancestor) {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if rest.as_os_str().is_empty() => real,
                Ok(rest) => real.join(rest),
                Err(_) => path.to_path_buf(),
            };
        }
    }
    path.to_path_buf()
}

/// Reads a file as git would see it: a symbolic link is its target. Anything else that is not a
/// regular file is an error, and is not opened for long enough to wait on it.
pub(super) fn read(path: &Path, max_bytes: u64) -> Result<Content, ContentError> {
    match look(path, max_bytes) {
        Ok(content) => Ok(content),
        Err(error) if is_absence(&error) => Ok(Content::Absent),
        Err(error) => {
            Err(ContentError { what: path.display().to_string(), cause: error.to_string() })
        }
    }
}

fn look(path: &Path, max_bytes: u64) -> io::Result<Content> {
    if fs::symlink_metadata(path)?.is_symlink() {
        let target = fs::read_link(path)?.into_os_string().into_encoded_bytes();
        return Ok(Content::classify(target.into(), max_bytes));
    }
    let file = open_regular(path)?;
    let len = file.metadata()?.len();
    if len > max_bytes {
        return Ok(Content::Oversized { len });
    }
    Ok(Content::classify(read_all(file, len, max_bytes)?, max_bytes))
}

/// Reads a file of `len` bytes into memory that is shared at once: a copy of a large one would
/// double what the program needs. A file that grows meanwhile is cut off one byte over the limit.
fn read_all(mut file: File, len: u64, max_bytes: u64) -> io::Result<Arc<[u8]>> {
    let len = usize::try_from(len).map_err(io::Error::other)?;
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
    if let Some(room) = Arc::get_mut(&mut bytes)
        && file.read_exact(room).is_ok()
    {
        let mut rest = Vec::new();
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut rest)?;
        return Ok(if rest.is_empty() { bytes } else { [&*bytes, &rest].concat().into() });
    }
    // It shrank: from the beginning, as far as it goes now.
    let mut now = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut now)?;
    Ok(now.into())
}

/// Opens a regular file without following a link and without waiting for the other end of a pipe;
/// the kind is looked at on the opened file, so nothing can be put in its place in between.
///
/// # Errors
/// The system's, or that it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Whether an error means that there is no such file.
pub fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn special_files_are_refused_at_once_and_links_are_their_target() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(read(&fifo, 10).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(Path::new("/dev/zero"), 10).is_err());
        assert!(read(dir.path(), 10).is_err());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("fifo", &link).unwrap();
        assert_eq!(read(&link, 10).unwrap(), Content::Text((*b"fifo").into()));
    }

    #[test]
    fn what_is_not_there_is_absent_and_the_limit_is_inclusive() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), Content::Text((*b"12345").into()));
        assert_eq!(read(&file, 4).unwrap(), Content::Oversized { len: 5 });
        assert_eq!(read(&dir.path().join("no/such"), 5).unwrap(), Content::Absent);
        assert_eq!(read(&file.join("below"), 5).unwrap(), Content::Absent);
    }
}
