//! What any agent's log tells, in neutral words. A format's reader gives these; `Transcript` adds them up.

use super::{Branch, CommandOutcome, TurnState};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One thing that a log tells.
///
/// Turn numbers are 1-based. A format whose log is not a plain sequence (branches, upserts, a data
/// base) may send `Reset` and then everything again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LogEvent {
    /// Forget all that was told before.
    Reset,
    /// Something known of the whole session; each `Some` replaces what was known.
    Header(Header),
    /// A turn begins.
    TurnStart {
        /// Its number.
        turn: u32,
        /// When, in milliseconds since the epoch.
        at: Option<i64>,
    },
    /// A human message of a turn. The first one is the turn's prompt.
    Prompt {
        /// Its turn.
        turn: u32,
        /// The whole text.
        text: String,
    },
    /// A turn ends (again: a later end replaces an earlier one).
    TurnEnd {
        /// Its number.
        turn: u32,
        /// When, in milliseconds since the epoch.
        at: Option<i64>,
        /// How.
        state: TurnState,
    },
    /// A file tool call; its outcome may come later as `EditSettled`.
    Edit(Edit),
    /// The result of an earlier `Edit` call (all edits of that call id in that turn).
    EditSettled {
        /// The turn of the call.
        turn: u32,
        /// The call.
        call_id: String,
        /// How it went.
        outcome: EditOutcome,
        /// Where the result stands.
        result: Option<Place>,
        /// What the edit did, where it is kept in memory and known better now.
        body: Option<Arc<EditBody>>,
    },
    /// Another tool call that could have changed files (a shell command, a program).
    Command(Command),
    /// The result of an earlier `Command`.
    CommandSettled {
        /// The turn of the call.
        turn: u32,
        /// The call.
        call_id: String,
        /// The exit code where the log has it.
        exit_code: Option<i32>,
        /// How it went, as far as the log says so itself.
        outcome: CommandOutcome,
        /// Where the output stands.
        result: Option<Place>,
        /// The output, where it is short or has no place of its own.
        output: Option<Arc<str>>,
    },
    /// The agent declared deliverables.
    Presented {
        /// Its turn.
        turn: u32,
        /// The call.
        call_id: String,
        /// When, in milliseconds since the epoch.
        at: Option<i64>,
        /// Path in the agent's spelling, and description.
        files: Vec<(String, Option<String>)>,
    },
    /// The host says that a turn changed the work tree (dsh `workspace/changes`).
    ChangesNoticed {
        /// The turn, which may have ended.
        turn: u32,
    },
    /// Any other tool result of a turn: the turn did something.
    ToolSettled {
        /// The turn.
        turn: u32,
    },
    /// The whole text of a file at this point of the log (a full read, a backup, an original).
    KnownText(KnownText),
    /// Tree ids of the work tree, from the log itself.
    Trees {
        /// The turn.
        turn: u32,
        /// The tree before it (or a commit of it), hexadecimal.
        before: Option<String>,
        /// The tree after it, hexadecimal.
        after: Option<String>,
        /// The git directory that holds them, where the log or the agent's layout says so.
        git_dir: Option<String>,
    },
    /// The session has several branches, of which one is told.
    Branches(Branch),
    /// A sub-agent was called whose work stands in a log of its own. `LogFile` reads that and tells
    /// it as events of this turn.
    Delegated(Delegation),
    /// All turns so far came from a parent session (fork).
    Inherited,
    /// The last `turns` turns left the conversation; their files stay as they are.
    RolledBack {
        /// How many.
        turns: u32,
    },
}

impl LogEvent {
    /// The turn that this belongs to; none where it tells of the session.
    pub fn turn(&self) -> Option<u32> {
        match self {
            Self::TurnStart { turn, .. }
            | Self::Prompt { turn, .. }
            | Self::TurnEnd { turn, .. }
            | Self::EditSettled { turn, .. }
            | Self::CommandSettled { turn, .. }
            | Self::Presented { turn, .. }
            | Self::ChangesNoticed { turn }
            | Self::ToolSettled { turn }
            | Self::Trees { turn, .. } => Some(*turn),
            Self::Edit(edit) => Some(edit.turn),
            Self::Command(command) => Some(command.turn),
            Self::KnownText(known) => Some(known.turn),
            Self::Delegated(call) => Some(call.turn),
            Self::Reset
            | Self::Header(_)
            | Self::Branches(_)
            | Self::Inherited
            | Self::RolledBack { .. } => None,
        }
    }
}

/// Something known of the whole session. Every field may be unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The agent's own session id.
    pub id: Option<String>,
    /// Absolute working directory.
    pub cwd: Option<String>,
    /// Title.
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: Option<i64>,
    /// The session that this one was forked or delegated from.
    pub parent: Option<String>,
    /// A delegated (sub-agent) session.
    pub is_subagent: Option<bool>,
    /// The commit that was checked out when the session began, hexadecimal.
    pub base_commit: Option<String>,
    /// The agent's version.
    pub agent_version: Option<String>,
}

/// Where a row stands in a log, so that it can be read again instead of kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Byte offset in the stored file: of the line, or of the zstd frame that holds it.
    pub offset: u64,
    /// Byte offset of the row in the decoded frame; in a plain log, of the row in its line (0 but
    /// where several rows are glued on one line).
    pub inner: u64,
    /// Byte length of the line without its end.
    pub len: u64,
    /// 1-based line in the decoded log.
    pub line: u64,
}

