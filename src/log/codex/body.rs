//! What an edit did, read again from its rows: a call's patch text, or a map of applied changes.

use super::call::ToolCall;
use crate::log::loose::{values_again, word};
use crate::log::patch_text::added;
use crate::log::unified;
use crate::session::event::{EditAction, EditBody};
use serde_json::{Map, Value};

/// The body of the `nth` edit of a call. The map of applied changes knows more than the patch text
/// (line numbers, a deleted file's text), so it wins where there is one.
pub(super) fn edit_body(call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
    let calls = values_again(call);
    let results = result.map(values_again).unwrap_or_default();
    let changes = results.iter().find_map(change_map);
    let section = calls
        .iter()
        .filter_map(|row| ToolCall::read(item(row)))
        .find(|call| !call.sections.is_empty())
        .and_then(|call| call.sections.into_iter().nth(nth));
    if let Some(section) = section {
        return match changes.and_then(|changes| change_of(changes, &section.path)) {
            Some((path, change)) => change_body(path, change),
            None => section.body(),
        };
    }
    if let Some((path, change)) =
        calls.iter().find_map(change_map).and_then(|map| map.iter().nth(nth))
    {
        return change_body(path, change);
    }
    calls
        .iter()
        .find_map(|row| row["item"]["changes"].get(nth))
        .map(listed_body)
        .unwrap_or_default()
}

/// The response item of a row, which the oldest logs have bare.
pub(super) fn item(row: &Value) -> &Value {
    row.get("payload").unwrap_or(row)
}

/// The `changes` of a `patch_apply_end` event or of a `FileChange` item.
pub(super) fn change_map(row: &Value) -> Option<&Map<String, Value>> {
    let payload = item(row);
    payload["changes"].as_object().or_else(|| payload["item"]["changes"].as_object())
}

/// The path after a change, and the path before where it was moved.
pub(super) fn path_after<'a>(path: &'a str, change: &'a Value) -> &'a str {
    word(&change["move_path"]).unwrap_or(path)
}

/// The change of a path as the patch spells it: the map has absolute paths. Of several that end
/// alike, the one nearest to the root is meant.
fn change_of<'a>(changes: &'a Map<String, Value>, path: &str) -> Option<(&'a str, &'a Value)> {
    if let Some((key, change)) = changes.get_key_value(path) {
        return Some((key, change));
    }
    let tail = format!("/{}", path.trim_start_matches("./"));
    changes
        .iter()
        .filter(|(key, _)| key.ends_with(&tail))
        .min_by_key(|(key, _)| key.len())
        .map(|(key, change)| (key.as_str(), change))
}

fn change_body(path: &str, change: &Value) -> EditBody {
    let content = || change["content"].as_str().map(str::to_owned);
    match change["type"].as_str() {
        Some("add") => content().map(added).unwrap_or_default(),
        Some("delete") => {
            EditBody { action: EditAction::Delete, before: content(), ..EditBody::default() }
        }
        _ => {
            let hunks = change["unified_diff"].as_str().map(unified::hunks).unwrap_or_default();
            let moved_from = word(&change["move_path"]).map(|_| path.to_owned());
            let only_moved = hunks.is_empty() && moved_from.is_some();
            let action = if only_moved { EditAction::Keep } else { EditAction::Unknown };
            EditBody { action, hunks, moved_from, ..EditBody::default() }
        }
    }
}

/// A change of the machine-readable output, which names the file and no text.
fn listed_body(change: &Value) -> EditBody {
    let action = match change["kind"].as_str() {
        Some("delete") => EditAction::Delete,
        _ => EditAction::Unknown,
    };
    EditBody { action, ..EditBody::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call() -> Vec<u8> {
        let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** Delete File: d.txt\n*** End Patch";
        json!({"type": "response_item", "payload":
            {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": patch}})
        .to_string()
        .into_bytes()
    }

    #[test]
    fn the_patch_text_serves_where_nothing_better_is_there() {
        let body = edit_body(&call(), None, 0);
        assert_eq!(body.hunks[0].old_text.as_deref(), Some("x"));
        assert_eq!(body.hunks[0].old_start, None);
        assert_eq!(edit_body(&call(), None, 1).action, EditAction::Delete);
        assert_eq!(edit_body(&call(), None, 2), EditBody::default());
        assert_eq!(edit_body(b"not json", Some(b"{}"), 0), EditBody::default());
    }

    #[test]
    fn the_map_of_changes_knows_more() {
        let result = json!({"type": "event_msg", "payload": {"type": "patch_apply_end", "changes": {
            "/w/d.txt": {"type": "delete", "content": "gone\n"},
            "/w/a.txt": {"type": "update", "unified_diff": "@@ -4,1 +4,1 @@\n-x\n+y\n", "move_path": null},
            "/w/sub/a.txt": {"type": "add", "content": "other"},
        }}})
        .to_string();
        let body = edit_body(&call(), Some(result.as_bytes()), 0);
        assert_eq!(body.hunks[0].old_start, Some(4));
        let body = edit_body(&call(), Some(result.as_bytes()), 1);
        assert_eq!(body.before.as_deref(), Some("gone\n"));
    }

    #[test]
    fn an_item_alone_gives_its_changes_in_key_order() {
        let item = json!({"type": "event_msg", "payload": {"type": "item_completed", "item":
            {"type": "FileChange", "id": "exec-1", "changes": {
                "/w/b": {"type": "update", "unified_diff": "", "move_path": "/w/c"},
                "/w/a": {"type": "add", "content": "t\n"}}}}})
        .to_string();
        let first = edit_body(item.as_bytes(), None, 0);
        assert_eq!(first.after.as_deref(), Some("t\n"));
        let second = edit_body(item.as_bytes(), None, 1);
        assert_eq!((second.action, second.moved_from.as_deref()), (EditAction::Keep, Some("/w/b")));
    }
}
