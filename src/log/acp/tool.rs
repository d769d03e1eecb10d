//! A tool call of the Agent Client Protocol, put together from its updates; and what it edited.
//!
//! Agents differ: one sends whole files as `oldText`/`newText`, another only the replaced pieces,
//! a third no diff at all but the arguments of its tool. A diff counts as whole only where the
//! message says so.

use super::message::Message;
use crate::log::loose::{values_again, word};
use crate::log::unified;
use crate::session::event::{AppliedHunk, EditAction, EditBody, Place};
use serde_json::Value;

/// What is known of a call so far. Updates carry only what changed.
#[derive(Debug, Default)]
pub(super) struct ToolState {
    pub(super) turn: u32,
    pub(super) title: String,
    pub(super) kind: String,
    pub(super) command: Option<String>,
    /// The command was told.
    pub(super) told: bool,
    /// It has ended and is told.
    pub(super) done: bool,
    /// A person refused it.
    pub(super) refused: bool,
    /// The files of its latest diffs, in order.
    pub(super) diffs: Vec<String>,
    /// The file that its arguments or locations name.
    pub(super) path: Option<String>,
    /// The row of its latest diffs.
    pub(super) diff_row: Option<Place>,
    /// The row of its arguments, if they hold texts.
    pub(super) input_row: Option<Place>,
    /// The row of a write through the client, and its path.
    pub(super) write_row: Option<(Place, String)>,
    /// The declared deliverables.
    pub(super) files: Vec<(String, Option<String>)>,
}

impl ToolState {
    /// Takes a call, an update of it, or the call that a permission is asked for.
    pub(super) fn merge(&mut self, call: &Value, place: Place) {
        for (field, key) in [(&mut self.title, "title"), (&mut self.kind, "kind")] {
            if let Some(new) = word(&call[key]) {
                new.clone_into(field);
            }
        }
        let input = &call["rawInput"];
        let location = call["locations"].get(0).and_then(|location| word(&location["path"]));
        if let Some(path) = input_path(input).or(location) {
            self.path = Some(path.to_owned());
        }
        if let Some(command) = word(&input["command"]) {
            self.command = Some(command.to_owned());
        }
        if holds_texts(input) {
            self.input_row = Some(place);
        }
        let diffs: Vec<String> = diffs(call).map(|diff| path_of(diff).to_owned()).collect();
        if !diffs.is_empty() {
            self.diffs = diffs;
            self.diff_row = Some(place);
        }
        if input["files"].is_array() {
            self.files = crate::log::present::presented_files(input);
        }
    }

    /// The files that it edits.
    pub(super) fn edited(&self) -> Vec<String> {
        if !self.diffs.is_empty() {
            return self.diffs.clone();
        }
        let edits = matches!(self.kind.as_str(), "edit" | "delete")
            || self.input_row.is_some()
            || self.write_row.is_some();
        let written = self.write_row.as_ref().map(|(_, path)| path);
        let path = self.path.as_ref().or(written).filter(|_| edits);
        path.cloned().into_iter().collect()
    }

    /// The row that says best what was asked for.
    pub(super) fn row(&self) -> Option<Place> {
        let written = self.write_row.as_ref().map(|(place, _)| *place);
        self.input_row.or(self.diff_row).or(written)
    }

    /// Whether a shell or program runs.
    pub(super) fn runs(&self) -> bool {
        self.kind == "execute"
    }
}

fn input_path(input: &Value) -> Option<&str> {
    ["filePath", "file_path", "filepath", "path", "absolute_path", "notebook_path"]
        .iter()
        .find_map(|key| word(&input[*key]))
}

fn holds_texts(input: &Value) -> bool {
    input_path(input).is_some() && (input["content"].is_string() || pair(input).is_some())
}

fn pair(input: &Value) -> Option<(&str, &str)> {
    [("oldString", "newString"), ("old_string", "new_string"), ("oldText", "newText")]
        .iter()
        .find_map(|(old, new)| Some((input[*old].as_str()?, input[*new].as_str()?)))
}

