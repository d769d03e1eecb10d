//! A JSON text changed in one place, so that all the rest stays as it was written.

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// A text that is whole, valid JSON. Places in it are byte ranges of values.
#[derive(Debug, Clone)]
pub(super) struct JsonText {
    text: String,
    /// One step of indentation, as the text has it.
    step: String,
}

impl JsonText {
    /// Takes a text; an empty one is an empty object.
    ///
    /// # Errors
    /// It is no JSON: what is wrong, with its line and column.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        serde_json::from_str::<&RawValue>(text)?;
        let is_blank = |c: char| c == ' ' || c == '\t';
        let indented =
            text.lines().find(|line| line.starts_with(is_blank) && !line.trim().is_empty());
        let step = indented.and_then(|line| line.get(..line.find(|c| !is_blank(c))?));
        Ok(Self { step: step.unwrap_or("  ").to_owned(), text: text.to_owned() })
    }

    /// The text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Where the whole value stands.
    pub(super) fn root(&self) -> Range<usize> {
        let start = self.text.len() - self.text.trim_start().len();
        start..self.text.trim_end().len()
    }

    /// The text of a value.
    pub(super) fn at(&self, place: &Range<usize>) -> &str {
        self.text.get(place.clone()).unwrap_or_default()
    }

    /// The members of an object, in order; none where the value is no object.
    pub(super) fn members(&self, object: &Range<usize>) -> Option<Vec<(String, Range<usize>)>> {
        let mut source = serde_json::Deserializer::from_str(self.at(object));
        let members = source.deserialize_map(Members).ok()?;
        Some(members.into_iter().map(|(name, value)| (name, self.place_of(value))).collect())
    }

    /// A member of an object. Of several of one name the last one counts, as for those who read it.
    pub(super) fn member(&self, object: &Range<usize>, name: &str) -> Option<Range<usize>> {
        let members = self.members(object)?;
        members.into_iter().rev().find(|(found, _)| found == name).map(|(_, place)| place)
    }

    /// The elements of an array, in order; none where the value is no array.
    pub(super) fn elements(&self, array: &Range<usize>) -> Option<Vec<Range<usize>>> {
        let elements: Vec<&RawValue> = serde_json::from_str(self.at(array)).ok()?;
        Some(elements.into_iter().map(|value| self.place_of(value)).collect())
    }

    fn place_of(&self, value: &RawValue) -> Range<usize> {
        // It is a part of this text.
        let start = value.get().as_ptr().addr() - self.text.as_ptr().addr();
        start..start + value.get().len()
    }

    /// Adds an item behind the `items` of an array or object that stands `depth` steps deep. The
    /// item's lines are indented from zero on.
    pub(super) fn push(
        &mut self,
        container: &Range<usize>,
        items: &[Range<usize>],
        item: &str,
        depth: usize,
    ) {
        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let outer = format!("{line_end}{}", self.step.repeat(depth));
        let inner = format!("{outer}{}", self.step);
        let item = item.lines().collect::<Vec<_>>().join(&inner);
        if let Some(last) = items.last() {
            self.text.insert_str(last.end, &format!(",{inner}{item}"));
        } else {
            let inside = container.start + 1..container.end - 1;
            self.text.replace_range(inside, &format!("{inner}{item}{outer}"));
        }
    }

    /// Removes the item at `index` from an array or object with these `items`.
    pub(super) fn remove(
        &mut self,
        container: &Range<usize>,
        items: &[Range<usize>],
        index: usize,
    ) {
        let inside = container.start + 1..container.end - 1;
        let before = index.checked_sub(1).and_then(|before| items.get(before));
        let range = match (before, items.get(index)) {
            (_, None) => return,
            (Some(before), Some(item)) => before.end..item.end,
            (None, Some(item)) => {
                let behind = self.text.get(item.end..inside.end).unwrap_or_default();
                let comma = behind.find(',').map(|comma| item.end + comma + 1);
                inside.start..comma.unwrap_or(inside.end)
            }
        };
        self.text.replace_range(range, "");
    }

    /// One step of indentation.
    pub(super) fn step(&self) -> &str {
        &self.step
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(json: &JsonText, object: &Range<usize>) -> Vec<Range<usize>> {
        json.members(object).unwrap().into_iter().map(|(_, place)| place).collect()
    }

    #[test]
    fn what_is_pushed_and_removed_leaves_the_text_as_it_was() {
        let texts = [
            "{}",
            "{\"a\": 1e5}\n",
            "{\n\t\"b\" : [ ],\n\t\"a\":1.0 }",
            "{\r\n    \"b\": {},\r\n    \"a\": \"\\u00e9\"\r\n}\r\n",
        ];
        for text in texts {
            let mut json = JsonText::parse(text).unwrap();
            let root = json.root();
            json.push(&root, &places(&json, &root), "\"new\": [\n1\n]", 0);
            let root = json.root();
            assert!(json.member(&root, "new").is_some());
            let items = places(&json, &root);
            json.remove(&root, &items, items.len() - 1);
            assert_eq!(json.into_text(), text);
        }
    }

    #[test]
    fn any_item_can_be_removed() {
        let text = "[ 1,\n  {\"a\":[1,2]}, \"x,y\" ]";
        let removed = |index| {
            let mut json = JsonText::parse(text).unwrap();
            let items = json.elements(&json.root()).unwrap();
            json.remove(&json.root(), &items, index);
            serde_json::from_str::<serde_json::Value>(&json.into_text()).unwrap().to_string()
        };
        assert_eq!(removed(0), r#"[{"a":[1,2]},"x,y"]"#);
        assert_eq!(removed(1), r#"[1,"x,y"]"#);
        assert_eq!(removed(2), r#"[1,{"a":[1,2]}]"#);
        assert_eq!(removed(3), r#"[1,{"a":[1,2]},"x,y"]"#);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["{", "{} x", "// a\n{}", "{\"a\":1,}", "\u{feff}{}"] {
            assert!(JsonText::parse(text).is_err(), "{text}");
        }
        assert_eq!(JsonText::parse(" \n").unwrap().into_text(), "{}\n");
    }
}
