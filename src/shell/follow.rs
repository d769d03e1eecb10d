//! The session on a thread of its own: follows the log, keeps the transcript, answers what turns changed.

use super::commands::Commands;
use super::workers::{Objects, Send};
use crate::app::{Base, Event, Live};
use crate::diff::Text;
use crate::log::open::LogFile;
use crate::log::tail::{Opened, TailEvent, TailState};
use crate::reader::{ReadOptions, Reader};
use crate::record::RecordEvent;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel,
};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

/// What the session's thread is asked and told.
pub(super) enum Ask {
    /// What a turn changed, or what changed against another base.
    Changes { turn: u32, revision: u64, base: Base },
    /// Which turns changed a file.
    History { request: u64, turn: u32, path: String },
    /// Which commands ran in a turn.
    Commands { turn: u32 },
    /// What a command of a turn printed.
    Output { request: u64, turn: u32, nth: usize },
    /// The log tells something.
    Tail(TailEvent),
    /// To be dropped: all that was told before has been taken.
    Mark(SyncSender<()>),
    /// The recorder tells something.
    Recorded(RecordEvent),
    /// Read a log that does not grow.
    Read(Box<LogFile>),
}

/// So many events wait for the session, and then no more are told, while there is more of the log to
/// read: who reads it can be ahead of the session by far.
const WAITING: usize = 2048;
/// Behind a log that was read to its end, a slice waits so long at most: others are told of it too.
const HOLD_UP: Duration = Duration::from_millis(20);

/// Tells a session what its log tells, and waits while that is more than it takes; `left` says that
/// the session is left, so that nothing is waited for.
pub(super) fn teller(
    asks: Sender<Ask>,
    left: Arc<AtomicBool>,
) -> impl Fn(TailEvent) + std::marker::Send {
    let waiting = RefCell::new(VecDeque::<(usize, Receiver<()>)>::new());
    let is_live = Cell::new(false);
    move |event| {
        let events = match &event {
            TailEvent::Output(output) | TailEvent::Behind(output) => Some(output.events.len()),
            _ => None,
        };
        match event {
            TailEvent::CaughtUp => is_live.set(true),
            TailEvent::Progress(_) | TailEvent::Behind(_) => is_live.set(false),
            _ => {}
        }
        // The session's thread is gone only when the program ends.
        let _ = asks.send(Ask::Tail(event));
        let Some(events) = events else { return };
        let (mark, taken) = sync_channel(0);
        let _ = asks.send(Ask::Mark(mark));
        let mut waiting = waiting.borrow_mut();
        waiting.push_back((events, taken));
        while waiting.iter().map(|(events, _)| events).sum::<usize>() > WAITING
            && let Some((_, oldest)) = waiting.pop_front()
        {
            while let Err(RecvTimeoutError::Timeout) = oldest.recv_timeout(HOLD_UP)
                && !is_live.get()
                && !left.load(Ordering::Relaxed)
            {}
        }
    }
}

/// Starts the thread; it ends when every sender of the returned channel is gone.
pub(super) fn start(options: ReadOptions, objects: Objects, send: Send) -> io::Result<Sender<Ask>> {
    let (asks, asked) = channel();
    thread::Builder::new().name("session".into()).spawn(move || {
        let reader = Reader::new(options);
        let commands = Commands::default();
        let told = Arc::clone(&send);
        let run = AssertUnwindSafe(|| {
            Session { reader, objects, send, commands, is_read: false }.run(&asked);
        });
        if panic::catch_unwind(run).is_err() {
            let why =
                "internal error while reading the session; please report it, and open it again";
            told(Event::Warning(why.into()));
        }
    })?;
    Ok(asks)
}

struct Session {
    reader: Reader,
    objects: Objects,
    send: Send,
    commands: Commands,
    /// The log was read to its end once.
    is_read: bool,
}

