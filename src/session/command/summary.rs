//! Lines of counts, as test runners and linters close with: `3 failed, 2 passed in 0.1s`,
//! `Tests run: 5, Failures: 1`. A line counts only if all of it is counts.

/// What a line of counts says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// What went wrong.
    pub(super) bad: u64,
    /// Tests that passed or ran.
    pub(super) good: u64,
    /// It names what can go wrong with 0.
    pub(super) says_none_bad: bool,
    /// It is about tests.
    pub(super) of_tests: bool,
}

/// Words for what went wrong in tests.
const BAD_TESTS: &[&str] = &["failed", "failing", "fail", "failure", "failures", "broken"];
/// Words for what went wrong anywhere.
const BAD: &[&str] =
    &["error", "errors", "problem", "problems", "issue", "issues", "offense", "offenses"];
/// Words for tests that passed, or of which the rest tells that none failed.
const GOOD: &[&str] = &[
    "passed",
    "passing",
    "pass",
    "succeeded",
    "test",
    "tests",
    "examples",
    "example",
    "runs",
    "run",
    "ok",
    "specs",
    "scenarios",
];
/// Words that say nothing of success.
#[rustfmt::skip]
const NEUTRAL: &[&str] = &[
    "skipped", "skip", "skips", "pending", "todo", "ignored", "measured", "filtered", "xfailed", "xpassed",
    "deselected", "warning", "warnings", "rerun", "reruns", "total", "flaky", "interrupted", "assertions",
    "assertion", "expect()", "expects", "incomplete", "risky", "cancelled", "leaky", "slow", "disabled",
    "inconclusive", "infos", "informations", "notes", "hidden", "excluded", "not", "did", "snapshots", "obsolete",
    "subtests", "suites", "suite", "steps", "doctests", "properties", "timeout", "expected", "unexpected", "fixable",
    "files", "file", "cases", "unresolved",
];
/// Words that only join.
const JOINING: &[&str] =
    &["in", "out", "calls", "run", "across", "of", "and", "with", "or", "ran", "generated"];

/// Reads a line that begins with its counts or with a known label, and holds nothing else.
pub(super) fn counts(line: &str) -> Option<Counts> {
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '=' | '-' | '─' | '*'));
    let line = line.trim_end_matches('.');
    if line.len() > 300 || !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    keyed(line).or_else(|| numbered(unlabelled(line)))
}

/// Labels that stand before counts.
const LABELS: &[&str] = &[
    "Tests:",
    "Tests",
    "Test Suites:",
    "Test Files",
    "Snapshots:",
    "Test cases:",
    "test cases:",
    "Specs:",
    "Finished.",
    "Total:",
    "Results:",
    "Done.",
    "Suites:",
];

fn unlabelled(line: &str) -> &str {
    let line = LABELS.iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
    let line = line.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '✖' | '✘' | '✔' | '✗' | '✓' | '×' | '•')
    });
    // nextest: `Summary [   0.1s] 5 tests run: …`
    let summary = line.strip_prefix("Summary [").and_then(|rest| rest.split_once(']'));
    summary.map_or(line, |(_, rest)| rest.trim_start())
}

/// `3 failed, 2 passed in 0.1s`; `5 tests run: 4 passed, 1 failed`; `1 failed | 2 passed (3)`.
fn numbered(line: &str) -> Option<Counts> {
    let mut found = Counts::default();
    let mut items = 0;
    for item in line.split([',', ';', '|', '·', ':', '(']) {
        let item = item.trim_matches(|c: char| c.is_whitespace() || matches!(c, ')' | '.'));
        let mut words = item.split_whitespace();
        let Some(number) = words.next() else { continue };
        let Ok(number) = number.parse::<u64>() else {
            // A time, or a count without its word, may close the line.
            if items > 0 && is_time(item) {
                continue;
            }
            return None;
        };
        let mut words = words.peekable();
        if words.peek().is_none() {
            if items == 0 {
                return None;
            }
            continue;
        }
        found.add(number, &mut words)?;
        items += 1;
    }
    (items > 0).then_some(found)
}

/// `0.12s`, `finished in 3.2 s`, `20ms`, `1.2 s)`: words of which none is unknown.
fn is_time(item: &str) -> bool {
    let known = [
        "finished",
        "in",
        "took",
        "after",
        "estimated",
        "s",
        "ms",
        "seconds",
        "second",
        "m",
        "min",
        "minutes",
    ];
    let is_number = |word: &str| {
        let word = word.trim_start_matches(['~', '[', '<']).trim_end_matches([']', 's', 'm', 'h']);
        word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b':' | b'm'))
    };
    item.split_whitespace().all(|word| known.contains(&word) || is_number(word))
}

