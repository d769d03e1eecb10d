//! Tool calls in Gemini CLI's messages. A message gets them when they are done, result and all.

use crate::log::lazy::{Json, Object};
use crate::log::timestamp::millis;
use crate::session::CommandOutcome;
use crate::session::event::{AppliedHunk, EditAction, EditBody, EditOutcome};

/// A tool call: of a logged message, or a `tool_use` row of the `stream-json` output.
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: String,
    input: Object<'a>,
    record: Object<'a>,
}

/// Tools that change nothing.
const LOOKS: &[&str] = &[
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "search_file_content",
    "grep_search",
    "web_fetch",
    "google_web_search",
    "write_todos",
    "ask_user",
    "activate_skill",
    "get_internal_docs",
    "enter_plan_mode",
    "exit_plan_mode",
];

/// The calls that a record holds.
pub(super) fn all<'a>(record: &Object<'a>) -> Vec<Call<'a>> {
    if record.is("type", "tool_use") {
        let (id, name) = (record.string("tool_id"), record.string("tool_name"));
        let input = record.object("parameters");
        let call =
            id.zip(name).map(|(id, name)| Call { id, name, input, record: Object::default() });
        return call.into_iter().collect();
    }
    let calls = record.items("toolCalls").into_iter().map(Json::object);
    calls
        .filter_map(|call| {
            let (id, name) = (call.string("id")?, call.string("name")?);
            Some(Call { id, name, input: call.object("args"), record: call })
        })
        .collect()
}

impl Call<'_> {
    /// The file that the call edits.
    pub(super) fn edits(&self) -> Option<String> {
        if !matches!(self.name.as_str(), "write_file" | "replace" | "edit") {
            return None;
        }
        let path = self.record.object("resultDisplay").string("filePath");
        path.or_else(|| self.input.string("file_path"))
            .or_else(|| self.input.string("absolute_path"))
    }

    /// The shell command that the call runs.
    pub(super) fn shell(&self) -> Option<String> {
        (self.name == "run_shell_command").then(|| self.input.string("command").unwrap_or_default())
    }

    /// Whether the call changes nothing.
    pub(super) fn looks(&self) -> bool {
        LOOKS.contains(&self.name.as_str())
    }

    /// Whether the call may be of a sub-agent: these are called by their own names.
    pub(super) fn may_delegate(&self) -> bool {
        self.edits().is_none()
            && self.shell().is_none()
            && self.presents().is_none()
            && !self.looks()
    }

    /// The deliverables that the call declares.
    pub(super) fn presents(&self) -> Option<Vec<(String, Option<String>)>> {
        if !(self.name == "present"
            || self.name.ends_with("__present")
            || self.name == "mcp_handback_present")
        {
            return None;
        }
        let file = |file: Json<'_>| {
            let file = file.object();
            Some((file.string("path")?, file.string("description")))
        };
        Some(self.input.items("files").into_iter().filter_map(file).collect())
    }

    /// When it was done, in milliseconds since the epoch.
    pub(super) fn done_at(&self) -> Option<i64> {
        self.record.get("timestamp").and_then(millis)
    }

    /// How the call went.
    pub(super) fn outcome(&self) -> EditOutcome {
        outcome(&self.record)
    }

    /// How the shell command went: the exit code is named only where it is not 0.
    pub(super) fn command(&self) -> (Option<i32>, CommandOutcome) {
        let said = self.output();
        command(self.outcome(), &said)
    }

    /// What the tool said to the model.
    pub(super) fn output(&self) -> String {
        let results = self.record.items("result").into_iter().map(Json::object);
        let responses = results.map(|result| result.object("functionResponse").object("response"));
        let texts =
            responses.filter_map(|said| said.string("output").or_else(|| said.string("error")));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// What the call did. The texts of the display are what was written, with what a person
    /// changed in the dialog.
    pub(super) fn body(&self) -> EditBody {
        let display = self.record.object("resultDisplay");
        let is_new = display.get("isNewFile").and_then(Json::bool);
        let written = display.string("newContent");
        let before = display.string("originalContent").filter(|_| is_new != Some(true));
        let whole = |content: String| EditAction::Write { content, created: is_new };
        let (old, new) = (self.input.string("old_string"), self.input.string("new_string"));
        let action = match (old, new, self.input.string("content")) {
            (Some(old), Some(new), _) if !old.is_empty() => {
                let several = self.input.number("expected_replacements").is_some_and(|n| n > 1);
                let all = self.input.flag("allow_multiple") || several;
                EditAction::Replace { pairs: vec![(old, new, all)] }
            }
            (_, Some(content), None) | (_, _, Some(content)) => {
                whole(written.clone().unwrap_or(content))
            }
            _ => EditAction::Unknown,
        };
        let after = match (&written, &action) {
            (None, EditAction::Write { content, .. }) => Some(content.clone()),
            _ => written,
        };
        let texts = before.is_some() || is_new == Some(true);
        let patch = display.text("fileDiff").filter(|_| !texts);
        let hunks = patch.map(|patch| hunks(&patch)).unwrap_or_default();
        EditBody { action, before, after, hunks, moved_from: None }
    }
}

