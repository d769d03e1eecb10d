//! An open log: which format it is, and its bytes fed to that format's reader, slice by slice.

use super::lines::Lines;
use super::newest::newest_turn;
use super::source::{Rows, Stored};
use super::{FORMATS, LogFormat, Output, WholeLog};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A log that cannot be opened or read at all. One line that names the file and the cause.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system says no.
    #[error("{}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// No format claims it.
    #[error("{}: {place}: not a session log of a known agent", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// How far it was looked at.
        place: String,
    },
    /// There is nothing in it.
    #[error("{}: line 1: the log is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// `--format` names none.
    #[error("--format {name}: no such format")]
    NoSuchFormat {
        /// As given.
        name: String,
    },
    /// `--session` names none.
    #[error("--session {name}: no such file, and no session with this id")]
    NoSuchSession {
        /// As given.
        name: String,
    },
}

/// How to open a log.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The format's name, where it is not to be found out; `auto` is as good as none.
    pub format: Option<String>,
    /// The session in a log that holds several.
    pub session: Option<String>,
}

/// How far a log has been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Stored bytes read.
    pub read: u64,
    /// Stored bytes that there were at the last look.
    pub total: u64,
    /// Nothing more to read at the moment.
    pub caught_up: bool,
}

/// An open log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    body: Body,
}

enum Body {
    Lines(Box<Lines>),
    Whole {
        format: &'static dyn LogFormat,
        whole: &'static dyn WholeLog,
        session: Option<String>,
        version: Option<u64>,
    },
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines(_) => "Lines",
            Self::Whole { .. } => "Whole",
        })
    }
}

impl LogFile {
    /// Opens a log by its path.
    ///
    /// # Errors
    /// The file cannot be read, or `options` names no format. That a file is of no known format
    /// shows while it is read.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, LogError> {
        let forced = forced(options.format.as_deref())?;
        let unreadable = |cause| LogError::Unreadable { path: path.to_owned(), cause };
        if let Some((format, whole)) = whole_format(path, forced).map_err(unreadable)? {
            let session = options.session.clone();
            let body = Body::Whole { format, whole, session, version: None };
            return Ok(Self { path: path.to_owned(), body });
        }
        let stored = Stored::open(path).map_err(unreadable)?;
        Self::from_stored(path, stored, options)
    }

    /// Opens a log whose bytes are at hand; `name` stands for its path in errors.
    pub fn from_stored(
        name: &Path,
        stored: Stored,
        options: &OpenOptions,
    ) -> Result<Self, LogError> {
        let forced = forced(options.format.as_deref())?;
        let lines = Lines::new(stored, forced, name);
        Ok(Self { path: name.to_owned(), body: Body::Lines(Box::new(lines)) })
    }

    /// Its path, or the name that stands for it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format, once that is known.
    pub fn format(&self) -> Option<&'static dyn LogFormat> {
        match &self.body {
            Body::Lines(lines) => lines.format(),
            Body::Whole { format, .. } => Some(*format),
        }
    }

    /// The stored bytes, for a log of lines.
    pub fn stored(&self) -> Option<&Stored> {
        match &self.body {
            Body::Lines(lines) => Some(lines.stored()),
            Body::Whole { .. } => None,
        }
    }

    /// A reader of single rows; none where the log is not lines (its events keep their texts).
    pub fn rows(&self) -> Option<io::Result<Rows>> {
        self.stored().map(|stored| Rows::new(stored.clone()))
    }

    /// The newest turn of a long log of lines, and the log's format, without reading all of it.
    /// The events begin with `Reset`; they are a first sight that the index replaces. None where
    /// the log is short enough to be indexed at once, or the turn's start is not near the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn newest_turn_first(&self) -> io::Result<Option<(&'static dyn LogFormat, Output)>> {
        match self.stored() {
            Some(stored) => newest_turn(stored, self.format()),
            None => Ok(None),
        }
    }

    /// Stored bytes read so far.
    pub fn position(&self) -> u64 {
        match &self.body {
            Body::Lines(lines) => lines.position(),
            Body::Whole { .. } => 0,
        }
    }

    /// Reads on for about `max_bytes` stored bytes and appends what they tell. The first events of
    /// a log begin with `Reset`.
    ///
    /// # Errors
    /// The file cannot be read, or is no log of a known format.
    pub fn step(&mut self, max_bytes: u64, out: &mut Output) -> Result<Progress, LogError> {
        match &mut self.body {
            Body::Lines(lines) => lines.step(&self.path, max_bytes, out),
            Body::Whole { whole, session, version, .. } => {
                let mut read = || -> io::Result<()> {
                    let now = whole.version(&self.path)?;
                    if *version != Some(now) {
                        whole.read(&self.path, session.as_deref(), out)?;
                        *version = Some(now);
                    }
                    Ok(())
                };
                read().map_err(|cause| LogError::Unreadable { path: self.path.clone(), cause })?;
                Ok(Progress { caught_up: true, ..Progress::default() })
            }
        }
    }

    /// Reads to the end and takes that for the log's end: what is torn there becomes damage.
    ///
    /// # Errors
    /// As for `step`; also an empty log, and one of which no format can be told.
    pub fn read_all(&mut self, out: &mut Output) -> Result<(), LogError> {
        while !self.step(u64::MAX, out)?.caught_up {}
        match &mut self.body {
            Body::Lines(lines) => lines.finish(&self.path, out),
            Body::Whole { .. } => Ok(()),
        }
    }
}

fn forced(name: Option<&str>) -> Result<Option<&'static dyn LogFormat>, LogError> {
    match name {
        None | Some("auto") => Ok(None),
        Some(name) => match FORMATS.iter().find(|format| format.name() == name) {
            Some(format) => Ok(Some(*format)),
            None => Err(LogError::NoSuchFormat { name: name.to_owned() }),
        },
    }
}

/// The format that reads this path as a whole, if there is one.
fn whole_format(
    path: &Path,
    forced: Option<&'static dyn LogFormat>,
) -> io::Result<Option<(&'static dyn LogFormat, &'static dyn WholeLog)>> {
    let head = if path.is_dir() { Vec::new() } else { head(path)? };
    let candidates =
        FORMATS.iter().filter(|format| forced.is_none_or(|f| f.name() == format.name()));
    Ok(candidates
        .filter_map(|format| Some((*format, format.whole()?)))
        .find(|(_, whole)| whole.recognizes(path, &head)))
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = vec![0; 4 << 10];
    let read = Stored::open(path)?.read_at(0, &mut head)?;
    head.truncate(read);
    Ok(head)
}
