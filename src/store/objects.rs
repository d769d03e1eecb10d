//! A session's bare git object directory: loose objects, named and packed as git does.

use super::StoreError;
use super::disk::{self, Disk};
use super::kept::ObjectFormat;
use gix::ObjectId;
use gix::hash::Kind;
use gix::objs::Kind as ObjectKind;
use gix::odb::loose;
use gix::zlib::stream::deflate;
use gix::zlib::{Compression, Decompress, FlushDecompress, Status};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What one object may take in memory when it is read, in bytes.
const LARGEST: usize = 2 << 30;

/// The name of an object that is being written begins so, as git's own do.
const UNFINISHED: &str = "tmp_obj_";

/// The objects of one session.
#[derive(Clone)]
pub struct Objects {
    loose: loose::Store,
}

impl From<ObjectFormat> for Kind {
    fn from(format: ObjectFormat) -> Self {
        match format {
            ObjectFormat::Sha1 => Self::Sha1,
            ObjectFormat::Sha256 => Self::Sha256,
        }
    }
}

impl Objects {
    /// The objects in a directory, which may be missing still.
    pub(super) fn at(path: PathBuf, format: ObjectFormat) -> Self {
        let options = loose::Options { alloc_limit_bytes: Some(LARGEST), ..Default::default() };
        Self { loose: loose::Store::at_opts(path, format.into(), options) }
    }

    /// The directory, as git's `GIT_ALTERNATE_OBJECT_DIRECTORIES` takes it.
    pub fn path(&self) -> &Path {
        self.loose.path()
    }

    /// How many hexadecimal digits an object id has here.
    pub fn id_digits(&self) -> usize {
        self.loose.object_hash().len_in_hex()
    }

    /// Whether an object of this hexadecimal id is there.
    pub fn contains(&self, id: &str) -> bool {
        self.parse(id).is_some_and(|id| self.loose.contains(&id))
    }

    /// The bytes of a blob; none where it is not there.
    pub fn blob(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let bad = |cause: String| StoreError::Object { id: id.to_owned(), cause };
        let Some(parsed) = self.parse(id) else { return Ok(None) };
        let mut bytes = Vec::new();
        match self.loose.try_find(&parsed, &mut bytes).map_err(|error| bad(one_line(&error)))? {
            None => return Ok(None),
            Some(object) if object.kind != ObjectKind::Blob => {
                return Err(bad(format!("it is a {}, not a blob", object.kind)));
            }
            Some(_) => {}
        }
        Ok(Some(bytes))
    }

    /// The hexadecimal id that these bytes have as a blob.
    pub fn blob_id(&self, bytes: &[u8]) -> Result<String, StoreError> {
        Ok(self.hash(ObjectKind::Blob, bytes)?.to_string())
    }

    /// Checks that an object is whole and has the right name.
    pub(super) fn check(&self, id: &ObjectId) -> Result<(), StoreError> {
        let bad = |cause: String| StoreError::Object { id: id.to_string(), cause };
        let packed =
            fs::read(self.loose.object_path(id)).map_err(|error| bad(error.to_string()))?;
        let real = hash_of_packed(&packed, id.kind()).map_err(bad)?;
        if real == *id { Ok(()) } else { Err(bad(format!("its content is that of {real}"))) }
    }

    /// Every object's id, in no order, and what could not be listed.
    pub(super) fn ids(&self) -> impl Iterator<Item = Result<ObjectId, StoreError>> {
        self.loose.iter().map(|id| {
            id.map_err(|error| StoreError::Damaged {
                path: self.path().to_path_buf(),
                cause: error.to_string(),
            })
        })
    }

    fn parse(&self, id: &str) -> Option<ObjectId> {
        ObjectId::from_hex(id.as_bytes()).ok().filter(|id| id.kind() == self.loose.object_hash())
    }

    fn hash(&self, kind: ObjectKind, bytes: &[u8]) -> Result<ObjectId, StoreError> {
        gix::objs::compute_hash(self.loose.object_hash(), kind, bytes).map_err(|error| {
            StoreError::Object { id: "without a name".into(), cause: one_line(&error) }
        })
    }
}

/// The id of a packed object: the hash of all that comes out of it. Stricter than reading it, which
/// does not look at what stands behind the content.
fn hash_of_packed(packed: &[u8], kind: Kind) -> Result<ObjectId, String> {
    let mut inflate = Decompress::new();
    let mut hasher = gix::hash::hasher(kind);
    let mut out = vec![0; 1 << 16];
    loop {
        let (read, before) = (inflate.total_in(), inflate.total_out());
        let rest = usize::try_from(read).ok().and_then(|read| packed.get(read..));
        let status = inflate
            .decompress(rest.unwrap_or_default(), &mut out, FlushDecompress::Finish)
            .map_err(|error| one_line(&error))?;
        let written = (inflate.total_out() - before) as usize;
        hasher.update(out.get(..written).unwrap_or_default());
        match status {
            Status::StreamEnd if inflate.total_in() == packed.len() as u64 => break,
            Status::StreamEnd => return Err("something stands behind its end".into()),
            _ if written == 0 => return Err("it ends early".into()),
            _ => {}
        }
    }
    hasher.try_finalize().map_err(|error| one_line(&error))
}

