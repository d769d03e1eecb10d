//! What is read is shown, never sent: nothing hostile reaches a cell, wherever it stands in a log.

use crate::person::Person;
use handback::reader::ReadOptions;
use serde_json::json;

const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{202e}evil\u{200b}\u{9b}31m\u{0}";

fn log() -> Vec<u8> {
    let path = format!("src/{HOSTILE}.rs");
    let mut rows = [
        json!({"type": "session", "version": 0, "id": HOSTILE, "createdAt": 1, "delegationDepth": 0,
               "cwd": "/nowhere"}),
        json!({"type": "turn/start", "data": {"turn": 1}}),
        json!({"type": "user/message", "data": {"id": "u", "source": {"kind": "user"},
               "content": [{"type": "text", "text": HOSTILE}]}}),
        json!({"type": "tool/call", "data": {"turn": 1, "step": 1, "callId": "a", "name": "write",
               "arguments": json!({"file_path": path, "content": format!("a {HOSTILE} b\n\ttab\n日本語\n")}).to_string()}}),
        json!({"type": "tool/result", "data": {"turn": 1, "step": 1, "message": {"role": "tool",
               "source": {"kind": "tool", "callId": "a"}, "toolCallId": "a", "isError": false,
               "content": [{"type": "text", "text": "Created file"}]}}}),
        json!({"type": "deliverables/presented", "data": {"turn": 1, "callId": "p",
               "files": [{"path": path, "description": HOSTILE}]}}),
        json!({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}),
    ];
    for (seq, row) in rows.iter_mut().skip(1).enumerate() {
        row["seq"] = json!(seq);
        row["time"] = json!(seq);
    }
    let mut out: Vec<u8> = rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect();
    out.extend_from_slice(b"{\"broken\": \x1b[31m\n");
    out
}

#[test]
fn nothing_hostile_reaches_a_cell() {
    let mut person = Person::at(
        &log(),
        ReadOptions { max_file_bytes: 1 << 20, ..Default::default() },
        (100, 24),
    );
    let mut screens = person.screen();
    for keys in ["Tab", "v", "w", "j j", "/ e v i l Enter", "Esc Esc (", "?"] {
        person.keys(keys);
        screens.push_str(&person.screen());
    }
    for c in screens.chars().filter(|c| *c != '\n') {
        let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}');
        assert!(!c.is_control() && !reorders, "{c:?} on the screen:\n{screens}");
    }
    assert!(screens.contains("␛]0;owned␇"), "it is shown:\n{screens}");
    assert!(screens.contains("日本語"));
}
