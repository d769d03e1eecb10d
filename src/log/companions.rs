//! The logs of a session's sub-agents, told as a part of the session's turns.
//!
//! A reader tells of each call of a sub-agent (`LogEvent::Delegated`), and again at its result. Only
//! where a log tells such, its `LogFile` asks the format for the sub-agents' logs
//! (`LogFormat::companions`), reads them behind the session's own, and tells what they did as
//! events of the turn of the call: edits, commands, known texts. A sub-agent's stamps say when, so
//! that the transcript puts them in order of time. Places are of the session's own log; so the
//! texts of a sub-agent's edits are kept instead. Sub-agents of sub-agents are of the same turn.
//!
//! What is wrong with a sub-agent's log costs only itself, and one warning.

use super::lines::{Lines, forget_moot};
use super::open::LogError;
use super::source::{Rows, Stored, identity};
use super::{LogFormat, Output};
use crate::session::Damage;
use crate::session::event::{
    Delegation, Edit, EditBody, EditOutcome, EditSource, KnownTextSource, LogEvent, Place,
};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A longer log of a sub-agent is not read: what its edits say is kept in memory.
const LONGEST: u64 = 1 << 30;

/// A longer output of a sub-agent's command is not kept, in bytes.
const OUTPUT_BYTES: usize = 64 << 10;

/// So many more times logs are looked for when nothing new is told: one may come after the result.
const PATIENCE: u8 = 10;

/// A log that has not changed for so long is done.
const RESTS: Duration = Duration::from_secs(60);

/// So many missing logs are told of.
const MOST_MISSING: usize = 20;

/// The log of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companion {
    /// Where it is.
    pub path: PathBuf,
    /// The sub-agent's id.
    pub agent: String,
    /// The turn of the session that called the sub-agent.
    pub turn: u32,
}

/// The call that a sub-agent which began at this time was called by: the latest before.
pub(super) fn latest_call(calls: &[Delegation], began: Option<i64>) -> Option<&Delegation> {
    let before = |call: &&Delegation| began.is_some() && call.at <= began;
    calls.iter().rev().find(before).or_else(|| calls.first())
}

/// The calls of sub-agents that a log told, and the sub-agents' logs.
#[derive(Default)]
pub(super) struct Companions {
    calls: Vec<Delegation>,
    /// Where a call stands among them, by its turn and id.
    places: HashMap<(u32, String), usize>,
    logs: Vec<Log>,
    /// The paths of those.
    paths: HashSet<PathBuf>,
    /// Sub-agents whose logs were said to be missing.
    missing: HashSet<String>,
    /// So many more looks for logs are worth it while nothing new is told.
    looks: u8,
    is_stale: bool,
}

impl Companions {
    /// Takes note of the calls among what the session's log told.
    pub(super) fn hear(&mut self, told: &[LogEvent]) {
        for event in told {
            match event {
                LogEvent::Reset => *self = Self::default(),
                LogEvent::Delegated(call) => self.note(call),
                _ => {}
            }
        }
    }

    fn note(&mut self, call: &Delegation) {
        self.looks = PATIENCE;
        let new = self.calls.len();
        let at = *self.places.entry((call.turn, call.call_id.clone())).or_insert(new);
        match self.calls.get_mut(at) {
            Some(known) => {
                known.agent = call.agent.clone().or(known.agent.take());
                known.is_settled |= call.is_settled;
            }
            None => self.calls.push(call.clone()),
        }
    }

    /// Whether any sub-agent was called.
    pub(super) fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// What was told of a sub-agent is not true any more: all has to be told anew.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Reads on; true when there is nothing more at the moment. Each log is read to its end: what
    /// its branches make untrue on the way is then never told.
    pub(super) fn step(
        &mut self,
        format: &'static dyn LogFormat,
        path: &Path,
        out: &mut Output,
    ) -> bool {
        self.look(format, path, out);
        let mut caught_up = true;
        let mut calls = Vec::new();
        for log in &mut self.logs {
            caught_up &= log.step(out);
            calls.append(&mut log.calls);
            self.is_stale |= log.is_stale;
        }
        // A sub-agent called others: their logs are to be looked for.
        caught_up &= calls.is_empty();
        for call in &calls {
            self.note(call);
        }
        caught_up
    }

    /// There is nothing more to come: what is torn at the end of a log is damage.
    pub(super) fn finish(&mut self, format: &'static dyn LogFormat, path: &Path, out: &mut Output) {
        while !self.step(format, path, out) {}
        self.logs.iter_mut().for_each(|log| log.finish(out));
    }

    /// Looks for the logs of calls that are new, or run.
    fn look(&mut self, format: &'static dyn LogFormat, path: &Path, out: &mut Output) {
        if self.looks == 0 {
            return;
        }
        for found in format.companions(path, &self.calls) {
            if self.paths.insert(found.path.clone()) {
                self.logs.push(Log::new(found, format));
            }
        }
        let there: HashSet<&str> = self.logs.iter().map(|log| &*log.agent).collect();
        let settled = self.calls.iter().filter(|call| call.is_settled);
        for agent in settled.filter_map(|call| call.agent.as_ref()) {
            let is_news = !there.contains(agent.as_str()) && self.missing.len() < MOST_MISSING;
            if is_news && self.missing.insert(agent.clone()) {
                let path = path.display();
                let missing = format!("{path}: the log of sub-agent {agent} is not there");
                out.damages.push(damage(missing));
            }
        }
        let waits = self.calls.iter().any(|call| !call.is_settled);
        self.looks = if waits { PATIENCE } else { self.looks - 1 };
    }
}

