//! The stored bytes of a log, and single rows read again by their place.

use super::decode::{Decoder, Encoding, Sink};
use crate::session::Damage;
use crate::session::event::Place;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// One piece of reading.
pub(super) const PIECE: usize = 256 << 10;

/// Where a log's stored bytes are. Cheap to clone; clones can be read at the same time.
#[derive(Debug, Clone)]
pub enum Stored {
    /// An open file. It stays the same file when its name is given to another.
    File(Arc<File>),
    /// Bytes in memory (an embedded log).
    Bytes(Arc<[u8]>),
}

impl Stored {
    /// Opens a file. A pipe or device is refused: it cannot be read at a place.
    pub fn open(path: &Path) -> io::Result<Self> {
        // A named pipe without a writer must not hold us up.
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(Self::File(Arc::new(file)))
    }

    /// Copies a stream (standard input) into a nameless temporary file.
    pub fn spool(mut stream: impl Read) -> io::Result<Self> {
        let name = format!("handback-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        let mut file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        io::copy(&mut stream, &mut file)?;
        Ok(Self::File(Arc::new(file)))
    }

    /// Its length in bytes now.
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Whether it has no bytes now.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `buffer` from `offset` on, as far as there are bytes; gives their number.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + filled as u64;
            let rest = &mut buffer[filled..];
            let read = match self {
                Self::File(file) => match file.read_at(rest, at) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read?,
                },
                Self::Bytes(bytes) => {
                    let ahead =
                        usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                    let len = ahead.len().min(rest.len());
                    rest[..len].copy_from_slice(&ahead[..len]);
                    len
                }
            };
            if read == 0 {
                break;
            }
            filled += read;
        }
        Ok(filled)
    }

    /// The device and inode of an open file.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        match self {
            Self::File(file) => file.metadata().ok().map(|now| identity(&now)),
            Self::Bytes(_) => None,
        }
    }

    /// How the bytes are stored.
    pub(super) fn encoding(&self) -> io::Result<Encoding> {
        let mut head = [0; 4];
        let read = self.read_at(0, &mut head)?;
        Ok(Encoding::of(&head[..read]))
    }
}

/// What makes a file the same file.
pub(super) fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Reads rows again by their place.
#[derive(Debug)]
pub struct Rows {
    stored: Stored,
    encoding: Encoding,
    /// The last frame that was decoded, if it was small enough to keep: its offset and text.
    frame: Option<(u64, Vec<u8>)>,
}

/// Decoded text of a frame that is kept between two rows.
const KEPT_FRAME: usize = 4 << 20;

impl Rows {
    /// A reader over stored bytes.
    pub fn new(stored: Stored) -> io::Result<Self> {
        let encoding = stored.encoding()?;
        Ok(Self { stored, encoding, frame: None })
    }

    /// The bytes of the row at a place.
    ///
    /// # Errors
    /// The file cannot be read, or no longer holds the row (it was cut short).
    pub fn row(&mut self, place: &Place) -> io::Result<Vec<u8>> {
        let len = usize::try_from(place.len).map_err(io::Error::other)?;
        if self.encoding == Encoding::Plain {
            let start = place.offset + place.inner;
            // Only a long row is worth a look at whether it can be there.
            if len > PIECE && start.saturating_add(place.len) > self.stored.len()? {
                return Err(gone());
            }
            let mut row = vec![0; len];
            let read = self.stored.read_at(start, &mut row)?;
            return if read == len { Ok(row) } else { Err(gone()) };
        }
        if let Some((offset, text)) = &self.frame
            && *offset == place.offset
        {
            let start = usize::try_from(place.inner).map_err(io::Error::other)?;
            let row = start.checked_add(len).and_then(|end| text.get(start..end));
            if let Some(row) = row {
                return Ok(row.to_vec());
            }
        }
        self.decode(place)
    }

    /// Decodes from the row's frame on until the row is there.
    fn decode(&mut self, place: &Place) -> io::Result<Vec<u8>> {
        let mut wanted = Wanted { place: *place, row: None, text: Vec::new(), whole: true };
        let mut decoder = Decoder::new(Encoding::Zstd, place.offset, 0);
        let mut buffer = vec![0; PIECE];
        let mut offset = place.offset;
        while wanted.row.is_none() {
            let read = self.stored.read_at(offset, &mut buffer)?;
            if read == 0 {
                decoder.finish(&mut wanted);
                break;
            }
            offset += read as u64;
            decoder.push(&buffer[..read], &mut wanted);
        }
        self.frame =
            (wanted.whole && !wanted.text.is_empty()).then_some((place.offset, wanted.text));
        wanted.row.ok_or_else(gone)
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the log no longer holds this row")
}

/// Picks one row out of decoded lines, and keeps the frame's text beside it.
struct Wanted {
    place: Place,
    row: Option<Vec<u8>>,
    text: Vec<u8>,
    whole: bool,
}

impl Sink for Wanted {
    fn line(&mut self, place: Place, line: &[u8]) {
        if place.offset != self.place.offset {
            return;
        }
        // A row may be a part of its line.
        let ahead = self.place.inner.checked_sub(place.inner).and_then(|n| usize::try_from(n).ok());
        if let Some(row) = ahead.and_then(|start| {
            let len = usize::try_from(self.place.len).ok()?;
            line.get(start..start.checked_add(len)?)
        }) && self.row.is_none()
        {
            self.row = Some(row.to_vec());
        }
        let gapless = place.inner == self.text.len() as u64;
        if self.whole && gapless && self.text.len() + line.len() < KEPT_FRAME {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
        } else {
            self.whole = false;
            self.text = Vec::new();
        }
    }

    fn damage(&mut self, _: Damage) {}
}
