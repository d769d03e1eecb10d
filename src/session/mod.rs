//! The nouns of a review: session, turn, presented file, changed file, comparison. Plain values, no I/O.
//!
//! The JSON shapes are those of the outside interface: camelCase keys, one to one with `show --json`.

pub mod archive;
pub mod command;
pub mod event;
pub mod path;
pub mod transcript;

use serde::{Deserialize, Serialize};

/// What is known of a session as a whole, from its log's header and title rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionInfo {
    /// The agent's own session id.
    pub id: String,
    /// The name of the log format, as `--format` takes it: `dsh`, `claude`, …
    pub format: String,
    /// The log's path as opened; `-` for standard input, `demo` for the embedded session.
    pub path: String,
    /// The agent's working directory (absolute), or none where the log does not say.
    pub cwd: Option<String>,
    /// The session's title, the last one set.
    pub title: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: Option<i64>,
    /// Which branch of the session is shown, where it has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// What was unreadable, in file order.
    pub warnings: Vec<Damage>,
}

/// Which branch of a session is shown. The first one is 1; each turn that begins behind one which
/// another turn follows already (a rewind) begins the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// The one whose turns are told.
    pub shown: u32,
    /// The one that the agent is on.
    pub live: u32,
    /// How many there are.
    pub total: u32,
}

impl Branch {
    /// Whether the agent has left what is shown.
    pub fn is_aside(self) -> bool {
        self.shown != self.live
    }
}

/// One place of a log that could not be read, and why. Never fatal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// 1-based physical line, counted in the decoded text; none where no line can be named.
    pub line: Option<u64>,
    /// Byte offset in the file as stored (for a zstd log: of the frame).
    pub offset: Option<u64>,
    /// The cause, one line, without the file's name.
    pub message: String,
}

/// How a turn stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnState {
    /// No end yet: running, or its agent died.
    #[default]
    Open,
    /// The agent stopped by itself.
    Completed,
    /// Aborted by a person, a parent, or a crash.
    Interrupted,
    /// An error, or the token limit.
    Failed,
    /// A hook refused it.
    Blocked,
}

/// One prompt and all that the agent did until it stopped, as the outside sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// 1-based number of the turn in its session.
    pub turn: u32,
    /// How it stands.
    pub state: TurnState,
    /// The whole text of the turn's first human message; empty where there is none.
    pub prompt: String,
    /// Milliseconds since the Unix epoch.
    pub started_at: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub ended_at: Option<i64>,
    /// Declared deliverables: the latest per exact path, in first-seen order.
    pub presented: Vec<PresentedFile>,
    /// The commands that the agent ran.
    pub commands: Vec<RanCommand>,
    /// What changed; none where nothing is known to have changed.
    pub changes: Option<ChangesSummary>,
}

/// A file that the agent declared as a deliverable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PresentedFile {
    /// The path in the agent's own spelling.
    pub path: String,
    /// The path as shown to a person.
    pub display: String,
    /// What the agent says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tool call that declared it.
    pub call_id: String,
    /// What the disk says of it now.
    pub status: PresentStatus,
    /// Its size now, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What the disk says of a presented file now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PresentStatus {
    /// There, as far as is known as it was presented.
    Present,
    /// Not there.
    #[default]
    Missing,
    /// There, but modified after it was presented.
    Changed,
    /// It cannot be looked at.
    Denied,
}

/// A command that the agent ran in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RanCommand {
    /// The command line as the agent gave it.
    pub command: String,
    /// The exit code where the log has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it was for.
    pub kind: CommandKind,
    /// How it went.
    pub outcome: CommandOutcome,
}

/// What a command was for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandKind {
    /// It ran tests.
    Test,
    /// It built or type-checked.
    Build,
    /// It linted or checked a format.
    Lint,
    /// Anything else.
    #[default]
    Other,
}

/// How a command went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandOutcome {
    /// Exit code 0, or output that says so.
    Passed,
    /// Another exit code, or output that says so.
    Failed,
    /// The log does not tell.
    #[default]
    Unknown,
}

impl CommandKind {
    /// One word for a person; `$` for a command that is for nothing known.
    pub fn word(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Build => "build",
            Self::Lint => "lint",
            Self::Other => "$",
        }
    }
}

