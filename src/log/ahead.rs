//! Reads, unpacks and skims a long log on other threads; the caller's takes what is left of it.

use super::Skim;
use super::decode::{Decoder, Lines, Sink, Start, Unpacker};
use super::digest::{Digest, Digester};
use super::frames::{Frames, whole_frames};
use super::source::Stored;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Other threads pay from so many stored bytes on.
pub(super) const WORTH: u64 = 2 << 20;

/// So many threads. The parts of the log go round among them.
const WORKERS: usize = 2;

/// So many digests of one thread wait at most.
const WAITING: usize = 4;

/// So many parts are given to each thread at most.
const PARTS: usize = 2;

/// So many stored bytes of a plain log are a part; of a zstd log, whole frames of at most as many,
/// or one longer frame.
const PART: usize = 6 << 20;
const PACKED_PART: usize = 512 << 10;

/// A frame longer than this is unpacked on the caller's thread.
const LONGEST: usize = 2 << 20;

/// So many bytes of a plain log are read at once: the ends of shorter pieces cost.
const TEXT: usize = 3 << 19;

/// What the threads read into. They keep it from one time to the next: what is given back and taken
/// anew all the time is soon scattered over the memory.
#[derive(Debug, Default)]
pub(super) struct Buffers([Vec<u8>; WORKERS]);

/// Whether other threads have something to take off the caller's: to unpack, or to skim.
pub(super) fn pays<S: Sink>(decoder: &Decoder, sink: &S) -> bool {
    sink.skim().is_some() || matches!(decoder.unpacker(), Unpacker::Zstd(_))
}

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
    buffers: &mut Buffers,
    sink: &mut S,
) -> io::Result<u64> {
    let mut plan = Plan::new(range, decoder.unpacker());
    if let Some(first) = plan.next()? {
        return share(first, plan, decoder, buffers, sink);
    }
    let mut stored = vec![0; LONGEST];
    let read = range.read(0, &mut stored)?;
    // Threads can go on where the frame in hand ends.
    let used = match decoder.push_frame(&stored[..read], sink) {
        0 => {
            decoder.push(&stored[..read], sink);
            read
        }
        used => used,
    };
    Ok(used as u64)
}

