//! The newest turn of a long log, found from its end, so that it can be shown before the log is indexed.

use super::decode::{Decoder, Encoding, Sink};
use super::frames::MAGIC;
use super::lines::{Feed, Feeding};
use super::source::{PIECE, Stored};
use super::{LogFormat, Output};
use crate::session::Damage;
use crate::session::event::{LogEvent, Place};
use memchr::{memchr, memmem, memrchr};
use std::io;
use std::path::Path;

/// A log shorter than this is indexed at once.
const SHORT: u64 = 4 << 20;

/// How far from the end a turn's start is looked for, in stored bytes.
const REACH: u64 = 64 << 20;

/// How many places are looked at more closely.
const TRIES: usize = 4096;

/// What the newest turn tells, and what is known of the session from the log's head, behind a
/// `Reset`. None where the log is short, or where the turn is not soon found.
pub(super) fn newest_turn(
    stored: &Stored,
    forced: Option<&'static dyn LogFormat>,
) -> io::Result<Option<(&'static dyn LogFormat, Output)>> {
    let len = stored.len()?;
    if len < SHORT {
        return Ok(None);
    }
    let Some((format, mut events)) = head(stored, forced)? else { return Ok(None) };
    let Some(mark) = format.turn_start_mark() else { return Ok(None) };
    let search = Search { stored, format, mark, len };
    let encoding = stored.encoding()?;
    let start = match encoding {
        Encoding::Plain => search.plain()?,
        Encoding::Zstd => search.zstd()?,
    };
    let Some(start) = start else { return Ok(None) };
    let told = search.read_from(start, encoding)?;
    let Some(begun) = told.iter().rposition(|event| matches!(event, LogEvent::TurnStart { .. }))
    else {
        return Ok(None);
    };
    let Some(newest) = told.get(begun).and_then(LogEvent::turn) else { return Ok(None) };
    let ahead = told.into_iter().enumerate().filter(|(at, event)| {
        let header = matches!(event, LogEvent::Header(_));
        header || (*at >= begun && event.turn() == Some(newest))
    });
    events.extend(ahead.map(|(_, event)| event));
    Ok(Some((format, Output { events, damages: Vec::new() })))
}

/// The format, and a `Reset` with what the first rows say of the session as a whole.
fn head(
    stored: &Stored,
    forced: Option<&'static dyn LogFormat>,
) -> io::Result<Option<(&'static dyn LogFormat, Vec<LogEvent>)>> {
    let mut bytes = vec![0; PIECE];
    let read = stored.read_at(0, &mut bytes)?;
    let mut feed = Feed::new(forced, Path::new(""));
    let mut out = Output::default();
    let mut decoder = Decoder::new(Encoding::of(&bytes), 0, 1);
    decoder.push(&bytes[..read], &mut Feeding { feed: &mut feed, out: &mut out });
    feed.caught_up(&mut out);
    let headers = out.events.into_iter().filter(|event| matches!(event, LogEvent::Header(_)));
    let events = std::iter::once(LogEvent::Reset).chain(headers).collect();
    Ok(feed.format().map(|format| (format, events)))
}

struct Search<'a> {
    stored: &'a Stored,
    format: &'static dyn LogFormat,
    mark: &'static [u8],
    len: u64,
}

