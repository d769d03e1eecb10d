//! Comparisons against the reference pairs and against git itself.

use crate::shared::shared;
use handback::diff::patch::{self, Movement, PatchHeader};
use handback::diff::{Comparison, Limit, compare};
use handback::session::{EofNewline, FileDiff};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

fn bytes(text: &str) -> Arc<[u8]> {
    Arc::from(text.as_bytes())
}

fn compared(old: &[u8], new: &[u8]) -> Comparison {
    compare(Some(Arc::from(old)), Some(Arc::from(new)), &Limit::default()).unwrap()
}

/// The text after the comparison's changes are made to the text before, by lines.
fn applied(comparison: &Comparison) -> Vec<Vec<u8>> {
    let (old, new) = (&comparison.old, &comparison.new);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut at = 0;
    for change in &comparison.changes {
        assert!(at == 0 || at < change.old.start || change.new.start > lines.len() as u32);
        lines.extend(old.lines(at..change.old.start).map(<[u8]>::to_vec));
        assert_eq!(lines.len() as u32, change.new.start, "changes are out of step");
        lines.extend(new.lines(change.new.clone()).map(<[u8]>::to_vec));
        at = change.old.end;
    }
    lines.extend(old.lines(at..old.len()).map(<[u8]>::to_vec));
    lines
}

#[test]
fn every_reference_pair_gets_a_shortest_script() {
    let Some(shared) = shared() else { return };
    let pairs = fs::read_to_string(shared.join("oracle/compare.jsonl")).unwrap();
    let (mut equal, mut all) = (0, 0);
    for pair in pairs.lines() {
        let pair: Value = serde_json::from_str(pair).unwrap();
        let id = pair["id"].as_str().unwrap();
        let side = |name: &str| pair[name].as_str().map(bytes);
        let comparison = compare(side("before"), side("after"), &Limit::default()).unwrap();
        let diff = comparison.to_file_diff("p", "p", 3);
        let FileDiff::Text { hunks, coarse, before, after, .. } = &diff else { panic!("{id}") };
        assert_eq!(
            (*before, *after),
            (pair["before"].is_string(), pair["after"].is_string()),
            "{id}"
        );
        assert!(!coarse, "{id}");
        assert_eq!(pair["coarse"], false, "{id}");
        assert_eq!(pair["added"], comparison.added(), "{id}");
        assert_eq!(pair["deleted"], comparison.deleted(), "{id}");
        let signs = |sign: char| {
            hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.starts_with(sign)).count()
        };
        assert_eq!(
            (signs('+'), signs('-')),
            (comparison.added() as usize, comparison.deleted() as usize)
        );
        assert!(
            applied(&comparison).iter().map(Vec::as_slice).eq(comparison.new.lines(0..u32::MAX)),
            "{id}"
        );
        all += 1;
        equal += usize::from(pair["hunks"] == serde_json::to_value(hunks).unwrap());
        // Where git's hunks are kept for comparison, ours are git's; but to git a missing final
        // newline is a difference of its own.
        let git = &pair["gitHunks"];
        let ended = |name: &str| {
            pair[name].as_str().is_none_or(|text| text.is_empty() || text.ends_with('\n'))
        };
        if git.is_array() && ended("before") && ended("after") {
            assert_eq!(*git, serde_json::to_value(hunks).unwrap(), "{id}");
        }
    }
    assert!(all > 150, "the file holds {all} pairs");
    assert!(equal * 2 > all, "{equal} of {all} hunk lists are the same");
}

