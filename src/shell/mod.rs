//! The part that touches the world: terminal, threads, the one inbox, the loop.

mod commands;
mod follow;
mod newest;
mod painter;
mod sessions;
mod terminal;
mod workers;

use crate::app::{App, Base, Choices, Effect, Event, SessionRow, update};
use crate::content::{Changes, GitObjects};
use crate::log::Places;
use crate::log::open::LogFile;
use crate::log::source::Stored;
use crate::log::tail;
use crate::reader::{ReadOptions, Recent, TurnHead};
use crate::record::{RecordOptions, Recorder};
use crate::session::{SessionInfo, TurnState};
use crate::view::{Theme, draw};
use anyhow::Context;
use follow::Ask;
use newest::Newest;
pub use painter::Painter;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use sessions::BriefJob;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use std::io::{self, BufWriter, Stdout};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terminal::Terminal;
use workers::{CompareJob, CountJob, Objects, SearchJob};

/// What the reviewer opens.
#[expect(clippy::large_enum_variant, reason = "there is one, and it is moved once")]
pub enum Opening {
    /// A session's log, followed.
    Log {
        /// The log.
        path: PathBuf,
        /// How it is read.
        options: ReadOptions,
    },
    /// A session's log whose bytes are at hand and do not grow.
    Read {
        /// The log.
        log: Box<LogFile>,
        /// How it is read.
        options: ReadOptions,
    },
    /// A comparison without a log: one list of files.
    Changes {
        /// What stands above the list.
        title: String,
        /// The files.
        changes: Changes,
        /// Where their contents are.
        objects: GitObjects,
    },
}

/// How the reviewer behaves.
pub struct Settings {
    /// What the person chose before.
    pub choices: Choices,
    /// How long a comparison may take before it is shown coarse.
    pub diff_timeout: Duration,
    /// Meaning → style.
    pub theme: Theme,
    /// Whether the terminal fills erased cells with the background colour.
    pub erases_in_colour: bool,
    /// How a followed session is recorded; none: it is only looked at.
    pub record: Option<RecordOptions>,
    /// Where other sessions are found.
    pub places: Places,
    /// The directory of which a newer session is offered.
    pub cwd: PathBuf,
    /// How a picked session is read.
    pub picked: ReadOptions,
}

/// An event with the number of the session that it is from; 0 where it is from none.
type Told = (u64, Event);

/// Hands events of one session to the inbox.
fn sender(inbox: &Sender<Told>, session: u64) -> workers::Send {
    let inbox = inbox.clone();
    Arc::new(move |event| inbox.send((session, event)).is_ok())
}

/// After asking for something, so long is its answer waited for before a placeholder is drawn.
const NO_FLICKER: Duration = Duration::from_millis(12);

/// While events keep coming, the screen is drawn this often.
const AT_LEAST: Duration = Duration::from_millis(50);

/// Opens the reviewer and runs it until the person leaves.
///
/// # Errors
/// The terminal cannot be taken or written to, or a thread cannot be started.
pub fn run(opening: Opening, settings: Settings) -> anyhow::Result<()> {
    let (inbox, events) = channel();
    let outside = sender(&inbox, 0);
    let size = terminal::size();
    let mut app = App::new(size, settings.choices);
    if let Opening::Changes { changes, .. } = &opening
        && changes.files.len() == 1
    {
        app.show_only_the_file();
    }
    let is_session = !matches!(opening, Opening::Changes { .. });
    let source = Source::of(&opening);
    let (world, recorder) = World::start(opening, &settings, &sender(&inbox, 1))?;
    let terminal = Terminal::take().context("the terminal cannot be taken over")?;
    listen(&outside)?;
    if is_session {
        sessions::watch(settings.places.clone(), settings.cwd.clone(), outside)?;
    }
    let out = BufWriter::with_capacity(1 << 16, io::stdout());
    let painter = Painter::new(out, settings.erases_in_colour);
    let (session, left) = (1, Vec::new());
    let mut looping =
        Loop { app, world, recorder, painter, terminal, settings, inbox, session, left, source };
    let done = looping.run(&events);
    let Loop { world, recorder, terminal, left, .. } = looping;
    // The terminal is the person's again while the turn in hand is finished.
    drop(terminal);
    leave(world, recorder);
    for leaving in left {
        // It panicked: there is nothing left to end.
        let _ = leaving.join();
    }
    done
}

