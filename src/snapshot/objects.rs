//! Where objects are looked for and where new ones go: never into the repository.

use super::SnapshotError;
use super::disk::FileStat;
use gix::hash::oid;
use gix::objs::{Kind, Write};
use gix::{ObjectId, Repository};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The repository's objects to look at, and a directory of ours to look at and write to.
pub(super) struct Objects {
    theirs: gix::OdbHandle,
    ours: gix::odb::Handle,
    new: gix::odb::loose::Store,
    hash: gix::hash::Kind,
}

impl Objects {
    /// Looks at the objects of `repository` (with its alternates) and at `directory`, and writes
    /// into `directory`.
    pub(super) fn new(repository: &Repository, directory: &Path) -> Result<Self, SnapshotError> {
        let hash = repository.object_hash();
        let ours = gix::odb::at(directory, hash)
            .map_err(|cause| SnapshotError::write(directory, cause))?;
        Ok(Self {
            theirs: repository.objects.clone(),
            ours,
            new: gix::odb::loose::Store::at(directory, hash),
            hash,
        })
    }

    /// Where new objects go.
    pub(super) fn directory(&self) -> &Path {
        self.new.path()
    }

    /// Whether the object is there, as far as was known when this was made: packs that came later
    /// are not looked for, as every new object would pay for that.
    pub(super) fn contains(&self, id: &oid) -> bool {
        self.theirs.exists_without_refresh(id)
            || self.new.contains(id)
            || self.ours.exists_without_refresh(id)
    }

    /// The content of a blob that the repository has.
    pub(super) fn blob(&self, id: &oid, buffer: &mut Vec<u8>) -> bool {
        use gix::objs::Find;
        matches!(self.theirs.try_find(id, buffer), Ok(Some(data)) if data.kind == Kind::Blob)
    }

    /// The id of an object with this content, written if it is new.
    pub(super) fn put(&self, kind: Kind, content: &[u8]) -> gix::Result<ObjectId> {
        let id = gix::objs::compute_hash(self.hash, kind, content)?;
        if !self.contains(&id) {
            self.new.write_buf_with_known_id(kind, content, id)?;
        }
        Ok(id)
    }

    /// The id of a blob with the content of `file`, however large, written if it is new.
    ///
    /// The file is read twice if it is new; one that changes meanwhile gives an error or the id of
    /// what was read the second time, never an object that is not what its id says.
    pub(super) fn put_file(
        &self,
        file: &mut File,
        stat: &FileStat,
        cancel: &AtomicBool,
    ) -> gix::Result<ObjectId> {
        let mut nothing = gix::progress::Discard;
        let id = gix::objs::compute_stream_hash(
            self.hash,
            Kind::Blob,
            file,
            stat.size,
            &mut nothing,
            cancel,
        )?;
        if self.contains(&id) {
            return Ok(id);
        }
        file.rewind().map_err(gix::Error::from_error)?;
        let mut exact = Exact { file, left: stat.size };
        self.new.write_stream(Kind::Blob, stat.size, &mut exact)
    }
}

/// Reads exactly as many bytes as were promised; fewer are an error.
struct Exact<'a> {
    file: &'a mut File,
    left: u64,
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
        if count == 0 && most > 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file became shorter while it was read",
            ));
        }
        self.left -= count as u64;
        Ok(count)
    }
}