fn diffs(call: &Value) -> impl Iterator<Item = &Value> {
    let content = call["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    content.iter().filter(|block| block["type"] == "diff" && word(&block["path"]).is_some())
}

fn path_of(diff: &Value) -> &str {
    diff["path"].as_str().unwrap_or_default()
}

/// The call within a message: an update, or what a permission is asked for.
fn call_of(message: &Value) -> &Value {
    let params = &message["params"];
    if params["toolCall"].is_object() { &params["toolCall"] } else { &params["update"] }
}

fn messages(row: &[u8]) -> Vec<Value> {
    values_again(row).into_iter().filter_map(Message::of).map(|message| message.body).collect()
}

/// What the `nth` edit of a call did, from the row of its arguments or diffs and that of its end.
pub(super) fn edit_body(call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
    let asked = messages(call);
    let ended = result.map(messages).unwrap_or_default();
    let input =
        asked.iter().map(|message| &call_of(message)["rawInput"]).find(|input| holds_texts(input));
    let rows = || ended.iter().chain(&asked);
    let diff = rows().find_map(|message| diffs(call_of(message)).nth(nth));
    let metadata = ended.iter().map(|message| &call_of(message)["rawOutput"]["metadata"]).next();
    let written = asked.iter().find_map(|message| message["params"]["content"].as_str());
    let deletes = rows().any(|message| call_of(message)["kind"] == "delete");
    let mut body = match (diff, input) {
        (Some(diff), input) => diff_body(diff, input),
        (None, Some(input)) => input_body(input),
        (None, None) => written.map(|content| write(content, None)).unwrap_or_default(),
    };
    if deletes && diff.is_none() {
        body = EditBody { action: EditAction::Delete, ..EditBody::default() };
    }
    if let Some(metadata) = metadata.filter(|_| nth == 0) {
        if let Some(diff) = word(&metadata["diff"]) {
            body.hunks = unified::hunks(diff);
        }
        if let (EditAction::Write { created, .. }, Some(exists)) =
            (&mut body.action, metadata["exists"].as_bool())
        {
            *created = Some(!exists);
        }
    }
    body
}

fn input_body(input: &Value) -> EditBody {
    match (input["content"].as_str(), pair(input)) {
        (Some(content), _) => write(content, None),
        (None, Some((old, new))) => pieces(old, new, replaces_all(input)),
        (None, None) => EditBody::default(),
    }
}

fn replaces_all(input: &Value) -> bool {
    input["replaceAll"] == true || input["replace_all"] == true
}

fn write(content: &str, created: Option<bool>) -> EditBody {
    EditBody {
        action: EditAction::Write { content: content.to_owned(), created },
        after: Some(content.to_owned()),
        ..EditBody::default()
    }
}

fn pieces(old: &str, new: &str, all: bool) -> EditBody {
    let side = |text: &str| (!text.is_empty()).then(|| text.trim_end_matches('\n').to_owned());
    let hunk = AppliedHunk { old_text: side(old), new_text: side(new), ..AppliedHunk::default() };
    EditBody {
        action: EditAction::Replace { pairs: vec![(old.to_owned(), new.to_owned(), all)] },
        // Replaced in many places, one piece shows none of them.
        hunks: if all { Vec::new() } else { vec![hunk] },
        ..EditBody::default()
    }
}

fn diff_body(diff: &Value, input: Option<&Value>) -> EditBody {
    let new = diff["newText"].as_str().unwrap_or_default();
    let old = diff["oldText"].as_str().filter(|old| !old.is_empty());
    let said = diff["_meta"]["kind"].as_str();
    match (old, said) {
        (None, _) => write(
            new,
            said.map_or(diff["oldText"].is_null().then_some(true), |said| Some(said == "add")),
        ),
        (Some(_), Some("delete")) => EditBody {
            action: EditAction::Delete,
            before: old.map(str::to_owned),
            ..EditBody::default()
        },
        (Some(old), Some(_)) => {
            EditBody { before: Some(old.to_owned()), ..write(new, Some(false)) }
        }
        (Some(old), None) => pieces(old, new, input.is_some_and(replaces_all)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn update(update: &Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn whole_files_are_whole_only_where_the_message_says_so() {
        let diff = |meta: Value| {
            update(&json!({"content": [{"type": "diff", "path": "/w/a", "oldText": "x\n",
                "newText": "y\n", "_meta": meta}]}))
        };
        let body = edit_body(&diff(json!({"kind": "modify"})), None, 0);
        assert_eq!((body.before.as_deref(), body.after.as_deref()), (Some("x\n"), Some("y\n")));
        let body = edit_body(&diff(Value::Null), None, 0);
        assert_eq!((body.before, body.after), (None, None));
        assert_eq!(body.hunks[0].new_text.as_deref(), Some("y"));
        assert_eq!(edit_body(&diff(Value::Null), None, 1), EditBody::default());
    }

    #[test]
    fn arguments_and_results_complete_each_other() {
        let asked = update(&json!({"rawInput":
            {"filePath": "/w/a", "oldString": "n", "newString": "p", "replaceAll": true}}));
        let ended = update(&json!({"status": "completed",
            "content": [{"type": "diff", "path": "/w/a", "oldText": "n", "newText": "p"}],
            "rawOutput": {"metadata": {"diff": "@@ -1,1 +1,1 @@\n-n\n+p\n@@ -9,1 +9,1 @@\n-n\n+p\n"}}}));
        let body = edit_body(&asked, Some(&ended), 0);
        assert_eq!(
            body.action,
            EditAction::Replace { pairs: vec![("n".into(), "p".into(), true)] }
        );
        assert_eq!(body.hunks.len(), 2);
    }

    #[test]
    fn a_write_without_a_diff_has_its_arguments() {
        let asked = update(&json!({"rawInput": {"filePath": "/w/a", "content": "t\n"}}));
        let ended = update(&json!({"rawOutput": {"metadata": {"exists": false}}}));
        let body = edit_body(&asked, Some(&ended), 0);
        assert_eq!(body.action, EditAction::Write { content: "t\n".into(), created: Some(true) });
        let client = json!({"jsonrpc": "2.0", "id": 1, "method": "fs/write_text_file",
            "params": {"path": "/w/a", "content": "u"}});
        let body = edit_body(client.to_string().as_bytes(), None, 0);
        assert_eq!(body.after.as_deref(), Some("u"));
    }
}