/// Ends what a session was followed and recorded by; returns when its turn in hand is finished.
fn leave(world: World, recorder: Option<Recorder>) {
    drop(world);
    if let Some(recorder) = recorder {
        recorder.stop();
    }
}

/// Starts the threads that wait for input and signals.
fn listen(send: &workers::Send) -> anyhow::Result<()> {
    let input = Arc::clone(send);
    thread::Builder::new()
        .name("input".into())
        .spawn(move || terminal::read_input(&|event| input(event)))?;
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT, SIGCONT, SIGTSTP])?;
    let send = Arc::clone(send);
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            let event = match signal {
                SIGCONT => Event::Resumed,
                SIGTSTP => Event::Suspend,
                _ => Event::Quit,
            };
            if !send(event) {
                return;
            }
        }
    })?;
    Ok(())
}

/// Who carries effects out.
struct World {
    comparer: Newest<CompareJob>,
    counter: Newest<CountJob>,
    searcher: Newest<SearchJob>,
    briefer: Newest<BriefJob>,
    /// The session's thread; none where there is no log.
    asks: Option<Sender<Ask>>,
    /// The session is left: who follows its log waits for nothing.
    left: Arc<AtomicBool>,
    /// Dropping it stops the follower.
    tail: Option<tail::Tail>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.left.store(true, Ordering::Relaxed);
    }
}

impl World {
    fn start(
        opening: Opening,
        settings: &Settings,
        send: &workers::Send,
    ) -> anyhow::Result<(Self, Option<Recorder>)> {
        let mut recorder = None;
        let objects: Objects = Arc::new(Mutex::new(GitObjects::default()));
        let (recent, time) = (Arc::<Recent>::default(), settings.diff_timeout);
        let (ours, theirs) = (Arc::clone(&objects), Arc::clone(&recent));
        let mut world = Self {
            comparer: workers::comparer(ours, theirs, time, Arc::clone(send))?,
            counter: workers::counter(Arc::clone(&objects), recent, time, Arc::clone(send))?,
            searcher: workers::searcher(Arc::clone(send))?,
            briefer: sessions::briefer(Arc::clone(send))?,
            asks: None,
            left: Arc::default(),
            tail: None,
        };
        match opening {
            Opening::Changes { title, changes, objects: theirs } => {
                if let Ok(mut objects) = objects.lock() {
                    *objects = theirs;
                }
                for event in fixed(title, changes) {
                    send(event);
                }
            }
            Opening::Read { log, options } => {
                let asks = follow::start(options, objects, Arc::clone(send))?;
                // The thread has just been started: it listens.
                let _ = asks.send(Ask::Read(log));
                world.asks = Some(asks);
            }
            Opening::Log { path, options } => {
                let how = options.open_options();
                // A branch is chosen to be looked at: what goes on is another one.
                let record = settings.record.clone().filter(|_| options.branch.is_none());
                let asks = follow::start(options, objects, Arc::clone(send))?;
                let tell = follow::teller(asks.clone(), Arc::clone(&world.left));
                let kept = asks.clone();
                recorder = record.map(|options| {
                    Recorder::start(options, move |event| {
                        let _ = kept.send(Ask::Recorded(event));
                    })
                });
                let feed = recorder.as_ref().map(Recorder::feed);
                world.tail = Some(tail::follow(path, how, move |event| {
                    if let Some(feed) = &feed {
                        feed.tell(&event);
                    }
                    tell(event);
                }));
                world.asks = Some(asks);
            }
        }
        Ok((world, recorder))
    }

