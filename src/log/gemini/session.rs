//! The turns of a Gemini CLI session, as its messages tell them.

use super::calls::{self, Call};
use super::checkpoints::{Checkpoints, Wanted};
use super::project;
use crate::log::Output;
use crate::log::ids::hashed;
use crate::log::lazy::{Json, Object};
use crate::log::timestamp::millis;
use crate::session::event::{
    Command, Delegation, Edit, EditOutcome, EditSource, Header, KnownText, LogEvent, Place, Stamp,
};
use crate::session::{Damage, TurnState};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the messages told so far.
#[derive(Default)]
pub(super) struct Session {
    checkpoints: Checkpoints,
    /// The turn in hand; 0 before the first prompt.
    turn: u32,
    /// When that turn began.
    began_at: Option<i64>,
    state: TurnState,
    last_at: Option<i64>,
    header: Header,
    /// The directory that holds all edited files: the working directory where nothing tells it.
    common: Option<PathBuf>,
    /// The working directory in the header is such a guess.
    guessed: bool,
    /// The hash of the project's directory.
    project: Option<String>,
    /// Where the prompts that count stand among the messages.
    prompts: Vec<u32>,
    /// The place of each message in the order in which they came first, and its turn, by the hash of
    /// its kind and id.
    messages: HashMap<u64, (u32, u32)>,
    /// Calls that were told and how they stood, by the hash of message and call: a call's id is not
    /// unique in a session.
    told: HashMap<u64, EditOutcome>,
}

impl Session {
    /// Of the log at this path.
    pub(super) fn new(log: Option<&Path>) -> Self {
        Self { checkpoints: Checkpoints::new(log), ..Self::default() }
    }

    /// Tells something of the session as a whole.
    pub(super) fn tell_header(&mut self, change: impl FnOnce(&mut Header), out: &mut Output) {
        let before = self.header.clone();
        change(&mut self.header);
        if self.header != before {
            out.events.push(LogEvent::Header(self.header.clone()));
        }
    }

    /// Whether the working directory is known.
    pub(super) fn has_cwd(&self) -> bool {
        self.header.cwd.is_some() && !self.guessed
    }

    /// Takes the working directory that the log or its place names.
    pub(super) fn tell_cwd(&mut self, cwd: Option<String>, out: &mut Output) {
        if cwd.is_some() && !self.has_cwd() {
            self.guessed = false;
            self.tell_header(|header| header.cwd = cwd, out);
        }
    }

    /// Takes the hash of the project's directory.
    pub(super) fn tell_project(&mut self, hash: Option<String>) {
        self.project = hash.or(self.project.take());
    }

    /// Whether the log's own hash says that its project lies in this directory.
    pub(super) fn is_in(&self, directory: &Path) -> bool {
        self.project.as_ref().is_some_and(|hash| project::is_of(hash, directory))
    }

    /// Where nothing names the working directory, it is taken to be what holds all edited files.
    pub(super) fn guess_cwd(&mut self, out: &mut Output) {
        let common = self.common.as_ref().and_then(|dir| dir.to_str()).map(str::to_owned);
        if common.is_some() && !self.has_cwd() {
            self.guessed = true;
            self.tell_header(|header| header.cwd = common, out);
        }
    }

    /// A file is edited. Where nothing names the working directory, it is the one above the file
    /// that the project's hash is of.
    fn edited(&mut self, path: &str, out: &mut Output) {
        if !self.has_cwd() {
            let known = Path::new(path).ancestors().skip(1).find(|dir| self.is_in(dir));
            self.tell_cwd(known.and_then(Path::to_str).map(str::to_owned), out);
        }
        let Some(folder) = Path::new(path).parent().filter(|_| Path::new(path).is_absolute())
        else {
            return;
        };
        let shared =
            |dir: &Path| dir.ancestors().find(|dir| folder.starts_with(dir)).map(Path::to_path_buf);
        self.common = match &self.common {
            Some(common) => shared(common),
            None => Some(folder.to_path_buf()),
        };
    }

