//! A log's bytes, in pieces of any size, to whole lines with their places.

use super::frames::Frames;
use super::source::Stored;
use super::{Skim, Stretch};
use crate::session::Damage;
use crate::session::event::Place;
use memchr::memchr;
use std::io;

/// Takes what a decoder finds, in file order.
pub trait Sink {
    /// One line without its `\n`; perhaps empty, perhaps ending in `\r`.
    fn line(&mut self, place: Place, line: &[u8]);

    /// A stretch of the file that could not be decoded. Lines may be missing here.
    fn damage(&mut self, damage: Damage);

    /// How to find lines that need not be given.
    fn skim(&self) -> Option<Skim> {
        None
    }

    /// Lines that were found so, in place of the lines themselves; the first one is here.
    fn pass(&mut self, place: Place, stretch: &Stretch) {
        let _ = (place, stretch);
    }
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

    /// The same from stored bytes; none while there are too few to tell.
    pub(super) fn of_start(stored: &Stored) -> io::Result<Option<Self>> {
        let mut head = [0; 4];
        let read = stored.read_at(0, &mut head)?;
        Ok((read == head.len()).then(|| Self::of(&head)))
    }
}

/// Bytes in, lines out. Any cut of the bytes into pieces gives the same lines.
#[derive(Debug)]
pub struct Decoder {
    unpacker: Unpacker,
    lines: Lines,
}

impl Decoder {
    /// A decoder that begins at `offset` of the stored file, where a line or a frame must begin.
    /// `line` is the 1-based number of the first line; 0 where it is not known.
    pub fn new(encoding: Encoding, offset: u64, line: u64) -> Self {
        let unpacker = match encoding {
            Encoding::Plain => Unpacker::Plain { offset },
            Encoding::Zstd => Unpacker::Zstd(Box::new(Frames::new(offset))),
        };
        Self { unpacker, lines: Lines::new(line) }
    }

    /// Takes the next bytes of the file.
    pub fn push<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        match &mut self.unpacker {
            Unpacker::Plain { offset } => {
                self.lines.push(bytes, Start { frame: None, at: *offset }, sink);
                *offset += bytes.len() as u64;
            }
            Unpacker::Zstd(frames) => {
                frames.push(bytes, &mut Cutting { lines: &mut self.lines, sink });
            }
        }
    }

    /// Takes the next bytes of the file up to the end of the zstd frame in hand; gives how many
    /// those are: 0 between frames.
    pub(super) fn push_frame<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        match &mut self.unpacker {
            Unpacker::Plain { .. } => 0,
            Unpacker::Zstd(frames) => {
                frames.push_frame(bytes, &mut Cutting { lines: &mut self.lines, sink })
            }
        }
    }

    /// Says that the file ends here: a last line without `\n` is given, a torn frame is a damage.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) {
        if let Unpacker::Zstd(frames) = &self.unpacker
            && let Some(torn) = frames.torn()
        {
            self.lines.forget();
            sink.damage(torn);
        }
        self.lines.finish(sink);
    }

    /// How it unpacks.
    pub(super) fn unpacker(&self) -> &Unpacker {
        &self.unpacker
    }

    /// Its two halves, for other threads.
    pub(super) fn halves(&mut self) -> (&mut Unpacker, &mut Lines) {
        (&mut self.unpacker, &mut self.lines)
    }
}

/// Stored bytes to text.
#[derive(Debug)]
pub(super) enum Unpacker {
    /// They are the text.
    Plain {
        /// Offset in the file of the next byte to come.
        offset: u64,
    },
    /// They are frames.
    Zstd(Box<Frames>),
}

impl Unpacker {
    /// Whether a frame has to begin with the next byte, if there are frames.
    pub(super) fn is_between(&self) -> bool {
        match self {
            Self::Plain { .. } => true,
            Self::Zstd(frames) => frames.is_between(),
        }
    }

    /// Goes on at another place of the file: where a frame begins, or as these frames stand.
    pub(super) fn go_to(&mut self, place: u64, standing: Option<Box<Frames>>) {
        match (self, standing) {
            (Self::Plain { offset }, _) => *offset = place,
            (Self::Zstd(frames), Some(standing)) => *frames = standing,
            (Self::Zstd(frames), None) => frames.go_to(place),
        }
    }
}

/// Takes decoded text, and word of what could not be decoded.
pub(super) trait TextSink {
    /// The next bytes of text.
    fn text(&mut self, decoded: &[u8], start: Start);

    /// A line that was begun will not be finished. Of one broken stretch, only the first word of
    /// it is a damage.
    fn lost(&mut self, damage: Option<Damage>);
}

