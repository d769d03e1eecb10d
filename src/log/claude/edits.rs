//! An edit of Claude Code from the row of its call and the row of its result.
//!
//! The whole original text and the replaced strings are exact; the patch is made for display (leading
//! tabs are gone) and is used only where the client left the original out (files above 10 KiB).

use super::calls::{Deed, ToolResult, ToolUse};
use crate::log::lazy::{self, Json, Object};
use crate::session::event::{AppliedHunk, EditAction, EditBody};

/// The edit whose call stands in `call` and whose result stands in `result`: that of `id`, else
/// the first one that the result answers, else the first one.
pub(super) fn from_rows(call: &str, result: Option<&str>, id: Option<&str>) -> EditBody {
    let calls = lazy::objects(call).0;
    let records = result.map(|row| lazy::objects(row).0).unwrap_or_default();
    let results: Vec<ToolResult<'_>> = records.iter().flat_map(ToolResult::all).collect();
    let mut edits: Vec<ToolUse<'_>> = calls.iter().flat_map(ToolUse::all).collect();
    edits.retain(|call| matches!(call.deed(), Deed::Edit(_)) && id.is_none_or(|id| call.id == id));
    let result_of = |call: &ToolUse<'_>| results.iter().find(|result| result.id == call.id);
    let answered = edits.iter().find(|call| result_of(call).is_some()).or(edits.first());
    answered.map_or_else(EditBody::default, |call| body(call, result_of(call)))
}

/// What a call did, from its input and what its result adds to it.
pub(super) fn body(call: &ToolUse<'_>, result: Option<&ToolResult<'_>>) -> EditBody {
    let details = result.and_then(|result| result.details).map(Json::object).unwrap_or_default();
    let created = result.and_then(|result| created(result, &details));
    let mut body = match call.tool() {
        "Write" | "write" => {
            let content = details.string("content").or_else(|| call.input.string("content"));
            let content = content.unwrap_or_default();
            EditBody {
                before: details.string("originalFile").filter(|_| created != Some(true)),
                after: Some(content.clone()),
                action: EditAction::Write { content, created },
                ..EditBody::default()
            }
        }
        "NotebookEdit" => return notebook(call, &details),
        _ => replaced(pairs(&call.input, &details), &details, created),
    };
    if body.before.is_none() && created != Some(true) {
        body.hunks = hunks(&details, &body);
    }
    body
}

/// Whether there was no file before, as far as the result tells.
fn created(result: &ToolResult<'_>, details: &Object<'_>) -> Option<bool> {
    match details.text("type").as_deref() {
        Some("create") => return Some(true),
        Some("update") => return Some(false),
        _ => {}
    }
    let text = result.text();
    if text.starts_with("File created successfully") {
        Some(true)
    } else if text.contains("has been updated") {
        Some(false)
    } else {
        None
    }
}

/// Old and new texts: those that were applied, else those that were asked for.
fn pairs(input: &Object<'_>, details: &Object<'_>) -> Vec<(String, String, bool)> {
    if let (Some(old), Some(new)) = (details.string("oldString"), details.string("newString")) {
        return vec![(old, new, details.flag("replaceAll"))];
    }
    let steps = [details.items("edits"), input.items("edits")];
    let steps = steps.into_iter().find(|steps| !steps.is_empty()).unwrap_or_default();
    if steps.is_empty() {
        return pair(input).into_iter().collect();
    }
    steps.into_iter().filter_map(|step| pair(&step.object())).collect()
}

fn pair(step: &Object<'_>) -> Option<(String, String, bool)> {
    let (old, new) = (step.string("old_string")?, step.string("new_string")?);
    Some((old, new, step.flag("replace_all")))
}

/// An edit by replacement. An empty old text stands for a file that is not there, or empty.
fn replaced(
    pairs: Vec<(String, String, bool)>,
    details: &Object<'_>,
    created: Option<bool>,
) -> EditBody {
    let original =
        details.string("originalFile").or_else(|| details.string("originalFileContents"));
    let makes = pairs.first().is_some_and(|(old, _, _)| old.is_empty());
    if makes && original.as_deref().unwrap_or_default().is_empty() {
        let content = apply("", &pairs).unwrap_or_default();
        let before = original.filter(|_| created == Some(false));
        let action = EditAction::Write { content: content.clone(), created };
        return EditBody { before, after: Some(content), action, ..EditBody::default() };
    }
    let after = original.as_deref().and_then(|original| apply(original, &pairs));
    // A text in which the replaced string does not stand is not what was edited.
    let before = original.filter(|_| after.is_some());
    EditBody { before, after, action: EditAction::Replace { pairs }, ..EditBody::default() }
}

