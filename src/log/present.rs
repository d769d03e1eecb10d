//! The `present` tool of our own MCP server, as agents write it into their logs.

use super::loose::{owned, word};
use serde_json::Value;

/// Whether a tool name is that of our `present`: bare, or with a client's prefix for the server.
pub(super) fn is_present(name: &str) -> bool {
    matches!(name, "present" | "handback_present" | "handback__present" | "mcp__handback__present")
}

/// The files of a `present` call, from its arguments (an object, or a JSON text of one).
pub(super) fn presented_files(arguments: &Value) -> Vec<(String, Option<String>)> {
    if let Some(text) = arguments.as_str() {
        return serde_json::from_str::<Value>(text)
            .ok()
            .filter(Value::is_object)
            .map(|parsed| presented_files(&parsed))
            .unwrap_or_default();
    }
    let files = arguments["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    files
        .iter()
        .filter_map(|file| match file {
            Value::String(path) => Some((path.clone(), None)),
            _ => Some((word(&file["path"])?.to_owned(), owned(&file["description"]))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_our_own_present_counts() {
        assert!(is_present("mcp__handback__present") && is_present("handback_present"));
        assert!(!is_present("mcp__slides__present") && !is_present("presented"));
    }

    #[test]
    fn arguments_may_be_an_object_or_a_text_of_one() {
        let object = json!({"files": [{"path": "a.html", "description": "x"}, "b", {"p": 1}, 3]});
        let expected = vec![("a.html".into(), Some("x".into())), ("b".into(), None)];
        assert_eq!(presented_files(&object), expected);
        assert_eq!(presented_files(&Value::String(object.to_string())), expected);
        assert_eq!(presented_files(&json!("\"text\"")), vec![]);
    }
}