/// A small generator, so that every run sees the same texts.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end.max(1)
    }

    /// A line as in a program; the fewer words, the more lines are equal.
    fn line(&mut self, words: usize) -> String {
        match self.below(10) {
            0 | 1 => String::new(),
            2 => format!("{}}}", "    ".repeat(self.below(3))),
            3 => format!("{}{{", "\t".repeat(self.below(3))),
            4 => " ".repeat(self.below(6)),
            _ => format!("{}word{};", "    ".repeat(self.below(4)), self.below(words)),
        }
    }

    fn lines(&mut self, count: usize, words: usize) -> Vec<String> {
        (0..count).map(|_| self.line(words)).collect()
    }

    /// A few edits: lines replaced, added and deleted, blocks copied and moved.
    fn edited(&mut self, old: &[String], words: usize, edits: usize) -> Vec<String> {
        let mut new = old.to_vec();
        for _ in 0..edits {
            let at = self.below(new.len() + 1);
            let end = new.len().min(at + 1 + self.below(8));
            match self.below(5) {
                0 => drop(new.drain(at..end)),
                1 => {
                    let count = 1 + self.below(6);
                    let lines = self.lines(count, words);
                    new.splice(at..at, lines);
                }
                2 => {
                    let block = new[at..end].to_vec();
                    new.splice(end..end, block);
                }
                3 => {
                    let block: Vec<_> = new.drain(at..end).collect();
                    let to = self.below(new.len() + 1);
                    new.splice(to..to, block);
                }
                _ => {
                    let lines = self.lines(end - at, words);
                    new.splice(at..end, lines);
                }
            }
        }
        new
    }

    fn pair(&mut self, longest: usize) -> (Vec<String>, Vec<String>) {
        let count = self.below(longest);
        let words = [2, 6, 40, 1000][self.below(4)];
        let old = self.lines(count, words);
        let new = if self.below(6) == 0 {
            let count = self.below(longest);
            self.lines(count, words)
        } else {
            let edits = 1 + self.below(longest / 8);
            self.edited(&old, words, edits)
        };
        (old, new)
    }
}

fn run(command: &mut Command) -> Output {
    let output =
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent").output().unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Git's answer on all files of `old/` against those of `new/`.
fn git_diff(dir: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["diff", "--no-index", "--no-renames", "--no-color"]);
    run(command.args(arguments).args(["old", "new"])).stdout
}

/// Writes pairs as `old/00000` and `new/00000` and so on.
fn write_pairs(dir: &Path, pairs: &[(Vec<u8>, Vec<u8>)]) {
    for (side, name) in ["old", "new"].iter().enumerate() {
        fs::create_dir(dir.join(name)).unwrap();
        for (index, pair) in pairs.iter().enumerate() {
            let text = if side == 0 { &pair.0 } else { &pair.1 };
            fs::write(dir.join(name).join(format!("{index:05}")), text).unwrap();
        }
    }
}

/// Git's hunks of each file, without what git prints behind the second `@@`.
fn git_hunks(dir: &Path, files: usize) -> Vec<String> {
    let patch = String::from_utf8(git_diff(dir, &["-U3"])).unwrap();
    let mut hunks = vec![String::new(); files];
    let mut file = 0;
    for line in patch.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix("diff --git a/old/") {
            file = names[..5].parse().unwrap();
        } else if let Some(ranges) = line.strip_prefix("@@ ") {
            let end = ranges.find("@@").unwrap() + 5;
            hunks[file] += &line[..end];
            hunks[file] += "\n";
        } else if line.starts_with(['+', '-', ' ', '\\']) && !hunks[file].is_empty() {
            hunks[file] += line;
        }
    }
    hunks
}

fn our_hunks(comparison: &Comparison) -> String {
    let header = PatchHeader {
        old_path: b"x",
        new_path: b"x",
        old_mode: None,
        new_mode: None,
        movement: Movement::None,
    };
    let mut patch = Vec::new();
    patch::write(&mut patch, &header, comparison, 3).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    patch.find("@@ ").map(|start| patch[start..].to_owned()).unwrap_or_default()
}

/// Git's added and deleted lines of each file.
fn git_counts(dir: &Path, files: usize) -> Vec<(u32, u32)> {
    let mut counts = vec![(0, 0); files];
    for line in String::from_utf8(git_diff(dir, &["--numstat"])).unwrap().lines() {
        let mut fields = line.split('\t');
        let mut number = || fields.next().unwrap().parse().unwrap();
        let count = (number(), number());
        let file: usize = line[line.len() - 6..line.len() - 1]
            .parse()
            .unwrap_or_else(|_| line[line.len() - 5..].parse().unwrap());
        counts[file] = count;
    }
    counts
}

