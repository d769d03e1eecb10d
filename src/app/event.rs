//! What can happen, and what may be asked of the world. Plain values: logged, compared, replayed.

use super::chord::Chord;
use super::picker::SessionRow;
use crate::content::{Changes, FileChange};
use crate::diff::{Comparison, Text};
use crate::layout::Plan;
use crate::reader::{Base, Brief, Counts, Shown, Touch, TurnHead};
use crate::session::archive::Archive;
use crate::session::{RanCommand, SessionInfo};
use std::sync::Arc;

/// Something happened outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A key was pressed.
    Key(Chord),
    /// Text was pasted.
    Paste(String),
    /// The screen has another size (columns, rows).
    Resize(u16, u16),
    /// The process was stopped and goes on: draw everything anew.
    Resumed,
    /// A signal asks to stop for a while.
    Suspend,
    /// A signal asks to end.
    Quit,
    /// What is known of the session as a whole.
    Info(Box<SessionInfo>),
    /// The turns from index `from` on are now these.
    Turns {
        /// 0-based index in the list of turns.
        from: usize,
        /// Those that follow.
        turns: Archive<TurnHead>,
    },
    /// All that the log held at the start has been read (or a part of it: false).
    Indexed(bool),
    /// How the log is followed.
    Live(Live),
    /// What a turn changed.
    Changes {
        /// The turn's number.
        turn: u32,
        /// For which state of the turn.
        revision: u64,
        /// Against what.
        base: Base,
        /// The changed files; none where nothing is known to have changed.
        changes: Result<Option<Arc<Changes>>, String>,
    },
    /// Counts of some of a turn's files.
    Counted {
        /// The turn's number.
        turn: u32,
        /// For which state of the turn.
        revision: u64,
        /// Against what.
        base: Base,
        /// 0-based index in `Changes::files`, and what was counted.
        counts: Vec<(usize, Counts)>,
    },
    /// A comparison is there.
    Compared {
        /// The number of the request.
        request: u64,
        /// What there is to show.
        shown: Shown,
    },
    /// A search is done.
    Found {
        /// The number of the request.
        request: u64,
        /// The rows of the plan that hold a match, in order.
        rows: Vec<u32>,
    },
    /// The commands of some turns, by the turn's number.
    Commands(Vec<(u32, Vec<RanCommand>)>),
    /// What a command printed.
    Output {
        /// The number of the request.
        request: u64,
        /// What it printed, or why that cannot be shown.
        output: Result<Arc<Text>, String>,
    },
    /// The turns that changed a file.
    History {
        /// The number of the request.
        request: u64,
        /// In order.
        touches: Vec<Touch>,
    },
    /// The sessions of this machine, newest first.
    Sessions(Vec<SessionRow>),
    /// What was found out of one of those sessions.
    Brief {
        /// The number of the request.
        request: u64,
        /// Its 0-based place among all of them.
        at: usize,
        /// How many turns, and its title.
        brief: Brief,
    },
    /// A session of this directory has begun that is newer than the one shown.
    Newer(Box<SessionRow>),
    /// Something to tell in the status bar.
    Warning(String),
    /// What the recorder does, in a few words; none when it does nothing.
    Recorder(Option<String>),
}

/// How the log is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Live {
    /// It is not: a demo, two trees, standard input.
    #[default]
    Off,
    /// The system tells of changes.
    Watching,
    /// Looked at once a second.
    Polling,
    /// The log is gone.
    Gone,
}

/// What to compare.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A changed file.
    Change(Box<FileChange>),
    /// A changed file, whatever its size.
    Anyway(Box<FileChange>),
    /// A presented file as it is on disk now, absolute path.
    Present(std::path::PathBuf),
}

impl Subject {
    /// The changed file, if it is one.
    pub fn change(&self) -> Option<&FileChange> {
        match self {
            Self::Change(change) | Self::Anyway(change) => Some(change),
            Self::Present(_) => None,
        }
    }
}

impl Subject {
    /// The file's path, as its list spells it or absolute.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Change(change) | Self::Anyway(change) => Some(change.file.path.clone()),
            Self::Present(path) => path.to_str().map(str::to_owned),
        }
    }
}

/// Something the world is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// End.
    Quit,
    /// Stop the process as the shell's job control expects.
    Suspend,
    /// Find out what a turn changed; the answer is `Event::Changes`.
    LoadChanges {
        /// The turn's number.
        turn: u32,
        /// For which state of the turn.
        revision: u64,
        /// Against what.
        base: Base,
    },
    /// Count the files of a turn; the answers are `Event::Counted`.
    Count {
        /// The turn's number.
        turn: u32,
        /// For which state of the turn.
        revision: u64,
        /// Against what.
        base: Base,
        /// The files.
        changes: Arc<Changes>,
    },
    /// Compare; the answers are `Event::Compared`, a coarse one first where time runs out.
    Compare {
        /// The number of the request; a higher one cancels the lower ones.
        request: u64,
        /// What.
        subject: Subject,
    },
    /// Find out which turns changed a file; the answer is `Event::History`.
    FindHistory {
        /// The number of the request.
        request: u64,
        /// A turn's number.
        turn: u32,
        /// The file's path in that turn.
        path: String,
    },
    /// Find the sessions of this machine; the answer is `Event::Sessions`.
    FindSessions,
    /// Count the turns of these sessions, in this order; the answers are `Event::Brief`.
    CountTurns {
        /// The number of the request; a higher one cancels the lower ones.
        request: u64,
        /// Each with its 0-based place among all sessions.
        rows: Vec<(usize, SessionRow)>,
    },
    /// Nobody waits for the turns of sessions any more.
    StopCounting,
    /// Show this session from now on.
    OpenSession(Box<SessionRow>),
    /// Show this branch of the session from now on (the first is 1); none: the live one.
    ShowBranch(Option<u32>),
    /// Nobody waits for a comparison any more.
    CancelCompare,
    /// Find out which commands ran in a turn; the answer is `Event::Commands`.
    LoadCommands {
        /// The turn's number.
        turn: u32,
    },
    /// Read what a command printed; the answer is `Event::Output`.
    LoadOutput {
        /// The number of the request.
        request: u64,
        /// The turn's number.
        turn: u32,
        /// The command's 0-based place in the turn's list.
        nth: usize,
    },
    /// Search the lines; the answer is `Event::Found`.
    Search {
        /// The number of the request.
        request: u64,
        /// Lower case matches both cases; anything upper case makes it exact.
        pattern: String,
        /// Where.
        comparison: Arc<Comparison>,
        /// The rows to tell of.
        plan: Arc<Plan>,
    },
}
