//! Follows a log on a thread of its own: what is appended, cut, replaced, taken away, or goes on in a newer file.

use super::open::{LogError, LogFile, OpenOptions, Progress, split_session};
use super::source::{Stored, identity};
use super::watch::Watch;
use super::{LogFormat, Output, dsh};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// How often the file is looked at when no hint comes.
const POLL: Duration = Duration::from_secs(1);

/// Stored bytes read between two looks at whether to stop. What they tell is held until it is taken.
const SLICE: u64 = 16 << 20;

/// What a follower tells.
#[derive(Debug)]
pub enum TailEvent {
    /// A log is open and its format known: what is needed to read its rows again. Before the
    /// first `Output` of that log.
    Opened(Opened),
    /// What new lines told. The first of a log begins with `Reset`.
    Output(Output),
    /// What lines told behind an early look at the newest turn, which stands meanwhile: at
    /// `CaughtUp`, all of these together replace it. The first begins with `Reset`.
    Behind(Output),
    /// How far the index is, while it is long.
    Progress(Progress),
    /// All that there is has been told.
    CaughtUp,
    /// How the log is followed.
    State(TailState),
    /// The session goes on in this file.
    Switched(PathBuf),
    /// The log cannot be read now: one line that names file, place and cause.
    Failed(String),
}

/// A log that was opened.
pub struct Opened {
    /// Its path.
    pub path: PathBuf,
    /// Its format.
    pub format: &'static dyn LogFormat,
    /// Its bytes; none for a log that is not lines.
    pub stored: Option<Stored>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("path", &self.path)
            .field("format", &self.format.name())
            .finish_non_exhaustive()
    }
}

/// How a log is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailState {
    /// The system hints at changes; a look each second stands behind it.
    Watching,
    /// Only by a look each second.
    Polling,
    /// There is no file; it may come (back).
    Gone,
}

