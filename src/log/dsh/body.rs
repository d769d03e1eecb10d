//! What an edit did and what a result says, read from rows when somebody asks for it.

use super::row::{CallData, DispatchData, ResultData, Row, text};
use super::tool::arguments;
use crate::log::row::lossy;
use crate::session::event::{AppliedHunk, EditAction, EditBody};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The texts in the arguments of the file tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Texts {
    command: Option<String>,
    content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    file_text: Option<String>,
    old_str: Option<String>,
    new_str: Option<String>,
    insert_line: Option<u32>,
}

/// What one call did to its file.
pub(super) fn edit_body(call: &[u8], result: Option<&[u8]>) -> EditBody {
    let call = lossy(call);
    let result = result.map(lossy);
    let (name, texts) = parse(&call).and_then(|row| call_texts(&row)).unwrap_or_default();
    let answer = result.as_deref().and_then(parse).map(|row| answer(&row)).unwrap_or_default();
    EditBody {
        action: action(&name, texts, answer.created),
        hunks: answer.hunks,
        ..EditBody::default()
    }
}

fn parse(row: &str) -> Option<Row<'_>> {
    serde_json::from_str(row).ok()
}

fn call_texts(row: &Row<'_>) -> Option<(String, Texts)> {
    let (name, raw) = if row.kind == "tool/call" {
        let call: CallData<'_> = row.data()?;
        (call.name, call.arguments)
    } else {
        let call: DispatchData<'_> = row.data()?;
        (call.name, call.arguments)
    };
    Some((name, serde_json::from_str(&arguments(raw)?).unwrap_or_default()))
}

fn action(name: &str, texts: Texts, created: Option<bool>) -> EditAction {
    let known = match (name, texts.command.as_deref()) {
        ("write", _) => texts.content.map(|content| EditAction::Write { content, created }),
        ("edit", _) => texts.old_string.zip(texts.new_string).map(|(old, new)| {
            EditAction::Replace { pairs: vec![(old, new, texts.replace_all.unwrap_or(false))] }
        }),
        // This command refuses a path that is there.
        ("str_replace_editor", Some("create")) => {
            texts.file_text.map(|content| EditAction::Write { content, created: Some(true) })
        }
        ("str_replace_editor", Some("str_replace")) => texts.old_str.map(|old| {
            EditAction::Replace { pairs: vec![(old, texts.new_str.unwrap_or_default(), false)] }
        }),
        // The tool splits the text at newlines and puts the parts in as lines, so that a final
        // newline makes an empty line: the text is all but the newline that ends it.
        ("str_replace_editor", Some("insert")) => texts
            .insert_line
            .zip(texts.new_str)
            .map(|(after_line, text)| EditAction::Insert { after_line, text }),
        _ => None,
    };
    known.unwrap_or_default()
}

#[derive(Debug, Default)]
struct Answer {
    created: Option<bool>,
    hunks: Vec<AppliedHunk>,
}

fn answer(row: &Row<'_>) -> Answer {
    if row.kind != "tool/result" {
        let Some(settled) = row.data::<DispatchData<'_>>() else { return Answer::default() };
        return Answer { created: created(&text(settled.content)), hunks: Vec::new() };
    }
    let Some(result) = row.data::<ResultData<'_>>() else { return Answer::default() };
    let output = result.message.result();
    let hunks =
        if output.failed || !result.error.is_null() { None } else { result.meta.and_then(hunks) };
    Answer { created: created(&text(output.content)), hunks: hunks.unwrap_or_default() }
}

/// Only these words tell a new file from a rewritten one.
fn created(words: &str) -> Option<bool> {
    if words.contains("\nCreated file\n") {
        Some(true)
    } else if words.contains("\nUpdated file\n") {
        Some(false)
    } else {
        None
    }
}

