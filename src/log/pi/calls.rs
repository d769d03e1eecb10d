//! Tool calls and results in pi's messages, and what its edits did.

use crate::log::lazy::{self, Json, Object};
use crate::session::CommandOutcome;
use crate::session::event::{AppliedHunk, EditAction, EditBody, EditOutcome};

/// A `toolCall` block.
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Object<'a>,
}

/// Tools that change nothing.
const LOOKS: &[&str] = &["read", "grep", "find", "ls"];

impl<'a> Call<'a> {
    /// The tool calls of an entry.
    pub(super) fn all(entry: &Object<'a>) -> Vec<Self> {
        let blocks = entry.object("message").items("content").into_iter().map(Json::object);
        let call = |block: Object<'a>| {
            let (id, name) = (block.string("id")?, block.string("name")?);
            Some(Self { id, name, input: block.object("arguments") })
        };
        blocks.filter(|block| block.is("type", "toolCall")).filter_map(call).collect()
    }

    /// The file that the call edits, as it spells it.
    pub(super) fn edits(&self) -> Option<String> {
        let edits = matches!(self.name.as_str(), "write" | "edit");
        self.input.string("path").or_else(|| self.input.string("file_path")).filter(|_| edits)
    }

    /// The shell command that the call runs.
    pub(super) fn shell(&self) -> Option<String> {
        (self.name == "bash").then(|| self.input.string("command").unwrap_or_default())
    }

    /// The file that the call reads from its first to its last line.
    pub(super) fn reads_whole(&self) -> Option<String> {
        let part = self.input.has("offset") || self.input.has("limit");
        self.input.string("path").filter(|_| self.name == "read" && !part)
    }

    /// Whether the call changes nothing.
    pub(super) fn looks(&self) -> bool {
        LOOKS.contains(&self.name.as_str())
    }

    /// The deliverables that the call declares.
    pub(super) fn presents(&self) -> Option<Vec<(String, Option<String>)>> {
        let presents = self.name == "present" || self.name.ends_with("_present");
        let file = |file: Json<'_>| {
            let file = file.object();
            Some((file.string("path")?, file.string("description")))
        };
        presents.then(|| self.input.items("files").into_iter().filter_map(file).collect())
    }

    /// What the call did, with what its result adds.
    pub(super) fn body(&self, result: Option<&ToolResult<'_>>) -> EditBody {
        if let Some(content) = self.input.string("content").filter(|_| self.name == "write") {
            let after = Some(content.clone());
            let action = EditAction::Write { content, created: None };
            return EditBody { action, after, ..EditBody::default() };
        }
        let pair =
            |step: &Object<'_>| Some((step.string("oldText")?, step.string("newText")?, false));
        let steps = self.input.items("edits").into_iter().map(Json::object);
        let mut pairs: Vec<_> = steps.filter_map(|step| pair(&step)).collect();
        pairs.extend(pair(&self.input));
        let diff = result.and_then(|result| result.details.string("diff"));
        let hunks = diff.map(|diff| numbered_hunks(&diff)).unwrap_or_default();
        EditBody { action: EditAction::Replace { pairs }, hunks, ..EditBody::default() }
    }
}

/// A message of the role `toolResult`.
pub(super) struct ToolResult<'a> {
    pub(super) id: String,
    is_error: bool,
    content: Vec<Json<'a>>,
    details: Object<'a>,
}

/// The tool result that this entry is.
pub(super) fn result<'a>(entry: &Object<'a>) -> Option<ToolResult<'a>> {
    let message = entry.object("message");
    if !message.is("role", "toolResult") {
        return None;
    }
    Some(ToolResult {
        id: message.string("toolCallId")?,
        is_error: message.flag("isError"),
        content: message.items("content"),
        details: message.object("details"),
    })
}

impl ToolResult<'_> {
    /// What the tool said to the model.
    pub(super) fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| block.object().string("text"));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether a read's text is the file and nothing else.
    pub(super) fn is_whole_text(&self) -> bool {
        let alone = matches!(self.content.as_slice(), [block] if block.object().is("type", "text"));
        alone && !self.is_error && !self.details.has("truncation")
    }

    /// How an edit went.
    pub(super) fn outcome(&self) -> EditOutcome {
        if self.is_error { EditOutcome::Failed } else { EditOutcome::Applied }
    }

    /// How a shell command went.
    pub(super) fn command(&self) -> (Option<i32>, CommandOutcome) {
        if !self.is_error {
            return (None, CommandOutcome::Passed);
        }
        let text = self.text();
        if text.trim_end().ends_with("Command aborted") {
            // A person stopped it: that says nothing of how it would have gone.
            return (None, CommandOutcome::Unknown);
        }
        let code = text
            .rsplit_once("exited with code ")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        (code, CommandOutcome::Failed)
    }
}