    /// Takes a message, new or written again. `place` is where its row can be read again.
    pub(super) fn message(&mut self, message: &Object<'_>, place: Option<Place>, out: &mut Output) {
        let kind = message.text("type").unwrap_or_default();
        let at = message.get("timestamp").and_then(millis);
        let id = message.string("id").unwrap_or_default();
        let order = self.messages.len() as u32;
        // One id may be used by a message and by the answer to its calls.
        let key = if id.is_empty() { hashed(order) } else { hashed((&*kind, &*id)) };
        let known = self.messages.get(&key).map(|(_, turn)| *turn);
        let is_prompt = known.is_none() && kind == "user";
        if let Some(text) = is_prompt.then(|| prompt(message)).flatten() {
            self.begin(text, at, out);
        }
        let turn = known.unwrap_or(self.turn);
        self.messages.entry(key).or_insert((order, turn));
        if turn == self.turn {
            self.last_at = self.last_at.max(at);
        }
        match &*kind {
            "gemini" => self.calls(turn, &id, message, place, out),
            "info" if known.is_none() => {
                let said = message.text("content").unwrap_or_default();
                if said.trim_start().starts_with("Request cancelled") {
                    self.end(at, TurnState::Interrupted, out);
                }
            }
            "error" if known.is_none() => self.end(at, TurnState::Failed, out),
            _ => {}
        }
    }

    /// The conversation goes back to before this message; what was done stays done.
    pub(super) fn rewind(&mut self, id: &str, out: &mut Output) {
        let of = |kind: &str| self.messages.get(&hashed((kind, id))).copied();
        let found = ["user", "gemini", "info", "error", "warning"].iter().find_map(|kind| of(kind));
        // An id that is not known takes everything away.
        let order = found.map_or(0, |(order, _)| order);
        let before = self.prompts.len();
        self.prompts.retain(|at| *at < order);
        let turns = (before - self.prompts.len()) as u32;
        if turns > 0 {
            if self.state == TurnState::Open {
                self.end(self.last_at, TurnState::Interrupted, out);
            }
            out.events.push(LogEvent::RolledBack { turns });
        }
    }

    /// Begins a turn.
    pub(super) fn begin(&mut self, text: String, at: Option<i64>, out: &mut Output) {
        if self.turn > 0 && self.state == TurnState::Open {
            self.end(self.last_at, TurnState::Completed, out);
        }
        self.turn += 1;
        let turn = self.turn;
        (self.state, self.last_at, self.began_at) = (TurnState::Open, at, at);
        self.prompts.push(self.messages.len() as u32);
        out.events.push(LogEvent::TurnStart { turn, at });
        if !text.is_empty() {
            out.events.push(LogEvent::Prompt { turn, text });
        }
    }

    /// Ends the turn in hand.
    pub(super) fn end(&mut self, at: Option<i64>, state: TurnState, out: &mut Output) {
        if self.turn > 0 {
            self.state = state;
            out.events.push(LogEvent::TurnEnd { turn: self.turn, at, state });
        }
    }

    fn calls(
        &mut self,
        turn: u32,
        message: &str,
        record: &Object<'_>,
        place: Option<Place>,
        out: &mut Output,
    ) {
        let calls = calls::all(record);
        // A row that holds one edit can be read again for it; of several it would not tell which.
        let edits = calls.iter().filter(|call| call.edits().is_some()).count();
        let rows =
            Rows { edit: place.filter(|_| edits == 1), output: place.filter(|_| calls.len() == 1) };
        for call in calls {
            let key = hashed((message, &*call.id));
            let told = self.told.get(&key).copied();
            if told.is_none() {
                self.call(turn, &call, rows.edit, out);
            }
            // Most calls are written when they are done; of one that waited, the result comes now.
            let waited = told == Some(EditOutcome::Pending);
            if (told.is_none() || waited) && call.outcome() != EditOutcome::Pending {
                settle(turn.max(1), &call, &rows, waited, out);
            }
            if (told.is_none() || waited) && call.may_delegate() {
                let (turn, call_id, at) = (turn.max(1), call.id.clone(), self.began_at);
                let is_settled = call.outcome() != EditOutcome::Pending;
                let called = Delegation { turn, call_id, agent: None, at, is_settled };
                out.events.push(LogEvent::Delegated(called));
            }
            if told.is_none() || waited {
                self.told.insert(key, call.outcome());
            }
        }
    }

    /// Tells a call of the turn in hand, without its result.
    pub(super) fn open_call(&mut self, call: &Call<'_>, place: Place, out: &mut Output) {
        self.call(self.turn, call, Some(place), out);
    }

