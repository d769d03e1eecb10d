//! A real pseudo-terminal: start, keys, resize, signals, and the terminal as it was before.

use crate::bases::Log;
use crate::transcripts::Scratch;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; nothing waits so long that goes well.
const PATIENCE: Duration = Duration::from_secs(20);

struct Seat {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
    scratch: Scratch,
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl Seat {
    fn at(arguments: &[&str], cols: u16, rows: u16) -> Self {
        Self::in_home(Scratch::new(), arguments, cols, rows)
    }

    /// Where a home directory is prepared, which is the current one too.
    fn in_home(scratch: Scratch, arguments: &[&str], cols: u16, rows: u16) -> Self {
        Self::with(scratch, arguments, (cols, rows), &[("TERM", "xterm-256color")])
    }

    fn with(
        scratch: Scratch,
        arguments: &[&str],
        (cols, rows): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system().openpty(size(cols, rows)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_handback"));
        command.args(arguments);
        command.env_clear();
        command.env("HOME", scratch.path("."));
        for (name, value) in environment {
            command.env(name, value);
        }
        command.cwd(scratch.path("."));
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keyboard = pair.master.take_writer().unwrap();
        let screen = vt100::Parser::new(rows, cols, 0);
        Self { master: pair.master, child, keyboard, output, screen, raw: Vec::new(), scratch }
    }

    fn pump(&mut self, wait: Duration) -> bool {
        match self.output.recv_timeout(wait) {
            Ok(bytes) => {
                self.screen.process(&bytes);
                self.raw.extend(bytes);
                true
            }
            Err(_) => false,
        }
    }

    fn until(&mut self, wanted: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.screen.screen().contents().contains(wanted) {
            assert!(Instant::now() < end, "no `{wanted}`:\n{}", self.screen.screen().contents());
            self.pump(Duration::from_millis(50));
        }
    }

    fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.process_id().unwrap()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal)
            .unwrap();
    }

    /// Waits for the end; gives the exit code and holds the terminal to what it was.
    fn end(mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            self.pump(Duration::from_millis(10));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end");
        };
        while self.pump(Duration::from_millis(100)) {}
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        assert!(!screen.bracketed_paste(), "pasting is plain again");
        status.exit_code()
    }
}

/// Writes a session of dsh whose one turn makes one file.
fn session(scratch: &Scratch, id: &str) {
    let home = scratch.path(".").canonicalize().unwrap();
    let folder = home.join(".dsh/sessions/here").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    let mut log = Log::new(&home);
    log.turn(1, &format!("Prompt of {id}")).create(1, &format!("file-of-{id}"), "x\n").end(1);
    std::fs::write(folder.join("session.jsonl"), log.bytes()).unwrap();
}