impl Session {
    fn run(mut self, asked: &Receiver<Ask>) {
        loop {
            // While nobody asks, the commands of the turns are looked through.
            let ask = match asked.try_recv() {
                Ok(ask) => ask,
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    let found = self.commands.next(&mut self.reader);
                    if !found.is_empty() {
                        self.tell(Event::Commands(found));
                        continue;
                    }
                    let Ok(ask) = asked.recv() else { return };
                    ask
                }
            };
            match ask {
                Ask::Changes { turn, revision, base } => self.changes(turn, revision, base),
                Ask::History { request, turn, path } => {
                    let touches = self.reader.history(turn, &path);
                    self.tell(Event::History { request, touches });
                }
                Ask::Commands { turn } => {
                    let commands = self.reader.commands(turn);
                    self.tell(Event::Commands(vec![(turn, commands)]));
                }
                Ask::Output { request, turn, nth } => {
                    let output = self.reader.command_output(turn, nth);
                    let output = output.map(|text| Arc::new(Text::new(text.into_bytes().into())));
                    self.tell(Event::Output { request, output });
                }
                Ask::Tail(event) => self.tail(event),
                Ask::Mark(mark) => drop(mark),
                Ask::Recorded(event) => self.recorded(event),
                Ask::Read(log) => self.read(*log),
            }
        }
    }

    fn tell(&self, event: Event) {
        (self.send)(event);
    }

    fn changes(&mut self, turn: u32, revision: u64, base: Base) {
        let changes = self.reader.changes_against(turn, base);
        let changes = changes.map(|changes| changes.map(Arc::new));
        // A turn may have brought objects of its own.
        self.share_objects();
        self.tell(Event::Changes { turn, revision, base, changes });
    }

    fn share_objects(&mut self) {
        let objects = self.reader.objects();
        *self.objects.lock().unwrap_or_else(PoisonError::into_inner) = objects;
    }

    fn read(&mut self, log: LogFile) {
        let read = self.reader.read_all(log);
        self.share_objects();
        let turns = self.reader.heads(0);
        self.tell(Event::Turns { from: 0, turns });
        self.info();
        self.look_for_branch();
        if let Err(error) = read {
            self.tell(Event::Warning(error.to_string()));
        }
        self.tell(Event::Indexed(true));
        self.commands.begin();
    }

    /// Says once if the branch that was asked for is not there.
    fn look_for_branch(&mut self) {
        if !std::mem::replace(&mut self.is_read, true)
            && let Some(missing) = self.reader.missing_branch()
        {
            self.tell(Event::Warning(missing));
        }
    }

    fn tail(&mut self, event: TailEvent) {
        match event {
            TailEvent::Opened(Opened { path, format, stored }) => {
                self.reader.opened(path, Some(format), stored);
            }
            TailEvent::Output(output) => {
                let damaged = !output.damages.is_empty();
                let changed = self.reader.apply(output);
                self.turns_changed(changed);
                if changed.is_none_or(|from| from == 0) || damaged {
                    self.info();
                }
            }
            TailEvent::Behind(output) => self.reader.apply_behind(output),
            TailEvent::CaughtUp => {
                let changed = self.reader.take_behind();
                self.turns_changed(changed);
                self.info();
                self.look_for_branch();
                self.tell(Event::Indexed(true));
                self.commands.begin();
            }
            TailEvent::Progress(_) => self.tell(Event::Indexed(false)),
            TailEvent::State(state) => self.tell(Event::Live(match state {
                TailState::Watching => Live::Watching,
                TailState::Polling => Live::Polling,
                TailState::Gone => Live::Gone,
            })),
            TailEvent::Switched(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                self.tell(Event::Warning(format!("the session goes on in {name}")));
            }
            TailEvent::Failed(why) => self.tell(Event::Warning(why)),
        }
    }

    /// Tells of the turns from an index on, if any changed.
    fn turns_changed(&mut self, changed: Option<usize>) {
        if let Some(from) = changed {
            self.share_objects();
            let turns = self.reader.heads(from);
            if turns.packed_len() > 0 {
                // What was told apart of turns further back is not carried over.
                self.commands.forget_from(from);
            }
            self.tell(Event::Turns { from, turns });
        }
    }

    fn recorded(&mut self, event: RecordEvent) {
        let says = |words: String| self.tell(Event::Recorder(Some(words)));
        match event {
            RecordEvent::Ready { .. } => says("recording".into()),
            RecordEvent::Baseline { late: true, .. } => {
                says("recording · late baseline".into());
            }
            RecordEvent::Baseline { tree: None, .. } => {
                says("recording · no snapshot".into());
            }
            RecordEvent::Baseline { ms, .. } => {
                says(format!("recording · baseline {ms} ms"));
            }
            RecordEvent::Changes(summary) => self.turn_recorded(summary.turn.unwrap_or_default()),
            RecordEvent::Unchanged { turn } => self.turn_recorded(turn),
            RecordEvent::Warning(text) | RecordEvent::Notice(text) => {
                self.tell(Event::Warning(text));
            }
            RecordEvent::Capture { .. } => {}
            RecordEvent::Ended => self.tell(Event::Recorder(None)),
        }
    }

    /// What a turn changed is known better now.
    fn turn_recorded(&mut self, turn: u32) {
        let from = self.reader.transcript().turns.partition_point(|key| key.turn < turn);
        self.turns_changed(Some(from));
    }

    fn info(&mut self) {
        let info = self.reader.info();
        self.tell(Event::Info(Box::new(info)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Output;
    use crate::session::event::LogEvent;
    use std::time::Instant;

    fn slice() -> TailEvent {
        let events = vec![LogEvent::Inherited; WAITING / 2];
        TailEvent::Output(Output { events, damages: Vec::new() })
    }

    /// A follower that has told as much as may wait for a session that takes nothing.
    fn ahead() -> (impl Fn(TailEvent), Receiver<Ask>, Arc<AtomicBool>) {
        let ((asks, asked), left) = (channel(), Arc::<AtomicBool>::default());
        let tell = teller(asks, Arc::clone(&left));
        tell(slice());
        tell(slice());
        (tell, asked, left)
    }

    #[test]
    fn who_follows_a_log_is_not_held_up_for_long_by_a_session_that_takes_nothing() {
        let (tell, asked, _) = ahead();
        tell(TailEvent::CaughtUp);
        let start = Instant::now();
        tell(slice());
        assert!(start.elapsed() >= HOLD_UP, "{:?}", start.elapsed());
        let told: Vec<_> = asked.try_iter().collect();
        assert_eq!(told.iter().filter(|ask| matches!(ask, Ask::Mark(_))).count(), 3);
        assert_eq!(told.iter().filter(|ask| matches!(ask, Ask::Tail(_))).count(), 4);
        drop(told);
        let start = Instant::now();
        for _ in 0..50 {
            tell(slice());
            asked.try_iter().for_each(drop);
        }
        let for_each = start.elapsed() / 50;
        assert!(for_each < HOLD_UP, "what was taken is waited for: {for_each:?}");
    }

    #[test]
    fn who_reads_a_log_waits_until_the_session_takes_what_was_told_or_is_left() {
        let later = |act: Box<dyn FnOnce() + std::marker::Send>| {
            thread::spawn(move || {
                thread::sleep(5 * HOLD_UP);
                act();
            })
        };
        let (tell, asked, _) = ahead();
        let start = Instant::now();
        let session = later(Box::new(move || asked.into_iter().for_each(drop)));
        tell(slice());
        assert!(start.elapsed() >= 5 * HOLD_UP, "{:?}", start.elapsed());
        drop(tell);
        session.join().unwrap();
        let (tell, _asked, left) = ahead();
        let start = Instant::now();
        let leaving = later(Box::new(move || left.store(true, Ordering::Relaxed)));
        tell(slice());
        assert!(start.elapsed() >= 5 * HOLD_UP, "{:?}", start.elapsed());
        leaving.join().unwrap();
    }
}
