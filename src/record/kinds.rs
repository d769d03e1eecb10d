//! What a change is besides its lines, in words: nothing of it is to be overlooked.

use crate::content::Content;
use crate::session::{ChangedFile, FileStatus};
use crate::store::kept::KeptSide;

/// What else there is to say of a change; none where its lines say it all.
pub(super) fn describe(
    file: &ChangedFile,
    sides: (&KeptSide, &KeptSide),
    contents: (&Content, &Content),
) -> Option<String> {
    let mut words = Vec::new();
    words.extend(special(sides.0, sides.1));
    if let (Some(old), Some(new)) = (&file.old_mode, &file.new_mode)
        && old != new
    {
        words.push(format!("mode {old} → {new}"));
    }
    match contents {
        (Content::Text(old), Content::Text(new)) => words.extend(text(old, new)),
        (old, new) if file.binary || file.oversized => words.push(sizes(file, old, new)),
        _ => {}
    }
    (!words.is_empty()).then(|| words.join("; "))
}

fn mode(side: &KeptSide) -> Option<u32> {
    match side {
        KeptSide::Absent => None,
        KeptSide::Blob { mode, .. } => Some(*mode),
    }
}

fn special(old: &KeptSide, new: &KeptSide) -> Option<String> {
    let id = |side: &KeptSide| match side {
        KeptSide::Blob { id, mode: 0o160_000, .. } => id.get(..7).unwrap_or(id).to_owned(),
        KeptSide::Blob { .. } => "a file".to_owned(),
        KeptSide::Absent => "nothing".to_owned(),
    };
    let modes = [mode(old), mode(new)];
    if modes.contains(&Some(0o160_000)) {
        Some(format!("submodule {} → {}", id(old), id(new)))
    } else if modes.contains(&Some(0o120_000)) {
        Some("symbolic link: its text is its target".to_owned())
    } else {
        None
    }
}

fn sizes(file: &ChangedFile, old: &Content, new: &Content) -> String {
    let kind = if file.oversized { "too large" } else { "binary" };
    let size = |content: &Content| match content {
        Content::Absent => None,
        Content::Text(bytes) => Some(bytes.len() as u64),
        Content::Binary { len } | Content::Oversized { len } => Some(*len),
    };
    match (size(old), size(new)) {
        (Some(old), Some(new)) => format!("{kind}: {old} → {new} bytes"),
        (Some(len), None) | (None, Some(len)) => format!("{kind}: {len} bytes"),
        (None, None) => kind.to_owned(),
    }
}

fn text(old: &[u8], new: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut differ = |what: &str, old: &str, new: &str| {
        if old != new {
            words.push(format!("{what}: {old} → {new}"));
        }
    };
    differ("encoding", encoding(old), encoding(new));
    if !old.is_empty() && !new.is_empty() {
        if let (Some(old), Some(new)) = (line_endings(old), line_endings(new)) {
            differ("line endings", old, new);
        }
        let end = |text: &[u8]| if text.ends_with(b"\n") { "there" } else { "missing" };
        differ("final newline", end(old), end(new));
    }
    words
}

fn encoding(text: &[u8]) -> &'static str {
    match (text.starts_with(b"\xef\xbb\xbf"), std::str::from_utf8(text).is_ok()) {
        (true, true) => "UTF-8 with a byte order mark",
        (false, true) => "UTF-8",
        (_, false) => "not UTF-8",
    }
}

fn line_endings(text: &[u8]) -> Option<&'static str> {
    let all = memchr::memchr_iter(b'\n', text).count();
    match memchr::memmem::find_iter(text, b"\r\n").count() {
        0 if all == 0 => None,
        0 => Some("LF"),
        crlf if crlf == all => Some("CRLF"),
        _ => Some("LF and CRLF"),
    }
}

/// A capture's status, from its sides.
pub(super) fn status(old: &KeptSide, new: &KeptSide) -> FileStatus {
    let link = |mode| mode == 0o120_000;
    match (old, new) {
        (KeptSide::Absent, _) => FileStatus::Added,
        (_, KeptSide::Absent) => FileStatus::Deleted,
        (KeptSide::Blob { id: a, mode: m, .. }, KeptSide::Blob { id: b, mode: n, .. }) => {
            if link(*m) != link(*n) {
                FileStatus::TypeChanged
            } else if a == b && m != n {
                FileStatus::ModeChanged
            } else {
                FileStatus::Modified
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn side(id: &str, mode: u32) -> KeptSide {
        KeptSide::Blob { id: id.into(), mode, bytes: 1, not_kept: None }
    }

    fn said(old: &[u8], new: &[u8]) -> Option<String> {
        let content = |bytes: &[u8]| Content::classify(Arc::from(bytes), 100);
        let (old, new) = (content(old), content(new));
        let is = |kind: fn(&Content) -> bool| kind(&old) || kind(&new);
        let file = ChangedFile {
            binary: is(|content| matches!(content, Content::Binary { .. })),
            oversized: is(|content| matches!(content, Content::Oversized { .. })),
            ..ChangedFile::default()
        };
        let blob = side("1", 0o100_644);
        describe(&file, (&blob, &blob), (&old, &new))
    }

    #[test]
    fn what_lines_do_not_show_is_said() {
        assert_eq!(said(b"a\n", b"b\n"), None);
        assert_eq!(said(b"a\n", b"a\r\n").unwrap(), "line endings: LF → CRLF");
        assert_eq!(said(b"a\nb\n", b"a\nb").unwrap(), "final newline: there → missing");
        assert_eq!(
            said("\u{feff}a\n".as_bytes(), b"a\n").unwrap(),
            "encoding: UTF-8 with a byte order mark → UTF-8"
        );
        assert_eq!(said(b"a\n", b"\xff\n").unwrap(), "encoding: UTF-8 → not UTF-8");
        assert_eq!(said(b"a\0", b"b\0b").unwrap(), "binary: 2 → 3 bytes");
        assert_eq!(said(b"a", &[b'x'; 101]).unwrap(), "too large: 1 → 101 bytes");
    }

    #[test]
    fn modes_links_and_submodules_are_said() {
        let text = Content::Text((*b"x").into());
        let file = ChangedFile {
            old_mode: Some("100644".into()),
            new_mode: Some("100755".into()),
            ..ChangedFile::default()
        };
        let (old, new) = (side("1", 0o100_644), side("1", 0o100_755));
        let said = describe(&file, (&old, &new), (&text, &text)).unwrap();
        assert_eq!(said, "mode 100644 → 100755");
        let (old, new) = (side("1234567890", 0o160_000), side("abcdef0123", 0o160_000));
        let said = describe(&ChangedFile::default(), (&old, &new), (&text, &text)).unwrap();
        assert_eq!(said, "submodule 1234567 → abcdef0");
    }

    #[test]
    fn a_capture_has_a_status_too() {
        let file = side("1", 0o100_644);
        assert_eq!(status(&KeptSide::Absent, &file), FileStatus::Added);
        assert_eq!(status(&file, &KeptSide::Absent), FileStatus::Deleted);
        assert_eq!(status(&file, &side("1", 0o100_755)), FileStatus::ModeChanged);
        assert_eq!(status(&file, &side("2", 0o120_000)), FileStatus::TypeChanged);
        assert_eq!(status(&file, &side("2", 0o100_755)), FileStatus::Modified);
    }
}
