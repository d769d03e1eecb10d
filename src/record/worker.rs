//! The recorder's thread: what the log tells comes in, the disk is looked at, the store is written.

use super::event::RecordEvent;
use super::seat::{Seat, Taking, Wanted};
use super::summary::told;
use super::turns::{Action, Turns};
use super::{Input, RecordOptions};
use crate::log::again::LogRows;
use crate::store::{SessionStore, Store};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How often it is looked whether a store that refused, or a session of another recorder, is free.
const RETRY: Duration = Duration::from_millis(500);

/// A log that was written last so long ago is taken for one of an agent that died, until it grows.
const DORMANT: Duration = Duration::from_secs(600);

/// One recorder.
pub(super) struct Worker<F> {
    options: RecordOptions,
    inbox: Receiver<Input>,
    cancel: Arc<AtomicBool>,
    send: F,
    turns: Turns,
    log: LogRows,
    log_path: PathBuf,
    format: &'static str,
    seat: Seat,
    wanted: Option<Wanted>,
    asked: Option<Instant>,
    /// What an earlier recorder of the session left, until the first baseline.
    earlier: Option<SessionStore>,
    is_caught_up: bool,
    is_ready: bool,
    is_dormant: bool,
    end: Option<End>,
    news: Instant,
    log_seen: Option<(u64, Option<SystemTime>)>,
}

/// How a recorder ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The turn in hand is finished first.
    Finish,
    /// At once.
    Abandon,
}

impl<F: Fn(RecordEvent)> Worker<F> {
    pub(super) fn new(
        options: RecordOptions,
        inbox: Receiver<Input>,
        cancel: Arc<AtomicBool>,
        send: F,
    ) -> Self {
        Self {
            options,
            inbox,
            cancel,
            send,
            turns: Turns::default(),
            log: LogRows::default(),
            log_path: PathBuf::new(),
            format: "",
            seat: Seat::Waiting,
            wanted: None,
            asked: None,
            earlier: None,
            is_caught_up: false,
            is_ready: false,
            is_dormant: false,
            end: None,
            news: Instant::now(),
            log_seen: None,
        }
    }

    /// Records until it is told to stop.
    pub(super) fn run(mut self) {
        while self.end.is_none() {
            match self.wait() {
                Ok(input) => self.take(input),
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Err(RecvTimeoutError::Disconnected) => self.end = Some(End::Abandon),
            }
            self.drain();
            self.work();
        }
        if self.end == Some(End::Finish) {
            self.finish();
        }
        (self.send)(RecordEvent::Ended);
    }

    /// Waits for something to come; where nothing else is to be looked at, as long as it takes.
    fn wait(&self) -> Result<Input, RecvTimeoutError> {
        let looks = matches!(self.seat, Seat::Refused(_) | Seat::Following(_));
        if looks || self.options.until_idle.is_some() {
            self.inbox.recv_timeout(RETRY)
        } else {
            self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        }
    }

    fn tell(&self, event: RecordEvent) {
        (self.send)(event);
    }

    fn warn(&self, message: impl Into<String>) {
        self.tell(RecordEvent::Warning(message.into()));
    }

    fn warn_all(&self, messages: Vec<String>) {
        for message in messages {
            self.warn(message);
        }
    }

    fn take(&mut self, input: Input) {
        self.news = Instant::now();
        match input {
            Input::Opened { path, format, stored } => {
                self.log = LogRows::new(Some(format), stored);
                (self.log_path, self.format) = (path, format.name());
            }
            Input::Events(events) => {
                for event in events {
                    self.turns.apply(event);
                }
                if std::mem::take(&mut self.is_dormant) {
                    // Whatever has ended by now ended while nobody looked.
                    self.turns.skip_ended();
                }
            }
            Input::CaughtUp => {
                self.turns.caught_up();
                if !std::mem::replace(&mut self.is_caught_up, true) {
                    self.is_dormant = self.log_is_old();
                }
            }
            Input::Failed(message) => self.warn(message),
            Input::Stop => self.end = self.end.or(Some(End::Finish)),
            Input::Abandon => self.end = Some(End::Abandon),
        }
    }

    fn drain(&mut self) {
        while let Ok(input) = self.inbox.try_recv() {
            self.take(input);
        }
    }

    fn log_is_old(&self) -> bool {
        let modified = fs::metadata(&self.log_path).and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        age.is_some_and(|age| age >= DORMANT)
    }

    /// Nothing came for a while.
    fn tick(&mut self) {
        let log = fs::metadata(&self.log_path).ok();
        let log = log.map(|metadata| (metadata.len(), metadata.modified().ok()));
        if log != self.log_seen {
            // Rows that tell nothing are a sign of life too.
            (self.log_seen, self.news) = (log, Instant::now());
        }
        if self.options.until_idle.is_some_and(|limit| self.news.elapsed() >= limit) {
            self.end = Some(End::Finish);
        }
        for event in self.seat.news(self.options.max_files) {
            self.tell(event);
        }
    }

    /// Does all that there is to do.
    fn work(&mut self) {
        self.sit_down();
        if self.is_dormant {
            return;
        }
        while matches!(self.seat, Seat::Recording(_)) && self.end != Some(End::Abandon) {
            let Some(action) = self.turns.next() else { break };
            self.act(action);
            self.news = Instant::now();
            self.drain();
        }
    }

