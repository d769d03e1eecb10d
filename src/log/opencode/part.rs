//! A tool part of an opencode message: what it edited, ran or declared, and the events that tell it.

use crate::log::loose::{owned, word};
use crate::log::patch_text::{self, PatchSection};
use crate::log::present::{is_present, presented_files};
use crate::log::{Output, unified};
use crate::session::CommandOutcome;
use crate::session::event::{
    Command, Edit, EditAction, EditBody, EditOutcome, EditSource, LogEvent, Stamp,
};
use serde_json::Value;
use std::sync::Arc;

/// What a tool part is to a reviewer.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    /// It edits these files, named by their paths after it.
    Edits(Vec<String>),
    /// It runs something.
    Runs {
        /// The command line, or the tool's name.
        command: String,
        /// Whether a shell runs it.
        is_shell: bool,
    },
    /// It declares deliverables.
    Presents(Vec<(String, Option<String>)>),
    /// Anything else.
    Other,
}

/// What a tool part does.
fn deed(part: &Value) -> Deed {
    let input = &part["state"]["input"];
    match part["tool"].as_str().unwrap_or_default() {
        "edit" | "write" | "multiedit" => {
            Deed::Edits(word(&input["filePath"]).map(str::to_owned).into_iter().collect())
        }
        "apply_patch" | "patch" => Deed::Edits(match patched_files(part) {
            Some(files) => files.iter().map(path_after).collect(),
            None => sections(part).iter().map(|section| section.path_after().to_owned()).collect(),
        }),
        "bash" => {
            Deed::Runs { command: owned(&input["command"]).unwrap_or_default(), is_shell: true }
        }
        // A sub-agent may change files; its edits stand in its own session.
        "task" => Deed::Runs { command: "task".to_owned(), is_shell: false },
        name if is_present(name) => Deed::Presents(presented_files(input)),
        _ => Deed::Other,
    }
}

/// Tells a tool part; `source` says where the texts of its edits are.
pub(super) fn tell(
    turn: u32,
    call_id: &str,
    part: &Value,
    source: impl Fn(usize) -> EditSource,
    out: &mut Output,
) {
    let id = || call_id.to_owned();
    let stamp = || Stamp::at(part["state"]["time"]["start"].as_i64());
    match deed(part) {
        Deed::Edits(paths) => {
            for (nth, path) in paths.into_iter().enumerate() {
                out.events.push(LogEvent::Edit(Edit {
                    turn,
                    call_id: id(),
                    tool: part["tool"].as_str().unwrap_or_default().to_owned(),
                    path,
                    outcome: outcome(part),
                    body: source(nth),
                    stamp: stamp(),
                }));
            }
        }
        Deed::Runs { command, is_shell } => {
            out.events.push(LogEvent::Command(Command {
                turn,
                call_id: id(),
                command,
                is_shell,
                stamp: stamp(),
            }));
            if let Some((exit_code, outcome)) = ended(part) {
                let outcome = if is_shell { outcome } else { CommandOutcome::Unknown };
                let output =
                    part["state"]["output"].as_str().filter(|text| text.len() <= OUTPUT_BYTES);
                out.events.push(LogEvent::CommandSettled {
                    turn,
                    call_id: id(),
                    exit_code,
                    outcome,
                    result: None,
                    output: output.map(Arc::from),
                });
            }
        }
        Deed::Presents(files) => {
            if part["state"]["status"] == "completed" && !files.is_empty() {
                let at = part["state"]["time"]["end"].as_i64();
                out.events.push(LogEvent::Presented { turn, call_id: id(), at, files });
            }
        }
        Deed::Other => {
            if part["state"]["status"] == "completed" {
                out.events.push(LogEvent::ToolSettled { turn });
            }
        }
    }
}

/// A longer output of a command is not kept.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The session of the sub-agent that a tool part called.
pub(super) fn delegate(part: &Value) -> Option<&str> {
    word(&part["state"]["metadata"]["sessionId"]).filter(|_| part["tool"] == "task")
}

/// How an edit went; only what the tool reports as completed took effect.
fn outcome(part: &Value) -> EditOutcome {
    let state = &part["state"];
    match state["status"].as_str() {
        Some("completed") => EditOutcome::Applied,
        Some("error") => {
            let error = state["error"].as_str().unwrap_or_default();
            let refused = ["rejected permission", "permission denied", "rule which prevents"]
                .iter()
                .any(|words| error.contains(words));
            if refused { EditOutcome::Denied } else { EditOutcome::Failed }
        }
        _ => EditOutcome::Pending,
    }
}