/// What the edit did whose call stands in `call` and whose result stands in `result`.
pub(super) fn body_from_rows(call: &str, result: Option<&str>) -> EditBody {
    let calls = lazy::objects(call).0;
    let results = result.map(|row| lazy::objects(row).0).unwrap_or_default();
    let result = results.iter().find_map(self::result);
    let calls: Vec<_> = calls.iter().flat_map(Call::all).filter(|c| c.edits().is_some()).collect();
    let answered = result.as_ref().and_then(|r| calls.iter().find(|call| call.id == r.id));
    answered.or(calls.first()).map_or_else(EditBody::default, |call| call.body(result.as_ref()))
}

/// The hunks of pi's display text: a sign, a padded line number, a space and the line; `...`
/// stands for lines that are left out.
fn numbered_hunks(diff: &str) -> Vec<AppliedHunk> {
    let mut hunks = Vec::new();
    let (mut hunk, mut shift) = (Numbered::default(), 0);
    for line in diff.lines().map(Some).chain([None]) {
        match line.and_then(numbered_line) {
            Some((sign, number, text)) => hunk.take(sign, number, text),
            None => hunks.extend(std::mem::take(&mut hunk).finish(&mut shift)),
        }
    }
    hunks
}

fn numbered_line(line: &str) -> Option<(char, u32, &str)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, ' ' | '-' | '+'))?;
    let rest = line.get(1..)?.trim_start_matches(' ');
    let (number, text) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((sign, number.parse().ok()?, text))
}

/// A hunk while its lines come. Unchanged lines bear their old number, added ones their new one.
#[derive(Default)]
struct Numbered<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// The number of the first old line.
    old_start: Option<u32>,
    /// The number of the first added line, if no old line stands above it.
    new_start: Option<u32>,
    changed: bool,
}

impl<'a> Numbered<'a> {
    fn take(&mut self, sign: char, number: u32, text: &'a str) {
        if sign == '+' {
            if self.old.is_empty() {
                self.new_start.get_or_insert(number);
            }
            self.new.push(text);
        } else {
            self.old_start.get_or_insert(number);
            self.old.push(text);
            if sign == ' ' {
                self.new.push(text);
            }
        }
        self.changed |= sign != ' ';
    }

    /// The hunk, if something changed in it. `shift` is by how many lines the new text is ahead of
    /// the old one above it.
    fn finish(self, shift: &mut i64) -> Option<AppliedHunk> {
        let side = |lines: &[&str]| (!lines.is_empty()).then(|| lines.join("\n"));
        let moved = |start: u32, by: i64| u32::try_from(i64::from(start) + by).ok();
        let new_start =
            self.new_start.or_else(|| self.old_start.and_then(|start| moved(start, *shift)));
        let old_start = match self.new_start {
            Some(start) => moved(start, -*shift),
            None => self.old_start,
        };
        let count = |lines: &[&str]| i64::try_from(lines.len()).unwrap_or_default();
        *shift += count(&self.new) - count(&self.old);
        self.changed.then(|| AppliedHunk {
            old_start,
            new_start,
            old_text: side(&self.old),
            new_text: side(&self.new),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_display_text_is_read_by_sign_and_number() {
        let diff = "    ...\n  9 a\n-10 b\n+10 B\n+11  C\n 11 \n    ...\n 20 x\n-21 y";
        let hunks = numbered_hunks(diff);
        let first = AppliedHunk {
            old_start: Some(9),
            new_start: Some(9),
            old_text: Some("a\nb\n".into()),
            new_text: Some("a\nB\n C\n".into()),
        };
        let second = AppliedHunk {
            old_start: Some(20),
            new_start: Some(21),
            old_text: Some("x\ny".into()),
            new_text: Some("x".into()),
        };
        assert_eq!(hunks, [first, second]);
        assert!(numbered_hunks("").is_empty() && numbered_hunks("é\n 1 same").is_empty());
    }

    #[test]
    fn one_of_two_calls_of_a_row_is_found_by_its_result() {
        let call = r#"{"type":"message","message":{"role":"assistant","content":[
            {"type":"toolCall","id":"a","name":"write","arguments":{"path":"x","content":"1"}},
            {"type":"toolCall","id":"b","name":"edit","arguments":{"path":"y","oldText":"o","newText":"n"}}]}}"#;
        let result =
            r#"{"message":{"role":"toolResult","toolCallId":"b","details":{"diff":"-1 o\n+1 n"}}}"#;
        let body = body_from_rows(call, Some(result));
        assert_eq!(
            body.action,
            EditAction::Replace { pairs: vec![("o".into(), "n".into(), false)] }
        );
        assert_eq!(body.hunks.len(), 1);
        assert_eq!(body_from_rows(call, None).after.as_deref(), Some("1"));
        assert_eq!(body_from_rows("[]", Some("{")), EditBody::default());
    }
}