    /// Asks for the session that the log is of, unless that was done.
    fn sit_down(&mut self) {
        if !self.is_caught_up || self.turns.is_being_told() {
            return;
        }
        let header = self.turns.header();
        let is_named = header.id.is_some();
        let wanted = Wanted::of(header, self.format, &self.log_path, &self.options);
        let key = |wanted: &Option<Wanted>| wanted.as_ref().map(|wanted| wanted.key.clone());
        if key(&wanted) != key(&self.wanted) {
            if self.wanted.is_some() {
                // Another session's log stands where this one's stood.
                self.turns.forget_stages();
            }
            (self.seat, self.asked, self.is_ready) = (Seat::Waiting, None, false);
        }
        self.wanted = wanted;
        let Some(wanted) = &self.wanted else {
            if is_named && !std::mem::replace(&mut self.is_ready, true) {
                self.warn("the log names no working directory: nothing is recorded");
            }
            return;
        };
        let is_time = self.asked.is_none_or(|asked| asked.elapsed() >= RETRY);
        let runs = self.turns.is_open() && !self.is_dormant;
        let is_wanted = runs || !self.options.waits_for_turn;
        if matches!(self.seat, Seat::Recording(_)) || !is_time || !is_wanted {
            return;
        }
        let session = wanted.info.id.clone();
        let taking = Seat::ask(wanted, &self.options);
        self.asked = Some(Instant::now());
        self.take_seat(taking);
        if !std::mem::replace(&mut self.is_ready, true) {
            self.tell(RecordEvent::Ready { session });
        }
    }

    fn take_seat(&mut self, taking: Taking) {
        let is_news = match (&self.seat, &taking.seat) {
            (Seat::Refused(old), Seat::Refused(new)) => old != new,
            // The followed one's rows go on being told.
            (Seat::Following(_), Seat::Following(_)) => return,
            _ => true,
        };
        if is_news {
            match &taking.seat {
                Seat::Refused(cause) => self.warn(format!("nothing is recorded: {cause}")),
                Seat::Following(_) => self.tell(RecordEvent::Notice(
                    "another recorder has this session: it is followed".into(),
                )),
                Seat::Recording(_) => self.clean_up(),
                Seat::Waiting => {}
            }
        }
        for event in taking.events {
            self.tell(event);
        }
        (self.seat, self.earlier) = (taking.seat, taking.earlier);
        self.turns.skip_ended();
    }

    /// Removes from the store what is too old, beside the recording.
    fn clean_up(&self) {
        let (root, settings) = (self.options.store.clone(), self.options.settings.clone());
        let work = move || Store::open(&root)?.gc(&settings, SystemTime::now());
        // Without it the store is larger, and as right.
        drop(thread::Builder::new().name("store-gc".to_owned()).spawn(work));
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Baseline { turn } => self.baseline(turn),
            Action::Capture { turn, call_id, path, too_late } => {
                self.capture(turn, call_id, &path, too_late);
            }
            Action::Finish { turn, look } => self.finish_turn(turn, look),
            Action::Missed { turn } => {
                self.warn(format!("turn {turn} was over before it could be looked at"));
            }
        }
    }

    fn baseline(&mut self, turn: u32) {
        let (Seat::Recording(hands), Some(record)) = (&mut self.seat, self.turns.record(turn))
        else {
            return;
        };
        let taken = hands.baseline(record, self.earlier.take().as_ref(), &self.cancel);
        self.warn_all(taken.warnings);
        // A call that the log has by now may have changed what was seen.
        self.drain();
        let late = taken.resumed.unwrap_or_else(|| self.turns.has_called(turn));
        let (tree, ms) = (taken.tree, taken.ms);
        if let Seat::Recording(hands) = &mut self.seat
            && taken.resumed.is_none()
            && let Err(error) = hands.keep_baseline(turn, late, ms, None)
        {
            self.warn(error.to_string());
        }
        self.tell(RecordEvent::Baseline { turn, tree, late, ms });
    }

    fn capture(&mut self, turn: u32, call_id: String, spelled: &str, too_late: bool) {
        let Seat::Recording(hands) = &mut self.seat else { return };
        match hands.capture(turn, &call_id, spelled, too_late) {
            Ok(Some(path)) => {
                let path = path.to_string_lossy().into_owned();
                self.tell(RecordEvent::Capture { turn, call_id, path });
            }
            Ok(None) => {}
            Err(error) => self.warn(error.to_string()),
        }
    }

    fn finish_turn(&mut self, turn: u32, look: bool) {
        let (Seat::Recording(hands), Some(record)) = (&mut self.seat, self.turns.record(turn))
        else {
            return;
        };
        let overtaken = self.turns.is_overtaken(turn);
        match hands.finish(record, look, overtaken, &self.log, &self.cancel) {
            Ok(Some(finished)) => {
                self.warn_all(finished.warnings);
                if !finished.is_blind || !finished.kept.files.is_empty() {
                    self.tell(told(&finished.kept, self.options.max_files));
                }
            }
            Ok(None) => {}
            Err(error) => {
                self.warn(format!("turn {turn} could not be kept: {error}"));
                if !self.turns.is_running() {
                    // The next turn begins with a store that was opened anew.
                    (self.seat, self.asked) = (Seat::Refused(error.to_string()), None);
                }
            }
        }
    }

    /// Finishes the turn in hand and leaves the session.
    fn finish(&mut self) {
        let running = match self.seat {
            Seat::Recording(_) => self.turns.finish_running(),
            _ => None,
        };
        if let Some(action) = running {
            // The snapshots stay: the turn may go on, and the next recorder with it.
            return self.act(action);
        }
        if let Seat::Recording(hands) = std::mem::take(&mut self.seat) {
            hands.leave();
        }
    }
}
