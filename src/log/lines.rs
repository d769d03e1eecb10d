//! A log of lines: its bytes through the decoder, its first rows to the question which format it is, its lines to that format's reader.

use super::ahead;
use super::decode::{Decoder, Encoding, Sink};
use super::open::{LogError, Progress};
use super::source::{PIECE, Stored};
use super::{FORMATS, LogFormat, LogReader, Output, Skim, Stretch, rows};
use crate::session::Damage;
use crate::session::event::{LogEvent, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A log of lines and how far it has been read.
pub(super) struct Lines {
    stored: Stored,
    /// None until there are bytes enough to tell how the log is stored.
    decoder: Option<Decoder>,
    feed: Feed,
    read: u64,
    buffer: Vec<u8>,
    /// So many stored bytes are read at once by other threads: fewer where they tell much.
    slice: u64,
    /// What other threads read into.
    ahead: ahead::Buffers,
    /// The last stored bytes read.
    last: Vec<u8>,
}

/// A step ends when it has told so many events: each of them stands in memory until it is taken.
pub(super) const ENOUGH: usize = 1024;

/// So many of the last bytes read are remembered.
const REMEMBERED: usize = 256;

impl Lines {
    pub(super) fn new(stored: Stored, forced: Option<&'static dyn LogFormat>, path: &Path) -> Self {
        Self {
            stored,
            decoder: None,
            feed: Feed::new(forced, path),
            read: 0,
            buffer: vec![0; PIECE],
            slice: u64::MAX,
            ahead: ahead::Buffers::default(),
            last: Vec::new(),
        }
    }

    /// Tells this branch instead of the live one. Comes before the first step.
    pub(super) fn choose_branch(&mut self, branch: u32) {
        self.feed.branch = Some(branch);
        if let Some(reader) = &mut self.feed.reader {
            reader.choose_branch(branch);
        }
    }

    /// Whether a branch was chosen.
    pub(super) fn has_chosen_branch(&self) -> bool {
        self.feed.branch.is_some()
    }

    pub(super) fn format(&self) -> Option<&'static dyn LogFormat> {
        self.feed.format
    }

    pub(super) fn stored(&self) -> &Stored {
        &self.stored
    }

    pub(super) fn position(&self) -> u64 {
        self.read
    }

    /// Whether the stored bytes before the position are still those that were read there, as far as
    /// that is remembered: a log that was cut and has grown again past its old end is another log.
    pub(super) fn still_stands(&self) -> bool {
        let mut now = vec![0; self.last.len()];
        let start = self.read.saturating_sub(now.len() as u64);
        self.stored.read_at(start, &mut now).is_ok() && now == self.last
    }

    pub(super) fn step(
        &mut self,
        path: &Path,
        max_bytes: u64,
        out: &mut Output,
    ) -> Result<Progress, LogError> {
        let unreadable = |cause| LogError::Unreadable { path: path.to_owned(), cause };
        let end = self.read.saturating_add(max_bytes);
        let told = out.events.len();
        let mut caught_up = false;
        while self.read < end && !caught_up && out.events.len() - told < ENOUGH {
            if self.decoder.is_none()
                && let Some(encoding) = Encoding::of_start(&self.stored).map_err(unreadable)?
            {
                self.decoder = Some(Decoder::new(encoding, 0, 1));
                out.events.push(LogEvent::Reset);
            }
            let Some(decoder) = &mut self.decoder else {
                caught_up = true;
                break;
            };
            let known = self.feed.format.is_some();
            let mut sink = Feeding { feed: &mut self.feed, out };
            let there = self.stored.len().map_err(unreadable)?.saturating_sub(self.read);
            let pays = ahead::pays(decoder, &sink) && end - self.read >= ahead::WORTH;
            if known && pays && there >= ahead::WORTH {
                // The last piece is left to be read here, where its end is remembered.
                let slice = (there - PIECE as u64).min(end - self.read).min(self.slice);
                self.last.clear();
                let range = ahead::Range { stored: &self.stored, offset: self.read, len: slice };
                let read = ahead::push(range, decoder, &mut self.ahead, &mut sink);
                let read = read.map_err(unreadable)?;
                self.read += read;
                if out.events.len() - told > 2 * ENOUGH {
                    self.slice = (read / 2).max(ahead::WORTH);
                }
            } else {
                let read = self.stored.read_at(self.read, &mut self.buffer).map_err(unreadable)?;
                decoder.push(&self.buffer[..read], &mut sink);
                self.last.extend_from_slice(&self.buffer[read.saturating_sub(REMEMBERED)..read]);
                self.last.drain(..self.last.len().saturating_sub(REMEMBERED));
                self.read += read as u64;
                caught_up = read < self.buffer.len();
            }
            if self.feed.hopeless() {
                return Err(self.feed.unknown(path));
            }
            if out.events.len() - told >= ENOUGH {
                forget_moot(&mut out.events, told);
            }
        }
        if caught_up {
            // What comes from now on is read here.
            self.ahead = ahead::Buffers::default();
            self.feed.caught_up(out);
        }
        let total = self.stored.len().map_err(unreadable)?.max(self.read);
        Ok(Progress { read: self.read, total, caught_up })
    }

    pub(super) fn finish(&mut self, path: &Path, out: &mut Output) -> Result<(), LogError> {
        if let Some(decoder) = &mut self.decoder {
            decoder.finish(&mut Feeding { feed: &mut self.feed, out });
        }
        self.feed.caught_up(out);
        if self.feed.format.is_some() {
            Ok(())
        } else if self.read == 0 {
            Err(LogError::Empty { path: path.to_owned() })
        } else {
            Err(self.feed.unknown(path))
        }
    }
}