impl Search<'_> {
    /// The offset of the last line that begins a turn.
    fn plain(&self) -> io::Result<Option<u64>> {
        let mut window = Window::new(self.stored, self.len);
        let mut tries = 0;
        while window.back()? {
            for at in window.marks(self.mark) {
                let start = window.line_start(at)?;
                if self.begins_turn(&self.line(start)?) {
                    return Ok(Some(start));
                }
                tries += 1;
                if tries > TRIES {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// The line that begins at an offset, or its first part where it is long: a row that begins a
    /// turn is short.
    fn line(&self, start: u64) -> io::Result<Vec<u8>> {
        let mut line = vec![0; 4 << 10];
        let read = self.stored.read_at(start, &mut line)?;
        line.truncate(memchr(b'\n', &line[..read]).unwrap_or(read));
        Ok(line)
    }

    /// Whether a line begins a turn, as the format's own reader sees it.
    fn begins_turn(&self, line: &[u8]) -> bool {
        let mut out = Output::default();
        let mut reader = self.format.reader();
        reader.gap();
        reader.line(Place::default(), line, &mut out);
        out.events.iter().any(|event| matches!(event, LogEvent::TurnStart { .. }))
    }

    /// The offset of the last frame that holds a line which begins a turn. Frames cannot be walked
    /// backwards; a place with the magic number is a frame's start if it decodes up to the next.
    fn zstd(&self) -> io::Result<Option<u64>> {
        let mut window = Window::new(self.stored, self.len);
        let mut end = self.len;
        let mut tries = 0;
        while window.back()? {
            for at in window.marks(&MAGIC) {
                tries += 1;
                if tries > TRIES || end - at > REACH {
                    return Ok(None);
                }
                let Some(begins) = self.frame(at, end)? else { continue };
                if begins {
                    return Ok(Some(at));
                }
                end = at;
            }
        }
        Ok(None)
    }

    /// Whether the frame from `start` to `end` holds a line that begins a turn; none if that is no
    /// frame. The last one may be torn.
    fn frame(&self, start: u64, end: u64) -> io::Result<Option<bool>> {
        let mut look = Look { search: self, begins: false, whole: true };
        let mut decoder = Decoder::new(Encoding::Zstd, start, 0);
        let mut bytes = vec![0; PIECE];
        let mut at = start;
        while at < end && look.whole {
            let wanted = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            let read = self.stored.read_at(at, &mut bytes[..wanted])?;
            if read == 0 {
                break;
            }
            decoder.push(&bytes[..read], &mut look);
            at += read as u64;
        }
        let broken = !look.whole;
        decoder.finish(&mut look);
        let torn = !look.whole && end < self.len;
        Ok((!broken && !torn).then_some(look.begins))
    }

    /// All that the log tells from an offset to its end.
    fn read_from(&self, start: u64, encoding: Encoding) -> io::Result<Vec<LogEvent>> {
        let mut feed = Feed::new(Some(self.format), Path::new(""));
        feed.gap();
        let mut out = Output::default();
        let mut decoder = Decoder::new(encoding, start, 0);
        let mut bytes = vec![0; PIECE];
        let mut at = start;
        loop {
            let read = self.stored.read_at(at, &mut bytes)?;
            if read == 0 {
                break;
            }
            decoder.push(&bytes[..read], &mut Feeding { feed: &mut feed, out: &mut out });
            at += read as u64;
        }
        Ok(out.events)
    }
}

/// Looks whether a frame is whole and holds the wanted line.
struct Look<'a, 'b> {
    search: &'a Search<'b>,
    begins: bool,
    whole: bool,
}

impl Sink for Look<'_, '_> {
    fn line(&mut self, _: Place, line: &[u8]) {
        let marked = !self.begins && memmem::find(line, self.search.mark).is_some();
        self.begins = self.begins || (marked && self.search.begins_turn(line));
    }

    fn damage(&mut self, _: Damage) {
        self.whole = false;
    }
}

/// A window on stored bytes that moves towards their start.
struct Window<'a> {
    stored: &'a Stored,
    bytes: Vec<u8>,
    /// Offset of its first byte.
    start: u64,
    /// Not before this offset.
    floor: u64,
}

/// How far a window overlaps the one behind it, so that no mark is cut in two.
const OVERLAP: usize = 64;

impl<'a> Window<'a> {
    fn new(stored: &'a Stored, len: u64) -> Self {
        Self { stored, bytes: Vec::new(), start: len, floor: len.saturating_sub(REACH) }
    }

    /// Moves back by one piece; false at the floor.
    fn back(&mut self) -> io::Result<bool> {
        if self.start <= self.floor {
            return Ok(false);
        }
        let step = (PIECE as u64).min(self.start - self.floor);
        let overlap = self.bytes.len().min(OVERLAP);
        self.start -= step;
        self.bytes.resize(usize::try_from(step).unwrap_or(PIECE) + overlap, 0);
        let read = self.stored.read_at(self.start, &mut self.bytes)?;
        self.bytes.truncate(read);
        Ok(true)
    }

    /// The offsets of a mark, last first.
    fn marks(&self, mark: &[u8]) -> Vec<u64> {
        let found = memmem::find_iter(&self.bytes, mark).map(|at| self.start + at as u64);
        let mut found: Vec<u64> = found.collect();
        found.reverse();
        found
    }

    /// The offset where the line around `at` begins.
    fn line_start(&self, at: u64) -> io::Result<u64> {
        let ahead = usize::try_from(at - self.start).unwrap_or(0);
        if let Some(end) = memrchr(b'\n', self.bytes.get(..ahead).unwrap_or_default()) {
            return Ok(self.start + end as u64 + 1);
        }
        // Before the window. A short row begins within 4 KiB; a longer one begins no turn.
        let from = self.start.saturating_sub(4 << 10);
        let mut before = vec![0; usize::try_from(self.start - from).unwrap_or(0)];
        let read = self.stored.read_at(from, &mut before)?;
        Ok(memrchr(b'\n', &before[..read]).map_or(from, |end| from + end as u64 + 1))
    }
}
