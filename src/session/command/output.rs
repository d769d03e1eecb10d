//! What a command's output says of how it went: the lines with which test runners, compilers and
//! linters close. Never a guess: other lines say nothing.

use super::summary::counts;
use crate::session::{CommandKind, CommandOutcome};

/// What a closing line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Tests.
    Tests,
    /// A build or a linter.
    Code,
    /// Everything that was to be done.
    All,
}

/// What one line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// It closed well.
    Passed(About),
    /// It closed badly.
    Failed(About),
    /// Something is wrong; a closing line counts more.
    Wrong,
}

use About::{All, Code, Tests};
use Said::{Failed, Passed, Wrong};

/// How a command of this kind went by its output.
pub(super) fn told_by_output(kind: CommandKind, output: &str) -> CommandOutcome {
    let about = if kind == CommandKind::Test { Tests } else { Code };
    let is_meant = |of: About| of == about || of == All;
    let (mut failed, mut passed, mut wrong) = (false, false, false);
    let mut protocol = Protocol::default();
    for line in ending(output).lines() {
        let line = without_colours(line);
        match protocol.take(&line).or_else(|| closing(&line)) {
            Some(Failed(of)) if is_meant(of) => failed = true,
            Some(Passed(of)) if is_meant(of) => passed = true,
            Some(Failed(_) | Wrong) => wrong = true,
            Some(Passed(_)) | None => {}
        }
    }
    passed |= about == Tests && protocol.is_complete();
    match (failed, passed, wrong) {
        (true, ..) | (false, false, true) => CommandOutcome::Failed,
        (false, true, _) => CommandOutcome::Passed,
        (false, false, false) => CommandOutcome::Unknown,
    }
}

/// So much of an output is looked at, in bytes: closing lines stand at its end.
const LOOKED_AT: usize = 1 << 20;

fn ending(output: &str) -> &str {
    let mut start = output.len().saturating_sub(LOOKED_AT);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    output.get(start..).unwrap_or_default()
}

/// What only several lines together say.
#[derive(Default)]
struct Protocol {
    /// Of the test anything protocol: how many tests there are to be, and how many passed.
    plan: Option<u64>,
    passed: u64,
    /// Python's `Ran 5 tests in …`, which makes an `OK` mean something.
    ran: bool,
}

impl Protocol {
    fn take(&mut self, line: &str) -> Option<Said> {
        if let Some(plan) = line.strip_prefix("1..") {
            self.plan = plan.split_whitespace().next().and_then(|plan| plan.parse().ok());
        }
        let after = line.strip_prefix("ok ").unwrap_or_default();
        self.passed += u64::from(after.starts_with(|c: char| c.is_ascii_digit()));
        self.ran |= line.starts_with("Ran ") && line.contains(" test");
        (line.trim() == "OK" && self.ran).then_some(Passed(Tests))
    }

    fn is_complete(&self) -> bool {
        self.passed > 0 && self.plan == Some(self.passed)
    }
}

/// A line without the codes that colour it.
fn without_colours(line: &str) -> std::borrow::Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    if !line.contains(ESCAPE) {
        return line.into();
    }
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != ESCAPE {
            out.push(c);
        } else if chars.next() == Some('[') {
            // Up to the letter that ends the code.
            chars.by_ref().find(|c| matches!(c, '@'..='~'));
        }
    }
    out.into()
}

