//! A unified diff → applied hunks with their line numbers. File headers may be there or not.

use crate::session::event::AppliedHunk;

/// The hunks of one file's unified diff, in its order. Lines before the first `@@` and lines that
/// are none of a hunk's are skipped; the counts of the `@@` line say where a hunk ends.
pub(super) fn hunks(diff: &str) -> Vec<AppliedHunk> {
    let mut found = Vec::new();
    let mut lines = diff.split('\n');
    while let Some(line) = lines.next() {
        let Some(head) = HunkHead::parse(line) else { continue };
        found.push(head.read(&mut lines));
    }
    found
}

/// `@@ -4,3 +4,4 @@`: first lines and counts.
struct HunkHead {
    old: (u32, u32),
    new: (u32, u32),
}

impl HunkHead {
    fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("@@ -")?;
        let (old, rest) = rest.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        Some(Self { old: range(old)?, new: range(new)? })
    }

    /// Takes the lines of this hunk: a context line counts on both sides.
    fn read<'a>(&self, lines: &mut impl Iterator<Item = &'a str>) -> AppliedHunk {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        while old.len() < self.old.1 as usize || new.len() < self.new.1 as usize {
            let Some(line) = lines.next() else { break };
            match line.as_bytes().first() {
                Some(b'-') => old.extend(line.get(1..)),
                Some(b'+') => new.extend(line.get(1..)),
                // A blank context line may have lost its space.
                Some(b' ') | None => {
                    old.extend(line.get(1..).or(Some("")));
                    new.extend(line.get(1..).or(Some("")));
                }
                // `\ No newline at end of file`, or nothing of a hunk.
                _ => {}
            }
        }
        AppliedHunk {
            old_start: Some(start(self.old)),
            new_start: Some(start(self.new)),
            old_text: joined(&old),
            new_text: joined(&new),
        }
    }
}

/// A side without lines is given as the line before it (`-0,0`, `-7,0`); ours is the line at which
/// it would stand.
fn start((first, count): (u32, u32)) -> u32 {
    if count == 0 { first.saturating_add(1) } else { first }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

/// Lines as a hunk's text: joined by LF; none where there is no line.
pub(super) fn joined(lines: &[&str]) -> Option<String> {
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(old: Option<u32>, new: Option<u32>, a: Option<&str>, b: Option<&str>) -> AppliedHunk {
        AppliedHunk {
            old_start: old,
            new_start: new,
            old_text: a.map(str::to_owned),
            new_text: b.map(str::to_owned),
        }
    }

    #[test]
    fn headers_are_skipped_and_each_hunk_has_its_numbers() {
        let diff = "Index: a\n====\n--- a\n+++ b\n@@ -4,3 +4,3 @@ fn x\n a\n-b\n+c\n d\n@@ -9 +9,2 @@\n e\n+f\n";
        assert_eq!(
            hunks(diff),
            [
                hunk(Some(4), Some(4), Some("a\nb\nd"), Some("a\nc\nd")),
                hunk(Some(9), Some(9), Some("e"), Some("e\nf")),
            ]
        );
    }

    #[test]
    fn lines_that_look_like_headers_are_content() {
        let diff = "@@ -1,2 +1,2 @@\n--- old rule\n+++ new rule\n \n\\ No newline at end of file\n";
        assert_eq!(
            hunks(diff),
            [hunk(Some(1), Some(1), Some("-- old rule\n"), Some("++ new rule\n"))]
        );
    }

    #[test]
    fn a_side_without_lines_has_no_text() {
        assert_eq!(
            hunks("@@ -0,0 +1,2 @@\n+a\n+b\n"),
            [hunk(Some(1), Some(1), None, Some("a\nb"))]
        );
        assert_eq!(hunks("@@ -3,1 +2,0 @@\n-a\n"), [hunk(Some(3), Some(3), Some("a"), None)]);
    }

    #[test]
    fn a_torn_diff_gives_what_is_there() {
        assert_eq!(
            hunks("@@ -1,9 +1,9 @@\n a\n-b"),
            [hunk(Some(1), Some(1), Some("a\nb"), Some("a"))]
        );
        assert_eq!(hunks("@@ -99999999999 +1 @@\n a"), []);
        assert_eq!(hunks("@@@ -1 -1 +1 @@@"), []);
    }
}