/// A text with the pairs replaced, one after the other; none where one does not stand in it.
fn apply(text: &str, pairs: &[(String, String, bool)]) -> Option<String> {
    let mut text = text.to_owned();
    for (old, new, all) in pairs {
        text = match (old.is_empty(), all) {
            (true, _) if text.is_empty() => new.clone(),
            (true, _) => return None,
            (false, _) if !text.contains(old.as_str()) => return None,
            (false, true) => text.replace(old.as_str(), new),
            (false, false) => text.replacen(old.as_str(), new, 1),
        };
    }
    Some(text)
}

/// Newer clients log the whole notebook; older ones only the cell's new source.
fn notebook(call: &ToolUse<'_>, details: &Object<'_>) -> EditBody {
    let before = details.string("original_file");
    if let Some(content) = details.string("updated_file") {
        let action = EditAction::Write { content: content.clone(), created: Some(false) };
        return EditBody { before, after: Some(content), action, ..EditBody::default() };
    }
    let new = details.string("new_source").or_else(|| call.input.string("new_source"));
    let hunk = AppliedHunk {
        old_text: details.string("old_source"),
        new_text: new.filter(|_| !call.input.is("edit_mode", "delete")),
        ..AppliedHunk::default()
    };
    EditBody { before, hunks: vec![hunk], ..EditBody::default() }
}

/// One line of a patch: its sign and its text.
type PatchLine = (char, String);

/// The hunks of the patch, with their line numbers and with the tabs that it lost.
fn hunks(details: &Object<'_>, body: &EditBody) -> Vec<AppliedHunk> {
    let patch = details.items("structuredPatch").into_iter().map(Json::object);
    patch
        .map(|hunk| {
            let number = |key| hunk.number(key).and_then(|n| u32::try_from(n).ok());
            let mut lines: Vec<PatchLine> = hunk
                .items("lines")
                .into_iter()
                .filter_map(|line| {
                    let line = line.text()?;
                    let sign = line.chars().next()?;
                    Some((sign, line.get(1..)?.to_owned()))
                })
                .filter(|(sign, _)| matches!(sign, ' ' | '-' | '+'))
                .collect();
            let new_start = number("newStart");
            restore_tabs(&mut lines, new_start, body);
            AppliedHunk {
                old_start: number("oldStart"),
                new_start,
                old_text: side(&lines, '-'),
                new_text: side(&lines, '+'),
            }
        })
        .collect()
}

