//! Who has a session: its one recorder holds `lock`, readers share `rows.log`.

use super::disk::Disk;
use super::session::rows_path;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Tries for the recorder's lock, making the session's folder where it is missing; none where
/// another recorder has it.
pub(super) fn recorder(disk: &dyn Disk, folder: &Path) -> io::Result<Option<File>> {
    // A clean-up may remove the session between two steps; not for ever.
    for _ in 0..10 {
        disk.make_dir(folder)?;
        let path = folder.join("lock");
        let file = disk.append_to(&path)?;
        if !try_exclusive(&file)? {
            return Ok(None);
        }
        if is_at(&file, &path)? {
            return Ok(Some(file));
        }
    }
    Err(io::Error::other("the session is removed again and again"))
}

/// Waits for those who want to write the session for a moment only, one after the other, for `most`
/// of time; none where that is not enough, or nothing was recorded of the session.
pub(super) fn visitor(disk: &dyn Disk, folder: &Path, most: Duration) -> io::Result<Option<File>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let file = disk.append_to(&folder.join("visitor"))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if start.elapsed() < most => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// What keeps a session from being opened while it is removed; none where it is open.
pub(super) fn for_removal(folder: &Path) -> io::Result<Option<[Option<File>; 2]>> {
    let lock = existing(&folder.join("lock"))?;
    let rows = existing(&rows_path(folder))?;
    for file in [&lock, &rows].into_iter().flatten() {
        if !try_exclusive(file)? {
            return Ok(None);
        }
    }
    Ok(Some([lock, rows]))
}

/// Whether a recorder has the session.
pub(super) fn is_recorded(folder: &Path) -> io::Result<bool> {
    existing(&folder.join("lock"))?.map_or(Ok(false), |file| Ok(!try_exclusive(&file)?))
}

/// Whether an open file still is the one of this name.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn existing(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes a lock, trying for a while: `status` and `gc` hold it for a moment to look whether a session
/// is open, and so does a forked process until it runs its own program.
fn try_exclusive(file: &File) -> io::Result<bool> {
    for _ in 0..6 {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}
