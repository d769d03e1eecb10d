//! How long a comparison takes: against `git diff --no-index`, and until an answer that is due.
//!
//! `cargo bench --bench compare` makes six pairs of texts and compares each in this process and
//! with git as a whole process, in turn. Then it gives pairs of 100 MiB no time, or cancels them,
//! and prints how much later than due the answer came.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench prints, and may fail loudly"
)]

use handback::diff::{Comparison, Limit, compare};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const WORDS: &[&str] = &[
    "let", "fn", "return", "match", "impl", "struct", "enum", "value", "index", "buffer", "cursor",
    "state", "event", "result", "error", "option", "some", "none", "parse", "render", "update",
    "config", "stream", "handle", "token", "length", "offset", "line", "width", "height", "frame",
    "diff", "hunk", "tree", "blob", "commit",
];

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    fn line(&mut self) -> String {
        let mut line = "    ".repeat(self.below(4));
        for _ in 0..2 + self.below(7) {
            line += WORDS[self.below(WORDS.len())];
            if self.below(5) < 2 {
                write!(line, "{}", self.below(100)).unwrap();
            }
            line += " ";
        }
        line + [";", "{", "}", ","][self.below(4)]
    }

    fn source(&mut self, lines: usize) -> Vec<String> {
        (0..lines)
            .map(|_| match self.below(100) {
                0..8 => String::new(),
                8..14 => "}".to_owned(),
                _ => self.line(),
            })
            .collect()
    }
}

type Texts = (Vec<String>, Vec<String>);
type Maker = fn(&mut Random) -> Texts;

fn long(random: &mut Random) -> Texts {
    let old = random.source(200_000);
    let mut new = Vec::new();
    for line in &old {
        match random.below(200) {
            0..14 => new.push(random.line() + " //m"),
            14..17 => new.extend([random.line() + " //i", line.clone()]),
            17..20 => {}
            _ => new.push(line.clone()),
        }
    }
    (old, new)
}

fn minified(random: &mut Random) -> Texts {
    let mut parts = Vec::new();
    while parts.len() < 90_000 {
        let word = |random: &mut Random| WORDS[random.below(WORDS.len())];
        let name = format!("{}{}", word(random), random.below(9999));
        let (left, right) = (word(random), word(random));
        parts.push(format!(
            "function {name}(a,b){{return a.{left}+b[\"{right}\"]*{}}};",
            name.len()
        ));
    }
    let old = parts.concat();
    parts[45_000] = String::from("function CHANGED(z){return 42};");
    (vec![old], vec![parts.concat()])
}

fn disjoint(random: &mut Random) -> Texts {
    let mut side = |name: &str| -> Vec<String> {
        (0..50_000).map(|line| format!("{name} {line} {}", random.line())).collect()
    };
    (side("old"), side("new"))
}

fn repeats(random: &mut Random) -> Texts {
    let few = ["}", "", "    return value;", "    let x = 1;", "end", "{", "// ---", "    }"];
    let mut side = || (0..50_000).map(|_| few[random.below(8)].to_owned()).collect();
    (side(), side())
}

fn moved(random: &mut Random) -> Texts {
    let old: Vec<_> = (0..50_000).map(|line| format!("line {line} {}", random.line())).collect();
    let mut blocks: Vec<_> = old.chunks(500).collect();
    for last in (1..blocks.len()).rev() {
        blocks.swap(last, random.below(last + 1));
    }
    let new = blocks.concat();
    (old, new)
}

fn rewrite(random: &mut Random) -> Texts {
    let old = random.source(50_000);
    let mut change = |line: &String| match random.below(2) {
        0 => random.line(),
        _ => line.clone(),
    };
    let new = old.iter().map(&mut change).collect();
    (old, new)
}

fn joined(lines: &[String]) -> Arc<[u8]> {
    lines.iter().fold(String::new(), |text, line| text + line + "\n").into_bytes().into()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Peak memory of this process since the last call, in MiB (Linux only; 0 elsewhere).
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    // A kernel that does not take this only makes the next figure too large.
    let _ = fs::write("/proc/self/clear_refs", "5");
    kib.unwrap_or_default() / 1024.0
}