/// Whole lines, without blanks around them.
#[rustfmt::skip] // one a line
const LINES: &[(&str, Said)] = &[
    ("FAIL", Failed(Tests)),
    ("PASS", Passed(Tests)),
    ("FAILURES!", Failed(Tests)),
    ("ERRORS!", Failed(Tests)),
    ("Result: PASS", Passed(Tests)),
    ("Result: FAIL", Failed(Tests)),
    ("All tests successful.", Passed(Tests)),
    ("All tests passed", Passed(Tests)),
    ("All tests passed!", Passed(Tests)),
    ("Some tests failed.", Failed(Tests)),
    ("Test Run Successful.", Passed(Tests)),
    ("Test Run Failed.", Failed(Tests)),
    ("** TEST SUCCEEDED **", Passed(Tests)),
    ("** TEST FAILED **", Failed(Tests)),
    ("[doctest] Status: SUCCESS!", Passed(Tests)),
    ("[doctest] Status: FAILURE!", Failed(Tests)),
    ("error: test run failed", Failed(Tests)),
    ("congratulations :)", Passed(Tests)),
    ("evaluation failed :(", Failed(Tests)),
    ("BUILD SUCCESSFUL", Passed(All)),
    ("BUILD FAILED", Failed(All)),
    ("[INFO] BUILD SUCCESS", Passed(All)),
    ("[INFO] BUILD FAILURE", Failed(All)),
    ("Build succeeded.", Passed(Code)),
    ("Build FAILED.", Failed(Code)),
    ("** BUILD SUCCEEDED **", Passed(Code)),
    ("** BUILD FAILED **", Failed(Code)),
    ("Build complete!", Passed(Code)),
    ("Failed to compile.", Failed(Code)),
    ("✓ Compiled successfully", Passed(Code)),
    ("Compiled successfully.", Passed(Code)),
    ("FAILED: Build did NOT complete successfully", Failed(Code)),
    ("ninja: no work to do.", Passed(Code)),
    ("All checks passed!", Passed(Code)),
    ("No issues found!", Passed(Code)),
    ("[OK] No errors", Passed(Code)),
    ("All matched files use Prettier code style!", Passed(Code)),
];

/// How lines begin, blanks before them left out.
#[rustfmt::skip] // one a line
const BEGINNINGS: &[(&str, Said)] = &[
    ("test result: ok.", Passed(Tests)),
    ("test result: FAILED.", Failed(Tests)),
    ("error: test failed, to rerun pass", Failed(Tests)),
    ("error: doctest failed, to rerun pass", Failed(Tests)),
    ("--- FAIL: ", Failed(Tests)),
    ("FAIL\t", Failed(Tests)),
    ("ok  \t", Passed(Tests)),
    ("OK (", Passed(Tests)),
    ("FAILED (failures=", Failed(Tests)),
    ("FAILED (errors=", Failed(Tests)),
    ("[  FAILED  ] ", Failed(Tests)),
    ("[  PASSED  ] ", Passed(Tests)),
    ("✔ Test run with ", Passed(Tests)),
    ("✘ Test run with ", Failed(Tests)),
    ("ok | ", Passed(Tests)),
    ("FAILED | ", Failed(Tests)),
    ("npm ERR! Test failed.", Failed(Tests)),
    ("npm error Test failed.", Failed(Tests)),
    ("ELIFECYCLE  Test failed.", Failed(Tests)),
    ("INFO: Build completed successfully", Passed(Code)),
    ("INFO: Build completed, ", Failed(Code)),
    ("error: could not compile `", Failed(Code)),
    ("error: aborting due to ", Failed(Code)),
    ("collect2: error: ld returned ", Failed(Code)),
    ("ninja: build stopped: ", Failed(Code)),
    ("make: *** [", Failed(All)),
    ("gmake: *** [", Failed(All)),
    ("FAILURE: Build failed with an exception", Failed(All)),
    ("BUILD SUCCESSFUL in ", Passed(All)),
    ("BUILD FAILED in ", Failed(All)),
    ("✓ built in ", Passed(Code)),
    ("Finished `", Passed(Code)),
    ("Finished dev [", Passed(Code)),
    ("Finished release [", Passed(Code)),
    ("webpack compiled successfully", Passed(Code)),
    ("Success: no issues found in ", Passed(Code)),
    ("Diff in /", Failed(Code)),
    ("would reformat ", Failed(Code)),
    ("Would reformat: ", Failed(Code)),
    ("[warn] Code style issues ", Failed(Code)),
    ("Found 0 warnings and 0 errors.", Passed(Code)),
    ("ERROR: Failed to run ", Wrong),
    ("npm ERR! code ", Wrong),
    ("npm error code ", Wrong),
    ("error Command failed with exit code ", Wrong),
    ("error[E", Wrong),
];

/// What a line says, if it closes something.
fn closing(line: &str) -> Option<Said> {
    let whole = line.trim();
    if whole.is_empty() || whole.len() > 400 {
        return None;
    }
    if let Some((_, said)) = LINES.iter().find(|(line, _)| *line == whole) {
        return Some(*said);
    }
    if let Some(said) = anchored(line) {
        return Some(said);
    }
    let begins = BEGINNINGS.iter().find(|(start, _)| whole.starts_with(start));
    begins.map(|(_, said)| *said).or_else(|| by_counts(whole)).or_else(|| compiler(whole))
}

