//! Reads and decodes a long log on one thread while the caller's cuts and reads lines: the two cost about the same.

use super::decode::{Decoder, Lines, Sink, Start, TextSink, Unpacker};
use super::frames::DECODED;
use super::source::{PIECE, Stored};
use crate::session::Damage;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// A second thread pays from so many stored bytes on.
pub(super) const WORTH: u64 = 2 << 20;

/// So many pieces wait between the threads at most.
const WAITING: usize = 4;

enum Piece {
    Text(Vec<u8>, usize, Start),
    Lost(Option<Damage>),
}

/// Reads `len` stored bytes from `offset` on through the decoder; gives how many there were.
pub(super) fn push<S: Sink>(
    stored: &Stored,
    offset: u64,
    len: u64,
    decoder: &mut Decoder,
    sink: &mut S,
) -> io::Result<u64> {
    let (unpacker, lines) = decoder.halves();
    let (pieces, arrived) = sync_channel(WAITING);
    let (used, free) = channel();
    let reading = Reading { stored, offset, len, out: Pieces { pieces, free } };
    thread::scope(|scope| {
        let reader = scope.spawn(move || reading.run(unpacker));
        cut(&arrived, &used, lines, sink);
        reader.join().unwrap_or_else(|_| Err(io::Error::other("the reading thread failed")))
    })
}

fn cut<S: Sink>(
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

struct Reading<'a> {
    stored: &'a Stored,
    offset: u64,
    len: u64,
    out: Pieces,
}

impl Reading<'_> {
    fn run(mut self, unpacker: &mut Unpacker) -> io::Result<u64> {
        let mut done = 0;
        let mut packed = vec![0; PIECE];
        while done < self.len {
            let most = usize::try_from(self.len - done).unwrap_or(PIECE).min(PIECE);
            let read = match unpacker {
                Unpacker::Plain { offset } => {
                    let mut text = self.out.buffer(PIECE);
                    let read = self.stored.read_at(self.offset + done, &mut text[..most])?;
                    self.out.send(Piece::Text(text, read, Start { frame: None, at: *offset }));
                    *offset += read as u64;
                    read
                }
                Unpacker::Zstd(frames) => {
                    let read = self.stored.read_at(self.offset + done, &mut packed[..most])?;
                    frames.push(&packed[..read], &mut self.out);
                    read
                }
            };
            done += read as u64;
            if read == 0 {
                break;
            }
        }
        Ok(done)
    }
}

/// The way to the other thread, and back for used buffers.
struct Pieces {
    pieces: SyncSender<Piece>,
    free: Receiver<Vec<u8>>,
}

impl Pieces {
    fn buffer(&self, len: usize) -> Vec<u8> {
        self.free.try_recv().unwrap_or_else(|_| vec![0; len])
    }

    fn send(&self, piece: Piece) {
        // The other thread takes all, or has failed and is waited for no more.
        let _ = self.pieces.send(piece);
    }
}

impl TextSink for Pieces {
    fn text(&mut self, decoded: &mut Vec<u8>, len: usize, start: Start) {
        let text = std::mem::replace(decoded, self.buffer(DECODED));
        self.send(Piece::Text(text, len, start));
    }

    fn lost(&mut self, damage: Option<Damage>) {
        self.send(Piece::Lost(damage));
    }
}
