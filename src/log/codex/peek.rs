//! A first look at a Codex row: most tell nothing, and are passed over unparsed.

use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;

/// The words that tell whether a row says anything; reading them copies nothing.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    payload: Option<PeekPayload<'a>>,
}

#[derive(Deserialize)]
struct PeekPayload<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    item: Option<PeekItem<'a>>,
}

#[derive(Deserialize)]
struct PeekItem<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

/// Whether a row is reasoning, a count, an answer, or something else that no event comes from. Bare
/// messages are such where prompts are told by rows of their own.
pub(super) fn tells_nothing(line: &[u8], prompts_told: bool) -> bool {
    // A row of another shape, or two in one line: the full look decides.
    let Ok(peek) = serde_json::from_slice::<Peek<'_>>(line) else { return false };
    let payload = peek.payload.as_ref();
    let inner = payload.and_then(|payload| payload.kind.as_deref()).unwrap_or_default();
    let item = payload.and_then(|payload| payload.item.as_ref()?.kind.as_deref());
    match peek.kind.as_deref() {
        Some("compacted" | "world_state" | "token_usage_record" | "reasoning") => true,
        Some("event_msg") => {
            inner.contains("delta")
                || inner.starts_with("agent_")
                || matches!(inner, "token_count" | "thread_settings_applied")
                || matches!(item, Some("Reasoning" | "AgentMessage" | "Extension" | "WebSearch"))
        }
        Some("response_item") => match inner {
            // A command of the user's own is told by a message (before generation D).
            "message" => prompts_told && memmem::find(line, b"<user_shell_command>").is_none(),
            "reasoning" | "additional_tools" => true,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_of_known_silence_are_passed_over() {
        let silent = |row: &str| tells_nothing(row.as_bytes(), false);
        assert!(silent(r#"{"type":"event_msg","payload":{"type":"token_count","info":{}}}"#));
        assert!(silent(
            r#"{"payload":{"item":{"type":"Reasoning"},"type":"item_completed"},"type":"event_msg"}"#
        ));
        assert!(silent(r#"{"type":"compacted","payload":{"replacement_history":[]}}"#));
        let message = r#"{"type":"response_item","payload":{"type":"message","role":"user"}}"#;
        assert!(!silent(message) && tells_nothing(message.as_bytes(), true));
        assert!(!silent(r#"{"type":"event_msg","payload":{"type":"task_started"}}"#));
        assert!(
            !silent(r#"{"type":"event_msg","payload":{"type":"token_count"}}{"type":"x"}"#),
            "glued"
        );
        assert!(!silent(r#"{"type":"event_msg","payload":{"type":"item_completed","item":"x"}}"#));
        assert!(!silent("torn"));
    }
}