#[test]
fn another_session_is_picked_and_a_newer_one_offered() {
    let scratch = Scratch::new();
    session(&scratch, "first");
    std::thread::sleep(Duration::from_millis(20));
    session(&scratch, "second");
    let mut seat = Seat::in_home(scratch, &["--no-record"], 120, 24);
    seat.until("file-of-second");
    seat.keys("S");
    seat.until("2/2");
    seat.keys("first");
    seat.until("1/2");
    seat.keys("\r");
    seat.until("file-of-first");
    seat.until("live");
    assert!(!seat.screen.screen().contents().contains("second"));
    // The first look comes after a second; what begins later is newer.
    std::thread::sleep(Duration::from_millis(1500));
    session(&seat.scratch, "third");
    seat.until("a newer session: S");
    seat.keys("S");
    seat.until("3/3");
    seat.until("dsh          1 turns  Prompt of third");
    seat.until("dsh          1 turns  Prompt of first");
    seat.keys("\r");
    seat.until("file-of-third");
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn branches_are_gone_through_and_the_live_one_is_followed() {
    let scratch = Scratch::new();
    let path = scratch.write("log.jsonl", crate::branches::forked());
    let log = path.to_str().unwrap().to_owned();
    let mut seat = Seat::in_home(scratch, &["--no-record", "--session", &log], 110, 16);
    seat.until("five");
    seat.until("3 branches: B");
    for (words, prompt) in [("branch 1 of 3", "three"), ("branch 2 of 3", "four")] {
        seat.keys("B");
        seat.until(words);
        seat.until(prompt);
        assert!(!seat.screen.screen().contents().contains("five"));
    }
    seat.keys("B");
    seat.until("five");
    seat.until("3 branches: B");
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    writeln!(file, "{}", crate::branches::entry("f", Some("e"), "six")).unwrap();
    seat.until("six");
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn it_starts_obeys_and_leaves_the_terminal_as_it_was() {
    let mut seat = Seat::at(&[], 100, 30);
    seat.until("presented");
    seat.keys("((");
    seat.until("src/count.rs");
    seat.keys("?");
    seat.until("Go one row down");
    seat.keys("q");
    seat.keys("/words\r");
    seat.until("match 1/");
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn it_follows_the_terminals_size_down_to_a_message() {
    let mut seat = Seat::at(&[], 100, 30);
    seat.until("presented");
    for (cols, rows, wanted) in [
        (60, 12, "presented"),
        (40, 8, "presented"),
        (19, 4, "too small"),
        (120, 40, "REPORT.md +5"),
    ] {
        seat.master.resize(size(cols, rows)).unwrap();
        seat.screen.screen_mut().set_size(rows, cols);
        seat.until(wanted);
    }
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn signals_end_it_and_give_the_terminal_back() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut seat = Seat::at(&[], 80, 24);
        seat.until("presented");
        seat.signal(signal);
        assert_eq!(seat.end(), 0, "{signal:?}");
    }
}

#[test]
fn it_stops_and_goes_on() {
    use rustix::process::Signal;
    let mut seat = Seat::at(&[], 80, 24);
    seat.until("presented");
    for by_key in [true, false] {
        if by_key {
            seat.keys("\u{1a}");
        } else {
            seat.signal(Signal::TSTP);
        }
        let end = Instant::now() + PATIENCE;
        while seat.screen.screen().alternate_screen() {
            assert!(Instant::now() < end, "it does not give the terminal back");
            seat.pump(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100));
        seat.signal(Signal::CONT);
        seat.until("presented");
        assert!(seat.screen.screen().alternate_screen());
    }
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn an_appended_log_is_seen() {
    let scratch = Scratch::new();
    let row = |seq: u32, kind: &str, data: serde_json::Value| {
        format!("{}\n", serde_json::json!({"type": kind, "seq": seq, "time": seq, "data": data}))
    };
    let header = "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":1,\"cwd\":\"/nowhere\",\"delegationDepth\":0}\n";
    let prompt = |turn: u32, text: &str| {
        let data = serde_json::json!({"id": "u", "source": {"kind": "user"}, "content": [{"type": "text", "text": text}]});
        row(turn * 10, "turn/start", serde_json::json!({"turn": turn}))
            + &row(turn * 10 + 1, "user/message", data)
    };
    let log = scratch.write("session.jsonl", format!("{header}{}", prompt(1, "the first prompt")));
    let mut seat = Seat::at(&["--session", log.to_str().unwrap(), "--no-record"], 80, 24);
    seat.until("the first prompt");
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(prompt(2, "the second prompt").as_bytes()).unwrap();
    seat.until("the second prompt");
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn a_turn_is_recorded_while_it_is_watched() {
    let scratch = Scratch::new();
    let work = scratch.path(".").canonicalize().unwrap();
    let init = std::process::Command::new("git").args(["init", "-q"]).current_dir(&work).status();
    assert!(init.unwrap().success());
    let header = serde_json::json!({"type": "session", "version": 0, "id": "s", "createdAt": 1,
        "cwd": work, "delegationDepth": 0});
    let log = scratch.write("session.jsonl", format!("{header}\n"));
    let append = |seq: u32, kind: &str, data: serde_json::Value| {
        let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
        let row = serde_json::json!({"type": kind, "seq": seq, "time": 9, "data": data});
        file.write_all(format!("{row}\n").as_bytes()).unwrap();
    };
    let mut seat = Seat::at(&["--session", log.to_str().unwrap()], 100, 24);
    seat.until("live");
    append(0, "turn/start", serde_json::json!({"turn": 1}));
    seat.until("recording · baseline");
    let call = serde_json::json!({"turn": 1, "step": 1, "callId": "c", "name": "bash",
        "arguments": "{\"command\":\"make\"}"});
    append(1, "tool/call", call);
    scratch.write("made-by-a-command.txt", "made\n");
    append(2, "turn/end", serde_json::json!({"turn": 1, "reason": {"kind": "completed"}}));
    seat.until("made-by-a-command.txt");
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

#[test]
fn it_needs_no_processor_when_nothing_happens() {
    let mut seat = Seat::at(&[], 80, 24);
    seat.until("presented");
    while seat.pump(Duration::from_millis(300)) {}
    let before = processor_ticks(&seat);
    assert!(!seat.pump(Duration::from_secs(2)), "it writes while nothing happens");
    let used = processor_ticks(&seat) - before;
    assert!(used <= 2, "{used} ticks in two seconds");
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

/// User and system time in clock ticks (1/100 s).
fn processor_ticks(seat: &Seat) -> u64 {
    let pid = seat.child.process_id().unwrap();
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = line.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// All that the program writes in a terminal with this environment, up to the first screen.
fn written(environment: &[(&str, &str)]) -> String {
    let mut seat = Seat::with(Scratch::new(), &[], (80, 24), environment);
    seat.until("check.sh");
    seat.keys("q");
    while seat.pump(Duration::from_millis(200)) {}
    String::from_utf8_lossy(&seat.raw).into_owned()
}

/// The parameters of all "select graphic rendition" sequences (ECMA-48, 8.3.117).
fn renditions(text: &str) -> Vec<&str> {
    text.split("\x1b[")
        .filter_map(|rest| rest.split_once('m').map(|(parameters, _)| parameters))
        .filter(|found| found.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
        .collect()
}

fn is_colour(parameters: &str) -> bool {
    let mut numbers = parameters.split(';').filter_map(|number| number.parse::<u32>().ok());
    numbers.any(|number| matches!(number, 30..=38 | 40..=48 | 90..=97 | 100..=107))
}

#[test]
fn without_colour_there_is_none() {
    let text = written(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    let found = renditions(&text);
    assert!(!found.is_empty(), "bold and underline are left");
    assert!(!found.iter().any(|parameters| is_colour(parameters)), "{found:?}");
}

#[test]
fn a_terminal_is_written_the_colours_that_it_has() {
    let deep = |text: &str| {
        let found = renditions(text);
        let of = |wanted: &[&str]| found.iter().any(|p| wanted.iter().any(|w| p.contains(w)));
        (of(&["38;2;", "48;2;"]), of(&["38;5;", "48;5;"]), found.iter().any(|p| is_colour(p)))
    };
    assert_eq!(deep(&written(&[("TERM", "xterm-256color")])), (false, true, true));
    let full = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];
    assert!(deep(&written(&full)).0);
    let sixteen = written(&[("TERM", "xterm")]);
    assert!(!deep(&sixteen).0);
    // What is written as one of 256 must be one of the sixteen that any terminal has.
    let beyond = renditions(&sixteen).into_iter().filter_map(|parameters| {
        let (_, number) = parameters.rsplit_once("8;5;")?;
        number.split(';').next()?.parse::<u32>().ok().filter(|number| *number > 15)
    });
    assert_eq!(beyond.count(), 0);
}

#[test]
fn the_smallest_screen_is_twenty_by_five() {
    let mut seat = Seat::at(&[], 20, 5);
    seat.until("presented");
    for (cols, rows, wanted) in [(19, 5, "too small"), (20, 4, "too small"), (5, 2, "5×2")] {
        seat.master.resize(size(cols, rows)).unwrap();
        seat.screen.screen_mut().set_size(rows, cols);
        seat.until(wanted);
        assert!(!seat.screen.screen().contents().contains("presented"), "{cols}x{rows}");
        seat.master.resize(size(20, 5)).unwrap();
        seat.screen.screen_mut().set_size(5, 20);
        seat.until("presented");
    }
    seat.keys("q");
    assert_eq!(seat.end(), 0);
}

/// Two files of few different lines in no order: git's search takes seconds for them.
fn hard_pair(scratch: &Scratch) {
    let mut random: u32 = 1;
    let mut text = || {
        let mut line = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("line {}\n", random >> 29)
        };
        (0..300_000).map(|_| line()).collect::<String>()
    };
    std::fs::write(scratch.path("old"), text()).unwrap();
    std::fs::write(scratch.path("new"), text()).unwrap();
}

#[test]
fn keys_are_obeyed_and_it_ends_at_once_while_a_comparison_is_made() {
    let arguments = ["diff", "--review", "--max-file-bytes", "100000000", "old", "new"];
    let mut ends = Vec::new();
    for _ in 0..3 {
        let scratch = Scratch::new();
        hard_pair(&scratch);
        let mut seat = Seat::in_home(scratch, &arguments, 100, 30);
        // The coarse answer is there; the exact one is being made.
        seat.until("coarse");
        let mut answers = Vec::new();
        for _ in 0..10 {
            for (key, wanted) in [("?", "page down"), ("?", "line ")] {
                let start = Instant::now();
                seat.keys(key);
                seat.until(wanted);
                answers.push(start.elapsed());
            }
        }
        answers.sort();
        // Other tests run beside this one. A loop that waited for the comparison would take seconds.
        assert!(answers[5] < Duration::from_millis(50), "{answers:?}");
        assert!(seat.screen.screen().contents().contains("coarse"), "the comparison was no work");
        let start = Instant::now();
        seat.keys("q");
        while seat.child.try_wait().unwrap().is_none() {
            seat.pump(Duration::from_millis(1));
        }
        ends.push(start.elapsed());
        assert_eq!(seat.end(), 0);
    }
    let best = ends.iter().min().unwrap();
    assert!(*best < Duration::from_millis(100), "{ends:?}");
}
