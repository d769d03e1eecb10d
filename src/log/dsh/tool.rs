//! What the tools of dsh are, and what their answers mean.

use super::row::{ToolOutput, text};
use crate::session::CommandOutcome;
use crate::session::event::EditOutcome;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a tool call is to a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolKind {
    /// It changes the file at this path, as the agent spells it.
    Edit(String),
    /// It may change any file.
    Command {
        /// The command line, or the tool's name.
        line: String,
        /// A shell or a program.
        is_shell: bool,
    },
    /// It reads a file.
    Read,
    /// Nothing to a review.
    Other,
}

impl ToolKind {
    /// Whether sub-agents may do its work, in sessions of their own.
    pub(super) fn may_delegate(&self) -> bool {
        matches!(self, Self::Command { is_shell: false, .. })
    }
}

/// The arguments that tell what a call touches. The texts are read later, when they are asked for.
#[derive(Debug, Default, Deserialize)]
struct Touched<'a> {
    #[serde(borrow)]
    file_path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    command: Option<Cow<'a, str>>,
}

/// Arguments as JSON text: top-level calls hold them in a string, calls of programs as an object.
pub(super) fn arguments(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    if raw.starts_with('"') { serde_json::from_str(raw).ok() } else { Some(Cow::Borrowed(raw)) }
}

/// What a call is.
pub(super) fn kind(name: &str, raw: Option<&RawValue>) -> ToolKind {
    let json = arguments(raw).unwrap_or_default();
    let touched: Touched<'_> = serde_json::from_str(&json).unwrap_or_default();
    match name {
        "write" | "edit" => match touched.file_path {
            Some(path) => ToolKind::Edit(path.into_owned()),
            None => ToolKind::Other,
        },
        "str_replace_editor" => match (touched.command.as_deref(), touched.path) {
            (Some("create" | "str_replace" | "insert"), Some(path)) => {
                ToolKind::Edit(path.into_owned())
            }
            _ => ToolKind::Other,
        },
        "bash" | "run_code" | "cordis_run" => ToolKind::Command {
            line: touched.command.map_or_else(|| name.to_owned(), Cow::into_owned),
            is_shell: true,
        },
        // A delegate works in the same directory; its own log tells what it did.
        "subagent" | "subagent_fork" | "workflow" => {
            ToolKind::Command { line: name.to_owned(), is_shell: false }
        }
        "read" => ToolKind::Read,
        _ => ToolKind::Other,
    }
}

/// How an edit went. `error` is the result's error object, or null.
pub(super) fn edit_outcome(output: &ToolOutput<'_>, error: &Value) -> EditOutcome {
    if !output.failed && error.is_null() {
        return EditOutcome::Applied;
    }
    let code = error["code"].as_str().unwrap_or_default();
    let words = text(output.content);
    let refused_by_code = ["DENIED", "REJECTED", "APPROVAL"].iter().any(|part| code.contains(part));
    if refused_by_code || is_refusal(&words) { EditOutcome::Denied } else { EditOutcome::Failed }
}

/// Refusals by a person, a policy or a hook carry no code, only these words.
fn is_refusal(words: &str) -> bool {
    let words = words.strip_prefix("Error: ").unwrap_or(words);
    [
        "the user rejected tool",
        "tool output rejected by policy",
        "tool call rejected",
        "[sandbox: file access denied",
    ]
    .iter()
    .any(|start| words.starts_with(start))
}

/// The exit code and outcome of a command, as far as its answer tells.
pub(super) fn command_outcome(
    output: &ToolOutput<'_>,
    error: &Value,
) -> (Option<i32>, CommandOutcome) {
    let words = text(output.content);
    if let Some(code) = exit_code(&words) {
        let outcome = if code == 0 { CommandOutcome::Passed } else { CommandOutcome::Failed };
        return (Some(code), outcome);
    }
    if output.failed || !error.is_null() {
        return (None, CommandOutcome::Failed);
    }
    (None, CommandOutcome::Unknown)
}

/// `[shell exited: code 9]` stands on a line of its own behind the output.
fn exit_code(words: &str) -> Option<i32> {
    let line = words.lines().rev().take(4).find(|line| line.starts_with("[shell exited: code "))?;
    line.strip_prefix("[shell exited: code ")?.strip_suffix(']')?.parse().ok()
}
