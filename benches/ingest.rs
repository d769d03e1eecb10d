//! What it costs to index a long log, beside merely reading it and beside decoding it.
//!
//! `HANDBACK_LOG_MIB` sets the size of the log's text (default 256); `HANDBACK_LOG` names a plain log to
//! take instead. Run by `cargo bench --bench ingest`.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is run, not called"
)]

use handback::log::Output;
use handback::log::open::{LogFile, OpenOptions};
use handback::log::tail::{TailEvent, follow};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

fn main() {
    let mib: u64 =
        std::env::var("HANDBACK_LOG_MIB").ok().and_then(|s| s.parse().ok()).unwrap_or(256);
    let dir = tempfile::tempdir().unwrap();
    let raw = dir.path().join("session.jsonl");
    match std::env::var_os("HANDBACK_LOG") {
        Some(log) => drop(fs::copy(log, &raw).unwrap()),
        None => write_log(&raw, mib << 20),
    }
    latency(dir.path());
    let (read, index) = alternate(|| read_all(&raw), || index(&raw));
    report("raw: index / read", index, read);
    println!("peak memory: {} kB", peak_kilobytes());
    let newest = best(|| newest_turn(&raw));
    println!("newest turn first: {newest:?}");
    let packed = dir.path().join("session.jsonl.zstd");
    compress(&raw, &packed);
    fs::remove_file(&raw).unwrap();
    let (decode, index) = alternate(|| decode_all(&packed), || self::index(&packed));
    report("zstd: index / decode", index, decode);
    println!("newest turn first: {:?}", best(|| newest_turn(&packed)));
    println!("peak memory: {} kB", peak_kilobytes());
}