/// The tool name of an edit that no tool made: the agent's own snapshots of the work tree show the
/// change. Whoever asks who changed the file looks at the turn's commands.
pub const SNAPSHOT_TOOL: &str = "snapshot";

/// When something was done, and by whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Milliseconds since the epoch, where the log tells.
    pub at: Option<i64>,
    /// The sub-agent in whose own log it stands; none: it stands in the session's log.
    pub agent: Option<Arc<str>>,
}

impl Stamp {
    /// At this time, in the session's log.
    pub fn at(at: Option<i64>) -> Self {
        Self { at, agent: None }
    }

    /// Whether this goes before what stands already. What one log tells stays in its order; what
    /// several tell is in the order of time.
    pub fn goes_before(&self, other: &Self) -> bool {
        self.agent != other.agent && self.at.is_some() && self.at < other.at
    }
}

/// A call of a sub-agent that has a log of its own. Told again when more is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The turn of the call.
    pub turn: u32,
    /// The call.
    pub call_id: String,
    /// The sub-agent's id, once the log has it.
    pub agent: Option<String>,
    /// When it was called, in milliseconds since the epoch.
    pub at: Option<i64>,
    /// It has a result: whatever log the sub-agent has is there.
    pub is_settled: bool,
}

/// One file tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Its turn.
    pub turn: u32,
    /// The call; several edits may share one (a patch over many files).
    pub call_id: String,
    /// The tool's name in the log.
    pub tool: String,
    /// The path as the log spells it; relative to the session's working directory.
    pub path: String,
    /// How it went.
    pub outcome: EditOutcome,
    /// What it did.
    pub body: EditSource,
    /// When, and by whom.
    pub stamp: Stamp,
}

/// How a file tool call went. Only `Applied` is a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EditOutcome {
    /// No result yet.
    #[default]
    Pending,
    /// It succeeded.
    Applied,
    /// It failed.
    Failed,
    /// A person, a policy or a hook refused it.
    Denied,
}

/// Where an edit's texts are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EditSource {
    /// In memory.
    Kept(Arc<EditBody>),
    /// In these rows of the log; `LogFormat::edit_body` reads them.
    InLog {
        /// The row of the call.
        call: Place,
        /// The row of the result, once there is one.
        result: Option<Place>,
    },
}

/// What an edit did to one file. Line ends are as the log has them (often LF for a CRLF file).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditBody {
    /// The change, as an instruction that can be applied to a text.
    pub action: EditAction,
    /// The whole text before, where the log holds it.
    pub before: Option<String>,
    /// The whole text after, where the log holds it.
    pub after: Option<String>,
    /// The applied hunks, in file order, where the log holds them.
    pub hunks: Vec<AppliedHunk>,
    /// For a move: the path before.
    pub moved_from: Option<String>,
}

/// An edit as an instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EditAction {
    /// Not known beyond the hunks.
    #[default]
    Unknown,
    /// The file now holds just this.
    Write {
        /// The whole new text.
        content: String,
        /// Whether there was no file before, where the log tells.
        created: Option<bool>,
    },
    /// Replace texts, one pair after the other.
    Replace {
        /// Old and new text, and whether all places are meant.
        pairs: Vec<(String, String, bool)>,
    },
    /// Insert text behind a line.
    Insert {
        /// 0-based count of lines that stay above.
        after_line: u32,
        /// The text, without the newline that ends it.
        text: String,
    },
    /// The file is gone.
    Delete,
    /// Only moved (see `moved_from`), or mode changed.
    Keep,
}

/// A hunk as a log gives it: lines without numbers, or with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedHunk {
    /// 1-based first old line where the log gives it.
    pub old_start: Option<u32>,
    /// 1-based first new line where the log gives it.
    pub new_start: Option<u32>,
    /// The old lines with context, joined by LF, no final newline; none where there was no old line.
    pub old_text: Option<String>,
    /// The new lines with context, joined by LF, no final newline; none where there is no new line.
    pub new_text: Option<String>,
}

/// A tool call that could have changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its turn.
    pub turn: u32,
    /// The call.
    pub call_id: String,
    /// The command line, or the tool's name where it has none.
    pub command: String,
    /// Whether a shell (or a program) ran it; a mere read is not sent.
    pub is_shell: bool,
    /// When, and by whom.
    pub stamp: Stamp,
}

/// The whole text of a file at a point of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownText {
    /// The turn in which the log says so.
    pub turn: u32,
    /// The path as the log spells it.
    pub path: String,
    /// The text; none: the file was not there.
    pub text: KnownTextSource,
    /// When, and by whom.
    pub stamp: Stamp,
}

/// Where a known text is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KnownTextSource {
    /// The file was not there.
    Absent,
    /// In memory.
    Kept(Arc<str>),
    /// In this row of the log; `LogFormat::known_text` reads it.
    InLog(Place),
    /// In a file of the agent's own (a backup), absolute path.
    File(String),
    /// In a repository of the agent's own (a checkpoint).
    InTree {
        /// Its git directory, absolute path.
        git_dir: String,
        /// The commit or tree, hexadecimal.
        tree: String,
        /// The path in it, with slashes. One that is not there is not known.
        path: String,
    },
}
