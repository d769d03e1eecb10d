//! Finding a pattern in a line.

use std::ops::Range;

/// The byte ranges of `pattern` in `line`, in order, not overlapping. A pattern without an upper
/// case letter matches ASCII letters of either case.
pub fn find<'a>(line: &'a [u8], pattern: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let exact = pattern.chars().any(char::is_uppercase);
    let needle = pattern.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = line.get(from..).filter(|_| !needle.is_empty())?;
        let at =
            if exact { memchr::memmem::find(rest, needle)? } else { find_any_case(rest, needle)? };
        let start = from + at;
        from = start + needle.len();
        Some(start..from)
    })
}

fn find_any_case(line: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, rest) = needle.split_first()?;
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    memchr::memchr2_iter(lower, upper, line).find(|at| {
        line.get(at + 1..at + 1 + rest.len()).is_some_and(|here| here.eq_ignore_ascii_case(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str, pattern: &str) -> Vec<Range<usize>> {
        find(line.as_bytes(), pattern).collect()
    }

    #[test]
    fn lower_case_matches_both_cases_and_upper_case_is_exact() {
        assert_eq!(all("Foo foo FOO", "foo"), [0..3, 4..7, 8..11]);
        assert_eq!(all("Foo foo FOO", "Foo"), vec![0..3]);
        assert_eq!(all("aaaa", "aa"), [0..2, 2..4]);
        assert!(all("abc", "").is_empty() && all("", "a").is_empty());
    }
}
