//! Loose blobs, read without the object database: one open, a read, and one inflation to where the bytes stay.

use super::Content;
use gix::objs::Kind;
use gix::oid;
use gix::zlib::{Decompress, FlushDecompress, Status};
use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Room for the stored form of most files, and for what it inflates to.
const STORED: u64 = 32 << 10;
const INFLATED: usize = 128 << 10;

/// Larger blobs are left to the object database.
const LARGEST: usize = 64 << 20;

/// Reads blobs as git stores each in a file of its own ("loose"): zlib over `blob`, a space, the
/// size in decimal, a NUL, and the bytes.
///
/// The object database maps such a file into memory. With two threads at it, each unmapping halts
/// the other, and a turn of a thousand files takes half as long again. It also inflates into a
/// buffer from which a large text has to be copied.
#[derive(Default)]
pub(super) struct LooseBlobs(RefCell<Scratch>);

#[derive(Default)]
struct Scratch {
    inflate: Decompress,
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
    /// A blob of an object directory. None where it is not there, or not as it should be: the
    /// object database tells which.
    pub(super) fn read(&self, objects: &Path, id: &oid, max_bytes: u64) -> Option<Content> {
        let hex = id.to_hex().to_string();
        let (folder, name) = hex.split_at_checked(2)?;
        let file = File::open(objects.join(folder).join(name)).ok()?;
        self.0.borrow_mut().read(file, max_bytes)
    }
}

impl Scratch {
    fn read(&mut self, mut file: File, max_bytes: u64) -> Option<Content> {
        let Self { inflate, stored, inflated } = self;
        stored.clear();
        inflated.resize(INFLATED, 0);
        (&mut file).take(STORED).read_to_end(stored).ok()?;
        inflate.reset();
        let status = inflate.decompress(stored, inflated, FlushDecompress::None).ok()?;
        let first = inflated.get(..usize::try_from(inflate.total_out()).ok()?)?;
        let (kind, size, header) = gix::objs::decode::loose_header(first).ok()?;
        if kind != Kind::Blob {
            return None;
        }
        if size > max_bytes {
            return Some(Content::Oversized { len: size });
        }
        let first = first.get(header..)?;
        let size = usize::try_from(size).ok()?;
        let blob = if status == Status::StreamEnd {
            (first.len() == size).then(|| first.into())?
        } else if size <= LARGEST {
            let used = usize::try_from(inflate.total_in()).ok()?;
            let mut rest = stored.get(used..)?.to_vec();
            if stored.len() as u64 == STORED {
                // Deflating makes nothing much longer than it is.
                let most = size as u64 + size as u64 / 512 + 4096;
                file.take(most).read_to_end(&mut rest).ok()?;
            }
            inflate_rest(inflate, &rest, first, size)?
        } else {
            return None;
        };
        Some(Content::classify(blob, max_bytes))
    }
}

/// Inflates the rest of a blob of which the first bytes are known.
fn inflate_rest(
    inflate: &mut Decompress,
    mut stored: &[u8],
    first: &[u8],
    size: usize,
) -> Option<Arc<[u8]>> {
    let mut blob: Arc<[u8]> = std::iter::repeat_n(0, size).collect();
    let bytes = Arc::get_mut(&mut blob)?;
    bytes.get_mut(..first.len())?.copy_from_slice(first);
    let mut filled = first.len();
    // Shows what is longer than it says; the end of the stream is only seen with room to write.
    let mut too_many = [0];
    loop {
        let before = (inflate.total_in(), inflate.total_out());
        let room = bytes.get_mut(filled..)?;
        let full = room.is_empty();
        let room = if full { &mut too_many } else { room };
        let status = inflate.decompress(stored, room, FlushDecompress::None).ok()?;
        let read = usize::try_from(inflate.total_in() - before.0).ok()?;
        let written = usize::try_from(inflate.total_out() - before.1).ok()?;
        if full && written > 0 || status != Status::StreamEnd && read == 0 && written == 0 {
            return None;
        }
        stored = stored.get(read..)?;
        filled += written;
        if status == Status::StreamEnd {
            return (filled == size).then_some(blob);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::ObjectId;
    use std::fs;

    fn loose(object: &[u8], id: &ObjectId, objects: &Path) {
        let mut zlib =
            gix::zlib::stream::deflate::Write::new(Vec::new(), gix::zlib::Compression::DEFAULT);
        std::io::Write::write_all(&mut zlib, object).unwrap();
        std::io::Write::flush(&mut zlib).unwrap();
        let (folder, name) = (id.to_string()[..2].to_owned(), id.to_string()[2..].to_owned());
        fs::create_dir_all(objects.join(&folder)).unwrap();
        fs::write(objects.join(folder).join(name), zlib.into_inner()).unwrap();
    }

    fn id(number: u8) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).unwrap()
    }

    fn varied(len: usize) -> Vec<u8> {
        let mut random = 1_u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8 | 1
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn whole_blobs_of_any_size_are_read_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = LooseBlobs::default();
        let mut next = 0;
        let mut read = |header: &str, bytes: &[u8]| {
            next += 1;
            loose(&[header.as_bytes(), bytes].concat(), &id(next), dir.path());
            blobs.read(dir.path(), &id(next), 2 << 20)
        };
        // Around the lengths at which the rooms end, compressed well and not at all.
        for len in [0, 1, 5, 32_000, INFLATED - 12, INFLATED, INFLATED + 1, 300_000, 1 << 20] {
            for bytes in [vec![b'x'; len], varied(len)] {
                let found = read(&format!("blob {len}\0"), &bytes);
                assert!(found == Some(Content::Text(bytes.into())), "{len} bytes");
                let bytes = varied(len);
                assert_eq!(read(&format!("blob {}\0", len + 1), &bytes), None, "shorter: {len}");
                if len > 0 {
                    assert_eq!(read(&format!("blob {}\0", len - 1), &bytes), None, "longer: {len}");
                }
            }
        }
        let over = (2 << 20) + 1;
        let oversized = Some(Content::Oversized { len: over });
        assert_eq!(read(&format!("blob {over}\0"), b"whatever"), oversized);
        assert_eq!(read("blob 3\0", b"a\0b"), Some(Content::Binary { len: 3 }));
        assert_eq!(read("tree 5\0", b"hello"), None);
        assert_eq!(read("", b"hello"), None);
        assert_eq!(blobs.read(dir.path(), &id(255), 1), None, "not there");
    }

    #[test]
    fn a_broken_file_is_left_to_the_object_database() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = LooseBlobs::default();
        for len in [5, 200_000] {
            let object = [format!("blob {len}\0").as_bytes(), &varied(len)].concat();
            loose(&object, &id(1), dir.path());
            let path = dir.path().join("00").join(&id(1).to_string()[2..]);
            let sound = fs::read(&path).unwrap();
            for cut in (0..sound.len()).step_by(sound.len() / 40 + 1) {
                fs::write(&path, &sound[..cut]).unwrap();
                assert_eq!(blobs.read(dir.path(), &id(1), 1 << 20), None, "cut at {cut}");
            }
            fs::write(&path, &sound).unwrap();
            assert!(blobs.read(dir.path(), &id(1), 1 << 20).is_some(), "a fault leaves no trace");
        }
    }
}