/// Lines that must begin at the left edge: TAP, and rows of jest and `node --test`.
fn anchored(line: &str) -> Option<Said> {
    if let Some(rest) = line.strip_prefix("not ok ") {
        let planned = rest.to_lowercase();
        let is_planned = planned.contains("# todo") || planned.contains("# skip");
        let is_numbered = rest.starts_with(|c: char| c.is_ascii_digit());
        return (is_numbered && !is_planned).then_some(Failed(Tests));
    }
    let count = line.strip_prefix("# fail ").or_else(|| line.strip_prefix("ℹ fail "));
    count.and_then(|count| count.trim().parse::<u64>().ok()).map(failed_tests)
}

fn failed_tests(count: u64) -> Said {
    if count == 0 { Passed(Tests) } else { Failed(Tests) }
}

fn by_counts(line: &str) -> Option<Said> {
    if let Some(said) = ctest(line).or_else(|| swift(line)).or_else(|| found(line)) {
        return Some(said);
    }
    let counts = counts(line)?;
    match (counts.of_tests, counts.bad, counts.good) {
        (true, 1.., _) => Some(Failed(Tests)),
        (true, 0, 1..) => Some(Passed(Tests)),
        (false, 1.., _) => Some(problems(line)),
        (false, 0, _) if counts.says_none_bad => Some(Passed(Code)),
        (_, 0, _) => None,
    }
}

/// Linters: only errors make them fail, where they tell errors from warnings.
fn problems(line: &str) -> Said {
    let errors = line
        .split_once('(')
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<u64>().ok());
    match errors {
        Some(0) => Passed(Code),
        Some(_) => Failed(Code),
        None if line.starts_with(['✖', '✘', '×']) => Failed(Code),
        None => Wrong,
    }
}

/// `80% tests passed, 1 tests failed out of 5`.
fn ctest(line: &str) -> Option<Said> {
    let (percent, rest) = line.split_once("% tests passed, ")?;
    percent.parse::<u32>().ok()?;
    Some(failed_tests(rest.split_once(" tests failed out of ")?.0.parse().ok()?))
}

/// `Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds`.
fn swift(line: &str) -> Option<Said> {
    let rest = line.strip_prefix("Executed ")?.split_once(" with ")?.1;
    let rest = rest.split_once(" tests skipped and ").map_or(rest, |(_, rest)| rest);
    Some(failed_tests(rest.split_once(" failure")?.0.parse().ok()?))
}

/// `Found 3 errors in 2 files.`, `Found 0 errors. Watching`; `3 files inspected, no offenses detected`.
fn found(line: &str) -> Option<Said> {
    if let Some((files, rest)) = line.split_once(" inspected, ") {
        files.split_whitespace().next()?.parse::<u64>().ok()?;
        return Some(if rest.starts_with("no offenses") { Passed(Code) } else { Failed(Code) });
    }
    // Of cargo, at the end: `error: 2 targets failed:`.
    if line.starts_with("error: ")
        && (line.ends_with(" target failed:") || line.ends_with(" targets failed:"))
    {
        return Some(Failed(Tests));
    }
    let line = line.strip_prefix("[ERROR] ").unwrap_or(line);
    let rest = line.strip_prefix("Found ")?;
    let (number, rest) = rest.split_once(' ')?;
    let is_error = rest.starts_with("error");
    match number.parse::<u64>() {
        Ok(0) if is_error => Some(Passed(Code)),
        Ok(_) if is_error => Some(Wrong),
        _ => None,
    }
}

/// `src/a.ts(3,5): error TS2322: …`, `src/a.ts:3:5 - error TS2322: …`, `a.c:3:5: error: …`.
fn compiler(line: &str) -> Option<Said> {
    let marks =
        ["): error TS", " - error TS", ": error: ", ": fatal error: ", ": error CS", ": error C"];
    let (place, _) = marks.iter().find_map(|mark| line.split_once(mark))?;
    let is_place = !place.contains(char::is_whitespace)
        && place.rsplit([':', ',', '(']).next().is_some_and(|last| {
            !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit() || b == b')')
        });
    is_place.then_some(Wrong)
}
