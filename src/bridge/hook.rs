//! One hook call: what an agent tells of a turn, into the store.
//!
//! | the agent tells | this does |
//! |---|---|
//! | a prompt | ends the turn before, if nobody did; takes the new turn's baseline |
//! | a file tool is about to run | keeps the files that the baseline does not have |
//! | it stopped, or was interrupted | takes the work tree again, keeps what changed |
//! | the session is left | ends the turn, if nobody did; removes the snapshots |
//! | it was started on the session | drops what a killed agent left: that turn has no known end |
//!
//! The rows are those that a recorder writes. While a recorder has the session, it does all that.

use super::agent::Agent;
use super::call::{Call, Moment};
use super::told::{Told, done, start_of};
use super::{agent, journal};
use crate::log::{Places, discover};
use crate::record::{RecordOptions, Visit, Visited};
use crate::session::TurnState;
use crate::session::transcript::TurnRecord;
use crate::store::kept::Baseline;
use crate::store::{SessionStore, Store};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// So much is read from standard input, in bytes: a call may hold a whole file.
const MAX_CALL: u64 = 256 << 20;

/// An agent waits for its hooks: a snapshot that takes longer is given up.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Calls at the same time wait so long for each other.
const MAX_QUEUE: Duration = Duration::from_secs(1);

/// How long an ended turn is waited for that the log does not tell of yet.
const LOG_LAGS: Duration = Duration::from_millis(100);

/// Said of a turn whose end nobody told.
const NO_END: &str = "the agent told no end of this turn: \
     what was changed until the next prompt may be among these";

/// What a hook needs to know of the machine.
#[derive(Debug, Clone)]
pub struct HookOptions {
    /// How turns are recorded; `cwd` and `git_dir` as there.
    pub record: RecordOptions,
    /// Where agents keep their logs.
    pub places: Places,
}

/// Does what a call asks for. Whatever goes wrong becomes a line of the store's `hook.log`: an
/// agent is neither stopped nor told anything.
pub fn run(agent: &str, input: impl Read, options: &HookOptions) {
    let mut event = String::new();
    let lines = match answer(agent, input, options, &mut event) {
        Ok(warnings) => warnings,
        Err(error) => vec![error],
    };
    for line in lines {
        let event = if event.is_empty() { "call" } else { &event };
        // A store that cannot be written has no log either.
        let _ = journal::write(&options.record.store, &format!("{agent} {event}: {line}"));
    }
}

fn answer(
    name: &str,
    input: impl Read,
    options: &HookOptions,
    event: &mut String,
) -> Result<Vec<String>, String> {
    let agent = agent::find(name).filter(|agent| agent.calls_hooks);
    let agent = agent.ok_or_else(|| "this agent calls no hooks".to_owned())?;
    let mut bytes = Vec::new();
    let read = input.take(MAX_CALL).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    let call: Call = serde_json::from_slice(&bytes)
        .map_err(|error| format!("standard input is no hook call: {error}"))?;
    event.clone_from(&call.hook_event_name);
    match call.moment() {
        Moment::Other => Ok(Vec::new()),
        moment => Session::of(agent, &call, options)?.answer(moment, &call),
    }
}

/// The session that a call is of.
struct Session<'a> {
    options: &'a HookOptions,
    visited: Visited,
    known: Option<SessionStore>,
    cancel: Arc<AtomicBool>,
    /// Other calls of the session wait for this one.
    _queue: Option<File>,
}

impl<'a> Session<'a> {
    fn of(agent: &Agent, call: &Call, options: &'a HookOptions) -> Result<Self, String> {
        let log = call.transcript_path.clone().or_else(|| {
            let id = Some(&call.session_id).filter(|id| !id.is_empty())?;
            discover::resolve(id, &options.places).ok()
        });
        let log = log.unwrap_or_default();
        if call.session_id.is_empty() && log.as_os_str().is_empty() {
            return Err("the call names no session".into());
        }
        let mut visited = Visited {
            format: agent.name,
            id: call.session_id.clone(),
            log,
            cwd: call.cwd.clone().unwrap_or_default(),
        };
        let store = Store::open(&options.record.store).map_err(|error| error.to_string())?;
        let queue = store.queue(&visited.key(), MAX_QUEUE).map_err(|error| error.to_string())?;
        let known = store.session(&visited.key()).map_err(|error| error.to_string())?;
        // The agent may have walked into another directory; the session's is the first one.
        let first = known.as_ref().and_then(|store| store.info.cwd.clone()).map(PathBuf::from);
        if let Some(cwd) = options.record.cwd.clone().or(first) {
            visited.cwd = cwd;
        }
        if !visited.cwd.is_absolute() {
            return Err("the call names no working directory".into());
        }
        Ok(Self { options, visited, known, cancel: give_up_after(MAX_TIME), _queue: queue })
    }

    fn answer(mut self, moment: Moment, call: &Call) -> Result<Vec<String>, String> {
        match moment {
            Moment::Prompted => self.prompted(&start_of(&call.prompt)),
            Moment::Editing => self.editing(call),
            Moment::Stopped | Moment::Interrupted => self.stopped(moment == Moment::Stopped),
            Moment::Left => self.left(),
            Moment::Started => self.started(),
            Moment::Other => Ok(Vec::new()),
        }
    }

    fn told(&self) -> Result<Told, String> {
        Told::read(&self.visited.log, self.visited.format)
    }

    fn visit(&self) -> Result<Option<Visit>, String> {
        Visit::pay(&self.visited, &self.options.record, Arc::clone(&self.cancel))
    }

