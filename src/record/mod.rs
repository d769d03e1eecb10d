//! The recorder: at each turn's start and end it looks at the work tree, and keeps both sides of what changed.
//!
//! [`Recorder::start`] begins one on a thread of its own; it is told of a log by whoever follows
//! that ([`Feed::tell`]), or follows it itself ([`follow`]). What happens:
//!
//! | the log tells | the recorder does |
//! |---|---|
//! | a turn begins | takes the work tree as the turn's baseline |
//! | a file tool is called | keeps the file as it is, if the baseline does not have it |
//! | the turn ends | takes the work tree again, compares, keeps both sides and the list |
//! | something of an ended turn settles | does the last again |
//!
//! A turn that was over before it could be looked at is left alone: nothing is guessed from the
//! disk. `turns` decides when to look (pure), `workspace` and `capture` look, `summary`, `origin`
//! and `kinds` say what was seen, `hand` holds the turns in hand, `seat` says who writes.
//! `visit` does the same for an agent's hooks, which are called one by one.

mod capture;
mod event;
mod hand;
mod kinds;
mod origin;
mod seat;
mod single;
mod summary;
mod turns;
mod visit;
mod worker;
mod workspace;

pub use event::RecordEvent;
pub use seat::session_key;
pub use single::{KeptSnapshot, keep_snapshot};
pub use visit::{Visit, Visited};

use crate::log::LogFormat;
use crate::log::open::OpenOptions;
use crate::log::source::Stored;
use crate::log::tail::{self, Tail, TailEvent};
use crate::session::event::LogEvent;
use crate::store::Settings;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How a session is recorded. Paths are absolute.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The root of the store.
    pub store: PathBuf,
    /// The bounds of the store, and of what is kept of a turn.
    pub settings: Settings,
    /// The home directory; empty where it is not known.
    pub home: PathBuf,
    /// `--cwd`: stands for the session's own working directory.
    pub cwd: Option<PathBuf>,
    /// `--git-dir`: stands for the repository around the working directory.
    pub git_dir: Option<PathBuf>,
    /// Temporary directories: what tools write there is of no interest.
    pub temp: Vec<PathBuf>,
    /// So many files are told of a turn; all are kept.
    pub max_files: usize,
    /// How long the comparison of one file may take.
    pub diff_timeout: Duration,
    /// Leaves the store alone until a turn runs: a session that is only looked at leaves no trace.
    pub waits_for_turn: bool,
    /// Ends by itself when the log has told nothing for so long.
    pub until_idle: Option<Duration>,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            store: PathBuf::new(),
            settings: Settings::default(),
            home: PathBuf::new(),
            cwd: None,
            git_dir: None,
            temp: vec![PathBuf::from("/tmp"), std::env::temp_dir()],
            max_files: 500,
            diff_timeout: Duration::from_millis(100),
            waits_for_turn: false,
            until_idle: None,
        }
    }
}

/// What comes to a recorder.
enum Input {
    Opened { path: PathBuf, format: &'static dyn LogFormat, stored: Option<Stored> },
    Events(Vec<LogEvent>),
    CaughtUp,
    Failed(String),
    Stop,
    Abandon,
}

/// A recorder on a thread of its own. Dropping it ends it at once: the turn in hand has its
/// baseline and nothing else.
pub struct Recorder {
    feed: Feed,
    cancel: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Tells a recorder what a log tells.
#[derive(Clone)]
pub struct Feed {
    inbox: Sender<Input>,
}

impl Feed {
    /// Hands on what a follower of the log tells, in order.
    pub fn tell(&self, event: &TailEvent) {
        self.send(match event {
            TailEvent::Opened(opened) => Input::Opened {
                path: opened.path.clone(),
                format: opened.format,
                stored: opened.stored.clone(),
            },
            TailEvent::Output(output) | TailEvent::Behind(output) => {
                Input::Events(output.events.clone())
            }
            TailEvent::CaughtUp => Input::CaughtUp,
            TailEvent::Failed(message) => Input::Failed(message.clone()),
            TailEvent::Progress(_) | TailEvent::State(_) | TailEvent::Switched(_) => return,
        });
    }

    fn send(&self, input: Input) {
        // A recorder that has ended wants to know nothing.
        let _ = self.inbox.send(input);
    }
}

impl Recorder {
    /// Starts a recorder; `sender` hears from it on its thread.
    pub fn start(options: RecordOptions, sender: impl Fn(RecordEvent) + Send + 'static) -> Self {
        let (inbox, received) = channel();
        let cancel = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&cancel);
        let thread = thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || worker::Worker::new(options, received, seen, sender).run());
        Self { feed: Feed { inbox }, cancel, thread: thread.ok() }
    }

    /// What tells it of its log.
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// Finishes the turn in hand, and ends. Returns when that is done.
    pub fn stop(mut self) {
        self.feed.send(Input::Stop);
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It panicked: there is nothing left to end.
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.cancel.store(true, Ordering::Relaxed);
            self.feed.send(Input::Abandon);
            self.join();
        }
    }
}

/// A recorder that follows its log itself.
pub struct Following {
    tail: Tail,
    recorder: Recorder,
}

/// Follows the log at `path` and records it.
pub fn follow(
    path: PathBuf,
    open: OpenOptions,
    options: RecordOptions,
    sender: impl Fn(RecordEvent) + Send + 'static,
) -> Following {
    let recorder = Recorder::start(options, sender);
    let feed = recorder.feed();
    let tail = tail::follow(path, open, move |event| feed.tell(&event));
    Following { tail, recorder }
}

impl Following {
    /// Finishes the turn in hand, and ends. Returns when that is done.
    pub fn stop(self) {
        drop(self.tail);
        self.recorder.stop();
    }
}
