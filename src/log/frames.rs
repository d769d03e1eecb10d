//! Concatenated zstd frames to decoded bytes. A broken frame costs only itself: reading goes on at the next magic number.

use super::decode::{Start, TextSink};
use crate::session::Damage;
use memchr::memmem;
use std::fmt;
use zstd::zstd_safe::{
    DCtx, InBuffer, OutBuffer, find_frame_compressed_size, get_error_name, get_frame_content_size,
};

/// The first bytes of every frame (RFC 8878, 3.1.1).
pub(super) const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// What `ZSTD_startingInputLength` asks for: magic number and frame header descriptor.
const FIRST_INPUT: usize = 5;

/// Compressed bytes of the frame in hand that are kept, so that the next frame can be looked for
/// inside what a broken length made us swallow. A recorder's frames are far smaller.
const KEPT: usize = 256 << 10;

/// One block's worth of decoded bytes (RFC 8878: 128 KiB at most).
const DECODED: usize = 128 << 10;

/// A whole frame of so many decoded bytes at most is decoded at once.
const AT_ONCE: usize = 1 << 20;

/// Decodes frame after frame.
pub(super) struct Frames {
    context: Option<DCtx<'static>>,
    decoded: Vec<u8>,
    /// Offset in the file of the next byte to come.
    offset: u64,
    state: State,
    /// Offset of the frame in hand.
    frame: u64,
    /// Decoded bytes of it so far.
    inner: u64,
    /// How many bytes the decoder wants next.
    wanted: usize,
    /// Its compressed bytes so far, while they are few; between damages the last bytes looked at.
    kept: Vec<u8>,
    /// The stretch in hand has been told of as damage.
    told: bool,
    /// How many bytes may still be read twice: bounds the work on hostile files.
    allowance: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Inside,
    /// Looking for a magic number.
    Lost,
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("offset", &self.offset)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Frames {
    pub(super) fn new(offset: u64) -> Self {
        Self {
            context: DCtx::try_create(),
            decoded: vec![0; DECODED],
            offset,
            state: State::Between,
            frame: offset,
            inner: 0,
            wanted: 0,
            kept: Vec::new(),
            told: false,
            allowance: 16 << 20,
        }
    }

    /// The damage of a file that ends inside a frame.
    pub(super) fn torn(&self) -> Option<Damage> {
        (self.state == State::Inside && !self.told)
            .then(|| damage(self.frame, "the log ends inside it"))
    }

    /// Goes on at another place of the file, where a frame must begin.
    pub(super) fn go_to(&mut self, offset: u64) {
        self.offset = offset;
        self.state = State::Between;
        self.kept.clear();
        self.told = false;
    }

    /// Whether a frame has to begin with the next byte.
    pub(super) fn is_between(&self) -> bool {
        self.state == State::Between
    }

    pub(super) fn push<T: TextSink>(&mut self, bytes: &[u8], sink: &mut T) {
        self.allowance = self.allowance.saturating_add(bytes.len());
        let mut again = self.read(bytes, sink);
        while let Some(bytes) = again {
            again = self.read(&bytes, sink);
        }
    }

    /// Takes bytes up to the end of the frame in hand; gives how many those are.
    pub(super) fn push_frame<T: TextSink>(&mut self, bytes: &[u8], sink: &mut T) -> usize {
        let mut used = 0;
        while self.state == State::Inside
            && let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty())
        {
            let fed = rest.len().min(self.wanted.max(1));
            self.push(&rest[..fed], sink);
            used += fed;
        }
        used
    }

    /// Reads on; gives back bytes that must be read again from a frame found among them.
    fn read<T: TextSink>(&mut self, mut bytes: &[u8], sink: &mut T) -> Option<Vec<u8>> {
        while !bytes.is_empty() {
            match self.state {
                State::Lost => return self.search(bytes),
                State::Between => match self.at_once(bytes, sink) {
                    Some(frame) => bytes = bytes.get(frame..).unwrap_or_default(),
                    None => self.begin(),
                },
                State::Inside => {
                    let fed = bytes.len().min(self.wanted.max(1));
                    let (now, later) = bytes.split_at(fed);
                    if let Err(cause) = self.decode(now, sink) {
                        return Some(self.lose(cause, now, later, sink));
                    }
                    bytes = later;
                }
            }
        }
        None
    }