/// A follower. Dropping it stops it.
#[derive(Debug)]
pub struct Tail {
    stop: Arc<AtomicBool>,
    hints: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

/// Follows the log at `path`, which need not be there yet.
pub fn follow(
    path: PathBuf,
    options: OpenOptions,
    sender: impl Fn(TailEvent) + Send + 'static,
) -> Tail {
    let (path, named) = split_session(path);
    let options = OpenOptions { session: options.session.or(named), ..options };
    let stop = Arc::new(AtomicBool::new(false));
    // One waiting hint is enough: it means look again.
    let (hints, hinted) = sync_channel(1);
    let follower = Follower {
        path,
        options,
        stop: Arc::clone(&stop),
        hints: hints.clone(),
        send: sender,
        watch: None,
        state: None,
        open: None,
        failed: None,
    };
    let thread =
        thread::Builder::new().name("log-tail".to_owned()).spawn(move || follower.run(&hinted));
    Tail { stop, hints, thread: thread.ok() }
}

impl Tail {
    /// Whether the follower could be started and still runs.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.hints.try_send(());
        if let Some(thread) = self.thread.take() {
            // It panicked: there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

struct Follower<F> {
    path: PathBuf,
    options: OpenOptions,
    stop: Arc<AtomicBool>,
    hints: SyncSender<()>,
    send: F,
    watch: Option<Watch>,
    state: Option<TailState>,
    open: Option<Open>,
    /// The look at which reading failed, and why. It is tried again when the file looks different;
    /// a log that is read whole at each look, as there is more to it than one file.
    failed: Option<(Seen, String)>,
}

/// A log in hand.
struct Open {
    log: LogFile,
    seen: Seen,
    announced: bool,
    /// Not read to its end yet, not once.
    fresh: bool,
    /// The first index runs behind an early look at the newest turn.
    behind: bool,
}

/// What can be seen of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    identity: (u64, u64),
    len: u64,
    modified: Option<SystemTime>,
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        Self {
            identity: identity(metadata),
            len: metadata.len(),
            modified: metadata.modified().ok(),
        }
    }
}

impl<F: Fn(TailEvent)> Follower<F> {
    fn run(mut self, hinted: &Receiver<()>) {
        while !self.stopped() {
            self.look();
            // A hint, a second gone by, or the end: all the same, look again.
            let _ = hinted.recv_timeout(POLL);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn tell(&self, event: TailEvent) {
        (self.send)(event);
    }

    fn look(&mut self) {
        self.take_newest_generation();
        // Watch first and look then, so that no change falls between the two.
        self.keep_watch();
        let seen = match fs::metadata(&self.path) {
            Ok(metadata) => Seen::of(&metadata),
            Err(error) => return self.missing(&error),
        };
        self.enter(if self.watch.is_some() { TailState::Watching } else { TailState::Polling });
        let failed = self.failed.take();
        if self.open.is_none() && failed.as_ref().is_some_and(|(at, _)| *at == seen) {
            self.failed = failed;
        } else if let Err(error) = self.follow_on(seen) {
            let cause = error.to_string();
            if failed.is_none_or(|(_, told)| told != cause) {
                self.tell(TailEvent::Failed(cause.clone()));
            }
            self.failed = Some((seen, cause));
        }
    }

    /// A resumed session goes on in `session.vN.jsonl` beside the file that is followed.
    fn take_newest_generation(&mut self) {
        let generation = |path: &Path| dsh::generation(path.file_name()?);
        let Some(now) = generation(&self.path) else { return };
        let newest = self.path.parent().and_then(dsh::newest_generation);
        if let Some(newest) = newest.filter(|newest| generation(newest) > Some(now)) {
            self.path.clone_from(&newest);
            self.open = None;
            self.tell(TailEvent::Switched(newest));
        }
    }

    fn keep_watch(&mut self) {
        if self.watch.is_some() {
            return;
        }
        let (dir, names) = if self.path.is_dir() {
            (self.path.clone(), Vec::new())
        } else {
            let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let name = self.path.file_name().unwrap_or_default().to_owned();
            (parent.unwrap_or(Path::new(".")).to_owned(), vec![name, OsString::from("session.")])
        };
        self.watch = Watch::new(&dir, names, self.hints.clone()).ok();
    }

    fn missing(&mut self, error: &io::Error) {
        // The folder may be gone too, and the watch with it.
        self.watch = None;
        self.open = None;
        self.failed = None;
        let news = self.state != Some(TailState::Gone);
        self.enter(TailState::Gone);
        if news && error.kind() != io::ErrorKind::NotFound {
            self.tell(TailEvent::Failed(format!("{}: {error}", self.path.display())));
        }
    }

    fn enter(&mut self, state: TailState) {
        if self.state != Some(state) {
            self.state = Some(state);
            self.tell(TailEvent::State(state));
        }
    }

    fn follow_on(&mut self, seen: Seen) -> Result<(), LogError> {
        let mut open = match self.open.take() {
            Some(open) if open.goes_on(seen) => open,
            _ => self.open()?,
        };
        let whole = open.log.stored().is_none();
        let grows = open.log.has_companions() || seen.len > open.log.position();
        let more = whole || open.fresh || grows;
        let read = if more { self.read(&mut open) } else { Ok(()) };
        open.seen = seen;
        self.open = Some(open).filter(|_| whole || read.is_ok());
        read
    }

    fn open(&self) -> Result<Open, LogError> {
        let log = LogFile::open(&self.path, &self.options)?;
        let early = log.newest_turn_first().unwrap_or_default();
        let metadata = fs::metadata(&self.path);
        let seen = metadata.map(|metadata| Seen::of(&metadata));
        let seen = seen.map_err(|cause| LogError::Unreadable { path: self.path.clone(), cause })?;
        let mut open = Open { log, seen, announced: false, fresh: true, behind: false };
        if let Some((format, early)) = early {
            self.announce(&mut open, format);
            self.tell(TailEvent::Output(early));
            open.behind = true;
        }
        Ok(open)
    }

    fn announce(&self, open: &mut Open, format: &'static dyn LogFormat) {
        if !open.announced {
            open.announced = true;
            let (path, stored) = (self.path.clone(), open.log.stored().cloned());
            self.tell(TailEvent::Opened(Opened { path, format, stored }));
        }
    }

    fn read(&self, open: &mut Open) -> Result<(), LogError> {
        // What is read as a whole is told anew, and stands as it was until that is done.
        let whole = open.log.stored().is_none();
        open.behind |= whole;
        let first = open.fresh;
        let mut any = false;
        loop {
            let mut out = Output::default();
            let progress = open.log.step(SLICE, &mut out)?;
            if let Some(format) = open.log.format() {
                self.announce(open, format);
            }
            let news = !out.events.is_empty() || !out.damages.is_empty();
            any |= news;
            if news {
                let told = if open.behind { TailEvent::Behind } else { TailEvent::Output };
                self.tell(told(out));
            }
            if progress.caught_up {
                if any || open.fresh {
                    (open.fresh, open.behind) = (false, false);
                    self.tell(TailEvent::CaughtUp);
                }
                return Ok(());
            }
            if first || !whole {
                self.tell(TailEvent::Progress(progress));
            }
            if self.stopped() {
                return Ok(());
            }
        }
    }
}

impl Open {
    /// Whether the file that is seen now is the one in hand, with more at its end at most.
    fn goes_on(&self, seen: Seen) -> bool {
        let Some(stored) = self.log.stored() else { return true };
        if self.log.is_stale() {
            return false;
        }
        if stored.identity() != Some(seen.identity) || seen.len < self.log.position() {
            return false;
        }
        seen == self.seen || self.log.still_stands()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::LogEvent;
    use crate::session::transcript::Transcript;
    use std::fs::OpenOptions as Create;
    use std::io::Write;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    const HEADER: &str = "{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":1,\"cwd\":\"/w\",\"delegationDepth\":0}\n";

    fn turn(seq: u32, turn: u32) -> String {
        format!(
            "{{\"type\":\"turn/start\",\"seq\":{seq},\"time\":5,\"data\":{{\"turn\":{turn}}}}}\n\
             {{\"type\":\"user/message\",\"seq\":{},\"time\":5,\"data\":{{\"source\":{{\"kind\":\"user\"}},\"content\":[{{\"type\":\"text\",\"text\":\"prompt {turn}\"}}]}}}}\n",
            seq + 1
        )
    }

    /// A follower with what it told so far.
    struct Seat {
        told: Receiver<TailEvent>,
        transcript: Transcript,
        behind: Option<Transcript>,
        log: Vec<String>,
        _tail: Tail,
    }

    fn sit(path: &Path) -> Seat {
        let (send, told) = channel();
        let tail = follow(path.to_owned(), OpenOptions::default(), move |event| {
            let _ = send.send(event);
        });
        Seat { told, transcript: Transcript::default(), behind: None, log: Vec::new(), _tail: tail }
    }

    impl Seat {
        fn until(&mut self, wanted: impl Fn(&Self, &TailEvent) -> bool) {
            let end = Instant::now() + Duration::from_secs(10);
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let event = self.told.recv_timeout(left).unwrap_or_else(|_| {
                    panic!("not told: {:?}, prompts {:?}", self.log, self.prompts())
                });
                self.log.push(format!("{event:?}").chars().take(60).collect());
                match &event {
                    TailEvent::Output(out) => {
                        out.events.iter().for_each(|e| self.transcript.apply(e.clone()));
                    }
                    TailEvent::Behind(out) => {
                        let behind = self.behind.get_or_insert_default();
                        out.events.iter().for_each(|e| behind.apply(e.clone()));
                    }
                    TailEvent::CaughtUp => {
                        self.transcript =
                            self.behind.take().unwrap_or(std::mem::take(&mut self.transcript));
                    }
                    _ => {}
                }
                if wanted(self, &event) {
                    return;
                }
            }
        }

        fn prompts(&self) -> Vec<&str> {
            self.transcript.turns.iter().map(|turn| turn.prompt.as_str()).collect()
        }

        fn until_turns(&mut self, wanted: usize) {
            self.until(|seat, event| {
                matches!(event, TailEvent::CaughtUp) && seat.transcript.turns.len() == wanted
            });
        }

        fn until_prompts(&mut self, wanted: &[&str]) {
            self.until(|seat, event| {
                matches!(event, TailEvent::CaughtUp) && seat.prompts() == wanted
            });
        }
    }

    fn append(path: &Path, text: &[u8]) {
        Create::new().append(true).create(true).open(path).unwrap().write_all(text).unwrap();
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.jsonl");
        (dir, path)
    }

    #[test]
    fn what_is_appended_is_told_whole_lines_only() {
        let (_dir, path) = folder();
        append(&path, HEADER.as_bytes());
        let mut seat = sit(&path);
        seat.until(|_, event| matches!(event, TailEvent::CaughtUp));
        let text = turn(0, 1);
        append(&path, &text.as_bytes()[..90]);
        append(&path, &text.as_bytes()[90..]);
        seat.until_prompts(&["prompt 1"]);
        assert!(seat.log.iter().any(|event| event.contains("Watching")), "{:?}", seat.log);
    }

    #[test]
    fn appended_frames_are_told() {
        let (_dir, path) = folder();
        let frame = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
        append(&path, &frame(HEADER));
        let mut seat = sit(&path);
        seat.until(|_, event| matches!(event, TailEvent::CaughtUp));
        append(&path, &frame(&turn(0, 1)));
        seat.until_prompts(&["prompt 1"]);
        let second = frame(&turn(2, 2));
        append(&path, &second[..7]);
        append(&path, &second[7..]);
        seat.until_prompts(&["prompt 1", "prompt 2"]);
    }

    #[test]
    fn a_cut_log_is_told_anew() {
        let (_dir, path) = folder();
        let kept = format!("{HEADER}{}", turn(0, 1));
        append(&path, format!("{kept}{}", turn(2, 2)).as_bytes());
        let mut seat = sit(&path);
        seat.until_prompts(&["prompt 1", "prompt 2"]);
        Create::new().write(true).open(&path).unwrap().set_len(kept.len() as u64).unwrap();
        seat.until_prompts(&["prompt 1"]);
        // Cut and grown past its old end between two looks.
        let other = turn(0, 7) + &turn(2, 8) + &turn(4, 9);
        fs::write(&path, format!("{HEADER}{other}")).unwrap();
        seat.until_prompts(&["prompt 7", "prompt 8", "prompt 9"]);
    }

    #[test]
    fn a_replaced_log_is_told_anew_and_goes_on() {
        let (dir, path) = folder();
        append(&path, format!("{HEADER}{}", turn(0, 1)).as_bytes());
        let mut seat = sit(&path);
        seat.until_prompts(&["prompt 1"]);
        let other = dir.path().join("other");
        append(&other, format!("{HEADER}{}{}", turn(0, 3), turn(2, 4)).as_bytes());
        fs::rename(&other, &path).unwrap();
        seat.until_prompts(&["prompt 3", "prompt 4"]);
        append(&path, turn(4, 5).as_bytes());
        seat.until_prompts(&["prompt 3", "prompt 4", "prompt 5"]);
    }

    #[test]
    fn a_log_may_go_and_return() {
        let (_dir, path) = folder();
        let mut seat = sit(&path);
        seat.until(|_, event| matches!(event, TailEvent::State(TailState::Gone)));
        append(&path, format!("{HEADER}{}", turn(0, 1)).as_bytes());
        seat.until_prompts(&["prompt 1"]);
        fs::remove_file(&path).unwrap();
        seat.until(|_, event| matches!(event, TailEvent::State(TailState::Gone)));
        append(&path, format!("{HEADER}{}", turn(0, 2)).as_bytes());
        seat.until_prompts(&["prompt 2"]);
    }

    #[test]
    fn the_session_goes_on_in_the_highest_generation() {
        let (dir, path) = folder();
        append(&path, format!("{HEADER}{}", turn(0, 1)).as_bytes());
        let mut seat = sit(&path);
        seat.until_prompts(&["prompt 1"]);
        append(&dir.path().join("session.v9.jsonl"), format!("{HEADER}{}", turn(0, 9)).as_bytes());
        seat.until_prompts(&["prompt 9"]);
        let next = dir.path().join("session.v10.jsonl");
        append(&next, format!("{HEADER}{}", turn(0, 10)).as_bytes());
        seat.until(|_, event| matches!(event, TailEvent::Switched(path) if *path == next));
        seat.until_prompts(&["prompt 10"]);
    }

    #[test]
    fn a_file_of_no_format_fails_once_and_may_become_one() {
        let (_dir, path) = folder();
        append(&path, "{\"a\":1}\n".repeat(20).as_bytes());
        let mut seat = sit(&path);
        seat.until(|_, event| matches!(event, TailEvent::Failed(_)));
        fs::write(&path, format!("{HEADER}{}", turn(0, 1))).unwrap();
        seat.until_prompts(&["prompt 1"]);
        assert_eq!(seat.log.iter().filter(|event| event.contains("Failed")).count(), 1);
    }

    #[test]
    fn the_newest_turn_of_a_long_log_is_told_before_its_index() {
        let (_dir, path) = folder();
        let mut text = String::from(HEADER);
        for n in 0..40_000 {
            text.push_str(&turn(n * 2, n + 1));
        }
        fs::write(&path, text).unwrap();
        let mut seat = sit(&path);
        seat.until(|_, event| matches!(event, TailEvent::Output(_)));
        assert_eq!(seat.prompts(), ["prompt 40000"]);
        assert_eq!(seat.transcript.header.id.as_deref(), Some("s"));
        seat.until(|_, event| matches!(event, TailEvent::Behind(out) if out.events.first() == Some(&LogEvent::Reset)));
        assert_eq!(seat.transcript.turns.len(), 1, "the early look stands");
        seat.until_turns(40_000);
        append(&path, turn(80_000, 40_001).as_bytes());
        seat.until_turns(40_001);
        assert_eq!(seat.prompts().last(), Some(&"prompt 40001"));
    }

    #[test]
    fn a_data_base_is_told_anew_when_its_writer_adds_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("opencode.db");
        let base = rusqlite::Connection::open(&path).unwrap();
        base.pragma_update(None, "journal_mode", "wal").unwrap();
        base.execute_batch(
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER);
            CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
            INSERT INTO session VALUES ('ses_a', NULL, '/w', 1), ('ses_b', NULL, '/w', 2);",
        )
        .unwrap();
        let say = |session: &str, number: u32| {
            base.execute_batch(&format!(
                r#"INSERT INTO message VALUES ('msg_{number}', '{session}', {number}, '{{"role":"user"}}');
                INSERT INTO part VALUES ('prt_{number}', 'msg_{number}', '{{"type":"text","text":"prompt {number}"}}');"#
            ))
            .unwrap();
        };
        say("ses_a", 1);
        say("ses_b", 2);
        let mut newest = sit(&path);
        newest.until_prompts(&["prompt 2"]);
        let mut named = sit(&dir.path().join("opencode.db#ses_a"));
        named.until_prompts(&["prompt 1"]);
        assert!(named.log.iter().all(|event| !event.contains("Gone")), "{:?}", named.log);
        say("ses_a", 3);
        named.until_prompts(&["prompt 1", "prompt 3"]);
        // What cannot be read is told once, and read again as soon as it can be.
        base.execute_batch("DELETE FROM session WHERE id = 'ses_a'").unwrap();
        named.until(|_, event| matches!(event, TailEvent::Failed(_)));
        base.execute_batch("INSERT INTO session VALUES ('ses_a', NULL, '/w', 1)").unwrap();
        named.until_prompts(&["prompt 1", "prompt 3"]);
        let failures = named.log.iter().filter(|event| event.contains("Failed")).count();
        assert_eq!(failures, 1, "{:?}", named.log);
    }