fn damage(message: String) -> Damage {
    Damage { line: None, offset: None, message }
}

/// What is held of a log. A session may have many sub-agents, most of them done: their files are let
/// go, and all is told anew should one change after all.
enum Hold {
    /// It was not opened yet.
    New,
    /// It is read.
    Open(Box<(Lines, Rows)>),
    /// It was read to this length, and has not changed for a while.
    AtRest { identity: (u64, u64), len: u64 },
    /// It cannot be read.
    Lost,
}

/// One sub-agent's log, and how far it has been told.
struct Log {
    path: PathBuf,
    agent: Arc<str>,
    turn: u32,
    format: &'static dyn LogFormat,
    hold: Hold,
    /// Its working directory.
    cwd: Option<PathBuf>,
    /// Where the calls of edits stand, by call id; none for one whose texts are kept.
    edits: HashMap<String, Vec<Option<Place>>>,
    /// Calls of further sub-agents that were told since last asked.
    calls: Vec<Delegation>,
    /// Something of it was told.
    is_told: bool,
    is_damaged: bool,
    is_stale: bool,
}

impl Log {
    fn new(found: Companion, format: &'static dyn LogFormat) -> Self {
        Self {
            path: found.path,
            agent: found.agent.into(),
            turn: found.turn,
            format,
            hold: Hold::New,
            cwd: None,
            edits: HashMap::new(),
            calls: Vec::new(),
            is_told: false,
            is_damaged: false,
            is_stale: false,
        }
    }

    fn open(&mut self, out: &mut Output) {
        let opened = Stored::open(&self.path).and_then(|stored| {
            let rows = Rows::new(stored.clone())?;
            Ok((stored.len()?, stored, rows))
        });
        self.hold = match opened {
            Ok((LONGEST.., ..)) => {
                self.warn_of("longer than a sub-agent's log may be", out);
                Hold::Lost
            }
            Ok((_, stored, rows)) => {
                let lines = Lines::new(stored, Some(self.format), &self.path);
                Hold::Open(Box::new((lines, rows)))
            }
            Err(cause) => {
                self.warn_of(&cause.to_string(), out);
                Hold::Lost
            }
        };
    }

    fn warn_of(&mut self, cause: &str, out: &mut Output) {
        self.warn(&format!("{}: {cause}", self.path.display()), out);
    }

    /// One warning is enough for a log. It names the file.
    fn warn(&mut self, message: &str, out: &mut Output) {
        if !std::mem::replace(&mut self.is_damaged, true) {
            out.damages.push(damage(format!("sub-agent log {message}")));
        }
    }

    fn step(&mut self, out: &mut Output) -> bool {
        if matches!(self.hold, Hold::New) {
            self.open(out);
        }
        let seen = fs::metadata(&self.path).ok();
        let now = seen.as_ref().map(|seen| (identity(seen), seen.len()));
        let lines = match &mut self.hold {
            Hold::Open(open) => &mut open.0,
            Hold::AtRest { identity, len } => {
                self.is_stale |= now.is_some_and(|now| now != (*identity, *len));
                return true;
            }
            Hold::New | Hold::Lost => return true,
        };
        let held = lines.stored().identity();
        let is_other = now.is_some_and(|(now, len)| Some(now) != held || len < lines.position());
        self.is_stale |= is_other;
        let mut told = Output::default();
        let read = lines.step(&self.path, u64::MAX, &mut told);
        let position = lines.position();
        self.tell(told, out);
        let caught_up = match read {
            Ok(progress) => progress.caught_up,
            Err(error) => return self.give_up(&error, out),
        };
        if let Some(seen) = seen.filter(|_| caught_up)
            && seen.len() == position
            && seen.modified().is_ok_and(|at| at.elapsed().is_ok_and(|since| since > RESTS))
        {
            self.finish(out);
            self.hold = Hold::AtRest { identity: identity(&seen), len: position };
        }
        caught_up
    }

    fn finish(&mut self, out: &mut Output) {
        let Hold::Open(open) = &mut self.hold else { return };
        let mut told = Output::default();
        let read = open.0.finish(&self.path, &mut told);
        self.tell(told, out);
        if let Err(error) = read {
            self.give_up(&error, out);
        }
    }

    fn give_up(&mut self, error: &LogError, out: &mut Output) -> bool {
        self.hold = Hold::Lost;
        self.warn(&error.to_string(), out);
        true
    }