/// Has the parts of a range read by other threads.
fn share<S: Sink>(
    first: Range<'_>,
    mut plan: Plan<'_>,
    decoder: &mut Decoder,
    buffers: &mut Buffers,
    sink: &mut S,
) -> io::Result<u64> {
    let (skim, packed) = (sink.skim(), plan.packed);
    let (unpacker, lines) = decoder.halves();
    thread::scope(|scope| {
        let workers = buffers.0.each_mut().map(|buffer| {
            let ((parts, given), (out, digests)) = (sync_channel(PARTS), sync_channel(WAITING));
            let (used, free) = channel();
            scope.spawn(move || work(&given, packed, skim, buffer, &out, &free));
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
    buffer: &mut Vec<u8>,
    out: &SyncSender<Message>,
    free: &Receiver<Digest>,
) {
    let mut frames = packed.then(|| Box::new(Frames::new(0)));
    for part in parts {
        let mut digester = Digester::new(skim, |digest| {
            // The caller's thread takes all, or has failed and is waited for no more.
            let _ = out.send(Message::Digest(digest));
            free.try_recv().unwrap_or_default()
        });
        // No piece ends inside a frame.
        let piece = if packed { part.len.min(LONGEST as u64) as usize } else { TEXT };
        buffer.resize(buffer.len().max(piece), 0);
        let read = match &mut frames {
            None => {
                let mut at = part.offset;
                part.each_piece(buffer, |text| {
                    digester.push(text, Start { frame: None, at });
                    at += text.len() as u64;
                })
            }
            Some(frames) => {
                frames.go_to(part.offset);
                part.each_piece(buffer, |bytes| frames.push(bytes, &mut digester))
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
        // No part begins inside a frame.
        let len = if unpacker.is_between() { range.len } else { 0 };
        Self { range: Range { len, ..range }, packed, ahead: 0, window: Vec::new(), at: 0 }
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

#[cfg(test)]
mod tests {
    use super::{Range, WORTH, push};
    use crate::log::Output;
    use crate::log::decode::{Decoder, Encoding, Sink};
    use crate::log::open::{LogFile, OpenOptions};
    use crate::log::source::Stored;
    use crate::session::Damage;
    use crate::session::event::Place;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Arc;

    /// A log of streamed rows that compress badly, with a turn now and then.
    fn log() -> String {
        use std::fmt::Write;
        let mut text = String::from(
            "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":1,\"cwd\":\"/w\",\"delegationDepth\":0}\n",
        );
        let mut random: u64 = 1;
        for seq in 0..30_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (kind, data) = if seq % 1000 == 0 {
                ("turn/start", format!("{{\"turn\":{}}}", seq / 1000 + 1))
            } else {
                let chunk =
                    format!("{{\"type\":\"text-delta\",\"text\":\"{random:x}{:x}\"}}", !random);
                ("assistant/chunk", format!("{{\"turn\":1,\"step\":1,\"chunk\":{chunk}}}"))
            };
            let row = format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":1,\"data\":{data}}}");
            let _ = writeln!(text, "{row}");
        }
        text
    }

    /// What begins inside a frame is shared among the threads from the frame's end on.
    #[test]
    fn the_frame_in_hand_ends_before_threads_go_on() {
        struct Count(u64);
        impl Sink for Count {
            fn line(&mut self, _: Place, _: &[u8]) {
                self.0 += 1;
            }
            fn damage(&mut self, damage: Damage) {
                panic!("{damage:?}");
            }
        }
        let frame = zstd::encode_all(log().as_bytes(), 3).unwrap();
        let bytes = frame.repeat(40);
        let stored = Stored::Bytes(Arc::from(bytes.as_slice()));
        let (mut decoder, mut lines) = (Decoder::new(Encoding::Zstd, 0, 1), Count(0));
        decoder.push(&bytes[..1000], &mut lines);
        let len = (bytes.len() - 1000) as u64;
        let range = Range { stored: &stored, offset: 1000, len };
        let mut buffers = super::Buffers::default();
        let first = push(range, &mut decoder, &mut buffers, &mut lines).unwrap();
        assert_eq!(first, frame.len() as u64 - 1000);
        assert!(decoder.unpacker().is_between());
        let rest = Range { stored: &stored, offset: frame.len() as u64, len: len - first };
        assert_eq!(push(rest, &mut decoder, &mut buffers, &mut lines).unwrap(), len - first);
        assert_eq!(lines.0, 40 * log().lines().count() as u64);
    }

    fn read(bytes: &[u8], slice: u64) -> Output {
        let stored = Stored::Bytes(Arc::from(bytes));
        let mut log =
            LogFile::from_stored(Path::new("x"), stored, &OpenOptions::default()).unwrap();
        let mut out = Output::default();
        while !log.step(slice, &mut out).unwrap().caught_up {}
        log.read_all(&mut out).unwrap();
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Threads tell what one thread tells, of a whole log as of a broken one.
        #[test]
        fn threads_change_nothing(
            rows in prop_oneof![Just(0_usize), Just(40), Just(3000)],
            hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_usize..3), 0..6),
        ) {
            let text = log();
            let mut bytes = if rows == 0 { text.into_bytes() } else {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let frames = lines.chunks(rows).map(|lines| zstd::encode_all(lines.concat().as_bytes(), -100).unwrap());
                frames.collect::<Vec<_>>().concat()
            };
            prop_assert!(bytes.len() as u64 > WORTH);
            for (at, byte, dropped) in hits {
                // The first rows tell the format.
                let at = 4096 + at.index(bytes.len() - 8192);
                bytes[at] = byte;
                bytes.drain(at..at + dropped);
            }
            let (alone, shared) = (read(&bytes, WORTH / 2), read(&bytes, u64::MAX));
            prop_assert_eq!(alone.damages, shared.damages);
            prop_assert_eq!(alone.events, shared.events);
        }
    }
}
