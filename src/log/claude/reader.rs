//! Claude Code's rows, one after the other → events of the live branch.

use super::calls::{Deed, ToolResult, ToolUse};
use super::edits;
use super::history::{self, History, Texts};
use super::info::Info;
use super::prompts::{Spoken, spoken};
use crate::log::branches::{Branches, ROOT};
use crate::log::lazy::{self, Json, Object};
use crate::log::timestamp::millis;
use crate::log::{LogReader, Output};
use crate::session::event::{
    Command, Edit, EditOutcome, EditSource, KnownText, KnownTextSource, LogEvent, Place,
};
use crate::session::{CommandOutcome, Damage, TurnState};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Reads one log.
pub(super) struct Reader {
    branches: Branches,
    /// Calls without a result, by id.
    calls: HashMap<String, Call>,
    /// What may turn out to be a prompt, if the model answers it.
    maybe: Option<Maybe>,
    history: History,
    info: Info,
    /// Records name their parents, so that a prompt without one is a conversation begun anew.
    chained: bool,
    /// An id stood twice: ids tell nothing here.
    ids_repeat: bool,
}

/// A call that waits for its result.
struct Call {
    turn: usize,
    kind: CallKind,
}

enum CallKind {
    Edit {
        /// The row of the call, where it must be kept: it holds the calls of several edits.
        row: Option<String>,
    },
    Command,
    Present(Vec<(String, Option<String>)>),
    Look,
}

/// A command of a person that the model may answer.
struct Maybe {
    turn: usize,
    text: String,
    at: Option<i64>,
    /// The shell command and its call id.
    shell: Option<(String, String)>,
}

/// What is the same for all that one record tells.
struct Here {
    place: Place,
    turn: usize,
    at: Option<i64>,
    side: bool,
}

impl LogReader for Reader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        // Copies of what went over the wire; by far the longest rows.
        if line.starts_with(br#"{"type":"api-request"#) || line.trim_ascii().is_empty() {
            return;
        }
        let row = String::from_utf8_lossy(line);
        let (records, cause) = lazy::objects(&row);
        if let Some(message) = cause {
            let (line, offset) = (Some(place.line), Some(place.offset));
            out.damages.push(Damage { line, offset, message });
        }
        for record in records {
            self.record(place, &row, &record, out);
        }
    }
}

impl Reader {
    pub(super) fn new(path: Option<&Path>) -> Self {
        Self {
            branches: Branches::default(),
            calls: HashMap::new(),
            maybe: None,
            history: History::new(path),
            info: Info::default(),
            chained: false,
            ids_repeat: false,
        }
    }

    fn record(&mut self, place: Place, row: &str, record: &Object<'_>, out: &mut Output) {
        let kind = record.text("type").unwrap_or_default();
        match &*kind {
            "file-history-snapshot" | "file-history-delta" => self.file_history(record, out),
            "last-prompt" => self.last_prompt(record, out),
            "summary" | "custom-title" | "ai-title" => {
                self.info.title(&kind, record, &mut self.branches, out);
            }
            "result" if record.has("session_id") => self.stream_result(record, out),
            "user" | "assistant" | "system" | "attachment" => {
                self.entry(place, row, &kind, record, out);
            }
            _ if record.has("uuid") => self.entry(place, row, &kind, record, out),
            _ => {}
        }
    }

    /// A record of the tree.
    fn entry(
        &mut self,
        place: Place,
        row: &str,
        kind: &str,
        record: &Object<'_>,
        out: &mut Output,
    ) {
        let at = record.get("timestamp").and_then(millis);
        let uuid = record.string("uuid").unwrap_or_default();
        if self.branches.is_copy(&uuid, at) {
            return;
        }
        let side = self.info.is_side(record);
        self.info.header(record, at, &mut self.branches, out);
        let turn = self.parent_turn(record, side);
        let mut here = Here { place, turn, at, side };
        match kind {
            "user" => self.user(&mut here, row, &uuid, record, out),
            "assistant" => self.assistant(&mut here, row, record, out),
            "system" => self.system(&here, record, out),
            "attachment" => self.known_text(&here, record, out),
            _ => {}
        }
        self.ids_repeat |= self.branches.turn_of(&uuid).is_some();
        self.branches.note(&uuid, at, here.turn);
        self.info.noted(&uuid, &mut self.branches, out);
    }

    /// The turn that a record belongs to by its parent.
    fn parent_turn(&mut self, record: &Object<'_>, side: bool) -> usize {
        let parents = ["parentUuid", "logicalParentUuid"];
        let parent = parents.iter().find_map(|key| self.branches.turn_of(&record.text(key)?));
        self.chained |= parent.is_some() && !side;
        parent.unwrap_or_else(|| self.branches.live())
    }