/// An error of gix with its causes, in one line.
fn one_line(error: &gix::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes objects and remembers which directories have names that may not be on the disk yet.
pub(super) struct ObjectWriter {
    pub(super) objects: Objects,
    unsynced: BTreeSet<PathBuf>,
}

impl ObjectWriter {
    /// Makes the directory where it is missing, and removes what was left half-written.
    pub(super) fn open(disk: &dyn Disk, objects: Objects) -> io::Result<Self> {
        disk.make_dir(objects.path())?;
        for entry in fs::read_dir(objects.path())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                disk.remove(&entry.path())?;
            }
        }
        Ok(Self { objects, unsynced: BTreeSet::new() })
    }

    /// Writes a blob of this id unless it is there.
    pub(super) fn put(
        &mut self,
        disk: &dyn Disk,
        id: &str,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let Some(parsed) = self.objects.parse(id) else {
            let cause = "no id of this session's objects".to_owned();
            return Err(StoreError::Object { id: id.to_owned(), cause });
        };
        if self.objects.loose.contains(&parsed) {
            return Ok(());
        }
        let path = self.objects.loose.object_path(&parsed);
        self.write(disk, &path, id, bytes).map_err(|cause| StoreError::Io {
            doing: "write",
            path,
            cause,
        })
    }

    fn write(&mut self, disk: &dyn Disk, path: &Path, id: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        disk.make_dir(folder)?;
        let beside = self.objects.path().join(format!("{UNFINISHED}{id}"));
        disk::replace(disk, path, &beside, &deflated(bytes)?)?;
        self.unsynced.insert(self.objects.path().to_path_buf());
        self.unsynced.insert(folder.to_path_buf());
        Ok(())
    }

    /// Waits until all objects are on the disk under their names.
    pub(super) fn sync(&mut self, disk: &dyn Disk) -> io::Result<()> {
        while let Some(folder) = self.unsynced.first() {
            disk::sync_dir(disk, folder)?;
            self.unsynced.pop_first();
        }
        Ok(())
    }
}

/// A loose blob object as git writes it.
fn deflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = deflate::Write::new(Vec::new(), Compression::BEST_SPEED);
    out.write_all(&gix::objs::encode::loose_header(ObjectKind::Blob, bytes.len() as u64))?;
    out.write_all(bytes)?;
    out.flush()?;
    Ok(out.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::RealDisk;

    fn writer(dir: &Path, format: ObjectFormat) -> ObjectWriter {
        ObjectWriter::open(&RealDisk, Objects::at(dir.join("objects"), format)).unwrap()
    }

    #[test]
    fn blobs_have_the_names_that_git_gives_them() {
        let dir = tempfile::tempdir().unwrap();
        let sha1 = Objects::at(dir.path().to_path_buf(), ObjectFormat::Sha1);
        assert_eq!(sha1.blob_id(b"").unwrap(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        let sha256 = Objects::at(dir.path().to_path_buf(), ObjectFormat::Sha256);
        assert_eq!(
            sha256.blob_id(b"").unwrap(),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    #[test]
    fn what_is_put_is_there_and_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(dir.path(), ObjectFormat::Sha1);
        for bytes in [&b""[..], b"x", &[0, 255, 10].repeat(100_000)] {
            let id = writer.objects.blob_id(bytes).unwrap();
            assert!(!writer.objects.contains(&id));
            assert!(writer.objects.blob(&id).unwrap().is_none());
            writer.put(&RealDisk, &id, bytes).unwrap();
            assert!(writer.objects.contains(&id));
            assert!(writer.objects.blob(&id).unwrap().unwrap() == bytes);
            writer.objects.check(&ObjectId::from_hex(id.as_bytes()).unwrap()).unwrap();
        }
        assert_eq!(writer.objects.ids().count(), 3);
    }

    #[test]
    fn a_text_that_is_no_id_names_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(dir.path(), ObjectFormat::Sha1);
        for id in ["", "e69de29", "../../../etc/passwd", &"0".repeat(64), &"é".repeat(20)] {
            assert!(!writer.objects.contains(id), "{id}");
            assert!(writer.objects.blob(id).unwrap().is_none(), "{id}");
            assert!(writer.put(&RealDisk, id, b"x").is_err(), "{id}");
        }
    }

    #[test]
    fn a_content_under_a_wrong_name_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(dir.path(), ObjectFormat::Sha1);
        let id = writer.objects.blob_id(b"right").unwrap();
        writer.put(&RealDisk, &id, b"wrong").unwrap();
        let error = writer.objects.check(&ObjectId::from_hex(id.as_bytes()).unwrap()).unwrap_err();
        assert!(error.to_string().contains(&format!("object {id}: its content is that of ")));
    }
}
