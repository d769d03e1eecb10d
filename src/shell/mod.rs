//! The part that touches the world: terminal, threads, the one inbox, the loop.

mod follow;
mod newest;
mod painter;
mod terminal;
mod workers;

use crate::app::{App, Choices, Effect, Event, update};
use crate::content::{Changes, GitObjects};
use crate::log::open::{LogFile, OpenOptions};
use crate::log::tail;
use crate::reader::{ReadOptions, TurnHead};
use crate::record::{RecordOptions, Recorder};
use crate::session::{SessionInfo, TurnState};
use crate::view::{Theme, draw};
use anyhow::Context;
use follow::Ask;
use newest::Newest;
use painter::Painter;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use std::io::{self, BufWriter, Stdout};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
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
}

/// After asking for something, so long is its answer waited for before a placeholder is drawn.
const NO_FLICKER: Duration = Duration::from_millis(12);

/// Opens the reviewer and runs it until the person leaves.
///
/// # Errors
/// The terminal cannot be taken or written to, or a thread cannot be started.
pub fn run(opening: Opening, settings: Settings) -> anyhow::Result<()> {
    let (sender, inbox) = channel();
    let send: workers::Send = {
        let sender = sender.clone();
        Arc::new(move |event| sender.send(event).is_ok())
    };
    let size = terminal::size();
    let mut app = App::new(size, settings.choices);
    if let Opening::Changes { changes, .. } = &opening
        && changes.files.len() == 1
    {
        app.show_only_the_file();
    }
    let (world, recorder) = World::start(opening, &settings, &send, &sender)?;
    let terminal = Terminal::take().context("the terminal cannot be taken over")?;
    listen(&send)?;
    let out = BufWriter::with_capacity(1 << 16, io::stdout());
    let painter = Painter::new(out, settings.erases_in_colour);
    let done = Loop { app, world, painter, _terminal: terminal, theme: settings.theme }.run(&inbox);
    // The terminal is the person's again while the turn in hand is finished.
    if let Some(recorder) = recorder {
        recorder.stop();
    }
    done
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
    /// The session's thread; none where there is no log.
    asks: Option<Sender<Ask>>,
    /// Dropping it stops the follower.
    tail: Option<tail::Tail>,
}

impl World {
    fn start(
        opening: Opening,
        settings: &Settings,
        send: &workers::Send,
        inbox: &Sender<Event>,
    ) -> anyhow::Result<(Self, Option<Recorder>)> {
        let mut recorder = None;
        let objects: Objects = Arc::new(Mutex::new(GitObjects::default()));
        let time = settings.diff_timeout;
        let mut world = Self {
            comparer: workers::comparer(Arc::clone(&objects), time, Arc::clone(send))?,
            counter: workers::counter(Arc::clone(&objects), time, Arc::clone(send))?,
            searcher: workers::searcher(Arc::clone(send))?,
            asks: None,
            tail: None,
        };
        match opening {
            Opening::Changes { title, changes, objects: theirs } => {
                if let Ok(mut objects) = objects.lock() {
                    *objects = theirs;
                }
                for event in fixed(title, changes) {
                    inbox.send(event)?;
                }
            }
            Opening::Read { log, options } => {
                let asks = follow::start(options, objects, Arc::clone(send))?;
                // The thread has just been started: it listens.
                let _ = asks.send(Ask::Read(log));
                world.asks = Some(asks);
            }
            Opening::Log { path, options } => {
                let how = OpenOptions { format: options.format.clone(), session: None };
                let asks = follow::start(options, objects, Arc::clone(send))?;
                let (told, kept) = (asks.clone(), asks.clone());
                recorder = settings.record.clone().map(|options| {
                    Recorder::start(options, move |event| {
                        let _ = kept.send(Ask::Recorded(event));
                    })
                });
                let feed = recorder.as_ref().map(Recorder::feed);
                world.tail = Some(tail::follow(path, how, move |event| {
                    if let Some(feed) = &feed {
                        feed.tell(&event);
                    }
                    // The session's thread is gone only when the program ends.
                    let _ = told.send(Ask::Tail(event));
                }));
                world.asks = Some(asks);
            }
        }
        Ok((world, recorder))
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
        Event::Turns { from: 0, turns: vec![head] },
        Event::Changes { turn: 0, revision: 0, changes: Ok(Some(Arc::new(changes))) },
        Event::Indexed(true),
    ]
}

struct Loop {
    app: App,
    world: World,
    painter: Painter<BufWriter<Stdout>>,
    _terminal: Terminal,
    theme: Theme,
}

impl Loop {
    fn run(mut self, inbox: &Receiver<Event>) -> anyhow::Result<()> {
        // The first frame shows what the session's thread finds at once, if it is quick.
        let mut patience = Some(Instant::now() + NO_FLICKER);
        let mut events: Vec<Event> = Vec::new();
        loop {
            events.extend(inbox.try_iter());
            if events.is_empty() {
                if let Some(until) = patience.take() {
                    let left = until.saturating_duration_since(Instant::now());
                    if let Ok(event) = inbox.recv_timeout(left) {
                        events.push(event);
                        patience = Some(until);
                    }
                } else {
                    self.paint()?;
                    let Ok(event) = inbox.recv() else { return Ok(()) };
                    events.push(event);
                }
            }
            for event in events.drain(..) {
                let is_resumed = event == Event::Resumed;
                if is_resumed {
                    self.resume()?;
                }
                for effect in update(&mut self.app, event) {
                    if matches!(effect, Effect::Compare { .. } | Effect::LoadChanges { .. }) {
                        patience = Some(Instant::now() + NO_FLICKER);
                    }
                    if !self.perform(effect)? {
                        return Ok(());
                    }
                }
            }
            if self.app.is_settled() {
                patience = None;
            }
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        let (width, height) = self.app.size;
        let mut frame = Buffer::empty(Rect::new(0, 0, width, height));
        let cursor = draw(&self.app, &self.theme, &mut frame);
        self.painter.paint(&frame, cursor)
    }

    /// Carries an effect out; false: it is over.
    fn perform(&mut self, effect: Effect) -> io::Result<bool> {
        match effect {
            Effect::Quit => return Ok(false),
            Effect::Suspend => {
                terminal::give_back();
                signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
                self.resume()?;
            }
            Effect::LoadChanges { turn, revision } => {
                if let Some(asks) = &self.world.asks {
                    // The session's thread is gone only when the program ends.
                    let _ = asks.send(Ask::Changes { turn, revision });
                }
            }
            Effect::Count { turn, revision, changes } => {
                self.world.counter.post(CountJob { turn, revision, changes });
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

    /// After a stop: the terminal is taken again and drawn anew.
    fn resume(&mut self) -> io::Result<()> {
        terminal::retake()?;
        self.painter.forget();
        self.app.size = terminal::size();
        Ok(())
    }
}
