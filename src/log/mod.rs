//! An agent's log: bytes → lines → events. Reading never fails: what cannot be read becomes damage.
//!
//! [`source`] holds the stored bytes; [`decode`] makes lines of them; [`open`] finds the format and
//! feeds its reader (and reads the logs of the session's sub-agents behind it: `companions`); [`tail`] does that for a log that grows; [`discover`] finds logs. A format is a
//! [`LogFormat`] and one line in [`FORMATS`].

mod acp;
pub mod again;
mod ahead;
mod branches;
mod claude;
mod codex;
mod companions;
pub mod decode;
mod digest;
pub mod discover;
pub mod dsh;
mod entries;
mod frames;
mod gemini;
mod head;
mod ids;
pub(crate) mod lazy;
mod lines;
mod loose;
mod messages;
mod newest;
pub mod open;
mod opencode;
mod patch_text;
mod pi;
mod present;
mod row;
pub mod rows;
pub mod source;
pub mod tail;
pub(crate) mod timestamp;
mod unified;
mod watch;
mod whole;

pub use companions::Companion;
pub use patch_text::patched_paths;

use crate::session::Damage;
use crate::session::event::{Delegation, EditBody, LogEvent, Place};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How one agent writes its log.
pub trait LogFormat: Sync + Send {
    /// As `--format` takes it: `dsh`, `claude`, …
    fn name(&self) -> &'static str;

    /// Whether these first rows of a log (at most ten that parse, as JSON objects) are of this format.
    fn recognizes(&self, rows: &[serde_json::Value]) -> bool;

    /// A reader for one log, at its beginning.
    fn reader(&self) -> Box<dyn LogReader>;

    /// A reader for the log at this path: for formats that keep something of a session beside its
    /// log (backups, the project's directory). A log from standard input has no path.
    fn reader_at(&self, path: &Path) -> Box<dyn LogReader> {
        let _ = path;
        self.reader()
    }

    /// What an edit did, from the row of its call and the row of its result, where the index keeps
    /// places instead of texts. `nth` is the edit's place among those of its call (0-based).
    fn edit_body(&self, call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody;

    /// A file's whole text from the row that holds it.
    fn known_text(&self, row: &[u8]) -> Option<String> {
        let _ = row;
        None
    }

    /// The output of a command from the row of its result.
    fn command_output(&self, row: &[u8]) -> Option<String> {
        let _ = row;
        None
    }

    /// A log that is not lines (a data base, one JSON document, a folder): how to read it whole.
    fn whole(&self) -> Option<&dyn WholeLog> {
        None
    }

    /// How to see from the bytes of lines that they tell nothing, without a reader; none: each
    /// line has to be read.
    fn skim(&self) -> Option<Skim> {
        None
    }

    /// Bytes that stand in every row that begins a turn (and perhaps in others), so that the newest
    /// turn can be looked for from the end of the log; none: it can only be read from its start.
    fn turn_start_mark(&self) -> Option<&'static [u8]> {
        None
    }

    /// The logs of the sub-agents that these calls of the session at `path` called, as far as they
    /// are there. Asked only where there are calls; quick.
    fn companions(&self, path: &Path, calls: &[Delegation]) -> Vec<Companion> {
        let _ = (path, calls);
        Vec::new()
    }

    /// The sessions of this agent on this machine, in no order; those of `cwd` where one is given.
    /// Quick: it reads the head of a log at most, and skips what it cannot read.
    fn discover(&self, places: &Places, cwd: Option<&Path>) -> Vec<FoundSession> {
        let _ = (places, cwd);
        Vec::new()
    }
}

/// A log that is read as a whole, again each time it changes.
pub trait WholeLog: Sync {
    /// Whether this file or folder is such a log; `head` is its first 4 KiB (empty for a folder).
    fn recognizes(&self, path: &Path, head: &[u8]) -> bool;

    /// Something that differs when the log's content may differ.
    fn version(&self, path: &Path) -> io::Result<u64>;

    /// Reads it all; `session` picks one where the log holds several (none: the newest). The
    /// events begin with `Reset`. Now and then `so_far` is given what has been told by then, and
    /// may take it away: a log may tell more than memory should hold at once.
    ///
    /// # Errors
    /// It cannot be read, or `so_far` says that nobody wants more of it (`Interrupted`).
    fn read(
        &self,
        path: &Path,
        session: Option<&str>,
        out: &mut Output,
        so_far: &mut SoFar<'_>,
    ) -> io::Result<()>;
}

/// Takes what a log that is read as a whole has told so far, or not; says whether to go on.
pub type SoFar<'a> = dyn FnMut(&mut Output) -> bool + 'a;

/// Where agents keep their things, taken from the environment once, at the start.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The home directory.
    pub home: PathBuf,
    /// The environment variables that agents look at (`DSH_HOME`, `CLAUDE_CONFIG_DIR`,
    /// `CODEX_HOME`, `XDG_DATA_HOME`, …), by name.
    pub env: std::collections::HashMap<String, String>,
}

/// A session found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSession {
    /// The format's name.
    pub format: &'static str,
    /// The agent's own session id.
    pub id: String,
    /// What `--session` takes to open it.
    pub path: PathBuf,
    /// Its working directory.
    pub cwd: Option<PathBuf>,
    /// Its title, or its first prompt, where that is cheap to know.
    pub title: Option<String>,
    /// When its log changed last.
    pub modified: SystemTime,
}

/// Takes a log's lines in order and tells what they say.
pub trait LogReader: Send {
    /// Takes one line (without its `\n`; perhaps empty, perhaps not JSON, perhaps not UTF-8) and
    /// appends what it tells. Must be quick for lines that tell nothing: look at the bytes first.
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output);

    /// Whether this reader cuts lines that hold several rows by itself (see [`rows::split`]). If
    /// not, it is given each row as a line of its own.
    fn splits_rows(&self) -> bool {
        false
    }

    /// Takes a stretch that was skimmed, as if each of its lines had been read. `place` is that of
    /// its first line, of unknown length.
    fn pass(&mut self, place: Place, stretch: &Stretch, out: &mut Output) {
        let _ = (place, stretch, out);
    }

    /// Lines may be missing before the next one (a damage, or a start in mid-log).
    fn gap(&mut self) {}

    /// Tells this branch instead of the live one, if there is such a branch (the first is 1). Comes
    /// before the first line. Only logs whose entries form a tree have several.
    fn choose_branch(&mut self, branch: u32) {
        let _ = branch;
    }

    /// The bytes so far are all that there are at the moment.
    fn caught_up(&mut self, out: &mut Output) {
        let _ = out;
    }
}

/// Looks at text that begins with a line, and gives the stretch of whole lines there that tell
/// nothing, if there is one. The same text always gives the same.
pub type Skim = fn(&[u8]) -> Option<Stretch>;

/// Whole lines that tell nothing, with numbers that follow on one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Their length in bytes, each `\n` counted.
    pub bytes: usize,
    /// How many lines.
    pub lines: u64,
    /// The number of the first event that the lines stand for.
    pub first: u64,
    /// The number that the next row should have.
    pub next: u64,
}

/// What lines told.
#[derive(Debug, Default)]
pub struct Output {
    /// In order.
    pub events: Vec<LogEvent>,
    /// What could not be read.
    pub damages: Vec<Damage>,
}

/// Every format, in the order in which they are tried.
#[rustfmt::skip] // one a line
pub const FORMATS: &[&dyn LogFormat] = &[
    &opencode::Opencode,
    &codex::Codex,
    &dsh::Dsh,
    &pi::Pi,
    &acp::Acp,
    &gemini::Gemini,
    &claude::Claude,
];
