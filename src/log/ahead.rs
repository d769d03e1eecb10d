//! Reads, unpacks and skims a long log on other threads; the caller's takes what is left of it.

use super::Skim;
use super::decode::{Decoder, Lines, Sink, Start, Unpacker};
use super::digest::{Digest, Digester};
use super::frames::{Frames, whole_frames};
use super::source::{PIECE, Stored};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Other threads pay from so many stored bytes on.
pub(super) const WORTH: u64 = 2 << 20;

/// So many threads. The parts of the log go round among them.
const WORKERS: usize = 2;

/// So many digests of one thread wait at most.
const WAITING: usize = 8;

/// So many parts are given to each thread at most.
const PARTS: usize = 2;

/// So many stored bytes of a plain log are a part; of a zstd log, whole frames of at most as many,
/// or one longer frame.
const PART: usize = 1 << 20;
const PACKED_PART: usize = 256 << 10;

/// A zstd log with a frame longer than this is unpacked on the caller's thread there.
const LONGEST: usize = 2 << 20;

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

    /// Hands out all of it, piece by piece; gives how many bytes there were.
    fn each_piece(&self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> io::Result<u64> {
        let mut done = 0;
        loop {
            let read = self.read(done, buffer)?;
            if read == 0 {
                return Ok(done);
            }
            take(&buffer[..read]);
            done += read as u64;
        }
    }
}

/// Reads a range, or the first part of it, through the decoder; gives how many bytes were read.
pub(super) fn push<S: Sink>(
    range: Range<'_>,
    decoder: &mut Decoder,
    sink: &mut S,
) -> io::Result<u64> {
    let mut plan = Plan::new(range, decoder.unpacker());
    match plan.next()? {
        Some(first) => share(first, plan, decoder, sink),
        None => {
            let mut packed = vec![0; LONGEST];
            let read = range.read(0, &mut packed)?;
            decoder.push(&packed[..read], sink);
            Ok(read as u64)
        }
    }
}

/// Has the parts of a range read by other threads.
fn share<S: Sink>(
    first: Range<'_>,
    mut plan: Plan<'_>,
    decoder: &mut Decoder,
    sink: &mut S,
) -> io::Result<u64> {
    let (skim, packed) = (sink.skim(), plan.packed);
    let (unpacker, lines) = decoder.halves();
    thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| {
            let ((parts, given), (out, digests)) = (sync_channel(PARTS), sync_channel(WAITING));
            let (used, free) = channel();
            scope.spawn(move || work(&given, packed, skim, &out, &free));
            Worker { parts, digests, used }
        });
        let (mut next, mut turns) = (Some(first), workers.iter().cycle());
        let mut given = VecDeque::new();
        let mut done = 0;
        loop {
            while let Some(part) = next.filter(|_| given.len() < WORKERS * PARTS)
                && let Some(worker) = turns.next()
            {
                worker.parts.send(part).map_err(failed)?;
                given.push_back((worker, part));
                next = plan.next()?;
            }
            let Some((worker, part)) = given.pop_front() else { return Ok(done) };
            let end = worker.take(lines, sink)?;
            done += end.read;
            unpacker.go_to(part.offset + end.read, end.broken);
            if end.read < part.len || !unpacker.is_between() {
                return Ok(done);
            }
        }
    })
}

fn failed<E>(_: E) -> io::Error {
    io::Error::other("the reading thread failed")
}

/// A thread that reads parts, as the caller's sees it.
struct Worker<'a> {
    parts: SyncSender<Range<'a>>,
    digests: Receiver<Message>,
    used: Sender<Digest>,
}

enum Message {
    Digest(Digest),
    End(io::Result<End>),
}

/// How a part ended.
struct End {
    /// How many bytes of it there were.
    read: u64,
    /// Its frames, if they do not stand at the end of one: a frame is broken.
    broken: Option<Box<Frames>>,
}

impl Worker<'_> {
    /// Takes all that is left of the next part.
    fn take<S: Sink>(&self, lines: &mut Lines, sink: &mut S) -> io::Result<End> {
        loop {
            match self.digests.recv().map_err(failed)? {
                Message::Digest(mut digest) => {
                    digest.give(lines, sink);
                    // The worker may have ended.
                    let _ = self.used.send(digest);
                }
                Message::End(end) => return end,
            }
        }
    }
}

/// Reads part after part.
fn work(
    parts: &Receiver<Range<'_>>,
    packed: bool,
    skim: Option<Skim>,
    out: &SyncSender<Message>,
    free: &Receiver<Digest>,
) {
    let mut buffer = vec![0; PIECE];
    let mut frames = packed.then(|| Box::new(Frames::new(0)));
    for part in parts {
        let mut digester = Digester::new(skim, |digest| {
            // The caller's thread takes all, or has failed and is waited for no more.
            let _ = out.send(Message::Digest(digest));
            free.try_recv().unwrap_or_default()
        });
        let read = match &mut frames {
            None => {
                let mut at = part.offset;
                part.each_piece(&mut buffer, |text| {
                    digester.push(text, Start { frame: None, at });
                    at += text.len() as u64;
                })
            }
            Some(frames) => {
                frames.go_to(part.offset);
                part.each_piece(&mut buffer, |bytes| frames.push(bytes, &mut digester))
            }
        };
        digester.flush();
        let broken = frames.take_if(|frames| !frames.is_between());
        if packed && broken.is_some() {
            frames = Some(Box::new(Frames::new(0)));
        }
        let _ = out.send(Message::End(read.map(|read| End { read, broken })));
    }
}

/// Cuts a range into parts.
struct Plan<'a> {
    range: Range<'a>,
    packed: bool,
    /// So many bytes of the range are in parts.
    ahead: u64,
    /// Stored bytes, and where in them the next part begins.
    window: Vec<u8>,
    at: usize,
}

impl<'a> Plan<'a> {
    fn new(range: Range<'a>, unpacker: &Unpacker) -> Self {
        let packed = matches!(unpacker, Unpacker::Zstd(_));
        let mut plan = Self { range, packed, ahead: 0, window: Vec::new(), at: 0 };
        if !unpacker.is_between() {
            // No part begins inside a frame.
            plan.range.len = 0;
        }
        plan
    }

    /// The next part; none at the end, or where no whole frame is seen.
    fn next(&mut self) -> io::Result<Option<Range<'a>>> {
        let len = if self.packed {
            self.frames()? as u64
        } else {
            (self.range.len - self.ahead).min(PART as u64)
        };
        let part = Range { offset: self.range.offset + self.ahead, len, ..self.range };
        self.ahead += len;
        Ok((len > 0).then_some(part))
    }

    /// The length of the next whole frames, together.
    fn frames(&mut self) -> io::Result<usize> {
        let mut len = self.frames_in_window();
        if len == 0 {
            self.window.resize(LONGEST, 0);
            let read = self.range.read(self.ahead, &mut self.window)?;
            self.window.truncate(read);
            self.at = 0;
            len = self.frames_in_window();
        }
        self.at += len;
        Ok(len)
    }

    fn frames_in_window(&self) -> usize {
        let rest = self.window.get(self.at..).unwrap_or_default();
        let some = whole_frames(rest.get(..PACKED_PART).unwrap_or(rest), usize::MAX);
        if some > 0 { some } else { whole_frames(rest, 1) }
    }
}
