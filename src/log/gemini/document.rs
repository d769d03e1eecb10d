//! A Gemini CLI log that is one JSON document, taken apart as far as it goes.

use crate::log::lazy;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// A document in parts that are whole.
pub(super) struct Document<'a> {
    /// It without its messages, or all of it.
    pub(super) head: String,
    /// The messages that a torn document still holds.
    pub(super) messages: Vec<&'a str>,
    /// Where and why it is torn, in bytes from its beginning.
    pub(super) torn: Option<(u64, String)>,
}

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (_, cause) = lazy::objects(text);
        match (cause, messages(text)) {
            (Some(cause), Some((head, messages, end))) => {
                let cause = format!("the document is torn: {cause}");
                Self { head, messages, torn: Some((end as u64, cause)) }
            }
            (cause, _) => {
                let torn = cause.map(|cause| (0, cause));
                Self { head: text.to_owned(), messages: Vec::new(), torn }
            }
        }
    }
}

/// A document without its messages, the messages as far as they are whole, and where they end.
fn messages(text: &str) -> Option<(String, Vec<&str>, usize)> {
    let key = text.find("\"messages\"")?;
    let first = key + text.get(key..)?.find('[')? + 1;
    let head = format!("{}]}}", text.get(..first)?);
    let mut found = Vec::new();
    let mut at = first;
    loop {
        let rest = text.get(at..)?;
        let from = rest.len() - rest.trim_start_matches([',', ' ', '\t', '\r', '\n']).len();
        let rest = rest.get(from..)?;
        let mut values = Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return Some((head, found, at)) };
        found.push(rest.get(..values.byte_offset())?);
        at += from + values.byte_offset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_document_gives_its_whole_messages() {
        let text =
            "{\"sessionId\":\"s\",\n \"messages\": [\n {\"id\":\"1\"},\n {\"id\":\"2\"}\n]}\n";
        let whole = Document::new(text);
        assert_eq!((whole.head.as_str(), whole.messages.len()), (text, 0));
        assert_eq!(whole.torn, None);
        for cut in 1..text.trim_end().len() {
            let torn = Document::new(&text[..cut]);
            let messages = usize::from(cut >= 44) + usize::from(cut >= 57);
            assert_eq!(torn.messages.len(), messages, "cut at {cut}: {:?}", &text[..cut]);
            let (at, cause) = torn.torn.unwrap();
            assert!(at as usize <= cut && !cause.contains('\n'), "{cause}");
            let (head, cause) = lazy::objects(&torn.head);
            if cut > 32 {
                assert!(cause.is_none() && head[0].is("sessionId", "s"), "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_break_inside_keeps_what_stands_before_it() {
        let text = "{\"messages\":[{\"id\":\"1\"},{\"id\" 2},{\"id\":\"3\"}]}";
        let torn = Document::new(text);
        assert_eq!(torn.messages, ["{\"id\":\"1\"}"]);
        assert_eq!(torn.torn.unwrap().0, 23);
    }
}
