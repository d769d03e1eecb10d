//! How the file tools of dsh (`DeepSeek` Harness) present a call and its result: pure functions of what a
//! log holds of them, by the rules of its own presenters.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is shown of a call or of its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "card", rename_all = "camelCase")]
pub enum Card {
    /// Changed texts.
    Diff {
        /// The tool's verb and the path.
        title: String,
        /// In file order.
        diffs: Vec<CardDiff>,
        /// Where to look.
        locations: Vec<Location>,
    },
    /// No texts to compare.
    Generic {
        /// The tool's verb and the path.
        title: String,
        /// Whether the call changes a file or reads it.
        kind: CallKind,
        /// Where to look.
        locations: Vec<Location>,
    },
    /// The result's own words.
    Text {
        /// As the model saw it.
        text: String,
    },
}

/// One text before and after; whole files, or a hunk with its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardDiff {
    /// In the model's spelling.
    pub path: String,
    /// None where there was nothing, or nothing is known of it.
    pub old_text: Option<String>,
    /// After.
    pub new_text: String,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// In the model's spelling.
    pub path: String,
    /// 1-based line, where one is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// What a call does to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallKind {
    /// Changes it.
    Edit,
    /// Reads it.
    Read,
}

/// A tool's answer, as its log row has it.
#[derive(Debug, Clone, Copy)]
pub struct ToolResult<'a> {
    /// The text that the model saw.
    pub content: &'a str,
    /// The tool failed.
    pub is_error: bool,
    /// The tool's private payload.
    pub meta: Option<&'a Value>,
}

/// The card of a call that has no result yet; none for other tools and for arguments that are not
/// theirs.
pub fn present_call(name: &str, args: &Value) -> Option<Card> {
    match name {
        "write" => {
            let path = path(args, "file_path")?;
            Some(diff("Write", path, vec![whole(path, text(args, "content")?)]))
        }
        "edit" => {
            let path = path(args, "file_path")?;
            let (old, new) = (text(args, "old_string")?, text(args, "new_string")?);
            Some(diff("Edit", path, vec![replaced(path, old, new)]))
        }
        "str_replace_editor" => present_editor(args),
        _ => None,
    }
}

/// The card of a result; none for other tools and for arguments that are not theirs.
pub fn present_result(name: &str, args: &Value, result: ToolResult) -> Option<Card> {
    let call = present_call(name, args)?;
    let words = || Card::Text { text: result.content.to_owned() };
    if result.is_error {
        return Some(words());
    }
    let (verb, path) = match name {
        "write" => ("Write", path(args, "file_path")?),
        "edit" => ("Edit", path(args, "file_path")?),
        // Its results have no payload: the arguments are all there is.
        _ => return Some(call),
    };
    Some(match applied(result.meta) {
        Applied::Hunks(diffs) => diff(verb, path, diffs),
        // A new file, or one written as it was.
        Applied::Nothing if name == "write" => call,
        Applied::Nothing | Applied::Malformed => words(),
    })
}

fn present_editor(args: &Value) -> Option<Card> {
    let path = path(args, "path")?;
    let generic = |verb: &str, kind, line| Card::Generic {
        title: format!("{verb} {path}"),
        kind,
        locations: vec![Location { path: path.to_owned(), line }],
    };
    match text(args, "command")? {
        "create" => Some(diff("create", path, vec![whole(path, text(args, "file_text")?)])),
        "str_replace" => {
            let new = text(args, "new_str").unwrap_or_default();
            Some(diff("str_replace", path, vec![replaced(path, text(args, "old_str")?, new)]))
        }
        "insert" => {
            let line = args.get("insert_line")?.as_u64()?.checked_add(1);
            Some(generic("insert", CallKind::Edit, line))
        }
        "view" => Some(generic("view", CallKind::Read, None)),
        _ => None,
    }
}

/// What the payload of `write` and `edit` says.
enum Applied {
    /// There is none, or it lists no hunk.
    Nothing,
    /// It is not of the known shape.
    Malformed,
    /// The applied hunks.
    Hunks(Vec<CardDiff>),
}

fn applied(meta: Option<&Value>) -> Applied {
    let Some(diffs) = meta.filter(|meta| !meta.is_null()).map(|meta| meta.get("diffs")) else {
        return Applied::Nothing;
    };
    match diffs.map(Vec::<CardDiff>::deserialize) {
        Some(Ok(diffs)) if diffs.is_empty() => Applied::Nothing,
        Some(Ok(diffs)) => Applied::Hunks(diffs),
        _ => Applied::Malformed,
    }
}

fn diff(verb: &str, path: &str, diffs: Vec<CardDiff>) -> Card {
    let locations = vec![Location { path: path.to_owned(), line: None }];
    Card::Diff { title: format!("{verb} {path}"), diffs, locations }
}

fn whole(path: &str, content: &str) -> CardDiff {
    CardDiff { path: path.to_owned(), old_text: None, new_text: content.to_owned() }
}

fn replaced(path: &str, old: &str, new: &str) -> CardDiff {
    CardDiff { old_text: Some(old.to_owned()), ..whole(path, new) }
}

fn text<'a>(args: &'a Value, key: &str) -> Option<&'a str> {
    args.get(key)?.as_str()
}

