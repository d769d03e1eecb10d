//! What is kept of a session and its turns: plain values, one to one with the JSON of the rows.

use crate::content::{Changes, ContentId, FileChange, Pair};
use crate::session::{ChangedFile, ChangesSource, TreePair};
use serde::{Deserialize, Serialize};

/// What is kept of a session as a whole (`session.json`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeptSession {
    /// The name of the log format.
    pub format: String,
    /// The agent's own session id; empty where it has none.
    pub id: String,
    /// The log's path.
    pub path: String,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// How objects are named: by SHA-1 or SHA-256, as in the session's repository.
    pub objects: ObjectFormat,
    /// When the recording began, in milliseconds since the Unix epoch.
    pub created_at: i64,
}

/// Which hash names objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFormat {
    /// 40 hexadecimal digits.
    #[default]
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
}

/// The tree from which a turn started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// The turn.
    pub turn: u32,
    /// The tree's id; none where there is no repository, or the snapshot failed.
    pub tree: Option<String>,
    /// Taken when the turn was running already.
    #[serde(default)]
    pub late: bool,
    /// How long the snapshot took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// When, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub at: i64,
    /// The start of the prompt that begins the turn, where an agent's hook told of it: the log need
    /// not have told by then, so that the number is the expected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The agent was killed: nobody knows when the turn ended, and nothing is to be worked out from
    /// here on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

impl Baseline {
    /// Whether it was taken when a turn that began at `started` had begun, both in milliseconds
    /// since the Unix epoch. An agent writes the prompt to its log after its hooks have run.
    pub fn is_after(&self, started: i64) -> bool {
        const HOOKS_TAKE: i64 = 60_000;
        let lead = if self.prompt.is_some() { HOOKS_TAKE } else { 0 };
        self.at.saturating_add(lead) >= started
    }
}

/// A file as it was before a file tool call touched it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capture {
    /// The turn.
    pub turn: u32,
    /// The tool call.
    pub call_id: String,
    /// The file, absolute.
    pub path: String,
    /// The file then.
    pub side: KeptSide,
    /// When, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub at: i64,
}

/// The changed files of a turn, whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptTurn {
    /// 1-based number of the turn.
    pub turn: u32,
    /// When this was written, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub at: i64,
    /// The directory that paths are relative to.
    #[serde(default)]
    pub cwd: String,
    /// Every changed file in `display` order, not capped. Empty: nothing changed.
    #[serde(default)]
    pub files: Vec<KeptFile>,
    /// The trees compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<TreePair>,
    /// The baseline was taken when the turn was running already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Files that could not be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Lines for a person about the whole turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A file that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The file.
    pub path: String,
    /// Why.
    pub cause: String,
}

/// One changed file with both its sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptFile {
    /// As listed.
    pub file: ChangedFile,
    /// Before.
    pub old: KeptSide,
    /// After.
    pub new: KeptSide,
    /// Whether the counts in `file` are known.
    #[serde(default)]
    pub counted: bool,
    /// A line for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One side of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "side", rename_all = "camelCase")]
pub enum KeptSide {
    /// There is no file on this side.
    Absent,
    /// A git object.
    #[serde(rename_all = "camelCase")]
    Blob {
        /// Hexadecimal object id.
        id: String,
        /// Git mode of the file (0o100644, 0o120000, 0o160000 …).
        mode: u32,
        /// Size in bytes.
        bytes: u64,
        /// Why its content is not in the store; none: it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_kept: Option<NotKept>,
    },
}

/// Why a content is not in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", content = "cause", rename_all = "camelCase")]
pub enum NotKept {
    /// `record.exclude` names it.
    Excluded,
    /// Larger than `max-file-bytes`.
    TooLarge,
    /// The turn has added `record.max-bytes` already.
    TurnFull,
    /// It could not be read.
    Unreadable(String),
    /// It is no content: a submodule's commit.
    Submodule,
}

impl NotKept {
    fn words(&self) -> Option<String> {
        match self {
            Self::Excluded => Some("record.exclude names the file".into()),
            Self::TooLarge => Some("the file is over max-file-bytes".into()),
            Self::TurnFull => Some("the turn is over record.max-bytes".into()),
            Self::Unreadable(cause) => Some(cause.clone()),
            Self::Submodule => None,
        }
    }
}

impl KeptSide {
    /// The object that must be in the store for this side.
    pub fn kept_id(&self) -> Option<&str> {
        match self {
            Self::Blob { id, not_kept: None, .. } => Some(id),
            _ => None,
        }
    }