#[test]
fn hunks_lie_where_git_puts_them_and_are_no_longer() {
    let mut random = Random(20_261_201);
    let mut pairs = Vec::new();
    for index in 0..4000 {
        let longest = if index % 200 == 0 { 3000 } else { 60 };
        let (old, new) = random.pair(longest);
        let text =
            |lines: Vec<String>| lines.iter().fold(String::new(), |text, line| text + line + "\n");
        pairs.push((text(old).into_bytes(), text(new).into_bytes()));
    }
    let dir = tempfile::tempdir().unwrap();
    write_pairs(dir.path(), &pairs);
    let hunks = git_hunks(dir.path(), pairs.len());
    let counts = git_counts(dir.path(), pairs.len());
    let mut elsewhere = Vec::new();
    for (index, (old, new)) in pairs.iter().enumerate() {
        let comparison = compared(old, new);
        assert!(
            applied(&comparison).iter().map(Vec::as_slice).eq(comparison.new.lines(0..u32::MAX))
        );
        let (added, deleted) = counts[index];
        assert!(
            comparison.added() + comparison.deleted() <= added + deleted,
            "pair {index}: +{} -{} against git's +{added} -{deleted}",
            comparison.added(),
            comparison.deleted(),
        );
        if our_hunks(&comparison) != hunks[index] {
            elsewhere.push(index);
        }
    }
    assert!(
        elsewhere.is_empty(),
        "{} of {} lie elsewhere, such as {:?}",
        elsewhere.len(),
        pairs.len(),
        elsewhere.first().map(|index| (
            our_hunks(&compared(&pairs[*index].0, &pairs[*index].1)),
            &hunks[*index]
        )),
    );
}

