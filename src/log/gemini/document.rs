//! A Gemini CLI log that is one JSON document, taken apart as far as it goes.

use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// What a torn document still holds.
pub(super) struct Torn<'a> {
    /// It without its messages, closed.
    pub(super) head: String,
    /// The messages that are whole.
    pub(super) messages: Vec<&'a str>,
    /// Where those end, in bytes from its beginning.
    pub(super) at: usize,
}

/// Takes a torn document apart; none where it has no messages yet.
pub(super) fn torn(text: &str) -> Option<Torn<'_>> {
    let key = text.find("\"messages\"")?;
    let first = key + text.get(key..)?.find('[')? + 1;
    let head = format!("{}]}}", text.get(..first)?);
    let mut messages = Vec::new();
    let mut at = first;
    loop {
        let rest = text.get(at..)?;
        let from = rest.len() - rest.trim_start_matches([',', ' ', '\t', '\r', '\n']).len();
        let rest = rest.get(from..)?;
        let mut values = Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return Some(Torn { head, messages, at }) };
        messages.push(rest.get(..values.byte_offset())?);
        at += from + values.byte_offset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lazy;

    #[test]
    fn a_torn_document_gives_its_whole_messages() {
        let text =
            "{\"sessionId\":\"s\",\n \"messages\": [\n {\"id\":\"1\"},\n {\"id\":\"2\"}\n]}\n";
        assert_eq!(lazy::objects(text).1, None);
        for cut in 1..text.trim_end().len() {
            let text = &text[..cut];
            let torn = torn(text);
            let found = torn.as_ref().map_or(0, |torn| torn.messages.len());
            let messages = usize::from(cut >= 44) + usize::from(cut >= 57);
            assert_eq!(found, messages, "cut at {cut}: {text:?}");
            let cause = lazy::objects(text).1.unwrap();
            assert!(!cause.contains('\n'), "{cause}");
            if cut > 32 {
                let torn = torn.unwrap();
                assert!(torn.at <= cut);
                let (head, cause) = lazy::objects(&torn.head);
                assert!(cause.is_none() && head[0].is("sessionId", "s"), "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_break_inside_keeps_what_stands_before_it() {
        let text = "{\"messages\":[{\"id\":\"1\"},{\"id\" 2},{\"id\":\"3\"}]}";
        let torn = torn(text).unwrap();
        assert_eq!(torn.messages, ["{\"id\":\"1\"}"]);
        assert_eq!(torn.at, 23);
    }
}