    /// The name under which a `Source` finds it. A content that is not kept may still be in the
    /// repository.
    pub fn content_id(&self) -> ContentId {
        match self {
            Self::Absent => ContentId::Absent,
            Self::Blob { id, bytes, not_kept: Some(NotKept::TooLarge), .. } => {
                ContentId::TooLarge { id: id.clone(), len: *bytes }
            }
            Self::Blob { id, mode, .. } => ContentId::Blob { id: id.clone(), mode: *mode },
        }
    }

    fn missing(&self) -> Option<String> {
        match self {
            Self::Blob { not_kept: Some(why), .. } => why.words(),
            _ => None,
        }
    }
}

impl KeptFile {
    /// What makes a comparison of it.
    pub fn change(&self) -> FileChange {
        FileChange {
            file: self.file.clone(),
            pair: Pair::Sides { old: self.old.content_id(), new: self.new.content_id() },
            counted: self.counted,
            note: self.note_with_missing(),
        }
    }

    fn note_with_missing(&self) -> Option<String> {
        let missing = match (self.old.missing(), self.new.missing()) {
            (None, None) => return self.note.clone(),
            (Some(old), Some(new)) if old == new => format!("content not kept: {old}"),
            (Some(old), None) => format!("content before not kept: {old}"),
            (None, Some(new)) => format!("content after not kept: {new}"),
            (Some(old), Some(new)) => format!("content not kept: {old} (before), {new} (after)"),
        };
        Some(
            self.note.as_ref().map_or_else(|| missing.clone(), |note| format!("{note}; {missing}")),
        )
    }
}

impl KeptTurn {
    /// Whether it was written when a turn that began at `started` had begun, both in milliseconds since
    /// the Unix epoch. If not, it is of another turn that had the same number.
    pub fn is_after(&self, started: i64) -> bool {
        self.at >= started
    }

    /// All that opens the turn's comparisons.
    pub fn changes(&self) -> Changes {
        let mut notes = self.notes.clone();
        if self.late {
            notes.push("the baseline was taken late: changes made before it are missing".into());
        }
        notes.extend(self.skipped.iter().map(|skip| format!("{}: {}", skip.path, skip.cause)));
        Changes {
            source: ChangesSource::Recorded,
            cwd: self.cwd.clone(),
            snapshot: self.snapshot.clone(),
            files: self.files.iter().map(KeptFile::change).collect(),
            notes,
        }
    }

    /// The objects that must be in the store for this turn.
    pub fn kept_ids(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| [file.old.kept_id(), file.new.kept_id()]).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(not_kept: Option<NotKept>) -> KeptSide {
        KeptSide::Blob { id: "ab".repeat(20), mode: 0o100_644, bytes: 3, not_kept }
    }

    fn file(old: KeptSide, new: KeptSide) -> KeptFile {
        KeptFile {
            file: ChangedFile::default(),
            old,
            new,
            counted: true,
            note: Some("moved".into()),
        }
    }

    #[test]
    fn a_file_says_which_side_is_not_kept_and_why() {
        let note = |old, new| file(old, new).change().note.unwrap();
        assert_eq!(note(KeptSide::Absent, blob(None)), "moved");
        assert_eq!(
            note(blob(Some(NotKept::TurnFull)), blob(None)),
            "moved; content before not kept: the turn is over record.max-bytes"
        );
        assert_eq!(
            note(blob(Some(NotKept::Excluded)), blob(Some(NotKept::Excluded))),
            "moved; content not kept: record.exclude names the file"
        );
        assert_eq!(note(blob(Some(NotKept::Submodule)), KeptSide::Absent), "moved");
    }

    #[test]
    fn only_kept_contents_must_be_there() {
        let turn = KeptTurn {
            turn: 1,
            files: vec![
                file(blob(None), blob(Some(NotKept::TooLarge))),
                file(KeptSide::Absent, blob(None)),
            ],
            ..KeptTurn::default()
        };
        assert_eq!(turn.kept_ids().count(), 2);
    }

    #[test]
    fn a_late_baseline_and_skipped_files_are_told() {
        let turn = KeptTurn {
            turn: 4,
            late: true,
            skipped: vec![Skipped { path: "a".into(), cause: "permission denied".into() }],
            ..KeptTurn::default()
        };
        let notes = turn.changes().notes;
        assert_eq!(notes.len(), 2);
        assert_eq!(notes[1], "a: permission denied");
    }
}