#[test]
fn a_missing_final_newline_never_makes_a_script_longer_than_gits() {
    let mut random = Random(5);
    let pairs: Vec<_> = (0..3000)
        .map(|_| {
            let (old, new) = random.pair(30);
            (side(&mut random, &old, 0), side(&mut random, &new, 0))
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    write_pairs(dir.path(), &pairs);
    for ((old, new), (added, deleted)) in pairs.iter().zip(git_counts(dir.path(), pairs.len())) {
        let comparison = compared(old, new);
        assert!(comparison.added() <= added, "{old:?} {new:?}");
        assert!(comparison.deleted() <= deleted, "{old:?} {new:?}");
        let ends = |text: &[u8]| (!text.is_empty()).then(|| text.ends_with(b"\n"));
        let expected = match (ends(old), ends(new)) {
            (Some(true), Some(false)) => Some(EofNewline::Removed),
            (Some(false), Some(true)) => Some(EofNewline::Added),
            _ => None,
        };
        assert_eq!(comparison.eof_newline, expected);
    }
}

/// Two texts of `size` bytes with many lines, few lines, or few distinct lines.
fn hard_pairs(size: usize) -> Vec<(&'static str, [Arc<[u8]>; 2])> {
    let mut random = Random(31);
    let mut letters = || -> Arc<[u8]> {
        (0..size / 2).flat_map(|_| [b'a' + random.below(8) as u8, b'\n']).collect()
    };
    let letters = [letters(), letters()];
    let numbers = |sign: char| -> Arc<[u8]> {
        (0..size / 9)
            .fold(String::new(), |text, line| text + &format!("{sign}{line:07}\n"))
            .into_bytes()
            .into()
    };
    vec![
        ("empty lines", [vec![b'\n'; size].into(), vec![b'\n'; size - 1].into()]),
        ("one long line", [vec![b'x'; size].into(), vec![b'y'; size].into()]),
        ("few distinct lines", letters),
        ("different lines", [numbers('-'), numbers('+')]),
    ]
}

/// How late an answer may be, in milliseconds. Unoptimized code gets the same time for less.
const LATE: u128 = 20;

/// The least lateness of a few tries: other programs may hold the processor for a while.
fn least_late(mut lateness: impl FnMut() -> Duration) -> u128 {
    (0..5).map(|_| lateness().as_millis()).min().unwrap()
}

#[test]
fn an_answer_that_is_due_comes_and_is_coarse() {
    let size = if cfg!(debug_assertions) { 24 << 20 } else { 100 << 20 };
    for (name, [old, new]) in hard_pairs(size) {
        for wait in [0, 40] {
            let late = least_late(|| {
                let start = Instant::now();
                let limit = Limit::within(Duration::from_millis(wait));
                let comparison = compare(Some(old.clone()), Some(new.clone()), &limit).unwrap();
                let late = start.elapsed().saturating_sub(Duration::from_millis(wait));
                if comparison.coarse {
                    let (deleted, added) = (comparison.old.len(), comparison.new.len());
                    assert_eq!((comparison.deleted(), comparison.added()), (deleted, added));
                    assert_eq!(comparison.changes.len(), 1);
                } else {
                    assert!(wait > 0, "{name}: an exact answer in no time");
                }
                late
            });
            assert!(late < LATE, "{name}: {late} ms late after {wait} ms");
        }
    }
}

#[test]
fn who_cancels_is_free() {
    let size = if cfg!(debug_assertions) { 24 << 20 } else { 100 << 20 };
    for (name, [old, new]) in hard_pairs(size) {
        let late = least_late(|| {
            let limit = Limit::default();
            let cancel = Arc::clone(&limit.cancel);
            let canceller = thread::spawn(move || {
                thread::sleep(Duration::from_millis(30));
                cancel.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let answer = compare(Some(old.clone()), Some(new.clone()), &limit);
            let end = Instant::now();
            let due = canceller.join().unwrap();
            assert!(answer.is_err() || end < due + Duration::from_millis(20), "{name}: too good");
            end.saturating_duration_since(due)
        });
        assert!(late < LATE, "{name}: {late} ms late");
    }
}

/// A text for one side: any line ends, any bytes, perhaps no final newline.
fn side(random: &mut Random, lines: &[String], odd: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        if odd == 1 && random.below(3) == 0 {
            text.push(0xff);
        }
        text.extend_from_slice(if odd == 2 && random.below(2) == 0 { b"\r\n" } else { b"\n" });
    }
    if random.below(3) == 0 {
        text.pop();
    }
    text
}

struct Case {
    old_path: Vec<u8>,
    new_path: Vec<u8>,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    executable: (bool, bool),
    movement: Movement,
}

fn case(random: &mut Random, index: usize) -> Case {
    const NAMES: &[&[u8]] = &[
        b"plain",
        b"with space",
        b"quote\"d",
        b"tab\tbed",
        b"line\nfeed",
        b"back\\slash",
        "gr\u{f6}\u{df}e".as_bytes(),
        b"\xff\xfe raw",
        b"end ",
        b" start",
        b"-dash",
        b"bell\x07\x7f",
        b"a/b c",
        b"b/x",
        b"{=>}",
    ];
    let path = [format!("{index:04}").as_bytes(), NAMES[index % NAMES.len()]].concat();
    let (old_lines, new_lines) = random.pair(40);
    let odd = random.below(3);
    let old = (random.below(8) > 0).then(|| side(random, &old_lines, odd));
    let new = (old.is_none() || random.below(8) > 0).then(|| {
        if random.below(8) == 0 {
            old.clone().unwrap_or_default()
        } else {
            side(random, &new_lines, odd)
        }
    });
    let both = old.is_some() && new.is_some();
    let (movement, new_path) = match random.below(6) {
        0 if both => (Movement::Renamed(57), [&path[..], b" moved"].concat()),
        1 if both => (Movement::Copied(60), [&path[..], b" again"].concat()),
        _ => (Movement::None, path.clone()),
    };
    let executable = (random.below(4) == 0, random.below(4) == 0);
    Case { old_path: path, new_path, old, new, executable, movement }
}

fn mode(executable: bool) -> u32 {
    if executable { 0o100_755 } else { 0o100_644 }
}

fn write_file(dir: &Path, path: &[u8], text: &[u8], executable: bool) {
    let path = dir.join(OsStr::from_bytes(path));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode(executable) & 0o777)).unwrap();
}

/// The file's text and whether it may be executed.
fn read_file(dir: &Path, path: &[u8]) -> Option<(Vec<u8>, bool)> {
    let path = dir.join(OsStr::from_bytes(path));
    let executable = fs::metadata(&path).ok()?.permissions().mode() & 0o100 != 0;
    Some((fs::read(path).unwrap(), executable))
}

#[test]
fn git_applies_every_patch() {
    let mut random = Random(77);
    for context in [3, 0, 1, 5] {
        let cases: Vec<_> = (0..700).map(|index| case(&mut random, index)).collect();
        let dir = tempfile::tempdir().unwrap();
        let mut patch = Vec::new();
        for case in &cases {
            if let Some(old) = &case.old {
                write_file(dir.path(), &case.old_path, old, case.executable.0);
            }
            let bytes = |side: &Option<Vec<u8>>| side.clone().map(Arc::from);
            let comparison =
                compare(bytes(&case.old), bytes(&case.new), &Limit::default()).unwrap();
            let header = PatchHeader {
                old_path: &case.old_path,
                new_path: &case.new_path,
                old_mode: case.old.is_some().then_some(mode(case.executable.0)),
                new_mode: case.new.is_some().then_some(mode(case.executable.1)),
                movement: case.movement,
            };
            patch::write(&mut patch, &header, &comparison, context).unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &patch).unwrap();
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args(["apply", "--whitespace=nowarn"]);
        if context == 0 {
            command.arg("--unidiff-zero");
        }
        let output = run(command.arg(file.path()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for case in &cases {
            let name = String::from_utf8_lossy(&case.new_path);
            let new = case.new.clone().map(|text| (text, case.executable.1));
            assert_eq!(read_file(dir.path(), &case.new_path), new, "{name:?}, context {context}");
            if case.old_path != case.new_path {
                let kept = matches!(case.movement, Movement::Copied(_));
                let old = case.old.clone().filter(|_| kept).map(|text| (text, case.executable.0));
                assert_eq!(read_file(dir.path(), &case.old_path), old, "{name:?}");
            }
        }
    }
}

/// What git prints for two trees, without `index` lines and what stands behind the second `@@`.
fn bare(patch: &[u8]) -> Vec<u8> {
    let lines =
        patch.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"index "));
    lines
        .flat_map(|line| {
            let heading = line.strip_prefix(b"@@ ").and_then(|rest| {
                rest.windows(3).position(|three| three == b"@@ ").map(|at| at + 5)
            });
            heading.map_or_else(|| line.to_vec(), |end| [&line[..end], b"\n"].concat())
        })
        .collect()
}

#[test]
fn a_patch_reads_as_git_writes_it() {
    let mut random = Random(4711);
    let dir = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args(["-c", "user.name=t", "-c", "user.email=t@t.invalid"]);
        run(command.args(arguments)).stdout
    };
    git(&["init", "-q"]);
    let mut cases: Vec<_> = (0..300)
        .map(|index| Case { movement: Movement::None, ..case(&mut random, index) })
        .collect();
    cases.sort_by(|left, right| left.old_path.cmp(&right.old_path));
    let put = |side: usize| {
        for case in &cases {
            let (text, executable) =
                [(&case.old, case.executable.0), (&case.new, case.executable.1)][side];
            match text {
                Some(text) => write_file(dir.path(), &case.old_path, text, executable),
                None => drop(fs::remove_file(dir.path().join(OsStr::from_bytes(&case.old_path)))),
            }
        }
        git(&["add", "--all"]);
        git(&["commit", "-qm", "side"]);
    };
    put(0);
    put(1);
    let expected = bare(&git(&["diff-tree", "-p", "--no-renames", "HEAD~1", "HEAD"]));
    let expected = String::from_utf8_lossy(&expected);
    let mut seen = 0;
    for case in &cases {
        // To git a missing final newline is a difference of its own, and so hunks may be others.
        let ended = |side: &Option<Vec<u8>>| {
            side.as_ref().is_none_or(|text| text.is_empty() || text.ends_with(b"\n"))
        };
        if case.old.is_some() && case.new.is_some() && !(ended(&case.old) && ended(&case.new)) {
            continue;
        }
        let bytes = |side: &Option<Vec<u8>>| side.clone().map(Arc::from);
        let comparison = compare(bytes(&case.old), bytes(&case.new), &Limit::default()).unwrap();
        let header = PatchHeader {
            old_path: &case.old_path,
            new_path: &case.old_path,
            old_mode: case.old.is_some().then_some(mode(case.executable.0)),
            new_mode: case.new.is_some().then_some(mode(case.executable.1)),
            movement: Movement::None,
        };
        let mut patch = Vec::new();
        patch::write(&mut patch, &header, &comparison, 3).unwrap();
        let patch = String::from_utf8_lossy(&patch);
        assert!(expected.contains(&*patch), "{patch}\n--- is not in ---\n{expected}");
        seen += usize::from(!patch.is_empty());
    }
    assert!(seen > 100, "only {seen} patches were compared");
}