/// The exit code and outcome of a command; none while it runs.
fn ended(part: &Value) -> Option<(Option<i32>, CommandOutcome)> {
    let state = &part["state"];
    let failed = match state["status"].as_str() {
        Some("completed") => false,
        Some("error") => true,
        _ => return None,
    };
    let code = state["metadata"]["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
    let outcome = match code {
        Some(0) if !failed => CommandOutcome::Passed,
        None if !failed => CommandOutcome::Unknown,
        _ => CommandOutcome::Failed,
    };
    Some((code, outcome))
}

/// What the `nth` edit of a part did.
pub(super) fn body(part: &Value, nth: usize) -> EditBody {
    let state = &part["state"];
    let (input, metadata) = (&state["input"], &state["metadata"]);
    match part["tool"].as_str().unwrap_or_default() {
        "write" => written(input, metadata),
        "edit" => EditBody { action: replace(std::slice::from_ref(input)), ..diffed(metadata) },
        "multiedit" => {
            let edits = input["edits"].as_array().map(Vec::as_slice).unwrap_or_default();
            let results = metadata["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            let hunks = match results {
                // The diffs of several steps do not make one.
                [only] => diffed(only).hunks,
                _ => Vec::new(),
            };
            EditBody { action: replace(edits), hunks, ..EditBody::default() }
        }
        _ => match patched_files(part).and_then(|files| files.get(nth)) {
            Some(file) => patched(file, sections(part)),
            None => sections(part).into_iter().nth(nth).map(PatchSection::body).unwrap_or_default(),
        },
    }
}

fn written(input: &Value, metadata: &Value) -> EditBody {
    let Some(content) = input["content"].as_str() else { return EditBody::default() };
    EditBody {
        action: EditAction::Write {
            content: content.to_owned(),
            created: metadata["exists"].as_bool().map(|exists| !exists),
        },
        after: Some(content.to_owned()),
        ..diffed(metadata)
    }
}

fn replace(edits: &[Value]) -> EditAction {
    let pair = |edit: &Value| {
        let (old, new) = (edit["oldString"].as_str()?, edit["newString"].as_str()?);
        Some((old.to_owned(), new.to_owned(), edit["replaceAll"] == true))
    };
    let pairs: Vec<_> = edits.iter().filter_map(pair).collect();
    match pairs.as_slice() {
        [] => EditAction::Unknown,
        // An edit of nothing writes the file.
        [(old, new, _)] if old.is_empty() => {
            EditAction::Write { content: new.clone(), created: None }
        }
        _ => EditAction::Replace { pairs },
    }
}

/// The texts or hunks of a tool's `filediff` (whole texts up to 1.2, a patch later) or `diff`.
fn diffed(metadata: &Value) -> EditBody {
    let file = &metadata["filediff"];
    let side = |key: &str| file[key].as_str().map(str::to_owned);
    let (before, after) = (side("before"), side("after"));
    let diff = word(&file["patch"]).or_else(|| word(&metadata["diff"]));
    // Whole texts say it all; they are kept in memory, so nothing is kept beside them.
    let diff = diff.filter(|_| before.is_none() || after.is_none());
    let hunks = diff.map(unified::hunks).unwrap_or_default();
    EditBody { before, after, hunks, ..EditBody::default() }
}

fn sections(part: &Value) -> Vec<PatchSection> {
    let input = &part["state"]["input"];
    word(&input["patchText"]).map(patch_text::sections).unwrap_or_default()
}

fn patched_files(part: &Value) -> Option<&[Value]> {
    part["state"]["metadata"]["files"]
        .as_array()
        .map(Vec::as_slice)
        .filter(|files| !files.is_empty())
}

fn path_after(file: &Value) -> String {
    word(&file["movePath"]).or_else(|| word(&file["filePath"])).unwrap_or_default().to_owned()
}

/// One file of an applied patch: its own diff, and for a new file the text of the patch.
fn patched(file: &Value, sections: Vec<PatchSection>) -> EditBody {
    let path = file["filePath"].as_str().unwrap_or_default();
    let diff = file["patch"].as_str().unwrap_or_default();
    match file["type"].as_str() {
        Some("add") => sections
            .into_iter()
            .find(|section| path.ends_with(section.path.trim_start_matches("./")))
            .map_or_else(|| whole(diff, "added"), PatchSection::body),
        Some("delete") => whole(diff, "deleted"),
        kind => {
            let hunks = unified::hunks(diff);
            let moved_from = (kind == Some("move")).then(|| path.to_owned());
            let only_moved = hunks.is_empty() && moved_from.is_some();
            let action = if only_moved { EditAction::Keep } else { EditAction::Unknown };
            EditBody { action, hunks, moved_from, ..EditBody::default() }
        }
    }
}

/// The body of a file's diff with its status; the diff of a whole new or deleted file holds its
/// whole text.
pub(super) fn whole(patch: &str, status: &str) -> EditBody {
    let hunks = unified::hunks(patch);
    let end = if patch.contains("\n\\ No newline") { "" } else { "\n" };
    let side = |text: Option<&String>| text.map_or_else(String::new, |text| format!("{text}{end}"));
    let first = hunks.first();
    match status {
        "added" if hunks.len() <= 1 => {
            patch_text::added(side(first.and_then(|hunk| hunk.new_text.as_ref())))
        }
        "deleted" if hunks.len() <= 1 => EditBody {
            action: EditAction::Delete,
            before: Some(side(first.and_then(|hunk| hunk.old_text.as_ref()))),
            ..EditBody::default()
        },
        "deleted" => EditBody { action: EditAction::Delete, hunks, ..EditBody::default() },
        _ => EditBody { hunks, ..EditBody::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, input: &Value, metadata: &Value) -> Value {
        json!({"type": "tool", "tool": name, "state":
            {"status": "completed", "input": input, "metadata": metadata}})
    }

    #[test]
    fn an_edit_has_its_pair_and_what_the_version_kept() {
        let input =
            json!({"filePath": "/w/a", "oldString": "x", "newString": "y", "replaceAll": true});
        let old = tool("edit", &input, &json!({"filediff": {"before": "x\n", "after": "y\n"}}));
        let body = body(&old, 0);
        assert_eq!((body.before.as_deref(), body.after.as_deref()), (Some("x\n"), Some("y\n")));
        assert_eq!(
            body.action,
            EditAction::Replace { pairs: vec![("x".into(), "y".into(), true)] }
        );
        let new =
            tool("edit", &input, &json!({"filediff": {"patch": "@@ -1,1 +1,1 @@\n-x\n+y\n"}}));
        assert_eq!(super::body(&new, 0).hunks.len(), 1);
        assert_eq!(deed(&new), Deed::Edits(vec!["/w/a".into()]));
    }

    #[test]
    fn a_write_says_whether_there_was_a_file() {
        let part =
            tool("write", &json!({"filePath": "/w/a", "content": "t"}), &json!({"exists": false}));
        let EditAction::Write { created, .. } = body(&part, 0).action else { panic!("no write") };
        assert_eq!(created, Some(true));
    }

    #[test]
    fn a_patch_gives_each_of_its_files() {
        let text = "*** Begin Patch\n*** Add File: n\n+new\n*** Delete File: d\n\
            *** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch";
        let files = json!({"files": [
            {"filePath": "/w/n", "type": "add", "patch": "@@ -0,0 +1,1 @@\n+new\n"},
            {"filePath": "/w/d", "type": "delete", "patch": "@@ -1,2 +0,0 @@\n-one\n-two\n"},
            {"filePath": "/w/a", "movePath": "/w/b", "type": "move", "patch": "@@ -3,1 +3,1 @@\n-x\n+y\n"},
        ]});
        let part = tool("apply_patch", &json!({"patchText": text}), &files);
        assert_eq!(deed(&part), Deed::Edits(vec!["/w/n".into(), "/w/d".into(), "/w/b".into()]));
        assert_eq!(body(&part, 0).after.as_deref(), Some("new\n"));
        assert_eq!(body(&part, 1).before.as_deref(), Some("one\ntwo\n"));
        let moved = body(&part, 2);
        assert_eq!(
            (moved.moved_from.as_deref(), moved.hunks[0].old_start),
            (Some("/w/a"), Some(3))
        );
        assert_eq!(body(&part, 3), EditBody::default());
        let failed = json!({"tool": "apply_patch", "state": {"status": "error", "input": {"patchText": text}}});
        assert_eq!(deed(&failed), Deed::Edits(vec!["n".into(), "d".into(), "b".into()]));
        assert_eq!(outcome(&failed), EditOutcome::Failed);
    }

    #[test]
    fn refused_failed_and_running_edits_are_told_apart() {
        let went = |state: Value| outcome(&json!({"state": state}));
        let refused = "The user rejected permission to use this specific tool call.";
        assert_eq!(went(json!({"status": "error", "error": refused})), EditOutcome::Denied);
        assert_eq!(went(json!({"status": "error", "error": "no match"})), EditOutcome::Failed);
        assert_eq!(went(json!({"status": "running"})), EditOutcome::Pending);
        assert_eq!(went(json!(7)), EditOutcome::Pending);
    }

    #[test]
    fn commands_have_their_exit_code() {
        let part = |state: Value| ended(&json!({"state": state}));
        let done = json!({"status": "completed", "metadata": {"exit": 1}});
        assert_eq!(part(done), Some((Some(1), CommandOutcome::Failed)));
        assert_eq!(part(json!({"status": "running"})), None);
    }

    #[test]
    fn a_text_without_a_final_newline_stays_so() {
        let patch = "@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n";
        assert_eq!(whole(patch, "added").after.as_deref(), Some("x"));
        assert_eq!(whole("", "added").after.as_deref(), Some(""));
    }
}