    fn tell(&mut self, told: Output, out: &mut Output) {
        if let Some(first) = told.damages.first() {
            let place = first.line.map_or_else(String::new, |line| format!("line {line}: "));
            self.warn_of(&format!("{place}{}", first.message), out);
        }
        // Its branches changed. What was told cannot be taken back one by one.
        let mut events = told.events;
        self.is_stale |= forget_moot(&mut events, 0) && self.is_told;
        // A fork begins with a copy of what its parent did.
        let own = events.iter().rposition(|event| *event == LogEvent::Inherited);
        let before = out.events.len();
        for (at, event) in events.into_iter().enumerate() {
            if own.is_none_or(|own| at > own) || matches!(event, LogEvent::Header(_)) {
                self.tell_one(event, out);
            }
        }
        self.is_told |= out.events.len() > before;
    }

    /// Tells an event as one of the session's turn; what is of the sub-agent's own conversation
    /// (its prompts, its deliverables) is not told.
    fn tell_one(&mut self, event: LogEvent, out: &mut Output) {
        let turn = self.turn;
        match event {
            LogEvent::Header(header) => {
                self.cwd = header.cwd.map(PathBuf::from).or(self.cwd.take());
            }
            LogEvent::Edit(edit) => self.edit(edit, out),
            LogEvent::EditSettled { call_id, outcome, result, body, .. } => {
                let places = self.edits.get(&call_id).cloned().unwrap_or_default();
                for (nth, call) in places.into_iter().enumerate() {
                    let body = body.clone().or_else(|| Some(self.body(call?, result, nth)));
                    let call_id = self.call_id(&call_id, nth);
                    let result = None;
                    let settled = LogEvent::EditSettled { turn, call_id, outcome, result, body };
                    out.events.push(settled);
                }
            }
            LogEvent::Command(mut command) => {
                command.turn = turn;
                command.call_id = self.call_id(&command.call_id, 0);
                command.stamp.agent = Some(Arc::clone(&self.agent));
                out.events.push(LogEvent::Command(command));
            }
            LogEvent::CommandSettled { call_id, exit_code, outcome, result, output, .. } => {
                let call_id = self.call_id(&call_id, 0);
                let printed = |row: Vec<u8>| self.format.command_output(&row).map(Arc::from);
                let output: Option<Arc<str>> =
                    output.or_else(|| self.row(&result?).and_then(printed));
                let output = output.filter(|text| text.len() <= OUTPUT_BYTES);
                let result = None;
                out.events.push(LogEvent::CommandSettled {
                    turn,
                    call_id,
                    exit_code,
                    outcome,
                    result,
                    output,
                });
            }
            LogEvent::KnownText(mut known) => {
                if let KnownTextSource::InLog(place) = known.text {
                    let text = self.row(&place).and_then(|row| self.format.known_text(&row));
                    let Some(text) = text else { return };
                    known.text = KnownTextSource::Kept(text.into());
                }
                known.turn = turn;
                known.path = self.absolute(known.path);
                known.stamp.agent = Some(Arc::clone(&self.agent));
                out.events.push(LogEvent::KnownText(known));
            }
            LogEvent::ToolSettled { .. } => out.events.push(LogEvent::ToolSettled { turn }),
            LogEvent::Delegated(call) => {
                let call_id = self.call_id(&call.call_id, 0);
                self.calls.push(Delegation { turn, call_id, ..call });
            }
            _ => {}
        }
    }

    fn edit(&mut self, mut edit: Edit, out: &mut Output) {
        let places = self.edits.entry(edit.call_id.clone()).or_default();
        let nth = places.len();
        let place = match edit.body {
            EditSource::Kept(_) => None,
            EditSource::InLog { call, .. } => Some(call),
        };
        places.push(place);
        if let EditSource::InLog { call, result } = edit.body {
            // One that waits is read with its result.
            let waits = edit.outcome == EditOutcome::Pending;
            let body = if waits { Arc::default() } else { self.body(call, result, nth) };
            edit.body = EditSource::Kept(body);
        }
        edit.turn = self.turn;
        edit.call_id = self.call_id(&edit.call_id, nth);
        edit.path = self.absolute(edit.path);
        edit.stamp.agent = Some(Arc::clone(&self.agent));
        out.events.push(LogEvent::Edit(edit));
    }

    fn body(&mut self, call: Place, result: Option<Place>, nth: usize) -> Arc<EditBody> {
        let Some(call) = self.row(&call) else { return Arc::default() };
        let result = result.and_then(|place| self.row(&place));
        Arc::new(self.format.edit_body(&call, result.as_deref(), nth))
    }

    fn row(&mut self, place: &Place) -> Option<Vec<u8>> {
        let Hold::Open(open) = &mut self.hold else { return None };
        open.1.row(place).ok()
    }

    /// Calls of several logs may have one id.
    fn call_id(&self, call_id: &str, nth: usize) -> String {
        format!("{}/{call_id}/{nth}", self.agent)
    }

    /// A sub-agent may work in a directory of its own.
    fn absolute(&self, path: String) -> String {
        match &self.cwd {
            Some(cwd) if Path::new(&path).is_relative() => {
                cwd.join(path).to_string_lossy().into_owned()
            }
            _ => path,
        }
    }
}
