//! Every write to the store goes through here, so that a test can make any of them fail.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The few ways in which the store changes a disk. The provided methods are the real ones.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Makes one directory of mode 0700; one that is there already is fine.
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }

    /// Opens an empty file of mode 0600 to be written, whatever was there.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    }

    /// Opens a file of mode 0600 to be read and appended to; makes it where it is missing.
    fn append_to(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
    }

    /// Writes all the bytes.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Waits until a file, or a directory's list of names, is on the disk.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Cuts a file off at `len` bytes.
    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// Gives a file or directory another name, in one step.
    fn rename(&self, old: &Path, new: &Path) -> io::Result<()> {
        fs::rename(old, new)
    }

    /// Removes a file, or a directory with all that is in it; one that is missing is fine.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// The disk itself.
#[derive(Debug)]
pub struct RealDisk;

impl Disk for RealDisk {}

/// Writes a whole file so that its name never stands for half of it: a file beside it, then a
/// rename. `beside` is that other file's name; the directory still has to be synced.
pub(super) fn replace(disk: &dyn Disk, path: &Path, beside: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = write_synced(disk, beside, bytes).and_then(|()| disk.rename(beside, path));
    if written.is_err() {
        // On a full disk its half would stand in the way of the next try.
        let _ = disk.remove(beside);
    }
    written
}

fn write_synced(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = disk.create(path)?;
    disk.write(&file, bytes)?;
    disk.sync(&file)
}

/// Syncs the names in a directory.
pub(super) fn sync_dir(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    disk.sync(&File::open(path)?)
}