    /// The turn in hand.
    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    fn call(&mut self, turn: u32, call: &Call<'_>, place: Option<Place>, out: &mut Output) {
        if turn == 0 && !call.looks() {
            // The log lacks its first rows.
            self.begin(String::new(), None, out);
        }
        let (turn, call_id) = (turn.max(1), call.id.clone());
        if let Some(path) = call.edits() {
            self.edited(&path, out);
            if call.outcome() == EditOutcome::Applied {
                self.checkpoint(turn, call, &path, out);
            }
            let body = match place {
                Some(call) => EditSource::InLog { call, result: None },
                None => EditSource::Kept(Arc::new(call.body())),
            };
            let outcome = EditOutcome::Pending;
            let tool = call.name.clone();
            out.events.push(LogEvent::Edit(Edit {
                turn,
                call_id,
                tool,
                path,
                outcome,
                body,
                stamp: Stamp::at(self.last_at),
            }));
        } else if call.presents().is_none() && !call.looks() {
            let shell = call.shell();
            let is_shell = shell.is_some();
            let command = shell.unwrap_or_else(|| call.name.clone());
            out.events.push(LogEvent::Command(Command {
                turn,
                call_id,
                command,
                is_shell,
                stamp: Stamp::at(self.last_at),
            }));
        }
    }

    /// Tells what a file held before an edit, where the client made a checkpoint of that moment.
    fn checkpoint(&mut self, turn: u32, call: &Call<'_>, path: &str, out: &mut Output) {
        if !self.has_cwd() {
            return;
        }
        let (session, root) = (self.header.id.as_deref(), self.header.cwd.as_deref());
        let times = self.began_at.zip(call.done_at());
        let (Some((session, root)), Some((from, to))) = (session.zip(root), times) else { return };
        let wanted = Wanted { session, root, tool: &call.name, path, from, to };
        match self.checkpoints.before(&wanted) {
            Ok(Some(text)) => {
                let (path, stamp) = (path.to_owned(), Stamp::at(self.last_at));
                out.events.push(LogEvent::KnownText(KnownText { turn, path, text, stamp }));
            }
            Ok(None) => {}
            Err(message) => out.damages.push(Damage { line: None, offset: None, message }),
        }
    }
}

/// Where calls can be read again.
struct Rows {
    /// The row, if it holds one edit.
    edit: Option<Place>,
    /// The row, if it holds one call.
    output: Option<Place>,
}

/// Tells the result of a call; what an edit did is told with it if the call has waited.
fn settle(turn: u32, call: &Call<'_>, rows: &Rows, waited: bool, out: &mut Output) {
    let (call_id, outcome) = (call.id.clone(), call.outcome());
    let event = if call.edits().is_some() {
        let result = rows.edit.filter(|_| waited);
        let body = (waited && result.is_none()).then(|| Arc::new(call.body()));
        LogEvent::EditSettled { turn, call_id, outcome, result, body }
    } else if let Some(files) = call.presents().filter(|_| outcome == EditOutcome::Applied) {
        LogEvent::Presented { turn, call_id, at: None, files }
    } else if call.looks() || call.presents().is_some() {
        LogEvent::ToolSettled { turn }
    } else {
        let (exit_code, outcome) = call.command();
        let result = rows.output;
        let output = result.is_none().then(|| Arc::from(call.output()));
        LogEvent::CommandSettled { turn, call_id, exit_code, outcome, result, output }
    };
    out.events.push(event);
}

/// A person's prompt; none for what the client puts in.
fn prompt(message: &Object<'_>) -> Option<String> {
    let content = message.get("content")?;
    if let Some(text) = content.text() {
        return is_own(&text).then(|| text.into_owned());
    }
    let parts: Vec<Object<'_>> = content.items().into_iter().map(Json::object).collect();
    if parts.is_empty() || parts.iter().any(|part| part.has("functionResponse")) {
        return None;
    }
    let texts: Vec<_> = parts.iter().filter_map(|part| part.text("text")).collect();
    texts.iter().all(|text| is_own(text)).then(|| texts.join("\n"))
}

fn is_own(text: &str) -> bool {
    !text.trim_start().starts_with("<session_context>")
}