    fn ask(&self, ask: Ask) {
        if let Some(asks) = &self.asks {
            // The session's thread is gone only when the program ends.
            let _ = asks.send(ask);
        }
    }
}

/// The events of a list that never changes: one turn without a number.
fn fixed(title: String, changes: Changes) -> Vec<Event> {
    let mut head = TurnHead::default();
    head.turn.prompt.clone_from(&title);
    head.turn.state = TurnState::Completed;
    let info =
        SessionInfo { title: Some(title), cwd: Some(changes.cwd.clone()), ..Default::default() };
    vec![
        Event::Info(Box::new(info)),
        Event::Turns { from: 0, turns: [head].into_iter().collect() },
        Event::Changes {
            turn: 0,
            revision: 0,
            base: Base::Turn,
            changes: Ok(Some(Arc::new(changes))),
        },
        Event::Indexed(true),
    ]
}

struct Loop {
    app: App,
    world: World,
    recorder: Option<Recorder>,
    painter: Painter<BufWriter<Stdout>>,
    terminal: Terminal,
    settings: Settings,
    inbox: Sender<Told>,
    /// The number of the session that is shown; what others still tell is dropped.
    session: u64,
    /// Sessions that are being left.
    left: Vec<JoinHandle<()>>,
    /// What is shown, to be read again.
    source: Option<Source>,
}

/// A log that can be read again.
#[derive(Clone)]
struct Source {
    path: PathBuf,
    /// Its bytes, where it is no file to follow.
    stored: Option<Stored>,
    options: ReadOptions,
}

impl Source {
    fn of(opening: &Opening) -> Option<Self> {
        match opening {
            Opening::Log { path, options } => {
                Some(Self { path: path.clone(), stored: None, options: options.clone() })
            }
            Opening::Read { log, options } => {
                let stored = Some(log.stored()?.clone());
                Some(Self { path: log.path().to_owned(), stored, options: options.clone() })
            }
            Opening::Changes { .. } => None,
        }
    }
}