/// One side of a hunk; none where it has no line.
fn side(lines: &[PatchLine], sign: char) -> Option<String> {
    let lines: Vec<&str> =
        lines.iter().filter(|(s, _)| *s == ' ' || *s == sign).map(|(_, l)| l.as_str()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A line as the patch shows it: each leading tab as two spaces.
fn displayed(line: &str) -> String {
    let rest = line.trim_start_matches('\t');
    "  ".repeat(line.len() - rest.len()) + rest
}

/// Puts back the leading tabs of a hunk's lines: from the whole new text by line number, else from
/// the replaced texts. Where those are indented by tabs throughout, so is what surrounds them.
fn restore_tabs(lines: &mut [PatchLine], new_start: Option<u32>, body: &EditBody) {
    let pairs = match &body.action {
        EditAction::Replace { pairs } => pairs.as_slice(),
        _ => &[],
    };
    let after = body.after.as_deref().filter(|_| new_start.is_some()).unwrap_or_default();
    let above = new_start.map_or(0, |start| (start as usize).saturating_sub(1));
    let mut whole = after.lines().skip(above);
    let (mut tabs, mut spaces, mut left) = (false, false, Vec::new());
    for (index, (sign, line)) in lines.iter_mut().enumerate() {
        let numbered = if *sign == '-' { None } else { whole.next() };
        let olds = pairs.iter().filter(|_| *sign != '+').flat_map(|(old, _, _)| old.lines());
        let news = pairs.iter().filter(|_| *sign != '-').flat_map(|(_, new, _)| new.lines());
        let mut known = numbered.into_iter().chain(olds).chain(news);
        match known.find(|known| displayed(known) == *line) {
            Some(known) => {
                tabs |= known.starts_with('\t');
                spaces |= known.starts_with(' ');
                known.clone_into(line);
            }
            None => left.push(index),
        }
    }
    if tabs && !spaces {
        for index in left {
            if let Some((_, line)) = lines.get_mut(index) {
                let rest = line.trim_start_matches("  ");
                *line = "\t".repeat((line.len() - rest.len()) / 2) + rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn edit(name: &str, input: &Value, text: &str, details: &Value) -> EditBody {
        let call = json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": "So:"},
            {"type": "tool_use", "id": "other", "name": "Edit", "input": {"file_path": "/x"}},
            {"type": "tool_use", "id": "t", "name": name, "input": input}]}});
        let result = json!({"type": "user", "toolUseResult": details, "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t", "content": text}]}});
        from_rows(&call.to_string(), Some(&result.to_string()), None)
    }

    #[test]
    fn a_new_file_has_no_text_before() {
        let input = json!({"file_path": "/a", "content": "x\n"});
        let details = json!({"type": "create", "content": "x\n", "structuredPatch": [], "originalFile": null});
        let body = edit("Write", &input, "", &details);
        let action = EditAction::Write { content: "x\n".into(), created: Some(true) };
        assert_eq!(body, EditBody { action, after: Some("x\n".into()), ..EditBody::default() });
        let bare = edit("Write", &input, "File created successfully at: /a", &Value::Null);
        assert_eq!(bare, body);
        let unknown = edit("Write", &input, "ok", &json!(["odd"]));
        assert_eq!(unknown.action, EditAction::Write { content: "x\n".into(), created: None });
    }

    #[test]
    fn an_edit_of_a_known_original_gives_both_texts() {
        let input = json!({"file_path": "/a", "old_string": "a", "new_string": "asked"});
        let details = json!({"oldString": "a", "newString": "b", "replaceAll": true, "originalFile": "a\n\ta\n"});
        let body = edit("Edit", &input, "", &details);
        assert_eq!(body.before.as_deref(), Some("a\n\ta\n"));
        assert_eq!(body.after.as_deref(), Some("b\n\tb\n"));
        assert_eq!(
            body.action,
            EditAction::Replace { pairs: vec![("a".into(), "b".into(), true)] }
        );
        let elsewhere = json!({"oldString": "z", "newString": "b", "originalFile": "a\n"});
        let body = edit("Edit", &input, "", &elsewhere);
        assert_eq!((body.before, body.after), (None, None));
    }

    #[test]
    fn several_replacements_are_applied_in_order() {
        let edits =
            json!([{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]);
        let details = json!({"edits": edits, "originalFileContents": "a a\n"});
        let body = edit("MultiEdit", &json!({"file_path": "/a", "edits": edits}), "", &details);
        assert_eq!(body.after.as_deref(), Some("c a\n"));
        let made = json!([{"old_string": "", "new_string": "a\n"}, {"old_string": "a", "new_string": "b"}]);
        let body = edit(
            "MultiEdit",
            &json!({"file_path": "/a", "edits": made}),
            "",
            &json!({"originalFileContents": ""}),
        );
        assert_eq!(body.action, EditAction::Write { content: "b\n".into(), created: None });
    }

    #[test]
    fn without_an_original_the_patch_gets_its_tabs_back() {
        let patch = json!([{"oldStart": 7, "oldLines": 3, "newStart": 7, "newLines": 3, "lines": [
            " int main()", "-    return 0;", "+    return 1;", "   }", "\\ No newline at end of file"]}]);
        let details = json!({"oldString": "\t\treturn 0;", "newString": "\t\treturn 1;",
            "originalFile": null, "structuredPatch": patch});
        let body = edit("Edit", &json!({"file_path": "/a"}), "", &details);
        let hunk = AppliedHunk {
            old_start: Some(7),
            new_start: Some(7),
            old_text: Some("int main()\n\t\treturn 0;\n\t}".into()),
            new_text: Some("int main()\n\t\treturn 1;\n\t}".into()),
        };
        assert_eq!(body.hunks, [hunk]);
        assert_eq!((body.before, body.after), (None, None));
    }

    #[test]
    fn an_overwritten_large_file_takes_its_new_lines_from_the_content() {
        let patch = json!([{"oldStart": 2, "newStart": 2, "lines": ["   a", "-  b", "+    c"]}]);
        let details = json!({"type": "update", "content": "x\n\ta\n    c\n", "originalFile": null,
            "structuredPatch": patch});
        let body = edit("Write", &json!({"file_path": "/a"}), "", &details);
        assert_eq!(body.hunks[0].new_text.as_deref(), Some("\ta\n    c"));
        assert_eq!(body.hunks[0].old_text.as_deref(), Some("\ta\n  b"));
    }

    #[test]
    fn notebooks_whole_or_by_cell() {
        let input = json!({"notebook_path": "/n", "new_source": "n", "edit_mode": "replace"});
        let whole = json!({"original_file": "{}", "updated_file": "{1}"});
        let body = edit("NotebookEdit", &input, "", &whole);
        assert_eq!((body.before.as_deref(), body.after.as_deref()), (Some("{}"), Some("{1}")));
        let cell = edit("NotebookEdit", &input, "", &json!({"new_source": "n", "error": ""}));
        assert_eq!(cell.hunks[0].new_text.as_deref(), Some("n"));
        assert_eq!(cell.action, EditAction::Unknown);
    }

    #[test]
    fn rows_of_any_kind_are_survived() {
        for call in ["", "null", "[]", "{", r#"{"message":{"content":[{"type":"tool_use"}]}}"#] {
            assert_eq!(from_rows(call, Some(call), None), EditBody::default());
        }
        let odd = json!({"structuredPatch": [1, {"lines": ["", "é", 7, null]}, {"oldStart": -1}]});
        let body = edit("Edit", &json!({"file_path": "/a"}), "", &odd);
        assert_eq!(body.hunks.len(), 3);
    }
}
