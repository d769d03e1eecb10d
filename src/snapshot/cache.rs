//! What was seen last time: names of directories, and blobs of files that the index does not know.
//!
//! One file: a head (magic with the version, kind of hash, root), a record a directory, a checksum.
//! Whatever is wrong with it, it is left unread and made anew. All numbers are little endian.

use super::disk::{FileStat, Kind, Moment, Names};
use gix::ObjectId;
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Changes with the format.
const MAGIC: &[u8] = b"handback stat cache 1\n";

/// A name has a file record.
const HAS_FILE: u8 = 0x80;

/// The blob that a file became, when it looked like this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileRecord {
    pub(super) stat: FileStat,
    /// Of all that decides what a file's bytes become, see `Converter::digest`.
    pub(super) digest: u64,
    pub(super) id: ObjectId,
}

/// What was seen of one directory.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// What the directory looked like when its names were read; none where that may not show a
    /// later change.
    pub(super) stat: Option<FileStat>,
    pub(super) names: Names,
    /// By place among the names, in order.
    pub(super) files: Vec<(usize, FileRecord)>,
}

impl Folder {
    /// The record of the file with this name.
    pub(super) fn file(&self, name: &[u8]) -> Option<&FileRecord> {
        if self.files.is_empty() {
            return None;
        }
        let place = self.names.find(name)?;
        let at = self.files.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        self.files.get(at).map(|(_, record)| record)
    }

    /// The record as kept on disk.
    pub(super) fn encode(&self, path: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        put_bytes(out, path);
        out.push(u8::from(self.stat.is_some()));
        if let Some(stat) = &self.stat {
            put_stat(out, stat);
        }
        put_number(out, self.names.iter().len());
        let mut files = self.files.iter().peekable();
        for (place, name) in self.names.iter().enumerate() {
            let file = files.next_if(|(at, _)| *at == place);
            let mark = if file.is_some() { HAS_FILE } else { 0 };
            out.push(name.kind as u8 | mark);
            put_bytes(out, name.name);
            if let Some((_, record)) = file {
                put_stat(out, &record.stat);
                out.extend_from_slice(&record.digest.to_le_bytes());
                out.extend_from_slice(record.id.as_bytes());
            }
        }
        let len = u32::try_from(out.len() - start - 4).unwrap_or_default();
        if let Some(place) = out.get_mut(start..start + 4) {
            place.copy_from_slice(&len.to_le_bytes());
        }
    }
}

/// The cache as loaded.
#[derive(Debug, Default)]
pub(super) struct Cache {
    bytes: Vec<u8>,
    /// Path of a directory → where its record is, length included.
    folders: HashMap<Box<[u8]>, std::ops::Range<usize>>,
    hash: Option<gix::hash::Kind>,
}

impl Cache {
    /// Loads the cache of the work tree at `root`; an empty one where there is none that is sound.
    pub(super) fn load(file: &Path, root: &Path, hash: gix::hash::Kind) -> Self {
        std::fs::read(file)
            .ok()
            .and_then(|bytes| Self::decode(bytes, root, hash))
            .unwrap_or_default()
    }

    fn decode(bytes: Vec<u8>, root: &Path, hash: gix::hash::Kind) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut reader = Reader(body.strip_prefix(head(root, hash).as_slice())?);
        let mut folders = HashMap::new();
        while !reader.0.is_empty() {
            let start = body.len() - reader.0.len();
            let len = reader.number()?;
            let mut record = Reader(reader.take(len)?);
            folders.insert(record.bytes()?.into(), start..start + 4 + len);
        }
        Some(Self { bytes, folders, hash: Some(hash) })
    }

    /// How many directories it holds.
    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    /// The record of a directory as it is kept.
    pub(super) fn raw(&self, path: &[u8]) -> Option<&[u8]> {
        self.bytes.get(self.folders.get(path)?.clone())
    }

    /// What was seen of a directory.
    pub(super) fn folder(&self, path: &[u8]) -> Option<Folder> {
        let mut reader = Reader(self.raw(path)?);
        reader.number()?;
        reader.bytes()?;
        let listed = reader.byte()? == 1;
        let stat = if listed { Some(reader.stat()?) } else { None };
        let mut folder = Folder { stat, ..Folder::default() };
        let id_len = self.hash?.len_in_bytes();
        for place in 0..reader.number()? {
            let mark = reader.byte()?;
            let name = reader.bytes()?;
            folder.names.push(name, Kind::from_byte(mark & !HAS_FILE)?);
            if mark & HAS_FILE != 0 {
                let record = FileRecord {
                    stat: reader.stat()?,
                    digest: u64::from_le_bytes(reader.array()?),
                    id: ObjectId::try_from(reader.take(id_len)?).ok()?,
                };
                folder.files.push((place, record));
            }
        }
        Some(folder)
    }
}