    /// Decodes the frame that these bytes begin with, if it is whole, sound and small: without the
    /// decoder's own buffers that is faster. Gives its length in bytes.
    fn at_once<T: TextSink>(&mut self, bytes: &[u8], sink: &mut T) -> Option<usize> {
        let frame = bytes.get(..find_frame_compressed_size(bytes).ok()?)?;
        let text = usize::try_from(get_frame_content_size(frame).ok()??).ok()?;
        if text > AT_ONCE {
            return None;
        }
        self.decoded.resize(self.decoded.len().max(text), 0);
        let written = self.context.as_mut()?.decompress(&mut self.decoded[..], frame).ok()?;
        if written > 0 {
            let start = Start { frame: Some(self.offset), at: 0 };
            sink.text(self.decoded.get(..written).unwrap_or_default(), start);
        }
        self.offset += frame.len() as u64;
        self.told = false;
        Some(frame.len())
    }

    fn begin(&mut self) {
        self.state = State::Inside;
        self.frame = self.offset;
        self.inner = 0;
        self.kept.clear();
        self.wanted = FIRST_INPUT;
        if let Some(context) = &mut self.context {
            // A failed reset shows as a failed decoding.
            let _ = context.init();
        }
    }

    /// Feeds just what the decoder asked for, so that a block's text is out before its checksum
    /// is looked at.
    fn decode<T: TextSink>(&mut self, bytes: &[u8], sink: &mut T) -> Result<(), &'static str> {
        let context = self.context.as_mut().ok_or("no memory for a zstd decoder")?;
        let mut input = InBuffer::around(bytes);
        loop {
            let mut output = OutBuffer::around(&mut self.decoded[..DECODED]);
            let hint =
                context.decompress_stream(&mut output, &mut input).map_err(get_error_name)?;
            let written = output.pos();
            if written > 0 {
                let start = Start { frame: Some(self.frame), at: self.inner };
                sink.text(self.decoded.get(..written).unwrap_or_default(), start);
                self.inner += written as u64;
                self.told = false;
            }
            self.wanted = hint;
            if hint == 0 {
                self.state = State::Between;
                self.told = false;
                break;
            }
            if input.pos() == bytes.len() && written < DECODED {
                break;
            }
        }
        self.offset += bytes.len() as u64;
        if self.kept.len() + bytes.len() <= KEPT {
            self.kept.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Tells of a broken frame and looks for the next one, in what was swallowed with it too.
    fn lose<T: TextSink>(
        &mut self,
        cause: &str,
        now: &[u8],
        later: &[u8],
        sink: &mut T,
    ) -> Vec<u8> {
        sink.lost((!self.told).then(|| damage(self.frame, cause)));
        self.told = true;
        self.state = State::Lost;
        let swallowed = self.offset - self.frame;
        let whole = swallowed == self.kept.len() as u64 && self.allowance >= self.kept.len();
        let mut rest = if whole { std::mem::take(&mut self.kept) } else { Vec::new() };
        self.kept.clear();
        self.allowance -= rest.len().min(self.allowance);
        self.offset -= rest.len() as u64;
        rest.extend_from_slice(now);
        rest.extend_from_slice(later);
        // The frame's own magic number is not the next one.
        let skip = if self.offset == self.frame { 1.min(rest.len()) } else { 0 };
        rest.drain(..skip);
        self.offset += skip as u64;
        rest
    }

    fn search(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut seen = std::mem::take(&mut self.kept);
        let first = self.offset - seen.len() as u64;
        seen.extend_from_slice(bytes);
        if let Some(at) = memmem::find(&seen, &MAGIC) {
            self.offset = first + at as u64;
            self.state = State::Between;
            seen.drain(..at);
            return Some(seen);
        }
        self.offset += bytes.len() as u64;
        let tail = seen.len().saturating_sub(MAGIC.len() - 1);
        self.kept = seen.split_off(tail);
        None
    }
}

/// How many of these bytes are whole frames (of `most` frames), as far as their heads tell.
pub(super) fn whole_frames(bytes: &[u8], most: usize) -> usize {
    let (mut at, mut count) = (0, 0);
    while count < most
        && let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty())
        && let Ok(frame) = find_frame_compressed_size(rest)
        && (1..=rest.len()).contains(&frame)
    {
        at += frame;
        count += 1;
    }
    at
}

fn damage(offset: u64, cause: &str) -> Damage {
    Damage { line: None, offset: Some(offset), message: format!("zstd frame: {cause}") }
}
