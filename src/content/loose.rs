//! Small loose blobs, read with one open, one read and one inflation each.

use gix::objs::Kind;
use gix::{oid, zlib};
use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A blob of more bytes than this, stored or inflated, is left to the object database.
const STORED: usize = 32 << 10;
const INFLATED: usize = 128 << 10;

/// Reads blobs as git stores each in a file of its own ("loose"): zlib over `blob`, a space, the
/// size in decimal, a NUL, and the bytes.
///
/// The object database maps such a file into memory. With two threads at it, each unmapping halts
/// the other, and a turn of a thousand files takes half as long again.
#[derive(Default)]
pub(super) struct LooseBlobs(RefCell<Scratch>);

#[derive(Default)]
struct Scratch {
    inflate: zlib::Inflate,
    stored: Vec<u8>,
    inflated: Vec<u8>,
}

/// A clone works for another thread, with room of its own.
impl Clone for LooseBlobs {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for LooseBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LooseBlobs")
    }
}

impl LooseBlobs {
    /// The bytes of a blob in an object directory. None where it is not there, not small, or not
    /// as it should be: the object database tells which.
    pub(super) fn read(&self, objects: &Path, id: &oid) -> Option<Arc<[u8]>> {
        let hex = id.to_hex().to_string();
        let (folder, name) = hex.split_at_checked(2)?;
        let mut file = File::open(objects.join(folder).join(name)).ok()?;
        let Scratch { inflate, stored, inflated } = &mut *self.0.borrow_mut();
        stored.resize(STORED, 0);
        inflated.resize(INFLATED, 0);
        let len = fill(&mut file, stored)?;
        inflate.reset();
        let (status, _, written) = inflate.once(stored.get(..len)?, inflated).ok()?;
        let object = inflated.get(..written)?;
        let (kind, size, header) = gix::objs::decode::loose_header(object).ok()?;
        let blob = object.get(header..)?;
        let whole = status == zlib::Status::StreamEnd && size == blob.len() as u64;
        (whole && kind == Kind::Blob).then(|| blob.into())
    }
}

/// Reads a file that is shorter than the buffer; gives its length.
fn fill(file: &mut File, buffer: &mut [u8]) -> Option<usize> {
    let mut filled = 0;
    loop {
        match file.read(buffer.get_mut(filled..).filter(|rest| !rest.is_empty())?).ok()? {
            0 => return Some(filled),
            read => filled += read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::ObjectId;
    use std::fs;

    fn loose(object: &[u8], id: &ObjectId, objects: &Path) {
        let mut zlib = zlib::stream::deflate::Write::new(Vec::new(), zlib::Compression::DEFAULT);
        std::io::Write::write_all(&mut zlib, object).unwrap();
        std::io::Write::flush(&mut zlib).unwrap();
        let (folder, name) = (id.to_string()[..2].to_owned(), id.to_string()[2..].to_owned());
        fs::create_dir_all(objects.join(&folder)).unwrap();
        fs::write(objects.join(folder).join(name), zlib.into_inner()).unwrap();
    }

    #[test]
    fn only_small_whole_blobs_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = LooseBlobs::default();
        let mut next = 0_u8;
        let mut read = |object: &[u8]| {
            next += 1;
            let id = ObjectId::from_hex(format!("{next:040x}").as_bytes()).unwrap();
            loose(object, &id, dir.path());
            blobs.read(dir.path(), &id).map(|bytes| bytes.to_vec())
        };
        assert_eq!(read(b"blob 5\0hello").as_deref(), Some(&b"hello"[..]));
        assert_eq!(read(b"blob 0\0").as_deref(), Some(&b""[..]));
        assert_eq!(read(b"blob 6\0hello"), None, "shorter than it says");
        assert_eq!(read(b"blob 4\0hello"), None, "longer than it says");
        assert_eq!(read(b"tree 5\0hello"), None);
        assert_eq!(read(b"hello"), None);
        let large = [&b"blob 200000\0"[..], &[b'x'; 200_000]].concat();
        assert_eq!(read(&large), None);
        let fits = [&b"blob 100000\0"[..], &[b'x'; 100_000]].concat();
        assert_eq!(read(&fits).map(|bytes| bytes.len()), Some(100_000));
        let absent = ObjectId::from_hex(b"ffffffffffffffffffffffffffffffffffffffff").unwrap();
        assert_eq!(blobs.read(dir.path(), &absent), None);
    }

    #[test]
    fn a_broken_file_is_left_to_the_object_database() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = LooseBlobs::default();
        let id = ObjectId::from_hex(&[b'a'; 40]).unwrap();
        loose(b"blob 5\0hello", &id, dir.path());
        let path = dir.path().join("aa").join("a".repeat(38));
        let sound = fs::read(&path).unwrap();
        for cut in 0..sound.len() {
            fs::write(&path, &sound[..cut]).unwrap();
            assert_eq!(blobs.read(dir.path(), &id), None, "cut at {cut}");
        }
        fs::write(&path, &sound).unwrap();
        assert!(blobs.read(dir.path(), &id).is_some(), "a fault leaves no trace");
    }
}
