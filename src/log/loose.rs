//! Loose looks at JSON that other programs wrote: any value may be missing or of another kind.

use super::Output;
use super::row::lossy;
use crate::session::Damage;
use crate::session::event::Place;
use serde_json::Value;
use std::borrow::Cow;

/// The JSON values of a line: one, or several where two rows were glued. What does not parse
/// becomes one damage; what stands before it still counts.
pub(super) fn values(place: Place, line: &[u8], out: &mut Output) -> Vec<Value> {
    let text = lossy(line);
    let mut damage = |message: String| {
        out.damages.push(Damage { line: Some(place.line), offset: Some(place.offset), message });
    };
    if matches!(text, Cow::Owned(_)) {
        damage("not UTF-8: read with replacement characters".to_owned());
    }
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter() {
        match value {
            Ok(value) => found.push(value),
            Err(error) => {
                damage(format!("not a JSON row: {error}"));
                break;
            }
        }
    }
    found
}

/// The JSON values of a row that is read again; nothing is said of what does not parse.
pub(super) fn values_again(row: &[u8]) -> Vec<Value> {
    values(Place::default(), row, &mut Output::default())
}

/// The text of a content that is a string, a block with `text`, or a list of such blocks.
pub(super) fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> =
                blocks.iter().map(plain_text).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(block) => block.get("text").map(plain_text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// A string that is not empty.
pub(super) fn word(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// The same, owned.
pub(super) fn owned(value: &Value) -> Option<String> {
    word(value).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glued_rows_are_both_read_and_a_torn_one_is_one_damage() {
        let mut out = Output::default();
        let place = Place { line: 7, offset: 90, ..Place::default() };
        let found = values(place, br#"{"a":1}{"b":2}{"c":"#, &mut out);
        assert_eq!(found.len(), 2);
        assert_eq!(out.damages.len(), 1);
        assert_eq!((out.damages[0].line, out.damages[0].offset), (Some(7), Some(90)));
        let found = values(place, b"{\"a\":\"\xff\"}", &mut out);
        assert_eq!((found.len(), out.damages.len()), (1, 2));
        assert_eq!(values(place, b" \r", &mut out), Vec::<Value>::new());
    }
}
