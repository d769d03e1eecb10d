//! A log that is one JSON document with its messages in a list: walked through without being held in memory.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Takes the JSON of one message; says whether to go on.
type Take<'a> = dyn FnMut(&str) -> bool + 'a;

/// Hands out each element of the document's member `messages`; gives the document without them, as
/// JSON with an empty list in their place.
///
/// # Errors
/// The file cannot be read, or is no such document from its first byte to its last; nobody wants
/// more of it (`Interrupted`).
pub(super) fn each_message(path: &Path, take: &mut Take<'_>) -> io::Result<String> {
    let mut document = serde_json::Deserializer::from_reader(BufReader::new(File::open(path)?));
    let mut goes_on = true;
    let mut take = |message: &str| {
        goes_on = take(message);
        goes_on
    };
    let rest = Document(&mut take).deserialize(&mut document);
    if !goes_on {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let rest = rest?;
    document.end()?;
    Ok(rest)
}

struct Document<'a, 't>(&'a mut Take<'t>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with messages")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<String, M::Error> {
        let mut rest = String::from("{\"messages\":[]");
        while let Some(key) = map.next_key::<String>()? {
            if key == "messages" {
                map.next_value_seed(Messages(&mut *self.0))?;
                continue;
            }
            let value: Box<RawValue> = map.next_value()?;
            rest.push(',');
            rest.push_str(&serde_json::Value::from(key).to_string());
            rest.push(':');
            rest.push_str(value.get());
        }
        rest.push('}');
        Ok(rest)
    }
}

struct Messages<'a, 't>(&'a mut Take<'t>);

impl<'de> DeserializeSeed<'de> for Messages<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        while let Some(message) = list.next_element::<Box<RawValue>>()? {
            if !(self.0)(message.get()) {
                return Err(serde::de::Error::custom("nobody wants more of it"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn walked(text: &[u8]) -> io::Result<(Vec<String>, String)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let mut found = Vec::new();
        let rest = each_message(file.path(), &mut |message| {
            found.push(message.to_owned());
            true
        })?;
        Ok((found, rest))
    }

    #[test]
    fn messages_are_handed_out_and_the_rest_is_given() {
        let text =
            b" {\"a\\\"b\": {\"c\": [1, 2]},\n \"messages\": [{\"id\": \"1\"}, 7], \"z\": null}\n";
        let (found, rest) = walked(text).unwrap();
        assert_eq!(found, ["{\"id\": \"1\"}", "7"]);
        assert_eq!(rest, r#"{"messages":[],"a\"b":{"c": [1, 2]},"z":null}"#);
        assert_eq!(walked(b"{}").unwrap(), (Vec::new(), "{\"messages\":[]}".to_owned()));
    }

    #[test]
    fn what_is_no_such_document_is_an_error() {
        let texts: [&[u8]; 6] = [
            b"",
            b"[]",
            b"{\"messages\":{}}",
            b"{\"messages\":[{\"id\":1}",
            b"{\"messages\":[]}{}",
            b"{\"messages\":[\"\xff\"]}",
        ];
        for text in texts {
            assert!(walked(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn it_ends_when_nobody_wants_more() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "{\"messages\":[1,2,3]}").unwrap();
        let mut seen = 0;
        let end = each_message(file.path(), &mut |_| {
            seen += 1;
            seen < 2
        });
        assert_eq!((end.unwrap_err().kind(), seen), (io::ErrorKind::Interrupted, 2));
    }
}
