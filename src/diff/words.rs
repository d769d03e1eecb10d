//! Which words changed inside a pair of lines.

use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::ops::Range;

/// A line with more bytes is not looked into.
const MAX_BYTES: usize = 2000;

/// A line with more words is not looked into: the search may cost their square.
const MAX_WORDS: usize = 400;

/// The byte ranges that changed in an old and a new line, rising and apart from each other. Both
/// are empty where a line is long or the two share less than a third of what is not white space:
/// then the whole lines are the change.
pub fn changed(old: &[u8], new: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let nothing = (Vec::new(), Vec::new());
    if old.len() > MAX_BYTES || new.len() > MAX_BYTES || old == new {
        return nothing;
    }
    let (old_words, new_words) = (words(old), words(new));
    if old_words.len() > MAX_WORDS || new_words.len() > MAX_WORDS {
        return nothing;
    }
    let (old_texts, new_texts) = (texts(old, &old_words), texts(new, &new_words));
    let (mut shared, mut deleted, mut added) = (0, Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts) {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            shared += old_texts[old_range].iter().map(|word| weight(word)).sum::<usize>();
        } else {
            extend(&mut deleted, &old_words[old_range]);
            extend(&mut added, &new_words[new_range]);
        }
    }
    if shared * 3 < weight(old).max(weight(new)) {
        return nothing;
    }
    (deleted, added)
}

/// How many bytes are not white space.
fn weight(text: &[u8]) -> usize {
    text.iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}

fn texts<'a>(line: &'a [u8], words: &[Range<usize>]) -> Vec<&'a [u8]> {
    words.iter().map(|word| &line[word.clone()]).collect()
}

/// Appends words that follow each other as one range; joins it to the last one where they touch.
fn extend(ranges: &mut Vec<Range<usize>>, words: &[Range<usize>]) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    match ranges.last_mut() {
        Some(range) if range.end == first.start => range.end = last.end,
        _ => ranges.push(first.start..last.end),
    }
}

/// What a word is made of. Bytes beyond ASCII are letters, so that no character is cut in two.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Letter,
    Space,
    Sign,
}

fn kind(byte: u8) -> Kind {
    match byte {
        b'_' | 0x80.. => Kind::Letter,
        _ if byte.is_ascii_alphanumeric() => Kind::Letter,
        _ if byte.is_ascii_whitespace() => Kind::Space,
        _ => Kind::Sign,
    }
}

/// Runs of letters, runs of white space, and single signs.
fn words(line: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    line.chunk_by(|left, right| kind(*left) != Kind::Sign && kind(*left) == kind(*right))
        .map(|word| {
            let range = start..start + word.len();
            start = range.end;
            range
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let (deleted, added) = changed(old.as_bytes(), new.as_bytes());
        let text = |line: &str, ranges: Vec<Range<usize>>| {
            ranges.into_iter().map(|range| line[range].to_owned()).collect()
        };
        (text(old, deleted), text(new, added))
    }

    #[test]
    fn changed_words_are_whole() {
        let (deleted, added) = pair("let total = count(a);", "let total = counted(a, b);");
        assert_eq!((deleted, added), (vec!["count".into()], vec!["counted".into(), ", b".into()]));
    }

    #[test]
    fn letters_beyond_ascii_stay_whole() {
        let (deleted, added) = pair("ein großes Haus", "ein größeres Haus");
        assert_eq!((deleted, added), (vec!["großes".into()], vec!["größeres".into()]));
    }

    #[test]
    fn lines_with_little_in_common_have_no_words() {
        assert_eq!(pair("fn open(path: &Path)", "while tired { sleep }"), (vec![], vec![]));
        assert_eq!(pair("    a", "    b"), (vec![], vec![]));
    }

    #[test]
    fn long_lines_are_left_alone() {
        let old = "word ".repeat(500);
        assert_eq!(pair(&old, &format!("{old}more")), (vec![], vec![]));
        let signs = "+".repeat(500);
        assert_eq!(pair(&signs, &format!("{signs}-")), (vec![], vec![]));
    }
}
