//! A log's bytes, in pieces of any size, to whole lines with their places. Pure: no file is touched here.

use super::frames::Frames;
use crate::session::Damage;
use crate::session::event::Place;
use memchr::{memchr, memchr_iter};

/// Takes what a decoder finds, in file order.
pub trait Sink {
    /// One line without its `\n`; perhaps empty, perhaps ending in `\r`.
    fn line(&mut self, place: Place, line: &[u8]);

    /// A stretch of the file that could not be decoded. Lines may be missing here.
    fn damage(&mut self, damage: Damage);
}

/// How a log's lines are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Plain,
    /// As concatenated zstd frames (RFC 8878), each with any number of lines or parts of lines.
    Zstd,
}

impl Encoding {
    /// Tells from a file's first bytes; a plain log cannot begin with the magic number of zstd.
    pub fn of(head: &[u8]) -> Self {
        if head.starts_with(&super::frames::MAGIC) { Self::Zstd } else { Self::Plain }
    }
}

/// Bytes in, lines out. Any cut of the bytes into pieces gives the same lines.
#[derive(Debug)]
pub struct Decoder {
    lines: Lines,
    /// Offset in the stored file of the next byte to come, for a plain log.
    offset: u64,
    frames: Option<Frames>,
}

impl Decoder {
    /// A decoder that begins at `offset` of the stored file, where a line or a frame must begin.
    /// `line` is the 1-based number of the first line; 0 where it is not known.
    pub fn new(encoding: Encoding, offset: u64, line: u64) -> Self {
        let frames = (encoding == Encoding::Zstd).then(|| Frames::new(offset));
        Self { lines: Lines::new(line), offset, frames }
    }

    /// Takes the next bytes of the file.
    pub fn push<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        if let Some(frames) = &mut self.frames {
            frames.push(bytes, &mut self.lines, sink);
        } else {
            let start = Start { frame: None, at: self.offset };
            self.offset += bytes.len() as u64;
            self.lines.push(bytes, start, sink);
        }
    }

    /// Says that the file ends here: a last line without `\n` is given, a torn frame is a damage.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) {
        if let Some(torn) = self.frames.as_ref().and_then(Frames::torn) {
            self.lines.forget();
            sink.damage(torn);
        }
        self.lines.finish(sink);
    }
}

/// Where a stretch of decoded bytes begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// Offset in the file of its zstd frame.
    pub(super) frame: Option<u64>,
    /// Offset in the decoded frame, or in the plain file.
    pub(super) at: u64,
}

impl Start {
    fn place(self, ahead: usize) -> Place {
        let at = self.at + ahead as u64;
        match self.frame {
            Some(frame) => Place { offset: frame, inner: at, len: 0, line: 0 },
            None => Place { offset: at, inner: 0, len: 0, line: 0 },
        }
    }
}

/// Cuts decoded bytes at `\n` and keeps the part of a line that is still without its end.
#[derive(Debug)]
pub(super) struct Lines {
    begun: Vec<u8>,
    begun_at: Place,
    /// Number of the next line; 0 where it is not known.
    next: u64,
}

/// A line's buffer larger than this is given back after use.
const KEPT_CAPACITY: usize = 1 << 20;

impl Lines {
    fn new(next: u64) -> Self {
        Self { begun: Vec::new(), begun_at: Place::default(), next }
    }

    pub(super) fn push<S: Sink>(&mut self, bytes: &[u8], start: Start, sink: &mut S) {
        let mut from = 0;
        if !self.begun.is_empty() {
            let Some(end) = memchr(b'\n', bytes) else {
                self.begun.extend_from_slice(bytes);
                return;
            };
            self.begun.extend_from_slice(&bytes[..end]);
            let line = std::mem::take(&mut self.begun);
            self.give(self.begun_at, &line, sink);
            self.recycle(line);
            from = end + 1;
        }
        let rest = &bytes[from..];
        let mut at = 0;
        for end in memchr_iter(b'\n', rest) {
            self.give(start.place(from + at), &rest[at..end], sink);
            at = end + 1;
        }
        if at < rest.len() {
            self.begun.extend_from_slice(&rest[at..]);
            self.begun_at = start.place(from + at);
        }
    }

    fn give<S: Sink>(&mut self, place: Place, line: &[u8], sink: &mut S) {
        let place = Place { len: line.len() as u64, line: self.next, ..place };
        if self.next > 0 {
            self.next += 1;
        }
        sink.line(place, line);
    }

    fn recycle(&mut self, mut line: Vec<u8>) {
        if line.capacity() <= KEPT_CAPACITY {
            line.clear();
            self.begun = line;
        }
    }

    /// Drops the begun line: what should follow it is lost.
    pub(super) fn forget(&mut self) {
        self.begun.clear();
    }

    fn finish<S: Sink>(&mut self, sink: &mut S) {
        if !self.begun.is_empty() {
            let line = std::mem::take(&mut self.begun);
            self.give(self.begun_at, &line, sink);
        }
    }
}