/// Decoded text cut into lines at once.
struct Cutting<'a, S> {
    lines: &'a mut Lines,
    sink: &'a mut S,
}

impl<S: Sink> TextSink for Cutting<'_, S> {
    fn text(&mut self, decoded: &[u8], start: Start) {
        self.lines.push(decoded, start, self.sink);
    }

    fn lost(&mut self, damage: Option<Damage>) {
        self.lines.lose(damage, self.sink);
    }
}

/// Where a stretch of decoded bytes begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// Offset in the file of its zstd frame.
    pub(super) frame: Option<u64>,
    /// Offset in the decoded frame, or in the plain file.
    pub(super) at: u64,
}

impl Start {
    pub(super) fn ahead(self, bytes: usize) -> Self {
        Self { at: self.at + bytes as u64, ..self }
    }

    fn place(self) -> Place {
        match self.frame {
            Some(frame) => Place { offset: frame, inner: self.at, len: 0, line: 0 },
            None => Place { offset: self.at, inner: 0, len: 0, line: 0 },
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
        let skim = sink.skim();
        let mut at = self.end_begun(bytes, sink);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some(stretch) = skim.and_then(|skim| skim(rest)) {
                self.pass(start.ahead(at), &stretch, sink);
                at += stretch.bytes;
            } else if let Some(end) = memchr(b'\n', rest) {
                self.give(start.ahead(at).place(), &rest[..end], sink);
                at += end + 1;
            } else {
                self.begun.extend_from_slice(rest);
                self.begun_at = start.ahead(at).place();
                return;
            }
        }
    }

