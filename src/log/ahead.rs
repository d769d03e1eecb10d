//! Reads a long log on other threads while the caller's takes its lines: what is read is unpacked, or skimmed, where it was read.

use super::Skim;
use super::decode::{Decoder, Lines, Sink, Skimmed, Start, TextSink, Unpacker, skim_text};
use super::frames::{DECODED, Frames};
use super::source::{PIECE, Stored};
use crate::session::Damage;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Other threads pay from so many stored bytes on.
pub(super) const WORTH: u64 = 2 << 20;

/// So many threads read and skim a plain log. The pieces go round among them.
const SKIMMERS: usize = 2;

/// So many pieces of one thread wait at most.
const WAITING: usize = 4;

/// Stored bytes of a log.
#[derive(Clone, Copy)]
pub(super) struct Range<'a> {
    pub(super) stored: &'a Stored,
    pub(super) offset: u64,
    pub(super) len: u64,
}

impl Range<'_> {
    /// Fills the buffer from `ahead` bytes behind the range's start, not past its end.
    fn read(&self, ahead: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(ahead)).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        self.stored.read_at(self.offset + ahead, &mut buffer[..most])
    }
}

/// Reads a range through the decoder; gives how many bytes there were.
pub(super) fn push<S: Sink>(
    range: Range<'_>,
    decoder: &mut Decoder,
    sink: &mut S,
) -> io::Result<u64> {
    let (unpacker, lines) = decoder.halves();
    match unpacker {
        Unpacker::Plain { offset } => {
            let read = push_plain(range, *offset, lines, sink)?;
            *offset += read;
            Ok(read)
        }
        Unpacker::Zstd(frames) => push_frames(range, frames, lines, sink),
    }
}

/// What a thread read, and what it skimmed of that.
#[derive(Default)]
struct Skims {
    text: Vec<u8>,
    len: usize,
    skimmed: Skimmed,
}

fn push_plain<S: Sink>(
    range: Range<'_>,
    mut at: u64,
    lines: &mut Lines,
    sink: &mut S,
) -> io::Result<u64> {
    let skim = sink.skim();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..SKIMMERS as u64)
            .map(|first| {
                let (pieces, arrived) = sync_channel(WAITING);
                let (used, free) = channel();
                scope.spawn(move || skim_pieces(range, first, skim, &pieces, &free));
                (arrived, used)
            })
            .collect();
        let mut done = 0;
        for (arrived, used) in readers.iter().cycle() {
            if done >= range.len {
                break;
            }
            let failed = |_| io::Error::other("the reading thread failed");
            let piece = arrived.recv().map_err(failed)??;
            let text = piece.text.get(..piece.len).unwrap_or_default();
            lines.push_skimmed(text, &piece.skimmed, Start { frame: None, at }, sink);
            at += text.len() as u64;
            done += text.len() as u64;
            if text.len() < PIECE {
                break;
            }
            // The reader may have ended.
            let _ = used.send(piece);
        }
        Ok(done)
    })
}

/// Reads and skims one piece after the other, but for those of the other threads.
fn skim_pieces(
    range: Range<'_>,
    first: u64,
    skim: Option<Skim>,
    pieces: &SyncSender<io::Result<Skims>>,
    free: &Receiver<Skims>,
) {
    for ahead in (first..).step_by(SKIMMERS).map(|nth| nth * PIECE as u64) {
        if ahead >= range.len {
            return;
        }
        let mut piece = free.try_recv().unwrap_or_default();
        piece.text.resize(PIECE, 0);
        let read = range.read(ahead, &mut piece.text).map(|read| {
            piece.len = read;
            if let Some(skim) = skim {
                skim_text(skim, &piece.text[..read], &mut piece.skimmed);
            }
            piece
        });
        if pieces.send(read).is_err() {
            return;
        }
    }
}

/// What was unpacked of frames.
enum Piece {
    Text(Vec<u8>, usize, Start),
    Lost(Option<Damage>),
}

fn push_frames<S: Sink>(
    range: Range<'_>,
    frames: &mut Frames,
    lines: &mut Lines,
    sink: &mut S,
) -> io::Result<u64> {
    let (pieces, arrived) = sync_channel(WAITING);
    let (used, free) = channel();
    thread::scope(|scope| {
        let reader = scope.spawn(move || unpack(range, frames, &mut Pieces { pieces, free }));
        take_pieces(&arrived, &used, lines, sink);
        reader.join().unwrap_or_else(|_| Err(io::Error::other("the reading thread failed")))
    })
}

fn take_pieces<S: Sink>(
    arrived: &Receiver<Piece>,
    used: &Sender<Vec<u8>>,
    lines: &mut Lines,
    sink: &mut S,
) {
    for piece in arrived {
        match piece {
            Piece::Text(bytes, len, start) => {
                lines.push(bytes.get(..len).unwrap_or_default(), start, sink);
                // The reader may have ended.
                let _ = used.send(bytes);
            }
            Piece::Lost(damage) => lines.lose(damage, sink),
        }
    }
}

fn unpack(range: Range<'_>, frames: &mut Frames, out: &mut Pieces) -> io::Result<u64> {
    let mut done = 0;
    let mut packed = vec![0; PIECE];
    loop {
        let read = range.read(done, &mut packed)?;
        if read == 0 {
            return Ok(done);
        }
        frames.push(&packed[..read], out);
        done += read as u64;
    }
}

/// The way to the other thread, and back for used buffers.
struct Pieces {
    pieces: SyncSender<Piece>,
    free: Receiver<Vec<u8>>,
}

impl Pieces {
    fn send(&self, piece: Piece) {
        // The other thread takes all, or has failed and is waited for no more.
        let _ = self.pieces.send(piece);
    }
}

impl TextSink for Pieces {
    fn text(&mut self, decoded: &mut Vec<u8>, len: usize, start: Start) {
        let empty = self.free.try_recv().unwrap_or_else(|_| vec![0; DECODED]);
        let text = std::mem::replace(decoded, empty);
        self.send(Piece::Text(text, len, start));
    }

    fn lost(&mut self, damage: Option<Damage>) {
        self.send(Piece::Lost(damage));
    }
}