impl CommandOutcome {
    /// One sign for a person.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Passed => "✓",
            Self::Failed => "✗",
            Self::Unknown => "?",
        }
    }
}

/// The changed files of a turn (or of two trees).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangesSummary {
    /// The turn; none for a comparison of two trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The directory that `path` is relative to.
    pub cwd: String,
    /// In `display` order by UTF-16 code unit; capped by `--max-files`.
    pub files: Vec<ChangedFile>,
    /// How many files changed, listed or not.
    pub total: usize,
    /// Lines added, over all files.
    pub added: u64,
    /// Lines deleted, over all files.
    pub deleted: u64,
    /// The trees compared, where there are trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<TreePair>,
    /// Where the comparison comes from.
    #[serde(default)]
    pub source: ChangesSource,
}

/// Two tree ids, as hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePair {
    /// The tree before the turn.
    pub before: String,
    /// The tree after the turn.
    pub after: String,
}

/// Where a turn's changes are known from, best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangesSource {
    /// Our store: snapshots and captures.
    Recorded,
    /// Tree ids read from git.
    Snapshot,
    /// Whole texts rebuilt from the log.
    Replayed,
    /// Only the applied hunks are known.
    #[default]
    Hunks,
}

/// One changed file of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedFile {
    /// Relative to the working directory if inside it, else absolute.
    pub path: String,
    /// The path as shown to a person.
    pub display: String,
    /// Lines added.
    pub added: u64,
    /// Lines deleted.
    pub deleted: u64,
    /// A side is binary.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// A side is over `--max-file-bytes`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub oversized: bool,
    /// Who changed it.
    pub origin: Origin,
    /// What happened to it.
    pub status: FileStatus,
    /// Its path before a rename or copy, spelled like `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Its git mode before, octal (`100644`), where it had one and it differs or is special.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<String>,
    /// Its git mode after, octal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
}

/// Who changed a file in a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// A successful file tool call named it.
    #[default]
    Tool,
    /// A command ran in the turn and no file tool call named it.
    Shell,
    /// A file tool call named it, and something else changed it too.
    Mixed,
    /// Changed in a turn with no call that could have.
    Outside,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileStatus {
    /// New.
    Added,
    /// Gone.
    Deleted,
    /// Content changed.
    #[default]
    Modified,
    /// Moved, perhaps edited.
    Renamed,
    /// Made from another file.
    Copied,
    /// File, symbolic link or submodule: another of these than before.
    TypeChanged,
    /// Only the mode changed.
    ModeChanged,
}

impl FileStatus {
    /// The letter that lists show, git's where git has one; a mere change of mode is `m`.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Added => "A",
            Self::Deleted => "D",
            Self::Modified => "M",
            Self::Renamed => "R",
            Self::Copied => "C",
            Self::TypeChanged => "T",
            Self::ModeChanged => "m",
        }
    }
}

/// One comparison, to the letter of the outside interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum FileDiff {
    /// Two texts.
    #[serde(rename_all = "camelCase")]
    Text {
        /// As in the list.
        path: String,
        /// As in the list.
        display: String,
        /// Whether there was a file before.
        before: bool,
        /// Whether there is one after.
        after: bool,
        /// The changes with their context.
        hunks: Vec<Hunk>,
        /// Time ran out: all old lines deleted, all new lines added.
        coarse: bool,
        /// The only difference, or one beside others: the final newline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eof_newline: Option<EofNewline>,
    },
    /// A side is binary.
    Binary {
        /// As in the list.
        path: String,
        /// As in the list.
        display: String,
    },
    /// A side is too large to compare.
    Oversized {
        /// As in the list.
        path: String,
        /// As in the list.
        display: String,
    },
}

/// What became of a text's final newline, where that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EofNewline {
    /// It was missing and is there.
    Added,
    /// It was there and is missing.
    Removed,
}

/// One hunk with its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// 1-based first old line; 1 where the side has no lines; none where the place is not known.
    pub old_start: Option<u32>,
    /// How many old lines.
    pub old_lines: u32,
    /// 1-based first new line; 1 where the side has no lines; none where the place is not known.
    pub new_start: Option<u32>,
    /// How many new lines.
    pub new_lines: u32,
    /// Each with its `+`, `-` or space, without its line end.
    pub lines: Vec<String>,
}