    #[test]
    fn a_folder_of_messages_is_told_anew_when_one_comes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("storage");
        let write = |file: String, text: String| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let say = |number: u32| {
            let part = format!(r#"{{"type":"text","text":"prompt {number}"}}"#);
            write(format!("part/msg_{number}/prt_{number}.json"), part);
            let message =
                format!(r#"{{"id":"msg_{number}","role":"user","time":{{"created":{number}}}}}"#);
            write(format!("message/ses_a/msg_{number}.json"), message);
        };
        say(1);
        let session = r#"{"id":"ses_a","directory":"/w","time":{"created":1,"updated":2}}"#;
        write("session/p/ses_a.json".to_owned(), session.to_owned());
        let mut seat = sit(&root);
        seat.until_prompts(&["prompt 1"]);
        say(2);
        seat.until_prompts(&["prompt 1", "prompt 2"]);
    }

    #[test]
    fn a_document_is_told_anew_when_it_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session-1.json");
        let write = |prompts: &[u32]| {
            let message = |n| format!(r#"{{"id":"m{n}","type":"user","content":"prompt {n}"}}"#);
            let messages: Vec<String> = prompts.iter().map(message).collect();
            let text = format!(
                "{{\n\"sessionId\":\"s\",\n\"projectHash\":\"h\",\n\"messages\":[{}]}}",
                messages.join(",")
            );
            // Its writer replaces it, as a half document is none.
            fs::write(dir.path().join("new"), text).unwrap();
            fs::rename(dir.path().join("new"), &path).unwrap();
        };
        write(&[1]);
        let mut seat = sit(&path);
        seat.until_prompts(&["prompt 1"]);
        write(&[1, 2]);
        seat.until_prompts(&["prompt 1", "prompt 2"]);
    }

    #[test]
    fn an_idle_follower_costs_next_to_nothing() {
        let (_dir, path) = folder();
        append(&path, format!("{HEADER}{}", turn(0, 1)).as_bytes());
        let (send, told) = channel();
        let _tail = follow(path, OpenOptions::default(), move |event| {
            if matches!(event, TailEvent::CaughtUp) {
                // Told on the follower's own thread.
                let _ = send.send(fs::read_link("/proc/thread-self").unwrap());
            }
        });
        let own = told.recv_timeout(Duration::from_secs(10)).unwrap();
        let nanoseconds = || -> u64 {
            let text = fs::read_to_string(Path::new("/proc").join(&own).join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse().unwrap()
        };
        let before = nanoseconds();
        thread::sleep(Duration::from_secs(5));
        let spent = Duration::from_nanos(nanoseconds() - before);
        assert!(spent < Duration::from_millis(5), "{spent:?}");
    }
}