/// `Tests run: 5, Failures: 1, Errors: 0`; `Failed:     1, Passed:     4`.
fn keyed(line: &str) -> Option<Counts> {
    let line = line.strip_prefix("[ERROR]").or(line.strip_prefix("[INFO]")).unwrap_or(line).trim();
    let line = [
        "Failed!  - ",
        "Passed!  - ",
        "Skipped! - ",
        "OK, but incomplete, skipped, or risky tests! ",
    ]
    .iter()
    .find_map(|start| line.strip_prefix(start))
    .unwrap_or(line);
    let mut found = Counts::default();
    let mut items = 0;
    for item in line.split(',') {
        let (key, number) = item.split_once(':')?;
        let number = number.trim().trim_end_matches('.');
        let Ok(number) = number.split_whitespace().next()?.parse::<u64>() else {
            if items > 0 {
                break;
            }
            return None;
        };
        let key = key.trim().to_lowercase();
        let mut words = key.split_whitespace().peekable();
        words.peek()?;
        // `Time elapsed`, `Duration`: what follows is no count.
        if found.add(number, &mut words).is_none() {
            if items == 0 {
                return None;
            }
            continue;
        }
        items += 1;
    }
    (items > 1).then_some(found)
}

impl Counts {
    fn add<'w>(&mut self, number: u64, words: &mut impl Iterator<Item = &'w str>) -> Option<()> {
        let mut told = false;
        for word in words {
            let word = word.to_lowercase();
            let is = |list: &[&str]| list.contains(&word.as_str());
            if is(BAD_TESTS) || is(BAD) {
                self.bad += number;
                self.says_none_bad |= number == 0;
                self.of_tests |= is(BAD_TESTS);
            } else if is(GOOD) && !told {
                self.good += number;
                self.of_tests = true;
            } else if is_time(&word) || told && is(JOINING) {
                // How long it took.
            } else if !(is(NEUTRAL) || is(GOOD)) {
                return None;
            }
            told = true;
        }
        told.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_counts_and_others() {
        let bad = |line| counts(line).map(|c| (c.bad, c.good > 0));
        for (line, wanted) in [
            ("===== 3 failed, 2 passed in 0.12s =====", Some((3, true))),
            ("======= 5 passed, 1 warning in 1.20s =======", Some((0, true))),
            ("5 passed in 0.03s", Some((0, true))),
            ("1 failed, 2 passed, 1 error in 61.20s (0:01:01)", Some((2, true))),
            ("Tests:       1 failed, 2 passed, 3 total", Some((1, true))),
            ("Tests:       3 passed, 3 total", Some((0, true))),
            ("Test Suites: 1 failed, 1 total", Some((1, false))),
            ("      Tests  1 failed | 2 passed (3)", Some((1, true))),
            (" Test Files  2 passed (2)", Some((0, true))),
            ("  5 passing (20ms)", Some((0, true))),
            ("  2 failing", Some((2, false))),
            ("  3 passed (3.2s)", Some((0, true))),
            ("5 examples, 1 failure", Some((1, true))),
            ("5 examples, 0 failures, 1 pending", Some((0, true))),
            ("5 tests, 0 failures", Some((0, true))),
            ("3 runs, 3 assertions, 1 failures, 0 errors, 0 skips", Some((1, true))),
            (" 5 pass", Some((0, true))),
            (" 1 fail", Some((1, false))),
            ("Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", Some((1, true))),
            (
                "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s",
                Some((0, true)),
            ),
            ("Tests: 5, Assertions: 10, Failures: 1.", Some((1, true))),
            (
                "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5",
                Some((1, true)),
            ),
            (
                "     Summary [   0.005s] 5 tests run: 4 passed, 1 failed, 0 skipped",
                Some((1, true)),
            ),
            ("0 errors, 0 warnings, 0 informations", Some((0, false))),
            ("✖ 3 problems (0 errors, 3 warnings)", Some((3, false))),
            ("2 errors generated.", Some((2, false))),
            ("✓ says 3 failed, 2 passed", None),
            ("it shows 2 failed", None),
            ("3 failed attempts are retried", None),
            ("2 files changed, 3 insertions(+)", None),
            ("12", None),
            ("10:15", None),
            ("0 failed attempts left", None),
            ("", None),
        ] {
            assert_eq!(bad(line), wanted, "{line}");
        }
    }
}