impl Loop {
    fn run(&mut self, inbox: &Receiver<Told>) -> anyhow::Result<()> {
        // The first frame shows what the session's thread finds at once, if it is quick.
        let mut patience = Some(Instant::now() + NO_FLICKER);
        let (mut painted, mut has_painted) = (Instant::now(), false);
        let mut later: Vec<Effect> = Vec::new();
        let mut events: Vec<Told> = Vec::new();
        loop {
            events.extend(inbox.try_iter());
            if events.is_empty() {
                let left = patience.map(|until| until.saturating_duration_since(Instant::now()));
                if let Some(left) = left.filter(|left| !left.is_zero()) {
                    events.extend(inbox.recv_timeout(left));
                } else {
                    patience = None;
                    self.paint()?;
                    (painted, has_painted) = (Instant::now(), true);
                    // Counting takes every core: it begins when there is something to look at.
                    for effect in later.drain(..) {
                        self.perform(effect)?;
                    }
                    let Ok(event) = inbox.recv() else { return Ok(()) };
                    events.push(event);
                }
            } else if painted.elapsed() > AT_LEAST {
                // Events that never stop coming (a long log) do not keep the screen from living.
                self.paint()?;
                painted = Instant::now();
            }
            for (session, event) in events.drain(..) {
                if session != 0 && session != self.session {
                    continue;
                }
                let is_resumed = event == Event::Resumed;
                if is_resumed {
                    self.resume()?;
                }
                for effect in update(&mut self.app, event) {
                    let is_awaited = matches!(
                        effect,
                        Effect::Compare { .. }
                            | Effect::LoadChanges { .. }
                            | Effect::LoadCommands { .. }
                            | Effect::LoadOutput { .. }
                    );
                    // The very first screen waits for the turns alone.
                    if is_awaited && has_painted {
                        patience.get_or_insert_with(|| Instant::now() + NO_FLICKER);
                    }
                    if matches!(effect, Effect::Count { .. }) {
                        later.push(effect);
                    } else if !self.perform(effect)? {
                        return Ok(());
                    }
                }
            }
            if self.app.is_settled() || !has_painted && !self.app.turns.is_empty() {
                patience = None;
            }
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        let (width, height) = self.app.size;
        let mut frame = Buffer::empty(Rect::new(0, 0, width, height));
        let cursor = draw(&self.app, &self.settings.theme, &mut frame);
        self.painter.paint(&frame, cursor)
    }

    /// Carries an effect out; false: it is over.
    fn perform(&mut self, effect: Effect) -> anyhow::Result<bool> {
        match effect {
            Effect::Quit => return Ok(false),
            Effect::Suspend => {
                terminal::give_back();
                signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
                self.resume()?;
            }
            Effect::LoadChanges { turn, revision, base } => {
                self.world.ask(Ask::Changes { turn, revision, base });
            }
            Effect::LoadCommands { turn } => self.world.ask(Ask::Commands { turn }),
            Effect::LoadOutput { request, turn, nth } => {
                self.world.ask(Ask::Output { request, turn, nth });
            }
            Effect::FindHistory { request, turn, path } => {
                self.world.ask(Ask::History { request, turn, path });
            }
            Effect::FindSessions => {
                sessions::list(self.settings.places.clone(), sender(&self.inbox, self.session))?;
            }
            Effect::CountTurns { request, rows } => {
                self.world.briefer.post(BriefJob { request, rows });
            }
            Effect::StopCounting => self.world.briefer.cancel(),
            Effect::OpenSession(row) => self.open_session(*row)?,
            Effect::ShowBranch(branch) => self.show_branch(branch)?,
            Effect::Count { turn, revision, base, changes } => {
                self.world.counter.post(CountJob { turn, revision, base, changes });
            }
            Effect::Compare { request, subject } => {
                self.world.comparer.post(CompareJob { request, subject });
            }
            Effect::CancelCompare => self.world.comparer.cancel(),
            Effect::Search { request, pattern, comparison, plan } => {
                self.world.searcher.post(SearchJob { request, pattern, comparison, plan });
            }
        }
        Ok(true)
    }

    /// Shows another session from now on.
    fn open_session(&mut self, row: SessionRow) -> anyhow::Result<()> {
        if let Some(record) = &mut self.settings.record {
            // What was said of the first session's places is not true of another one.
            (record.cwd, record.git_dir) = (None, None);
        }
        let options =
            ReadOptions { format: Some(row.agent.into()), ..self.settings.picked.clone() };
        self.open(Opening::Log { path: row.path, options })
    }

    /// Shows another branch of the session from now on: its log is read again.
    fn show_branch(&mut self, branch: Option<u32>) -> anyhow::Result<()> {
        match self.source.clone() {
            Some(Source { path, stored: None, options }) => {
                self.open(Opening::Log { path, options: ReadOptions { branch, ..options } })
            }
            Some(Source { path, stored: Some(stored), options }) => {
                let options = ReadOptions { branch, ..options };
                let log = LogFile::from_stored(&path, stored, &options.open_options())?;
                self.open(Opening::Read { log: Box::new(log), options })
            }
            None => Ok(()),
        }
    }

    /// Leaves what is shown and shows this.
    fn open(&mut self, opening: Opening) -> anyhow::Result<()> {
        self.session += 1;
        self.source = Source::of(&opening);
        let send = sender(&self.inbox, self.session);
        let (world, recorder) = World::start(opening, &self.settings, &send)?;
        let world = std::mem::replace(&mut self.world, world);
        let recorder = std::mem::replace(&mut self.recorder, recorder);
        // The turn in hand may take a while to finish: nobody waits for that.
        self.left.retain(|leaving| !leaving.is_finished());
        self.left.push(thread::Builder::new().spawn(move || leave(world, recorder))?);
        Ok(())
    }

    /// After a stop: the terminal is taken again and drawn anew.
    fn resume(&mut self) -> io::Result<()> {
        terminal::retake()?;
        self.painter.forget();
        self.app.size = terminal::size();
        Ok(())
    }
}