/// How a call went by its `status`. A call that was cancelled shows what it would have done.
pub(super) fn outcome(record: &Object<'_>) -> EditOutcome {
    match record.text("status").as_deref() {
        Some("success") => EditOutcome::Applied,
        Some("cancelled") => EditOutcome::Denied,
        Some("error") => EditOutcome::Failed,
        _ => EditOutcome::Pending,
    }
}

/// In so many last lines a result tells how its command ended.
const ENDING: usize = 8;

/// How a shell command went by what is said of it.
pub(super) fn command(outcome: EditOutcome, said: &str) -> (Option<i32>, CommandOutcome) {
    let marks = ["Exit Code: ", "exited with code: "];
    let code = marks.iter().find_map(|mark| {
        let (_, rest) = said.rsplit_once(mark)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    // A signal ended it: the call itself is a success.
    let is_killed = said.lines().rev().take(ENDING).any(|line| {
        line.strip_prefix("Signal: ").is_some_and(|signal| signal.parse::<u32>().is_ok())
    });
    match (outcome, code) {
        (EditOutcome::Applied, None) if is_killed => (None, CommandOutcome::Failed),
        (EditOutcome::Denied | EditOutcome::Pending, _) => (None, CommandOutcome::Unknown),
        (EditOutcome::Applied, None | Some(0)) => (code, CommandOutcome::Passed),
        _ => (code, CommandOutcome::Failed),
    }
}

/// The hunks of a unified diff.
fn hunks(patch: &str) -> Vec<AppliedHunk> {
    let mut hunks: Vec<(AppliedHunk, Vec<&str>, Vec<&str>)> = Vec::new();
    for line in patch.lines() {
        if let Some(header) = line.strip_prefix("@@ ") {
            let start = |sign: char| {
                let range = header.split(' ').find_map(|range| range.strip_prefix(sign))?;
                range.split(',').next()?.parse().ok()
            };
            let (old_start, new_start) = (start('-'), start('+'));
            let hunk = AppliedHunk { old_start, new_start, ..AppliedHunk::default() };
            hunks.push((hunk, Vec::new(), Vec::new()));
        } else if let Some((_, old, new)) = hunks.last_mut() {
            match line.split_at_checked(1) {
                Some(("-", text)) => old.push(text),
                Some(("+", text)) => new.push(text),
                Some((" ", text)) => {
                    old.push(text);
                    new.push(text);
                }
                _ => {}
            }
        }
    }
    let side = |lines: Vec<&str>| (!lines.is_empty()).then(|| lines.join("\n"));
    let whole = |(hunk, old, new)| AppliedHunk { old_text: side(old), new_text: side(new), ..hunk };
    hunks.into_iter().map(whole).collect()
}