    /// Gives the begun line, if it ends in these bytes; gives the length of what belongs to it.
    fn end_begun<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        if self.begun.is_empty() {
            return 0;
        }
        let Some(end) = memchr(b'\n', bytes) else {
            self.begun.extend_from_slice(bytes);
            return bytes.len();
        };
        self.begun.extend_from_slice(&bytes[..end]);
        let line = std::mem::take(&mut self.begun);
        self.give(self.begun_at, &line, sink);
        self.recycle(line);
        end + 1
    }

    /// Passes over lines that were skimmed.
    pub(super) fn pass<S: Sink>(&mut self, start: Start, stretch: &Stretch, sink: &mut S) {
        sink.pass(Place { line: self.next, ..start.place() }, stretch);
        self.count(stretch.lines);
    }

    fn give<S: Sink>(&mut self, place: Place, line: &[u8], sink: &mut S) {
        let place = Place { len: line.len() as u64, line: self.next, ..place };
        self.count(1);
        sink.line(place, line);
    }

    fn count(&mut self, lines: u64) {
        if self.next > 0 {
            self.next += lines;
        }
    }

    fn recycle(&mut self, mut line: Vec<u8>) {
        if line.capacity() <= KEPT_CAPACITY {
            line.clear();
            self.begun = line;
        }
    }

    /// Drops the begun line: what should follow it is lost.
    fn forget(&mut self) {
        self.begun.clear();
    }

    /// Passes on word of a stretch that could not be decoded.
    pub(super) fn lose<S: Sink>(&mut self, damage: Option<Damage>, sink: &mut S) {
        self.forget();
        if let Some(damage) = damage {
            sink.damage(damage);
        }
    }

    fn finish<S: Sink>(&mut self, sink: &mut S) {
        if !self.begun.is_empty() {
            let line = std::mem::take(&mut self.begun);
            self.give(self.begun_at, &line, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq)]
    struct Seen {
        lines: Vec<(Place, Vec<u8>)>,
        damages: Vec<Damage>,
    }

    impl Sink for Seen {
        fn line(&mut self, place: Place, line: &[u8]) {
            self.lines.push((place, line.to_vec()));
        }

        fn damage(&mut self, damage: Damage) {
            self.damages.push(damage);
        }
    }

    impl Seen {
        fn texts(&self) -> Vec<&[u8]> {
            self.lines.iter().map(|(_, line)| line.as_slice()).collect()
        }
    }

    fn frame(text: &[u8]) -> Vec<u8> {
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.include_checksum(true).unwrap();
        compressor.compress(text).unwrap()
    }

    fn decode(bytes: &[u8], cuts: &[usize]) -> Seen {
        let mut seen = Seen::default();
        let mut decoder = Decoder::new(Encoding::of(bytes), 0, 1);
        let mut from = 0;
        for cut in cuts.iter().copied().chain([bytes.len()]) {
            let cut = cut.clamp(from, bytes.len());
            decoder.push(&bytes[from..cut], &mut seen);
            from = cut;
        }
        decoder.finish(&mut seen);
        seen
    }

    #[test]
    fn only_a_newline_ends_a_line() {
        let seen = decode(b"a\r\nb\0c\n\n\xff\xfe\xe2\x80\xa8d\ne", &[]);
        assert_eq!(seen.texts(), [&b"a\r"[..], b"b\0c", b"", b"\xff\xfe\xe2\x80\xa8d", b"e"]);
        let starts: Vec<u64> = seen.lines.iter().map(|(place, _)| place.offset).collect();
        assert_eq!(starts, [0, 3, 7, 8, 15]);
        let numbers: Vec<u64> = seen.lines.iter().map(|(place, _)| place.line).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_line_may_run_over_frames() {
        let (first, second) = (frame(b"one\ntw"), frame(b"o\nthree\n"));
        let seen = decode(&[first.clone(), second].concat(), &[]);
        assert_eq!(seen.texts(), [&b"one"[..], b"two", b"three"]);
        assert_eq!(seen.lines[1].0, Place { offset: 0, inner: 4, len: 3, line: 2 });
        assert_eq!(
            seen.lines[2].0,
            Place { offset: first.len() as u64, inner: 2, len: 5, line: 3 }
        );
        assert_eq!(seen.damages, []);
    }

    #[test]
    fn garbage_between_frames_costs_only_itself() {
        let (first, second) = (frame(b"one\n"), frame(b"two\n"));
        let bytes = [&first[..], b"garbage, and more of it", &second].concat();
        let seen = decode(&bytes, &[]);
        assert_eq!(seen.texts(), [&b"one"[..], b"two"]);
        assert_eq!(seen.damages.len(), 1, "{:?}", seen.damages);
        assert_eq!(seen.damages[0].offset, Some(first.len() as u64));
    }

    #[test]
    fn a_frame_cut_short_does_not_swallow_the_next() {
        let (first, torn, third) = (frame(b"one\n"), frame(&[b'x'; 9000]), frame(b"three\n"));
        for cut in 1..torn.len() {
            let bytes = [&first[..], &torn[..cut], &third].concat();
            let seen = decode(&bytes, &[]);
            assert_eq!(seen.texts().last(), Some(&&b"three"[..]), "cut at {cut}");
            assert_eq!(seen.damages.len(), 1, "cut at {cut}: {:?}", seen.damages);
            assert_eq!(seen.damages[0].offset, Some(first.len() as u64), "cut at {cut}");
        }
    }

    #[test]
    fn a_frame_with_a_bad_checksum_is_shown_and_told_of() {
        let (mut first, second) = (frame(b"one\ntwo\n"), frame(b"three\n"));
        *first.last_mut().unwrap() ^= 1;
        let seen = decode(&[first, second].concat(), &[]);
        assert_eq!(seen.texts(), [&b"one"[..], b"two", b"three"]);
        assert_eq!(seen.damages.len(), 1);
        assert_eq!(seen.damages[0].offset, Some(0));
    }

    #[test]
    fn a_torn_last_frame_keeps_its_whole_lines() {
        let text: Vec<u8> = (0..40_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let whole = frame(&text);
        let seen = decode(&whole[..whole.len() - 2], &[]);
        assert_eq!(seen.lines.len(), 40_000);
        assert_eq!(seen.damages.len(), 1);
        let half = decode(&whole[..whole.len() / 2], &[]);
        assert!(half.lines.len() > 1000, "{}", half.lines.len());
        assert!(
            half.lines
                .iter()
                .zip(0..)
                .all(|((_, line), n)| *line == format!("line {n}").into_bytes())
        );
        assert_eq!(half.damages.len(), 1);
    }

    fn stored() -> impl Strategy<Value = Vec<u8>> {
        let text = prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'}'), any::<u8>()],
            0..200,
        );
        let broken = prop::collection::vec(any::<u8>(), 0..30);
        let piece = prop_oneof![
            4 => text.clone().prop_map(|text| frame(&text)),
            1 => text.clone().prop_map(|text| { let whole = frame(&text); whole[..whole.len() / 2].to_vec() }),
            1 => broken,
        ];
        let zstd = prop::collection::vec(piece, 1..6)
            .prop_map(|pieces| [frame(b"head\n"), pieces.concat()].concat());
        prop_oneof![text, zstd]
    }

    proptest! {
        #[test]
        fn any_cut_into_pieces_gives_the_same(bytes in stored(), mut cuts in prop::collection::vec(0usize..1500, 0..12)) {
            cuts.sort_unstable();
            let whole = decode(&bytes, &[]);
            prop_assert_eq!(&decode(&bytes, &cuts), &whole);
            let single: Vec<usize> = (0..bytes.len()).collect();
            prop_assert_eq!(&decode(&bytes, &single), &whole);
        }
    }
}
