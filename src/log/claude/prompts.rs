//! What a `user` record of Claude Code is: a prompt, or one of the many other things that look so.

use crate::log::lazy::{Json, Object};

/// What the text of a `user` record means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// A person's prompt: a turn begins.
    Prompt(String),
    /// A slash command. The model may answer it, and then it was a prompt.
    Slash(String),
    /// A shell command that the person ran. The model may answer it.
    Shell(String),
    /// What that shell command printed.
    ShellOutput,
    /// A local command was done by the client itself: nobody answers.
    LocalOutput,
    /// The person stopped the turn.
    Interrupt,
    /// Put in by the client.
    Injected,
}

/// How the client says that the person stopped the turn.
const INTERRUPT: &str = "[Request interrupted by user";

/// What the client puts around texts that no person wrote.
const INJECTED: &[&str] = &[
    "<local-command-caveat>",
    "<system-reminder>",
    "<task-notification>",
    "<user-memory-input>",
    "Caveat: The messages below ",
];

/// Blocks beside a prompt that an editor or the client adds.
const BESIDE: &[&str] = &["<ide_", "<system-reminder>"];

/// What a `user` record says; none where it holds tool results or nothing at all.
pub(super) fn spoken(record: &Object<'_>) -> Option<Spoken> {
    let content = record.object("message").get("content")?;
    let texts = texts(content)?;
    let is_own = |text: &&str| !BESIDE.iter().any(|mark| text.starts_with(mark));
    let own: Vec<&str> = texts.iter().map(String::as_str).filter(is_own).collect();
    let text = if own.is_empty() { texts.join("\n") } else { own.join("\n") };
    Some(meaning(record, text))
}

/// Whether a record of tool results also says that the person stopped the turn.
pub(super) fn interrupts(record: &Object<'_>) -> bool {
    let blocks = record.object("message").items("content").into_iter().map(Json::object);
    let mut texts = blocks.filter_map(|block| block.text("text"));
    texts.any(|text| text.trim_start().starts_with(INTERRUPT))
}

fn meaning(record: &Object<'_>, text: String) -> Spoken {
    let start = text.trim_start();
    if start.starts_with(INTERRUPT) {
        return Spoken::Interrupt;
    }
    if record.flag("isMeta") || record.flag("isCompactSummary") {
        return Spoken::Injected;
    }
    if start.starts_with("<local-command-stdout>") || start.starts_with("<local-command-stderr>") {
        return Spoken::LocalOutput;
    }
    if start.starts_with("<bash-stdout>") || start.starts_with("<bash-stderr>") {
        return Spoken::ShellOutput;
    }
    if let Some(command) = tagged(start, "bash-input") {
        return Spoken::Shell(command.to_owned());
    }
    if start.starts_with("<command-name>") || start.starts_with("<command-message>") {
        let name = tagged(start, "command-name").unwrap_or_default();
        let arguments = tagged(start, "command-args").unwrap_or_default();
        return Spoken::Slash(format!("{name} {arguments}").trim().to_owned());
    }
    if INJECTED.iter().any(|mark| start.starts_with(mark)) {
        return Spoken::Injected;
    }
    Spoken::Prompt(text)
}

/// The texts of a message; none where it holds a tool result, or neither text nor image.
fn texts(content: Json<'_>) -> Option<Vec<String>> {
    if let Some(text) = content.text() {
        return Some(vec![text.into_owned()]);
    }
    let (mut texts, mut spoken) = (Vec::new(), false);
    for block in content.items() {
        let block = block.object();
        match block.text("type").as_deref() {
            Some("tool_result") => return None,
            Some("text") => {
                texts.push(block.string("text").unwrap_or_default());
                spoken = true;
            }
            Some("image" | "document") => spoken = true,
            _ => {}
        }
    }
    spoken.then_some(texts)
}

/// What stands between `<tag>` and `</tag>`.
fn tagged<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inside, _)| inside).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lazy::objects;

    fn of(row: &str) -> Option<Spoken> {
        spoken(&objects(row).0[0])
    }

    fn said(text: &str) -> Spoken {
        let row = serde_json::json!({"type": "user", "message": {"content": text}}).to_string();
        of(&row).unwrap()
    }

    #[test]
    fn only_a_persons_words_are_a_prompt() {
        assert_eq!(said("Do <b>this</b>"), Spoken::Prompt("Do <b>this</b>".into()));
        assert_eq!(said("[Request interrupted by user for tool use]"), Spoken::Interrupt);
        assert_eq!(said("Caveat: The messages below were generated"), Spoken::Injected);
        assert_eq!(said("<task-notification>\n<task-id>1"), Spoken::Injected);
        assert_eq!(said("<local-command-stdout></local-command-stdout>"), Spoken::LocalOutput);
        assert_eq!(said("<bash-input>ls -l</bash-input>"), Spoken::Shell("ls -l".into()));
        assert_eq!(said("<bash-stdout>ok</bash-stdout>"), Spoken::ShellOutput);
        let slash = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>all</command-args>";
        assert_eq!(said(slash), Spoken::Slash("/review all".into()));
    }

    #[test]
    fn meta_rows_and_summaries_are_no_prompts() {
        let meta = r#"{"isMeta":true,"message":{"content":"Continue"}}"#;
        let summary = r#"{"isCompactSummary":true,"message":{"content":"This session"}}"#;
        assert_eq!(of(meta), Some(Spoken::Injected));
        assert_eq!(of(summary), Some(Spoken::Injected));
    }

    #[test]
    fn blocks_are_joined_and_results_are_not_spoken() {
        let blocks = r#"{"message":{"content":[{"type":"text","text":"<ide_opened_file>x</ide_opened_file>"},{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}"#;
        assert_eq!(of(blocks), Some(Spoken::Prompt("a\nb".into())));
        assert_eq!(
            of(r#"{"message":{"content":[{"type":"image"}]}}"#),
            Some(Spoken::Prompt(String::new()))
        );
        assert_eq!(of(r#"{"message":{"content":[{"type":"tool_result"}]}}"#), None);
        assert_eq!(of(r#"{"message":{"content":["x",1,null]}}"#), None);
        assert_eq!(of(r#"{"message":"error"}"#), None);
        let both = r#"{"message":{"content":[{"type":"tool_result"},{"type":"text","text":"[Request interrupted by user]"}]}}"#;
        assert!(interrupts(&objects(both).0[0]));
    }
}