/// A path that names something.
fn path<'a>(args: &'a Value, key: &str) -> Option<&'a str> {
    text(args, key).filter(|path| !path.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn done(name: &str, args: &Value, meta: &Value) -> Option<Card> {
        let result = ToolResult { content: "said", is_error: false, meta: Some(meta) };
        present_result(name, args, result)
    }

    fn write() -> Value {
        json!({"file_path": "a/b", "content": "new\n"})
    }

    fn edit() -> Value {
        json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"})
    }

    fn words() -> Card {
        Card::Text { text: "said".into() }
    }

    #[test]
    fn a_pending_write_shows_the_whole_file_even_over_another() {
        let card = diff("Write", "a/b", vec![whole("a/b", "new\n")]);
        assert_eq!(present_call("write", &write()), Some(card));
    }

    #[test]
    fn a_pending_edit_shows_its_two_strings() {
        let card = diff("Edit", "/w/a", vec![replaced("/w/a", "x", "y")]);
        assert_eq!(present_call("edit", &edit()), Some(card));
    }

    #[test]
    fn results_show_the_applied_hunks() {
        let meta = json!({"diffs": [
            {"path": "a", "oldText": "1\nx", "newText": "1\ny"},
            {"path": "a", "oldText": null, "newText": "z"},
        ]});
        let hunks = vec![replaced("a", "1\nx", "1\ny"), whole("a", "z")];
        assert_eq!(done("edit", &edit(), &meta), Some(diff("Edit", "/w/a", hunks.clone())));
        assert_eq!(done("write", &write(), &meta), Some(diff("Write", "a/b", hunks)));
    }

    #[test]
    fn without_hunks_a_write_shows_the_whole_file_and_an_edit_its_words() {
        for meta in [json!({"diffs": []}), Value::Null] {
            assert_eq!(done("write", &write(), &meta), present_call("write", &write()));
            assert_eq!(done("edit", &edit(), &meta), Some(words()));
        }
        let none = ToolResult { content: "said", is_error: false, meta: None };
        assert_eq!(present_result("write", &write(), none), present_call("write", &write()));
    }

    #[test]
    fn a_malformed_payload_and_a_failure_show_words() {
        for meta in
            [json!({}), json!([]), json!("x"), json!({"diffs": 1}), json!({"diffs": [{"path": 1}]})]
        {
            assert_eq!(done("write", &write(), &meta), Some(words()), "{meta}");
            assert_eq!(done("edit", &edit(), &meta), Some(words()), "{meta}");
        }
        let meta = json!({"diffs": [{"path": "a", "oldText": "x", "newText": "y"}]});
        let failed = ToolResult { content: "Error: no", is_error: true, meta: Some(&meta) };
        for (name, args) in [("write", write()), ("edit", edit())] {
            let card = present_result(name, &args, failed);
            assert_eq!(card, Some(Card::Text { text: "Error: no".into() }));
        }
    }

    #[test]
    fn the_editor_is_shown_from_its_arguments() {
        let create = json!({"command": "create", "path": "/a", "file_text": "t"});
        let card = Some(diff("create", "/a", vec![whole("/a", "t")]));
        assert_eq!(present_call("str_replace_editor", &create), card);
        assert_eq!(done("str_replace_editor", &create, &Value::Null), card);
        let replace = json!({"command": "str_replace", "path": "/a", "old_str": "o"});
        let card = diff("str_replace", "/a", vec![replaced("/a", "o", "")]);
        assert_eq!(done("str_replace_editor", &replace, &Value::Null), Some(card));
        let place = |kind, line, verb: &str| Card::Generic {
            title: format!("{verb} /a"),
            kind,
            locations: vec![Location { path: "/a".into(), line }],
        };
        let insert = json!({"command": "insert", "path": "/a", "insert_line": 3, "new_str": "n"});
        let card = place(CallKind::Edit, Some(4), "insert");
        assert_eq!(done("str_replace_editor", &insert, &Value::Null), Some(card));
        let view = json!({"command": "view", "path": "/a"});
        let card = place(CallKind::Read, None, "view");
        assert_eq!(present_call("str_replace_editor", &view), Some(card));
    }

    #[test]
    fn other_tools_and_wrong_arguments_have_no_card() {
        let wrong = [
            ("bash", json!({"command": "x"})),
            ("Write", write()),
            ("write", Value::Null),
            ("write", json!("a")),
            ("write", json!({"file_path": "a"})),
            ("write", json!({"file_path": "  ", "content": "x"})),
            ("edit", json!({"file_path": "a", "old_string": 1, "new_string": ""})),
            ("str_replace_editor", json!({"command": "undo", "path": "/a"})),
            ("str_replace_editor", json!({"command": "insert", "path": "/a", "insert_line": -1})),
        ];
        for (name, args) in wrong {
            assert_eq!(present_call(name, &args), None, "{name} {args}");
            assert_eq!(done(name, &args, &Value::Null), None, "{name} {args}");
        }
    }

    #[test]
    fn cards_are_written_as_the_protocols_spell_them() {
        let card = serde_json::to_value(present_call("write", &write())).unwrap();
        let diffs = json!([{"path": "a/b", "oldText": null, "newText": "new\n"}]);
        let locations = json!([{"path": "a/b"}]);
        assert_eq!(
            card,
            json!({"card": "diff", "title": "Write a/b", "diffs": diffs, "locations": locations})
        );
    }
}
