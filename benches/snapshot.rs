//! What a snapshot costs against git, in the same run: a warm one of 100,000 files (unchanged and
//! with 50 changed) against `git add --all` and `git write-tree` on a seeded index, and one of
//! 10,000 files against `git status`.
//!
//! The repositories are made under the temporary directory and used again. The machine's noise is
//! met by taking turns and comparing medians.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench reports and may fail loudly"
)]

use handback::snapshot::Snapshotter;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn git(root: &Path, args: &[&str], env: &[(&str, &Path)]) {
    let mut command = Command::new("git");
    command.current_dir(root).args(args).stdout(Stdio::null());
    for (name, value) in env {
        command.env(name, value);
    }
    assert!(command.status().unwrap().success(), "git {args:?}");
}

/// A repository of `count` small files, 50 a directory, committed; made once.
fn repository(count: usize) -> PathBuf {
    let root = std::env::temp_dir().join(format!("handback-bench-{count}"));
    if root.join("done").exists() {
        return root.join("work");
    }
    let work = root.join("work");
    let _ = fs::remove_dir_all(&root);
    for number in 0..count {
        let path = work.join(name(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("file {number}\nof {count}\n").repeat(20)).unwrap();
    }
    git(&work, &["init", "-q"], &[]);
    git(&work, &["add", "--all"], &[]);
    let who = ["-c", "user.name=t", "-c", "user.email=t@e", "-c", "gc.auto=0"];
    git(&work, &[who.as_slice(), &["commit", "-q", "-m", "files"]].concat(), &[]);
    // Old enough that no entry is racy.
    std::thread::sleep(Duration::from_secs(2));
    git(&work, &["update-index", "-q", "--refresh"], &[]);
    fs::write(root.join("done"), "").unwrap();
    work
}

/// A linked worktree of that repository; made once.
fn linked(count: usize) -> PathBuf {
    let main = repository(count);
    let work = main.parent().unwrap().join("linked");
    if !work.exists() {
        git(&main, &["worktree", "add", "-q", "--detach", "../linked"], &[]);
        // Old enough that no entry is racy.
        std::thread::sleep(Duration::from_secs(2));
        git(&work, &["update-index", "-q", "--refresh"], &[]);
    }
    work
}

/// Where git keeps something of a work tree, linked or not.
fn git_path(work: &Path, what: &str) -> PathBuf {
    let mut command = Command::new("git");
    command.current_dir(work).args(["rev-parse", "--git-path", what]);
    let path = String::from_utf8(command.output().unwrap().stdout).unwrap();
    work.join(path.trim_end())
}

fn name(number: usize) -> String {
    format!("part{}/dir{}/file{number}.rs", number / 5000, number / 50)
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1000.0
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Both in turns, after a turn of each that warms; prints the medians in ms and their ratio.
fn compare(
    what: &str,
    turns: usize,
    mut before: impl FnMut(usize),
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
) {
    before(0);
    ours();
    theirs();
    let (mut us, mut them) = (Vec::new(), Vec::new());
    for turn in 1..=turns {
        before(turn);
        us.push(time(&mut ours));
        them.push(time(&mut theirs));
    }
    let (us, them) = (median(us), median(them));
    println!("{what:<52} ours {us:>7.1} ms   git {them:>7.1} ms   ratio {:.2}", us / them);
}

fn measure(count: usize, work: &Path, kind: &str) {
    let place = work.parent().unwrap().join(format!("place-{kind}"));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("theirs")).unwrap();
    let index = place.join("index");
    fs::copy(git_path(work, "index"), &index).unwrap();
    let (ours, theirs, alternate) =
        (place.join("ours"), place.join("theirs"), git_path(work, "objects"));
    let mut snapshotter =
        Snapshotter::open(work, None, &ours, Some(&place.join("cache"))).unwrap().unwrap();
    let mut take = || {
        // Opening included: a hook call pays for it each time.
        snapshotter.take(&AtomicBool::new(false)).unwrap();
    };
    let env = [
        ("GIT_INDEX_FILE", index.as_path()),
        ("GIT_OBJECT_DIRECTORY", theirs.as_path()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate.as_path()),
    ];
    let git_tree = || {
        git(work, &["add", "--all", "--ignore-errors"], &env);
        git(work, &["write-tree"], &env);
    };
    let change = |turn: usize| {
        for number in (0..50).map(|at| at * (count / 50)) {
            fs::write(work.join(name(number)), format!("changed in turn {turn}\n")).unwrap();
        }
    };
    let label = |what: &str| format!("{count} files, {kind}, {what}");
    compare(&label("unchanged, against add + write-tree"), 9, |_| {}, &mut take, git_tree);
    compare(
        &label("unchanged, against status"),
        9,
        |_| {},
        &mut take,
        || {
            git(work, &["status", "--porcelain"], &[]);
        },
    );
    compare(&label("50 changed, against add + write-tree"), 7, change, &mut take, git_tree);
    git(work, &["checkout", "-q", "."], &[]);
}

fn main() {
    measure(10_000, &repository(10_000), "plain");
    measure(100_000, &repository(100_000), "plain");
    measure(100_000, &linked(100_000), "linked");
}