    fn user(
        &mut self,
        here: &mut Here,
        row: &str,
        uuid: &str,
        record: &Object<'_>,
        out: &mut Output,
    ) {
        let results = ToolResult::all(record);
        if !results.is_empty() {
            let alone = results.len() == 1;
            for result in &results {
                self.settle(here, row, result, alone, out);
            }
            self.known_text(here, record, out);
            return;
        }
        let said = if here.side { None } else { spoken(record) };
        match said {
            Some(Spoken::Prompt(text)) => self.prompt(here, uuid, text, record, out),
            Some(Spoken::Slash(text)) => self.maybe(here, text, None),
            Some(Spoken::Shell(command)) => {
                self.maybe(here, format!("!{command}"), Some((command, uuid.to_owned())));
            }
            Some(Spoken::LocalOutput) => self.maybe = None,
            Some(Spoken::Interrupt) => {
                self.branches.end(here.turn, here.at, TurnState::Interrupted, out);
            }
            Some(Spoken::ShellOutput | Spoken::Injected) | None => {}
        }
    }

    fn prompt(
        &mut self,
        here: &mut Here,
        uuid: &str,
        text: String,
        record: &Object<'_>,
        out: &mut Output,
    ) {
        let no_parent = record.get("parentUuid").is_some_and(Json::is_null);
        let parent = if no_parent && self.chained && !self.ids_repeat { ROOT } else { here.turn };
        self.maybe = None;
        self.begin(here, parent, text, out);
        let texts = self.history.held_for(uuid);
        self.tell_texts(here.turn, texts, out);
    }

    /// Begins a turn and makes it the current one.
    fn begin(&mut self, here: &mut Here, parent: usize, text: String, out: &mut Output) {
        here.turn = self.branches.start(parent, here.at, out);
        let turn = self.branches.number(here.turn);
        if !text.is_empty() {
            self.branches.tell(here.turn, LogEvent::Prompt { turn, text }, out);
        }
    }

    fn maybe(&mut self, here: &Here, text: String, shell: Option<(String, String)>) {
        self.maybe = Some(Maybe { turn: here.turn, text, at: here.at, shell });
    }

    /// The model speaks: what stood before it was a prompt, and its branch is the live one.
    fn answered(&mut self, here: &mut Here, out: &mut Output) {
        if let Some(maybe) = self.maybe.take_if(|maybe| maybe.turn == here.turn) {
            let at = std::mem::replace(&mut here.at, maybe.at);
            self.begin(here, maybe.turn, maybe.text, out);
            here.at = at;
            if let Some((command, call_id)) = maybe.shell {
                let turn = self.branches.number(here.turn);
                let (exit_code, outcome) = (None, CommandOutcome::Unknown);
                let ran = Command { turn, call_id: call_id.clone(), command, is_shell: true };
                self.branches.tell(here.turn, LogEvent::Command(ran), out);
                let (result, output) = (None, None);
                let settled =
                    LogEvent::CommandSettled { turn, call_id, exit_code, outcome, result, output };
                self.branches.tell(here.turn, settled, out);
            }
        } else if !self.branches.is_live(here.turn) {
            self.branches.make_live(here.turn, out);
        }
    }

    fn assistant(&mut self, here: &mut Here, row: &str, record: &Object<'_>, out: &mut Output) {
        let message = record.object("message");
        if message.is("model", "<synthetic>") {
            if record.flag("isApiErrorMessage") && !here.side {
                self.branches.end(here.turn, here.at, TurnState::Failed, out);
            }
            return;
        }
        let uses = ToolUse::all(record);
        if !here.side {
            self.answered(here, out);
        }
        let edits = uses.iter().filter(|call| matches!(call.deed(), Deed::Edit(_))).count();
        if here.turn == ROOT {
            if edits == 0 {
                return;
            }
            // The log lacks the prompt, but the change is there.
            self.begin(here, ROOT, String::new(), out);
        }
        for call in uses {
            self.call(here, (edits > 1).then_some(row), call, out);
        }
        if here.side {
            return;
        }
        match message.text("stop_reason").as_deref() {
            Some("end_turn" | "stop_sequence") => self.complete(here, out),
            Some("max_tokens" | "refusal" | "model_context_window_exceeded") => {
                self.branches.end(here.turn, here.at, TurnState::Failed, out);
            }
            _ => {}
        }
    }

    /// The turn came to its own end, unless a person stopped it before.
    fn complete(&mut self, here: &Here, out: &mut Output) {
        if matches!(self.branches.state(here.turn), TurnState::Open | TurnState::Completed) {
            self.branches.end(here.turn, here.at, TurnState::Completed, out);
        }
    }