/// Writes a cache of these records, whole or not at all.
pub(super) fn save(
    file: &Path,
    root: &Path,
    hash: gix::hash::Kind,
    records: &[Vec<u8>],
) -> io::Result<()> {
    let mut bytes = head(root, hash);
    for record in records {
        bytes.extend_from_slice(record);
    }
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = std::fs::File::create(temporary)
        .and_then(|mut out| out.write_all(&bytes))
        .and_then(|()| std::fs::rename(temporary, file));
    if written.is_err() {
        let _ = std::fs::remove_file(temporary);
    }
    written
}

fn head(root: &Path, hash: gix::hash::Kind) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.push(u8::try_from(hash.len_in_bytes()).unwrap_or_default());
    put_bytes(&mut head, root.as_os_str().as_bytes());
    head
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&u32::try_from(number).unwrap_or_default().to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or_default().to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_moment(out: &mut Vec<u8>, moment: Moment) {
    out.extend_from_slice(&moment.seconds.to_le_bytes());
    out.extend_from_slice(&moment.nanos.to_le_bytes());
}

fn put_stat(out: &mut Vec<u8>, stat: &FileStat) {
    out.extend_from_slice(&stat.size.to_le_bytes());
    put_moment(out, stat.mtime);
    put_moment(out, stat.ctime);
    out.extend_from_slice(&stat.ino.to_le_bytes());
    for number in [stat.mode, stat.uid, stat.gid] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Takes a record apart; every step is none at the end of the bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = u16::from_le_bytes(self.array()?);
        self.take(usize::from(len))
    }

    fn moment(&mut self) -> Option<Moment> {
        Some(Moment {
            seconds: i64::from_le_bytes(self.array()?),
            nanos: u32::from_le_bytes(self.array()?),
        })
    }

    fn stat(&mut self) -> Option<FileStat> {
        Some(FileStat {
            size: u64::from_le_bytes(self.array()?),
            mtime: self.moment()?,
            ctime: self.moment()?,
            ino: u64::from_le_bytes(self.array()?),
            mode: u32::from_le_bytes(self.array()?),
            uid: u32::from_le_bytes(self.array()?),
            gid: u32::from_le_bytes(self.array()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Folder {
        let mut names = Names::default();
        names.push(b"a", Kind::Directory);
        names.push(b"b\xff", Kind::File);
        names.push(b"c", Kind::Link);
        let stat = FileStat { size: 7, ino: u64::MAX, mode: 0o100_644, ..FileStat::default() };
        let record =
            FileRecord { stat, digest: 99, id: ObjectId::empty_blob(gix::hash::Kind::Sha1) };
        Folder { stat: Some(stat), names, files: vec![(1, record)] }
    }

    fn saved(dir: &Path) -> std::path::PathBuf {
        let file = dir.join("cache");
        let mut record = Vec::new();
        folder().encode(b"x/y", &mut record);
        save(&file, Path::new("/root"), gix::hash::Kind::Sha1, &[record]).unwrap();
        file
    }

    fn load(file: &Path) -> Cache {
        Cache::load(file, Path::new("/root"), gix::hash::Kind::Sha1)
    }

    #[test]
    fn what_is_saved_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let cache = load(&saved(dir.path()));
        assert_eq!(cache.len(), 1);
        let found = cache.folder(b"x/y").unwrap();
        let (old, new): (Vec<_>, Vec<_>) = (
            found.names.iter().map(|name| name.name.to_vec()).collect(),
            folder().names.iter().map(|name| name.name.to_vec()).collect(),
        );
        assert_eq!(old, new);
        assert_eq!(found.stat, folder().stat);
        assert_eq!(found.file(b"b\xff"), folder().file(b"b\xff"));
        assert!(found.file(b"b\xff").is_some());
        assert!(found.file(b"a").is_none());
        assert!(cache.folder(b"x").is_none());
        let mut again = Vec::new();
        found.encode(b"x/y", &mut again);
        assert_eq!(Some(again.as_slice()), cache.raw(b"x/y"));
    }

    #[test]
    fn damage_of_any_byte_empties_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = saved(dir.path());
        let sound = std::fs::read(&file).unwrap();
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&file, &damaged).unwrap();
            assert_eq!(load(&file).len(), 0, "byte {at}");
            std::fs::write(&file, &sound[..at]).unwrap();
            assert_eq!(load(&file).len(), 0, "cut at {at}");
        }
    }

    #[test]
    fn a_cache_of_another_root_or_hash_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let file = saved(dir.path());
        let other = Cache::load(&file, Path::new("/other"), gix::hash::Kind::Sha1);
        assert_eq!(other.len(), 0);
        let other = Cache::load(&file, Path::new("/root"), gix::hash::Kind::Sha256);
        assert_eq!(other.len(), 0);
    }
}