#[derive(Debug, Deserialize)]
struct Meta {
    diffs: Vec<MetaDiff>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetaDiff {
    /// Must be there, or the entry is no diff.
    #[serde(rename = "path")]
    _path: String,
    #[serde(default)]
    old_text: Value,
    new_text: String,
}

/// The applied hunks; none at all where one of them is malformed, as in upstream's own presenter.
fn hunks(meta: &RawValue) -> Option<Vec<AppliedHunk>> {
    let meta: Meta = serde_json::from_str(meta.get()).ok()?;
    let hunk = |diff: MetaDiff| {
        let old_text = match diff.old_text {
            Value::Null => None,
            Value::String(text) => Some(text),
            _ => return None,
        };
        Some(AppliedHunk { old_text, new_text: Some(diff.new_text), ..AppliedHunk::default() })
    };
    meta.diffs.into_iter().map(hunk).collect()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadMeta {
    path: String,
    offset: u64,
    lines: Vec<ReadLine>,
    total_lines: u64,
}

#[derive(Debug, Deserialize)]
struct ReadLine {
    number: u64,
    text: String,
}

fn whole_read(meta: &RawValue) -> Option<ReadMeta> {
    let meta: ReadMeta = serde_json::from_str(meta.get()).ok()?;
    let in_order = meta.lines.iter().zip(1..).all(|(line, number)| line.number == number);
    (meta.offset == 1 && meta.lines.len() as u64 == meta.total_lines && in_order).then_some(meta)
}

/// The path of a file that this result's `meta` shows from its first line to its last.
pub(super) fn wholly_read(meta: Option<&RawValue>) -> Option<String> {
    Some(whole_read(meta?)?.path)
}

/// The text of a wholly read file. The log drops line ends, a byte order mark and the lack of a
/// final newline; LF ends stand for whatever there was.
pub(super) fn known_text(row: &[u8]) -> Option<String> {
    let row = lossy(row);
    let result: ResultData<'_> = parse(&row)?.data()?;
    let read = whole_read(result.meta?)?;
    let mut text = String::new();
    for line in read.lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    Some(text)
}

/// The words of a result.
pub(super) fn output(row: &[u8]) -> Option<String> {
    let row = lossy(row);
    let row = parse(&row)?;
    if row.kind == "tool/result" {
        let result: ResultData<'_> = row.data()?;
        return Some(text(result.message.result().content));
    }
    let settled: DispatchData<'_> = row.data()?;
    Some(text(settled.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &Value) -> Vec<u8> {
        let arguments = Value::String(arguments.to_string());
        let data =
            serde_json::json!({"turn": 1, "callId": "c", "name": name, "arguments": arguments});
        serde_json::json!({"type": "tool/call", "data": data}).to_string().into_bytes()
    }

    fn result(text: &str, meta: &Value) -> Vec<u8> {
        let message = serde_json::json!({"source": {"callId": "c"}, "content": [{"type": "text", "text": text}]});
        let data = serde_json::json!({"turn": 1, "message": message, "meta": meta});
        serde_json::json!({"type": "tool/result", "data": data}).to_string().into_bytes()
    }

    #[test]
    fn a_write_says_whether_the_file_is_new() {
        let call = call("write", &serde_json::json!({"file_path": "a", "content": "x\n"}));
        let write = |words: &str| {
            let text = format!("<path>a</path>\n<type>file</type>\n<content>\n{words}\n</content>");
            edit_body(&call, Some(&result(&text, &Value::Null))).action
        };
        let content = || "x\n".to_owned();
        assert_eq!(
            write("Created file"),
            EditAction::Write { content: content(), created: Some(true) }
        );
        assert_eq!(
            write("Updated file"),
            EditAction::Write { content: content(), created: Some(false) }
        );
        assert_eq!(
            edit_body(&call, None).action,
            EditAction::Write { content: content(), created: None }
        );
    }

    #[test]
    fn hunks_are_taken_whole_or_not_at_all() {
        let call = call(
            "edit",
            &serde_json::json!({"file_path": "a", "old_string": "o", "new_string": "n", "replace_all": true}),
        );
        let hunks = |meta: Value| edit_body(&call, Some(&result("ok", &meta))).hunks;
        let good = serde_json::json!({"path": "a", "oldText": null, "newText": "n"});
        let found = hunks(serde_json::json!({"diffs": [good]}));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].old_text.as_deref(), found[0].new_text.as_deref()), (None, Some("n")));
        for bad in [
            serde_json::json!({"path": "a", "oldText": 3, "newText": "n"}),
            serde_json::json!({"oldText": "o", "newText": "n"}),
            Value::Null,
        ] {
            assert_eq!(hunks(serde_json::json!({"diffs": [good, bad]})), []);
        }
        assert_eq!(hunks(serde_json::json!({"diffs": "no list"})), []);
        let pairs = vec![("o".to_owned(), "n".to_owned(), true)];
        assert_eq!(edit_body(&call, None).action, EditAction::Replace { pairs });
    }

    #[test]
    fn the_editor_creates_replaces_and_inserts() {
        let action =
            |arguments: Value| edit_body(&call("str_replace_editor", &arguments), None).action;
        assert_eq!(
            action(serde_json::json!({"command": "create", "path": "a", "file_text": "x"})),
            EditAction::Write { content: "x".into(), created: Some(true) }
        );
        assert_eq!(
            action(serde_json::json!({"command": "str_replace", "path": "a", "old_str": "x"})),
            EditAction::Replace { pairs: vec![("x".into(), String::new(), false)] }
        );
        assert_eq!(
            action(
                serde_json::json!({"command": "insert", "path": "a", "insert_line": 2, "new_str": "y"})
            ),
            EditAction::Insert { after_line: 2, text: "y".into() }
        );
    }

    #[test]
    fn rows_of_any_bytes_give_a_body_and_never_a_panic() {
        for row in [
            &b""[..],
            b"{",
            b"[]",
            b"\xff\xfe",
            br#"{"type":"tool/call"}"#,
            br#"{"type":"tool/call","data":{"arguments":7}}"#,
        ] {
            assert_eq!(edit_body(row, Some(row)), EditBody::default());
            assert_eq!((known_text(row), output(row)), (None, None));
        }
    }
}