    /// The baseline that was taken last.
    fn latest(&self) -> Option<&Baseline> {
        self.known.as_ref()?.latest_baseline()
    }

    /// The turn that began at a baseline, as the log tells it.
    fn turn_of<'t>(&self, told: &'t Told, baseline: &Baseline) -> Option<&'t TurnRecord> {
        told.turn_of(baseline, &self.known.as_ref()?.baselines)
    }

    /// Whether the turn of a baseline has been kept since.
    fn is_kept(&self, baseline: &Baseline, turn: u32) -> bool {
        let kept = self.known.as_ref().and_then(|store| store.turns.get(&turn));
        kept.is_some_and(|kept| kept.at >= baseline.at)
    }

    /// A turn that was begun and that nobody ended.
    fn unended<'t>(&self, told: &'t Told) -> Option<(Baseline, &'t TurnRecord)> {
        let baseline = self.latest()?;
        let record = self.turn_of(told, baseline)?;
        (!self.is_kept(baseline, record.turn)).then(|| (baseline.clone(), record))
    }

    fn prompted(&mut self, prompt: &str) -> Result<Vec<String>, String> {
        let mut told = self.told()?;
        if told.is_of_sub_agent() {
            return Ok(Vec::new());
        }
        if self.known.is_none()
            && self.options.record.cwd.is_none()
            && let Some(cwd) = &told.transcript.header.cwd
        {
            self.visited.cwd = PathBuf::from(cwd);
        }
        let turn = told.expected(prompt, now(), self.known.as_ref());
        // The log may have the new turn already: that one is not to be ended.
        told.transcript.turns.retain(|record| record.turn < turn);
        let Some(mut visit) = self.visit()? else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        if let Some((from, record)) = self.unended(&told) {
            let ended = visit.end(&from, record, told.rows(), Some(NO_END.to_owned()));
            lines.extend(ended.unwrap_or_else(|error| vec![error]));
        }
        lines.extend(visit.begin(turn, prompt.to_owned())?);
        Ok(lines)
    }

    fn editing(&self, call: &Call) -> Result<Vec<String>, String> {
        let Some(from) = self.latest().cloned() else { return Ok(Vec::new()) };
        let Some(mut visit) = self.visit()? else { return Ok(Vec::new()) };
        let cwd = call.cwd.as_deref().unwrap_or(Path::new(""));
        for file in call.files() {
            let path = cwd.join(file);
            if let Some(path) = path.to_str() {
                visit.capture(&from, &call.tool_use_id, path)?;
            }
        }
        Ok(Vec::new())
    }

    fn stopped(&self, is_done: bool) -> Result<Vec<String>, String> {
        let Some(latest) = self.latest() else { return Ok(Vec::new()) };
        let told = self.told_of(latest)?;
        if told.is_of_sub_agent() {
            return Ok(Vec::new());
        }
        let ending = self.turn_of(&told, latest).map(|record| (latest, record));
        let Some((from, record)) = ending.or_else(|| self.went_on(&told)) else {
            return Err("the log does not tell of the turn that ended: it is not recorded".into());
        };
        if told.goes_on_after(record.turn) && self.is_kept(from, record.turn) {
            // It is the end of a turn that no prompt began.
            return Ok(Vec::new());
        }
        let Some(mut visit) = self.visit()? else { return Ok(Vec::new()) };
        let record = if is_done { done(record) } else { record.clone() };
        visit.end(from, &record, told.rows(), None)
    }

    /// The last turn and its baseline, if a prompt seemed to end it that went into it: an agent may
    /// be told more while it works.
    fn went_on<'t>(&self, told: &'t Told) -> Option<(&Baseline, &'t TurnRecord)> {
        let record = told.transcript.turns.last()?;
        let known = self.known.as_ref()?;
        let from = known.baselines.get(&record.turn).filter(|from| !from.withdrawn)?;
        let is_cut = known.turns.get(&record.turn)?.notes.iter().any(|note| note == NO_END);
        (is_cut && record.state != TurnState::Interrupted).then_some((from, record))
    }

    /// The log, once it tells of the turn that began at a baseline: it may lag a little.
    fn told_of(&self, from: &Baseline) -> Result<Told, String> {
        let start = Instant::now();
        loop {
            let told = self.told()?;
            if self.turn_of(&told, from).is_some() || start.elapsed() >= LOG_LAGS {
                return Ok(told);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn left(&self) -> Result<Vec<String>, String> {
        if self.latest().is_none() {
            return Ok(Vec::new());
        }
        let told = self.told();
        if told.as_ref().is_ok_and(Told::is_of_sub_agent) {
            return Ok(Vec::new());
        }
        let Some(mut visit) = self.visit()? else { return Ok(Vec::new()) };
        let ended = told.and_then(|told| match self.unended(&told) {
            Some((from, record)) => visit.end(&from, record, told.rows(), None),
            None => Ok(Vec::new()),
        });
        visit.leave();
        ended
    }

    fn started(&self) -> Result<Vec<String>, String> {
        let told = self.told()?;
        if !told.is_of_sub_agent()
            && let Some((from, _)) = self.unended(&told)
            && let Some(visit) = self.visit()?
        {
            visit.withdraw(&from)?;
        }
        Ok(Vec::new())
    }
}

/// A flag that is raised after a while.
fn give_up_after(time: Duration) -> Arc<AtomicBool> {
    let cancel = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&cancel);
    // It ends with the process. Without it a snapshot takes its time.
    drop(thread::Builder::new().name("hook-limit".to_owned()).spawn(move || {
        thread::sleep(time);
        raised.store(true, Ordering::Relaxed);
    }));
    cancel
}

/// Milliseconds since the Unix epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