/// Of the events from this index on, takes away those after which all is told anew; says whether
/// that is so.
pub(super) fn forget_moot(events: &mut Vec<LogEvent>, from: usize) -> bool {
    let new = events.get(from..).unwrap_or_default();
    let anew = new.iter().rposition(|event| *event == LogEvent::Reset);
    if let Some(anew) = anew {
        events.drain(from..from + anew);
    }
    anew.is_some()
}

/// Lines to the reader of their format; the first ones wait until the format is known.
pub(super) struct Feed {
    /// Where the log is, or what stands for that.
    path: PathBuf,
    format: Option<&'static dyn LogFormat>,
    /// The branch to tell, where one was chosen.
    branch: Option<u32>,
    reader: Option<Box<dyn LogReader>>,
    /// Whether the reader cuts lines of several rows by itself.
    splits: bool,
    waiting: Vec<Waiting>,
    /// Bytes that wait.
    held: usize,
    /// The waiting rows that parse.
    rows: Vec<Value>,
}

enum Waiting {
    Line(Place, Vec<u8>),
    Damage(Damage),
}

/// So many rows that parse are enough to know a format by.
const ROWS: usize = 10;

/// Nor does a log wait for its format longer than this (in lines, and in bytes).
const WAITING: usize = 1000;
const HELD: usize = 4 << 20;

impl Feed {
    pub(super) fn new(forced: Option<&'static dyn LogFormat>, path: &Path) -> Self {
        let mut feed = Self {
            path: path.to_owned(),
            format: None,
            branch: None,
            reader: None,
            splits: false,
            waiting: Vec::new(),
            held: 0,
            rows: Vec::new(),
        };
        if let Some(format) = forced {
            feed.choose(format);
        }
        feed
    }

    fn choose(&mut self, format: &'static dyn LogFormat) {
        let mut reader = format.reader_at(&self.path);
        if let Some(branch) = self.branch {
            reader.choose_branch(branch);
        }
        self.splits = reader.splits_rows();
        self.reader = Some(reader);
        self.format = Some(format);
    }

    pub(super) fn format(&self) -> Option<&'static dyn LogFormat> {
        self.format
    }

    pub(super) fn caught_up(&mut self, out: &mut Output) {
        self.decide(out);
        if let Some(reader) = &mut self.reader {
            reader.caught_up(out);
        }
    }

    /// Asks the formats; when one claims the rows, all that waited is read.
    fn decide(&mut self, out: &mut Output) {
        if self.format.is_some() || self.rows.is_empty() {
            return;
        }
        let Some(format) = FORMATS.iter().find(|format| format.recognizes(&self.rows)) else {
            return;
        };
        self.choose(*format);
        self.rows.clear();
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Line(place, line) => self.line(place, &line, out),
                Waiting::Damage(damage) => self.damage(damage, out),
            }
        }
    }

    pub(super) fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        match &mut self.reader {
            Some(reader) if self.splits || !rows::may_be_glued(line) => {
                reader.line(place, line, out);
            }
            Some(reader) => {
                for (place, row) in rows::split(place, line) {
                    reader.line(place, row, out);
                }
            }
            None => self.wait(place, line, out),
        }
    }

    fn wait(&mut self, place: Place, line: &[u8], out: &mut Output) {
        self.held += line.len();
        for (_, row) in rows::split(place, line) {
            let parsed = serde_json::from_slice::<Value>(row).ok().filter(Value::is_object);
            self.rows.extend(parsed.filter(|_| self.rows.len() < ROWS));
        }
        self.waiting.push(Waiting::Line(place, line.to_vec()));
        if self.rows.len() >= ROWS || self.held > HELD {
            self.decide(out);
        }
    }

    pub(super) fn damage(&mut self, damage: Damage, out: &mut Output) {
        if let Some(reader) = &mut self.reader {
            reader.gap();
            out.damages.push(damage);
        } else {
            self.waiting.push(Waiting::Damage(damage));
        }
    }

    /// The next line may not be the one that follows the last.
    pub(super) fn gap(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.gap();
        }
    }

    /// No format claims what there was to look at.
    fn hopeless(&self) -> bool {
        let enough = self.rows.len() >= ROWS || self.waiting.len() > WAITING || self.held > HELD;
        self.format.is_none() && enough
    }

    fn unknown(&self, path: &Path) -> LogError {
        let place = match self.waiting.len() {
            1 => "line 1".to_owned(),
            lines => format!("lines 1 to {lines}"),
        };
        LogError::UnknownFormat { path: path.to_owned(), place }
    }
}

/// A feed while it takes lines.
pub(super) struct Feeding<'a> {
    pub(super) feed: &'a mut Feed,
    pub(super) out: &'a mut Output,
}

impl Sink for Feeding<'_> {
    fn line(&mut self, place: Place, line: &[u8]) {
        self.feed.line(place, line, self.out);
    }

    fn damage(&mut self, damage: Damage) {
        self.feed.damage(damage, self.out);
    }

    fn skim(&self) -> Option<Skim> {
        self.feed.format?.skim()
    }

    fn pass(&mut self, place: Place, stretch: &Stretch) {
        if let Some(reader) = &mut self.feed.reader {
            reader.pass(place, stretch, self.out);
        }
    }
}