fn git(dir: &Path, arguments: &[&str]) -> (Duration, Vec<u8>) {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["diff", "--no-index"]).args(arguments).args(["old", "new"]);
    let start = Instant::now();
    let output = command.output().unwrap();
    (start.elapsed(), output.stdout)
}

fn against_git(name: &str, (old, new): &Texts) {
    let (old, new) = (joined(old), joined(new));
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("old"), &old).unwrap();
    fs::write(dir.path().join("new"), &new).unwrap();
    let (mut ours, mut gits) = (Vec::new(), Vec::new());
    let before = (peak(), peak()).1;
    let mut memory = 0.0f64;
    let mut counts = (0, 0);
    for _ in 0..7 {
        let start = Instant::now();
        let comparison =
            compare(Some(Arc::clone(&old)), Some(Arc::clone(&new)), &Limit::default()).unwrap();
        ours.push(start.elapsed());
        memory = memory.max(peak() - before);
        counts = (comparison.added(), comparison.deleted());
        gits.push(git(dir.path(), &[]).0);
    }
    let numstat = String::from_utf8(git(dir.path(), &["--numstat"]).1).unwrap();
    let mut fields = numstat.split('\t');
    let (ours, gits) = (milliseconds(median(ours)), milliseconds(median(gits)));
    println!(
        "{name:10} {ours:8.1} {gits:8.1} {:6.2} x {memory:6.1} MiB   +{} -{} (git +{} -{})",
        ours / gits,
        counts.0,
        counts.1,
        fields.next().unwrap(),
        fields.next().unwrap(),
    );
}

/// Two texts of `size` bytes that are hard in one way.
fn hostile(name: &str, size: usize) -> (Arc<[u8]>, Arc<[u8]>) {
    let mut random = Random(99);
    let mut text = |odd: u8| -> Arc<[u8]> {
        let mut bytes = Vec::with_capacity(size + 64);
        match name {
            "empty lines" => bytes.resize(size - usize::from(odd), b'\n'),
            "one line" => {
                bytes.resize(size, b'x');
                bytes[size / 2] = odd;
            }
            "eight lines" => {
                while bytes.len() < size {
                    bytes.extend_from_slice(&[b'a' + random.below(8) as u8, b'\n']);
                }
            }
            _ => {
                while bytes.len() < size {
                    bytes.extend_from_slice(format!("{odd} {}\n", random.next()).as_bytes());
                }
            }
        }
        bytes.into()
    };
    (text(0), text(1))
}

/// How much later than due an answer comes: with no time at all, after 100 ms, cancelled after 300.
fn lateness(name: &str) {
    let (old, new) = hostile(name, 100 << 20);
    let run = |limit: &Limit| -> Option<Comparison> {
        compare(Some(Arc::clone(&old)), Some(Arc::clone(&new)), limit).ok()
    };
    print!("{name:14}");
    for due in [0, 100] {
        let start = Instant::now();
        let answer = run(&Limit::within(Duration::from_millis(due))).unwrap();
        let late = start.elapsed().saturating_sub(Duration::from_millis(due));
        print!("  due {due:3}: {:6.1} ms late, coarse {}", milliseconds(late), answer.coarse);
        thread::sleep(Duration::from_millis(200));
    }
    let limit = Limit::default();
    let cancel = Arc::clone(&limit.cancel);
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        cancel.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let answer = run(&limit);
    let end = Instant::now();
    let late = end.saturating_duration_since(canceller.join().unwrap());
    println!("  cancelled: {:6.1} ms late, answered {}", milliseconds(late), answer.is_some());
    thread::sleep(Duration::from_millis(500));
}

fn main() {
    let chosen: Vec<_> = env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|chosen| chosen == name);
    println!("{:10} {:>8} {:>8}   ratio      memory   lines (median of 7, ms)", "", "ours", "git");
    let makers: [(&str, Maker); 6] = [
        ("long", long),
        ("minified", minified),
        ("disjoint", disjoint),
        ("repeats", repeats),
        ("moved", moved),
        ("rewrite", rewrite),
    ];
    for (name, make) in makers {
        if wanted(name) {
            against_git(name, &make(&mut Random(2026)));
        }
    }
    if wanted("late") {
        println!("\nTwo texts of 100 MiB:");
        ["empty lines", "one line", "eight lines", "all different"].into_iter().for_each(lateness);
    }
}