/// From an append to word of it, over the follower's own thread.
fn latency(dir: &Path) {
    let path = dir.join("session.v1.jsonl");
    let mut log =
        Log { out: BufWriter::new(File::create(&path).unwrap()), seq: 0, size: 0, random: 1 };
    log.raw(
        r#"{"type":"session","version":1,"id":"s","createdAt":1,"cwd":"/w","delegationDepth":0}"#,
    );
    log.out.flush().unwrap();
    let (send, told) = std::sync::mpsc::channel();
    let _tail = follow(path, OpenOptions::default(), move |event| {
        if matches!(event, TailEvent::CaughtUp) {
            let _ = send.send(());
        }
    });
    told.recv().unwrap();
    let mut times: Vec<Duration> = (1..=200)
        .map(|turn| {
            std::thread::sleep(Duration::from_millis(5));
            let start = Instant::now();
            log.event("turn/start", &format!(r#"{{"turn":{turn}}}"#));
            log.out.flush().unwrap();
            told.recv().unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("append to word of it: p50 {:?}, p99 {:?}", times[100], times[198]);
}

fn report(name: &str, ours: Duration, theirs: Duration) {
    println!("{name}: {ours:?} / {theirs:?} = {:.3}", ours.as_secs_f64() / theirs.as_secs_f64());
}

fn best(work: impl Fn()) -> Duration {
    (0..ROUNDS).map(|_| timed(&work)).min().unwrap()
}

/// The best of each, taken in turns so that both see the same machine.
fn alternate(one: impl Fn(), other: impl Fn()) -> (Duration, Duration) {
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (timed(&one), timed(&other))).collect();
    (rounds.iter().map(|r| r.0).min().unwrap(), rounds.iter().map(|r| r.1).min().unwrap())
}

fn timed(work: &impl Fn()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn read_all(path: &Path) {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 256 << 10];
    while file.read(&mut buffer).unwrap() > 0 {}
}

fn decode_all(path: &Path) {
    let mut decoder = zstd::Decoder::new(File::open(path).unwrap()).unwrap();
    let mut buffer = vec![0; 128 << 10];
    while decoder.read(&mut buffer).unwrap() > 0 {}
}

fn index(path: &Path) {
    let mut log = LogFile::open(path, &OpenOptions::default()).unwrap();
    let mut out = Output::default();
    log.read_all(&mut out).unwrap();
    assert!(out.damages.is_empty(), "{:?}", out.damages.first());
    assert!(out.events.len() > 10);
}

fn newest_turn(path: &Path) {
    let log = LogFile::open(path, &OpenOptions::default()).unwrap();
    let _ = log.newest_turn_first().unwrap();
}

fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Mostly streamed answer text, as a real log is: one turn a MiB, with one edit.
fn write_log(path: &Path, target: u64) {
    let mut log =
        Log { out: BufWriter::new(File::create(path).unwrap()), seq: 0, size: 0, random: 1 };
    log.raw(r#"{"type":"session","version":0,"id":"session-bench","createdAt":1796085622950,"cwd":"/home/dev/projects/acme","delegationDepth":0}"#);
    let mut turn = 0;
    while log.size < target {
        turn += 1;
        log.event("turn/start", &format!(r#"{{"turn":{turn}}}"#));
        log.event(
            "user/message",
            &format!(r#"{{"content":[{{"type":"text","text":"turn {turn}"}}],"source":{{"kind":"user"}},"role":"user","id":"m{turn}"}}"#),
        );
        while log.size < (turn << 20) - 9000 {
            let text = log.words(40);
            log.event(
                "assistant/chunk",
                &format!(r#"{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{text}"}}}}"#),
            );
            if log.seq.is_multiple_of(50) {
                log.packed();
            }
        }
        log.edit(turn);
        log.event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#));
    }
}

struct Log {
    out: BufWriter<File>,
    seq: u64,
    size: u64,
    random: u64,
}

impl Log {
    fn raw(&mut self, row: &str) {
        self.out.write_all(row.as_bytes()).unwrap();
        self.out.write_all(b"\n").unwrap();
        self.size += row.len() as u64 + 1;
    }

    fn event(&mut self, kind: &str, data: &str) {
        let (seq, time) = (self.seq, 1_796_085_622_950 + self.seq);
        self.raw(&format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}}}"#));
        self.seq += 1;
    }

    fn packed(&mut self) {
        let (seq, time) = (self.seq, 1_796_085_622_950 + self.seq);
        let gaps = ["1"; 63].join(",");
        let texts = [r#"" word""#; 64].join(",");
        self.raw(&format!(
            r#"{{"type":"text-chunks","seq0":{seq},"time0":{time},"data":{{"turn":1,"step":1,"index":0,"dt":[{gaps}],"texts":[{texts}]}}}}"#
        ));
        self.seq += 64;
    }

    fn edit(&mut self, turn: u64) {
        let (old, new, context) = (self.words(12), self.words(12), self.words(200));
        let path = format!("src/file_{:02}.rs", turn % 50);
        let arguments = format!(
            r#"{{\"file_path\":\"{path}\",\"old_string\":\"{old}\",\"new_string\":\"{new}\"}}"#
        );
        self.event(
            "tool/call",
            &format!(r#"{{"turn":{turn},"step":1,"callId":"call_{turn}","name":"edit","arguments":"{arguments}"}}"#),
        );
        self.event(
            "tool/result",
            &format!(
                r#"{{"turn":{turn},"step":1,"message":{{"source":{{"kind":"tool","callId":"call_{turn}"}},"content":[{{"type":"tool-result","toolCallId":"call_{turn}","content":[{{"type":"text","text":"The file {path} has been updated successfully."}}],"isError":false}}],"role":"user"}},"meta":{{"diffs":[{{"path":"{path}","oldText":"{context}{old}","newText":"{context}{new}"}}]}}}}"#
            ),
        );
    }

    fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            // Xorshift: the text need not be random, only varied.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            text.push_str(WORDS[(self.random % WORDS.len() as u64) as usize]);
            text.push(' ');
        }
        text
    }
}

const WORDS: [&str; 16] = [
    "let", "value", "=", "self", "return", "match", "of", "the", "reader", "(line)", "{", "}",
    "turn", "fn", "if", "else",
];

/// Frames of some 256 KiB of text, of whole lines, with checksums.
fn compress(from: &Path, to: &Path) {
    let mut lines = BufReader::new(File::open(from).unwrap());
    let mut out = BufWriter::new(File::create(to).unwrap());
    let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
    compressor.include_checksum(true).unwrap();
    let mut frame = Vec::new();
    while lines.read_until(b'\n', &mut frame).unwrap() > 0 {
        if frame.len() >= 256 << 10 {
            out.write_all(&compressor.compress(&frame).unwrap()).unwrap();
            frame.clear();
        }
    }
    out.write_all(&compressor.compress(&frame).unwrap()).unwrap();
}
