//! JSON of a log row, parsed only as deep as it is asked for: big strings are skipped, not copied.
//!
//! Nothing here fails: a value that is missing or of another kind is simply not there.

use super::row::lossy;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// One JSON value that has not been looked into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<'a>(&'a RawValue);

/// The members of one JSON object, each still unparsed.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Json<'a> {
    /// The string that this is. A lone surrogate in it becomes U+FFFD.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        if !self.0.get().starts_with('"') {
            return None;
        }
        serde_json::from_str::<Lossy<'a>>(self.0.get()).ok().map(|text| text.0)
    }

    /// The boolean that this is.
    pub(crate) fn bool(self) -> Option<bool> {
        serde_json::from_str(self.0.get()).ok()
    }

    /// The whole number that this is.
    pub(crate) fn number(self) -> Option<i64> {
        serde_json::from_str(self.0.get()).ok()
    }

    /// The object that this is; empty for anything else.
    pub(crate) fn object(self) -> Object<'a> {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    /// The elements of the array that this is; none for anything else.
    pub(crate) fn items(self) -> Vec<Self> {
        let items: Vec<&'a RawValue> = serde_json::from_str(self.0.get()).unwrap_or_default();
        items.into_iter().map(Self).collect()
    }

    /// Whether this is `null`.
    pub(crate) fn is_null(self) -> bool {
        self.0.get() == "null"
    }
}

impl<'a> Object<'a> {
    /// A member; the last one where a key stands twice.
    pub(crate) fn get(&self, key: &str) -> Option<Json<'a>> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| Json(value))
    }

    /// A member that is a string.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// A member that is a string, owned.
    pub(crate) fn string(&self, key: &str) -> Option<String> {
        self.text(key).map(Cow::into_owned)
    }

    /// Whether a member is the string `value`.
    pub(crate) fn is(&self, key: &str, value: &str) -> bool {
        self.text(key).is_some_and(|text| text == value)
    }

    /// Whether a member is `true`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Json::bool) == Some(true)
    }

    /// A member that is a whole number.
    pub(crate) fn number(&self, key: &str) -> Option<i64> {
        self.get(key)?.number()
    }

    /// A member that is an object; empty for anything else.
    pub(crate) fn object(&self, key: &str) -> Self {
        self.get(key).map(Json::object).unwrap_or_default()
    }

    /// The elements of a member that is an array; none for anything else.
    pub(crate) fn items(&self, key: &str) -> Vec<Json<'a>> {
        self.get(key).map(Json::items).unwrap_or_default()
    }

    /// Whether there is such a member, of whatever kind.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The keys and values, in the order in which they stand.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Json<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), Json(value)))
    }
}

/// The JSON objects of one row, in order. Usually one; a torn log may hold several glued
/// together, or half of one before a whole one.
///
/// The second value is the cause why something of the row could not be read.
pub(crate) fn objects(row: &str) -> (Vec<Object<'_>>, Option<String>) {
    let (found, cause) = stream(row);
    let Some(cause) = cause else { return (found, None) };
    // Behind a torn head a whole row may begin: most likely where the brace does not follow what
    // it follows within a row. A nested object does not run to the row's end.
    let nested = |at: usize| row.get(..at).is_none_or(|head| head.ends_with(['[', ',', ':', ' ']));
    let starts = || row.match_indices("{\"").skip(1).map(|(at, _)| at);
    let glued = starts().filter(|at| !nested(*at)).take(TRIES);
    let whole = glued
        .chain(starts().filter(|at| nested(*at)).take(TRIES))
        .find_map(|at| match stream(row.get(at..)?) {
            (rest, None) if rest.iter().any(|object| object.has("type")) => Some(rest),
            _ => None,
        })
        .unwrap_or_default();
    (if whole.len() > found.len() || found.is_empty() { whole } else { found }, Some(cause))
}

/// At how many places of a torn row a whole one is looked for.
const TRIES: usize = 32;

fn stream(row: &str) -> (Vec<Object<'_>>, Option<String>) {
    let mut found = Vec::new();
    for object in serde_json::Deserializer::from_str(row).into_iter::<Object<'_>>() {
        match object {
            Ok(object) => found.push(object),
            Err(cause) => return (found, Some(reason(&cause))),
        }
    }
    (found, None)
}

/// The cause without serde's "at line 1": a row has one line.
fn reason(cause: &serde_json::Error) -> String {
    let text = cause.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    format!("not a JSON object: {text} at byte {}", cause.column())
}

/// A string of which lone surrogates (`"\ud800"`, which JavaScript writes) are no error.
struct Lossy<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Lossy<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Lossy<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Lossy(lossy(bytes)))
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Lossy(Cow::Owned(lossy(bytes).into_owned())))
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Lossy(key)) = map.next_key::<Lossy<'de>>()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Object(members))
            }
        }
        from.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(row: &str) -> Object<'_> {
        objects(row).0.pop().unwrap()
    }

    #[test]
    fn a_value_of_another_kind_is_not_there() {
        let object = only(r#"{"a":1,"b":"two","c":[3,"x"],"d":null,"e":{"f":true}}"#);
        assert_eq!(object.text("a"), None);
        assert_eq!(object.string("b").as_deref(), Some("two"));
        assert_eq!(object.items("c").len(), 2);
        assert_eq!(object.items("b").len(), 0);
        assert!(object.get("d").is_some_and(Json::is_null));
        assert!(object.object("e").flag("f"));
        assert!(!object.object("a").has("f"));
    }

    #[test]
    fn a_lone_surrogate_costs_one_character() {
        let object = only(r#"{"a":"x\ud800y","k\u0065y":"\n"}"#);
        assert!(object.text("a").unwrap().starts_with('x'));
        assert!(object.text("a").unwrap().ends_with('y'));
        assert_eq!(object.text("key").as_deref(), Some("\n"));
    }

    #[test]
    fn glued_rows_are_read_and_a_torn_one_costs_itself() {
        let (found, cause) = objects(r#"{"type":"a"}{"type":"b"}"#);
        assert_eq!((found.len(), cause), (2, None));
        let (found, cause) = objects(r#"{"type":"a"}{"type":"#);
        assert_eq!((found.len(), cause.is_some()), (1, true));
        let (found, cause) = objects(r#"{"type":"a","m":{"x":"{"type":"b","m":{"type":"c"}}"#);
        assert!(found[0].is("type", "b") && cause.is_some());
        let many = r#"{"x":[{"y":1}"#.to_owned() + &r#",{"y":1}"#.repeat(200) + r#",{"y":"z"#;
        let torn = many + r#"{"type":"b","m":[{"type":"c"}]}"#;
        assert!(objects(&torn).0[0].is("type", "b"));
    }

    #[test]
    fn deep_nesting_does_not_overflow() {
        let deep = format!(r#"{{"type":"a","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(only(&deep).is("type", "a"));
    }
}
