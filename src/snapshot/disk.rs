//! What the disk says: names in a directory, and what `lstat` tells of each.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

/// A point in time, as file systems keep it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    /// Seconds since the Unix epoch.
    pub(super) seconds: i64,
    /// Nanoseconds within the second.
    pub(super) nanos: u32,
}

impl Moment {
    /// The wall clock now; the epoch where the clock is before it.
    pub(super) fn now() -> Self {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map(|since| Self {
                seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
                nanos: since.subsec_nanos(),
            })
            .unwrap_or_default()
    }

    fn as_nanos(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A regular file.
    File = 0,
    /// A symbolic link.
    Link = 1,
    /// A directory.
    Directory = 2,
    /// A socket, a pipe, a device: nothing that git keeps.
    Other = 3,
    /// The directory does not tell; `lstat` does.
    Unknown = 4,
}

impl Kind {
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Self::File, Self::Link, Self::Directory, Self::Other, Self::Unknown]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }

    fn from_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            FileType::Directory => Self::Directory,
            FileType::Unknown => Self::Unknown,
            _ => Self::Other,
        }
    }
}

/// What `lstat` tells that a change of content would change too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileStat {
    /// In bytes.
    pub(super) size: u64,
    pub(super) mtime: Moment,
    pub(super) ctime: Moment,
    pub(super) ino: u64,
    /// Type and permissions, as in `st_mode`.
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl FileStat {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::cast_lossless,
        clippy::cast_possible_wrap,
        reason = "the fields have other types on other systems"
    )]
    fn new(stat: &Stat) -> Self {
        Self {
            size: stat.st_size as u64,
            mtime: Moment { seconds: stat.st_mtime as i64, nanos: stat.st_mtime_nsec as u32 },
            ctime: Moment { seconds: stat.st_ctime as i64, nanos: stat.st_ctime_nsec as u32 },
            ino: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::from_type(FileType::from_raw_mode(self.mode as rustix::fs::RawMode))
    }

    /// Whether the owner may run it: all that git keeps of permissions.
    pub(super) fn executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// Whether a later change would show, looked at from `now`: the last change is older than what
    /// the clocks of file systems tell apart (a tick of the kernel; two seconds where a file system
    /// keeps no fractions).
    pub(super) fn settled(&self, now: Moment) -> bool {
        let coarse = self.mtime.nanos == 0 && self.ctime.nanos == 0;
        let slack = if coarse { 2_000_000_000 } else { 20_000_000 };
        self.mtime.max(self.ctime).as_nanos() + slack < now.as_nanos()
    }
}

/// One name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: Kind,
}

/// The names of a directory, by byte order.
#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    places: Vec<(u32, u16, Kind)>,
}

impl Names {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Name<'_>> {
        self.places.iter().map(|place| self.at(*place))
    }

    fn at(&self, (start, len, kind): (u32, u16, Kind)) -> Name<'_> {
        let start = start as usize;
        Name { name: self.bytes.get(start..start + usize::from(len)).unwrap_or_default(), kind }
    }

    /// The place of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.places.binary_search_by(|place| self.at(*place).name.cmp(name)).ok()
    }

    /// Adds a name; the caller keeps them in order.
    pub(super) fn push(&mut self, name: &[u8], kind: Kind) {
        if let (Ok(start), Ok(len)) = (u32::try_from(self.bytes.len()), u16::try_from(name.len())) {
            self.bytes.extend_from_slice(name);
            self.places.push((start, len, kind));
        }
    }

    fn sort(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        places.sort_unstable_by(|a, b| self.at(*a).name.cmp(self.at(*b).name));
        self.places = places;
    }
}

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

impl Directory {
    /// Opens `path`; a symbolic link in its last place is refused.
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        Self::open_at(rustix::fs::CWD, path.as_os_str().as_bytes())
    }

    /// Opens a directory below this one, by relative path; `.` is this one again.
    pub(super) fn below(&self, path: &[u8]) -> Result<Self, Errno> {
        Self::open_at(&self.0, if path.is_empty() { b"." } else { path })
    }

    fn open_at(at: impl AsFd, path: &[u8]) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(at, path, flags, Mode::empty()).map(Self)
    }

    /// What the disk says of the directory itself.
    pub(super) fn own_stat(&self) -> Result<FileStat, Errno> {
        rustix::fs::fstat(&self.0).map(|stat| FileStat::new(&stat))
    }

    /// `lstat` of a name in it.
    pub(super) fn stat(&self, name: &[u8]) -> Result<FileStat, Errno> {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| FileStat::new(&stat))
    }

    /// Its names, without `.` and `..`.
    pub(super) fn names(&self) -> Result<Names, Errno> {
        let mut names = Names::default();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name, Kind::from_type(entry.file_type()));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The target of a symbolic link in it.
    pub(super) fn link_target(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        rustix::fs::readlinkat(&self.0, name, Vec::new()).map(std::ffi::CString::into_bytes)
    }

    /// Opens a regular file in it for reading, with what `fstat` says of it. Whatever else has taken
    /// its place since is refused: a link is not followed, a pipe is not waited for.
    pub(super) fn file(&self, name: &[u8]) -> Result<(std::fs::File, FileStat), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        let stat = FileStat::new(&rustix::fs::fstat(&file)?);
        if stat.kind() == Kind::File { Ok((file.into(), stat)) } else { Err(Errno::INVAL) }
    }
}

/// What `fstat` says of an open file.
pub(super) fn stat_of(file: &std::fs::File) -> Result<FileStat, Errno> {
    rustix::fs::fstat(file).map(|stat| FileStat::new(&stat))
}

/// Bytes as a path, as this system's paths are bytes.
pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
