//! One line of a log → the JSON objects that stand in it, and the damage that it has.

use super::Output;
use super::lazy::{self, Object};
use crate::session::Damage;
use crate::session::event::Place;
use std::borrow::Cow;

/// The text of bytes; what is not UTF-8 becomes U+FFFD. Sound bytes are checked at full speed, which
/// `String::from_utf8_lossy` does not do.
pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Hands out the objects of a line, with its text. A blank line has none and is no damage.
pub(super) fn each_object(
    place: Place,
    line: &[u8],
    out: &mut Output,
    mut take: impl FnMut(&str, &Object<'_>, &mut Output),
) {
    if line.trim_ascii().is_empty() {
        return;
    }
    let mut damage = |message: String| {
        out.damages.push(Damage { line: Some(place.line), offset: Some(place.offset), message });
    };
    let row = lossy(line);
    if matches!(row, Cow::Owned(_)) {
        damage("not UTF-8: read with replacement characters".to_owned());
    }
    let (objects, cause) = lazy::objects(&row);
    cause.into_iter().for_each(&mut damage);
    for object in objects {
        take(&row, &object, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> (usize, Vec<String>) {
        let (mut out, mut count) = (Output::default(), 0);
        each_object(Place { line: 7, ..Place::default() }, line, &mut out, |_, _, _| count += 1);
        assert!(out.damages.iter().all(|damage| damage.line == Some(7)));
        (count, out.damages.into_iter().map(|damage| damage.message).collect())
    }

    #[test]
    fn a_line_is_read_as_far_as_it_goes() {
        assert_eq!(read(b" \r"), (0, vec![]));
        assert_eq!(read(b"{\"type\":\"a\"}\r"), (1, vec![]));
        assert_eq!(read(b"{\"a\":\"\xff\"}").0, 1);
        assert_eq!(read(b"{\"a\":\"\xff\"}").1, ["not UTF-8: read with replacement characters"]);
        let (count, damages) = read(b"{\"type\":\"a\"}{\"type\":");
        assert_eq!((count, damages.len()), (1, 1));
    }
}