    fn call(&mut self, here: &Here, row: Option<&str>, call: ToolUse<'_>, out: &mut Output) {
        let turn = self.branches.number(here.turn);
        let command = |command: String, is_shell| {
            let call_id = call.id.clone();
            LogEvent::Command(Command { turn, call_id, command, is_shell })
        };
        let (kind, event) = match call.deed() {
            Deed::Edit(path) => {
                let body = match row {
                    Some(_) => EditSource::Kept(Arc::new(edits::body(&call, None))),
                    None => EditSource::InLog { call: here.place, result: None },
                };
                let edit = Edit {
                    turn,
                    call_id: call.id.clone(),
                    tool: call.name.clone(),
                    path,
                    outcome: EditOutcome::Pending,
                    body,
                };
                (CallKind::Edit { row: row.map(str::to_owned) }, Some(LogEvent::Edit(edit)))
            }
            Deed::Shell(line) => (CallKind::Command, Some(command(line, true))),
            Deed::Unknown => (CallKind::Command, Some(command(call.name.clone(), false))),
            Deed::Present(files) => (CallKind::Present(files), None),
            Deed::Look => (CallKind::Look, None),
        };
        if let Some(event) = event {
            self.branches.tell(here.turn, event, out);
        }
        self.calls.insert(call.id, Call { turn: here.turn, kind });
    }

    /// A result came. It belongs to the turn of its call.
    fn settle(
        &mut self,
        here: &Here,
        row: &str,
        result: &ToolResult<'_>,
        alone: bool,
        out: &mut Output,
    ) {
        let Some(call) = self.calls.remove(&result.id) else { return };
        let (turn, call_id) = (self.branches.number(call.turn), result.id.clone());
        let place = Some(here.place);
        let event = match call.kind {
            CallKind::Edit { row: call_row } => {
                let body = call_row.map(|call_row| {
                    Arc::new(edits::from_rows(&call_row, Some(row), Some(&result.id)))
                });
                LogEvent::EditSettled {
                    turn,
                    call_id,
                    outcome: result.outcome(),
                    result: place,
                    body,
                }
            }
            CallKind::Command => {
                let (exit_code, outcome) = result.command();
                let output = (!alone).then(|| Arc::from(result.text()));
                let result = place.filter(|_| alone);
                LogEvent::CommandSettled { turn, call_id, exit_code, outcome, result, output }
            }
            CallKind::Present(files) if result.outcome() == EditOutcome::Applied => {
                LogEvent::Presented { turn, call_id, at: here.at, files }
            }
            CallKind::Present(_) | CallKind::Look => LogEvent::ToolSettled { turn },
        };
        self.branches.tell(call.turn, event, out);
    }

    fn system(&mut self, here: &Here, record: &Object<'_>, out: &mut Output) {
        match record.text("subtype").as_deref() {
            Some("turn_duration" | "stop_hook_summary") if !here.side => self.complete(here, out),
            // A run of the `stream-json` output begins; its prompt is not logged.
            Some("init") if record.has("session_id") => self.maybe(here, String::new(), None),
            _ => {}
        }
    }

    /// The end of a run in the `stream-json` output.
    fn stream_result(&mut self, record: &Object<'_>, out: &mut Output) {
        let failed = record.flag("is_error") || !record.is("subtype", "success");
        let state = if failed { TurnState::Failed } else { TurnState::Completed };
        self.branches.end(self.branches.live(), None, state, out);
    }

    /// Newer clients name the leaf of the live branch. A leaf further up the live branch is old
    /// news, not another branch.
    fn last_prompt(&mut self, record: &Object<'_>, out: &mut Output) {
        let leaf = record.text("leafUuid").and_then(|leaf| self.branches.turn_of(&leaf));
        if let Some(turn) = leaf.filter(|turn| !self.branches.is_live(*turn)) {
            self.branches.make_live(turn, out);
        }
    }

    fn known_text(&mut self, here: &Here, record: &Object<'_>, out: &mut Output) {
        if here.turn == ROOT {
            return;
        }
        if let Some((path, _)) = history::whole_file(record) {
            let texts = vec![(path, KnownTextSource::InLog(here.place))];
            self.tell_texts(here.turn, texts, out);
        }
    }

    fn file_history(&mut self, record: &Object<'_>, out: &mut Output) {
        let Some((prompt, texts)) = self.history.backups(record, self.info.cwd()) else {
            return;
        };
        match self.branches.turn_of(&prompt) {
            Some(turn) if turn != ROOT => self.tell_texts(turn, texts, out),
            _ => self.history.hold(prompt, texts),
        }
    }

    /// Tells known texts. A backup is of a file as it was before the turn: it is told once, and
    /// not when the turn has edited the file already. It is told beside a read of the file, as it
    /// is exact in line ends where the read is not.
    fn tell_texts(&mut self, turn: usize, texts: Texts, out: &mut Output) {
        let is_read = |text: &KnownTextSource| matches!(text, KnownTextSource::InLog(_));
        for (path, text) in texts {
            let told = |event: &LogEvent| match event {
                LogEvent::Edit(edit) => {
                    edit.path == path && !self.calls.contains_key(&edit.call_id)
                }
                LogEvent::KnownText(known) => known.path == path && !is_read(&known.text),
                _ => false,
            };
            if is_read(&text) || !self.branches.events(turn).iter().any(told) {
                let known = KnownText { turn: self.branches.number(turn), path, text };
                self.branches.tell(turn, LogEvent::KnownText(known), out);
            }
        }
    }
}
