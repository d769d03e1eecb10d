//! Claude Code's rows, one after the other → events of the live branch.

use super::agents;
use super::calls::{Deed, ToolResult, ToolUse};
use super::edits;
use super::history::{self, History, Texts};
use super::info::Info;
use super::prompts::{Spoken, interrupts, spoken};
use crate::log::branches::{Branches, ROOT};
use crate::log::lazy::{Json, Object};
use crate::log::timestamp::millis;
use crate::log::{LogReader, Output, row};
use crate::session::event::{
    Command, Edit, EditOutcome, EditSource, KnownText, KnownTextSource, LogEvent, Place, Stamp,
};
use crate::session::{CommandOutcome, TurnState};
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
        /// The row of the call, if it holds the calls of several edits. A row with one result
        /// tells which of them is meant; a row with several does not.
        row: Option<String>,
    },
    Command,
    Delegate,
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
        if line.starts_with(br#"{"type":"api-request"#) {
            return;
        }
        row::each_object(place, line, out, |row, record, out| {
            self.record(place, row, record, out);
        });
    }

    fn choose_branch(&mut self, branch: u32) {
        self.branches.choose(branch);
    }

    fn caught_up(&mut self, out: &mut Output) {
        self.branches.caught_up(out);
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
        if !uuid.is_empty() && self.branches.is_copy(&uuid, at) {
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
        self.ids_repeat |= !uuid.is_empty() && self.branches.turn_of(&uuid).is_some();
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
            let mut looked = false;
            for result in &results {
                looked |= self.settle(here, row, result, alone, out);
            }
            if looked {
                self.known_text(here, record, out);
            }
            if !here.side && interrupts(record) {
                self.branches.end(here.turn, here.at, TurnState::Interrupted, out);
            }
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
        self.tell_texts(here.turn, None, texts, out);
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
                let ran = Command {
                    turn,
                    call_id: call_id.clone(),
                    command,
                    is_shell: true,
                    stamp: Stamp::at(here.at),
                };
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
            // A request that failed was tried again.
            Some("end_turn" | "stop_sequence")
                if self.branches.state(here.turn) != TurnState::Interrupted =>
            {
                self.branches.end(here.turn, here.at, TurnState::Completed, out);
            }
            Some("max_tokens" | "refusal" | "model_context_window_exceeded") => {
                self.branches.end(here.turn, here.at, TurnState::Failed, out);
            }
            _ => {}
        }
    }

    /// The client is done with the turn: it came to its own end, unless something else ended it.
    fn complete(&mut self, here: &Here, out: &mut Output) {
        if matches!(self.branches.state(here.turn), TurnState::Open | TurnState::Completed) {
            self.branches.end(here.turn, here.at, TurnState::Completed, out);
        }
    }

    fn call(&mut self, here: &Here, row: Option<&str>, call: ToolUse<'_>, out: &mut Output) {
        let turn = self.branches.number(here.turn);
        let command = |command: String, is_shell| {
            let call_id = call.id.clone();
            LogEvent::Command(Command {
                turn,
                call_id,
                command,
                is_shell,
                stamp: Stamp::at(here.at),
            })
        };
        let (kind, event) = match call.deed() {
            Deed::Edit(path) => {
                let body = EditSource::InLog { call: here.place, result: None };
                let edit = Edit {
                    turn,
                    call_id: call.id.clone(),
                    tool: call.name.clone(),
                    path,
                    outcome: EditOutcome::Pending,
                    body,
                    stamp: Stamp::at(here.at),
                };
                (CallKind::Edit { row: row.map(str::to_owned) }, Some(LogEvent::Edit(edit)))
            }
            Deed::Shell(line) => (CallKind::Command, Some(command(line, true))),
            Deed::Unknown => (CallKind::Command, Some(command(call.name.clone(), false))),
            Deed::Delegate => (CallKind::Delegate, Some(command(call.name.clone(), false))),
            Deed::Present(files) => (CallKind::Present(files), None),
            Deed::Look => (CallKind::Look, None),
        };
        if let Some(event) = event {
            self.branches.tell(here.turn, event, out);
        }
        if matches!(kind, CallKind::Delegate) && !here.side {
            let called = agents::called(turn, &call.id, here.at);
            self.branches.tell(here.turn, called, out);
        }
        self.calls.insert(call.id, Call { turn: here.turn, kind });
    }

    /// A result came. It belongs to the turn of its call. Says whether the call only looked.
    fn settle(
        &mut self,
        here: &Here,
        row: &str,
        result: &ToolResult<'_>,
        alone: bool,
        out: &mut Output,
    ) -> bool {
        let Some(call) = self.calls.remove(&result.id) else { return false };
        let looked = matches!(call.kind, CallKind::Look);
        let (turn, call_id) = (self.branches.number(call.turn), result.id.clone());
        let place = Some(here.place);
        if matches!(call.kind, CallKind::Delegate) {
            self.branches.tell(call.turn, agents::settled(turn, result), out);
        }
        let event = match call.kind {
            CallKind::Edit { row: call_row } => {
                let body = call_row.filter(|_| !alone).map(|call_row| {
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
            CallKind::Command | CallKind::Delegate => {
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
        looked
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
            self.tell_texts(here.turn, here.at, texts, out);
        }
    }

    fn file_history(&mut self, record: &Object<'_>, out: &mut Output) {
        let Some((prompt, texts)) = self.history.backups(record, self.info.cwd()) else {
            return;
        };
        match self.branches.turn_of(&prompt) {
            Some(turn) if turn != ROOT => self.tell_texts(turn, None, texts, out),
            _ => self.history.hold(prompt, texts),
        }
    }

    /// Tells known texts. A backup is of a file as it was before the turn: it is told once, and
    /// not when the turn has edited the file already. It is told beside a read of the file, as it
    /// is exact in line ends where the read is not.
    fn tell_texts(&mut self, turn: usize, at: Option<i64>, texts: Texts, out: &mut Output) {
        for (path, text) in texts {
            let edited = |event: &LogEvent| {
                matches!(event, LogEvent::Edit(edit)
                    if edit.path == path && !self.calls.contains_key(&edit.call_id))
            };
            let is_backup = !matches!(text, KnownTextSource::InLog(_));
            let late = is_backup
                && (!self.history.is_first(turn, &path) || self.branches.has_told(turn, edited));
            if !late {
                let known = KnownText {
                    turn: self.branches.number(turn),
                    path,
                    text,
                    stamp: Stamp::at(at),
                };
                self.branches.tell(turn, LogEvent::KnownText(known), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::transcript::Transcript;
    use serde_json::{Value, json};

    /// A log in the making: each row hangs on the one before, unless it says otherwise.
    #[derive(Default)]
    struct Log {
        rows: Vec<String>,
        last: Option<String>,
    }

    impl Log {
        fn row(&mut self, kind: &str, uuid: &str, more: &Value) -> &mut Self {
            let at = format!("2026-12-01T00:00:{:02}.000Z", self.rows.len());
            let mut row = json!({"type": kind, "uuid": uuid, "parentUuid": self.last,
                "sessionId": "s", "cwd": "/w", "timestamp": at});
            for (key, value) in more.as_object().unwrap() {
                row[key] = value.clone();
            }
            self.last = Some(uuid.to_owned());
            self.rows.push(row.to_string());
            self
        }

        fn user(&mut self, uuid: &str, text: &str) -> &mut Self {
            self.row("user", uuid, &json!({"message": {"content": text}}))
        }

        /// A prompt that hangs on an earlier row.
        fn again(&mut self, uuid: &str, parent: Option<&str>, text: &str) -> &mut Self {
            let more = json!({"message": {"content": text}, "parentUuid": parent});
            self.row("user", uuid, &more)
        }

        fn says(&mut self, uuid: &str, stop: &str) -> &mut Self {
            let content = json!([{"type": "text", "text": "."}]);
            self.row(
                "assistant",
                uuid,
                &json!({"message": {"content": content, "stop_reason": stop}}),
            )
        }

        fn calls(&mut self, uuid: &str, name: &str, input: &Value) -> &mut Self {
            let call = json!([{"type": "tool_use", "id": uuid, "name": name, "input": input}]);
            self.row(
                "assistant",
                uuid,
                &json!({"message": {"content": call, "stop_reason": "tool_use"}}),
            )
        }

        fn writes(&mut self, uuid: &str, path: &str) -> &mut Self {
            self.calls(uuid, "Write", &json!({"file_path": path, "content": "x\n"}))
        }

        fn result(&mut self, call: &str, error: bool, text: &str) -> &mut Self {
            let result = json!([{"type": "tool_result", "tool_use_id": call, "is_error": error, "content": text}]);
            self.row("user", &format!("r-{call}"), &json!({"message": {"content": result}}))
        }

        fn plain(&mut self, row: &str) -> &mut Self {
            self.rows.push(row.to_owned());
            self
        }

        fn out(&self) -> Output {
            let (mut reader, mut out) = (Reader::new(None), Output::default());
            for (index, row) in self.rows.iter().enumerate() {
                let place = Place { line: index as u64 + 1, ..Place::default() };
                reader.line(place, row.as_bytes(), &mut out);
            }
            out
        }

        fn transcript(&self) -> Transcript {
            let mut transcript = Transcript::default();
            self.out().events.into_iter().for_each(|event| transcript.apply(event));
            transcript
        }

        /// Each turn as `prompt state: files that were changed`.
        fn turns(&self) -> Vec<String> {
            let turns = self.transcript().turns.into_iter();
            turns
                .map(|turn| {
                    let files: Vec<_> = turn.applied_edits().map(|e| e.path.as_str()).collect();
                    format!("{} {:?}: {}", turn.prompt, turn.state, files.join(" "))
                })
                .collect()
        }
    }

    #[test]
    fn a_turn_ends_by_itself_or_by_the_next_prompt() {
        let mut log = Log::default();
        log.user("1", "one").writes("a", "/w/a").result("a", false, "ok").says("2", "end_turn");
        log.user("3", "two").says("4", "max_tokens");
        log.user("5", "three").writes("b", "/w/b").result("b", true, "no");
        log.user("6", "four").writes("c", "/w/c");
        assert_eq!(
            log.turns(),
            ["one Completed: /w/a", "two Failed: ", "three Completed: ", "four Open: "]
        );
        log.user("7", "five").row("system", "8", &json!({"subtype": "turn_duration"}));
        let turns = log.turns();
        assert_eq!(turns[3..], ["four Interrupted: ", "five Completed: "]);
        assert_eq!(
            log.transcript().turns[0].ended_at,
            log.transcript().turns[0].started_at.map(|t| t + 3000)
        );
    }

    #[test]
    fn an_interrupted_turn_stays_so() {
        let mut log = Log::default();
        log.user("1", "one").writes("a", "/w/a").result(
            "a",
            true,
            "The user doesn't want to proceed",
        );
        log.user("2", "[Request interrupted by user for tool use]");
        log.row("system", "3", &json!({"subtype": "turn_duration"})).user("4", "two");
        assert_eq!(log.turns(), ["one Interrupted: ", "two Open: "]);
        assert_eq!(log.transcript().turns[0].edits[0].outcome, EditOutcome::Denied);
    }

    #[test]
    fn a_rewind_leaves_a_branch_and_its_turns() {
        let mut log = Log::default();
        log.user("1", "one").writes("a", "/w/a").result("a", false, "ok").says("2", "end_turn");
        log.user("3", "two").writes("b", "/w/b").result("b", false, "ok").says("4", "end_turn");
        log.again("5", Some("2"), "other").writes("c", "/w/c").result("c", false, "ok");
        assert_eq!(log.turns(), ["one Completed: /w/a", "other Open: /w/c"]);
        assert_eq!(log.out().events.iter().filter(|e| **e == LogEvent::Reset).count(), 1);
        assert_eq!(log.transcript().header.id.as_deref(), Some("s"));
        // The client goes back to the first branch.
        log.plain(r#"{"type":"last-prompt","leafUuid":"4"}"#);
        assert_eq!(log.turns(), ["one Completed: /w/a", "two Completed: /w/b"]);
        // An old leaf of the live branch is no other branch.
        log.plain(r#"{"type":"last-prompt","leafUuid":"2"}"#);
        assert_eq!(log.turns().len(), 2);
        log.again("6", None, "from the start");
        assert_eq!(log.turns(), ["from the start Open: "]);
    }

    #[test]
    fn rows_without_parents_follow_each_other() {
        let mut log = Log::default();
        for (uuid, text) in [("1", "one"), ("2", "two")] {
            let row = json!({"type": "user", "uuid": uuid, "parentUuid": null, "message": {"content": text}});
            log.plain(&row.to_string());
        }
        assert_eq!(log.turns().len(), 2);
    }

    #[test]
    fn rows_without_ids_are_no_copies() {
        let mut log = Log::default();
        for text in ["one", "two"] {
            let at = "2026-12-01T00:00:00Z";
            let row = json!({"type": "user", "timestamp": at, "message": {"content": text}});
            log.plain(&row.to_string());
        }
        assert_eq!(log.turns().len(), 2);
    }

    #[test]
    fn results_of_parallel_calls_hang_aside_and_count() {
        let mut log = Log::default();
        log.user("1", "one").writes("a", "/w/a").writes("b", "/w/b").result("b", false, "ok");
        log.last = Some("a".into());
        log.result("a", false, "ok").says("2", "end_turn");
        assert_eq!(log.turns(), ["one Completed: /w/a /w/b"]);
        assert!(!log.out().events.contains(&LogEvent::Reset));
    }

    #[test]
    fn compaction_goes_on_where_it_was() {
        let mut log = Log::default();
        log.user("1", "one").says("2", "end_turn");
        let boundary =
            json!({"subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": "2"});
        log.row("system", "3", &boundary);
        log.row("user", "4", &json!({"isCompactSummary": true, "message": {"content": "So far"}}));
        log.user("5", "<command-name>/compact</command-name>");
        log.user("6", "<local-command-stdout>Compacted</local-command-stdout>");
        log.says("7", "end_turn").user("8", "two");
        assert_eq!(log.turns(), ["one Completed: ", "two Open: "]);
    }

    #[test]
    fn commands_are_prompts_once_the_model_answers_them() {
        let mut log = Log::default();
        log.user("1", "one").says("2", "end_turn").user("3", "<command-name>/model</command-name>");
        assert_eq!(log.turns().len(), 1);
        log.user("4", "<local-command-stdout>Set</local-command-stdout>").says("5", "end_turn");
        assert_eq!(log.turns().len(), 1);
        log.user("6", "<command-name>/fix</command-name><command-args>it</command-args>");
        log.row("user", "7", &json!({"isMeta": true, "message": {"content": "Fix this: it"}}));
        log.writes("a", "/w/a").result("a", false, "ok").says("8", "end_turn");
        log.user("9", "<bash-input>touch x</bash-input>");
        log.user("10", "<bash-stdout></bash-stdout><bash-stderr></bash-stderr>");
        log.says("11", "end_turn").user("12", "<task-notification>done").writes("b", "/w/b");
        log.result("b", false, "ok");
        assert_eq!(
            log.turns(),
            ["one Completed: ", "/fix it Completed: /w/a", "!touch x Completed: /w/b"]
        );
        assert_eq!(log.transcript().turns[2].commands[0].call.command, "touch x");
    }

    #[test]
    fn a_side_chain_belongs_to_the_turn_that_it_runs_in() {
        let mut log = Log::default();
        log.user("1", "one").calls("t", "Task", &json!({"prompt": "sub"}));
        let side = |content: Value| json!({"isSidechain": true, "message": {"content": content}});
        log.last = None;
        log.row("user", "s1", &side(json!("sub")));
        let call = json!([{"type": "tool_use", "id": "w", "name": "Write", "input": {"file_path": "/w/s", "content": ""}}]);
        log.row("assistant", "s2", &side(call));
        let result = json!([{"type": "tool_result", "tool_use_id": "w", "content": "ok"}]);
        log.row("user", "s3", &side(result));
        log.last = Some("t".into());
        log.result("t", false, "done").says("2", "end_turn");
        assert_eq!(log.turns(), ["one Completed: /w/s"]);
    }

    #[test]
    fn an_agents_own_log_is_a_conversation() {
        let mut log = Log::default();
        log.row(
            "user",
            "1",
            &json!({"isSidechain": true, "agentId": "g", "message": {"content": "sub"}}),
        );
        assert_eq!(log.turns(), ["sub Open: "]);
        let header = log.transcript().header;
        assert_eq!((header.id.as_deref(), header.parent.as_deref()), (Some("g"), Some("s")));
        assert_eq!(header.is_subagent, Some(true));
    }

    #[test]
    fn copies_of_a_record_count_once() {
        let mut log = Log::default();
        log.user("1", "one").writes("a", "/w/a").result("a", false, "ok");
        let copies = log.rows.clone();
        log.rows.extend(copies);
        assert_eq!(log.turns(), ["one Open: /w/a"]);
    }

    #[test]
    fn commands_and_deliverables() {
        let mut log = Log::default();
        log.user("1", "one").calls("c", "Bash", &json!({"command": "make"}));
        log.result("c", true, "Exit code 2\nno rule");
        log.calls("p", "mcp__handback__present", &json!({"files": [{"path": "a.html"}]}));
        log.result("p", false, "Presented");
        let turn = &log.transcript().turns[0];
        let command = &turn.commands[0];
        assert_eq!((command.exit_code, command.outcome), (Some(2), CommandOutcome::Failed));
        assert!(command.settled && command.call.is_shell && turn.ran_shell());
        assert_eq!(turn.presented[0].path, "a.html");
    }

    #[test]
    fn backups_stand_before_the_edit_that_they_were_made_for() {
        let mut log = Log::default();
        let backup = |name: &str, path: &str| {
            format!(
                r#"{{"type":"file-history-delta","snapshotMessageId":"{name}","trackingPath":"{path}","backup":{{"backupFileName":null}}}}"#
            )
        };
        log.user("1", "one").writes("a", "/w/a").plain(&backup("1", "a"));
        log.result("a", false, "ok").plain(&backup("1", "a"));
        log.writes("b", "/w/b").result("b", false, "ok").plain(&backup("1", "/w/b"));
        let snapshot = r#"{"type":"file-history-snapshot","snapshot":{"messageId":"2","trackedFileBackups":{"a":{"backupFileName":null}}}}"#;
        log.plain(snapshot).user("2", "two").plain(snapshot);
        let turns = log.transcript().turns;
        let known = |turn: usize| -> Vec<(usize, &str)> {
            turns[turn].known_texts.iter().map(|(at, text)| (*at, text.path.as_str())).collect()
        };
        assert_eq!(known(0), [(0, "/w/a")]);
        assert_eq!(known(1), [(0, "/w/a")]);
    }

    #[test]
    fn several_edits_in_one_record_are_told_apart() {
        let mut log = Log::default();
        let call = |id: &str, path: &str| json!({"type": "tool_use", "id": id, "name": "Write", "input": {"file_path": path, "content": path}});
        log.user("1", "one");
        log.row(
            "assistant",
            "2",
            &json!({"message": {"content": [call("a", "/w/a"), call("b", "/w/b")]}}),
        );
        log.result("b", false, "File created successfully at: /w/b").result("a", true, "no");
        log.row(
            "assistant",
            "3",
            &json!({"message": {"content": [call("c", "/w/c"), call("d", "/w/d")]}}),
        );
        let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
        log.row("user", "4", &json!({"message": {"content": [result("c"), result("d")]}}));
        let edits = log.transcript().turns.remove(0).edits;
        assert_eq!(
            (edits[0].outcome, edits[1].outcome),
            (EditOutcome::Failed, EditOutcome::Applied)
        );
        let written = |index: usize| match &edits[index].body {
            EditSource::Kept(body) => body.after.clone(),
            EditSource::InLog { call, result } => {
                let row = |place: Place| log.rows[place.line as usize - 1].as_str();
                edits::from_rows(row(*call), result.map(row), None).after
            }
        };
        let paths: Vec<_> = edits.iter().map(|edit| Some(edit.path.clone())).collect();
        assert_eq!((0..4).map(written).collect::<Vec<_>>(), paths);
    }

    #[test]
    fn a_title_counts_when_it_is_of_this_conversation() {
        let mut log = Log::default();
        log.plain(r#"{"type":"summary","summary":"Of another","leafUuid":"x"}"#);
        log.plain(r#"{"type":"summary","summary":"Of this","leafUuid":"1"}"#);
        assert_eq!(log.transcript().header.title, None);
        log.user("1", "one");
        assert_eq!(log.transcript().header.title.as_deref(), Some("Of this"));
        log.plain(r#"{"type":"custom-title","customTitle":"Mine"}"#);
        log.plain(r#"{"type":"ai-title","aiTitle":"Later"}"#);
        assert_eq!(log.transcript().header.title.as_deref(), Some("Mine"));
    }

    #[test]
    fn broken_rows_cost_themselves() {
        let mut log = Log::default();
        log.user("1", "one").plain("{\"type\":").plain("[1]").plain("").plain("\u{feff}null");
        log.plain(r#"{"type":7,"uuid":[],"message":"x","parentUuid":{}}"#);
        log.plain(r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#);
        log.plain(r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":1}]}}"#);
        log.plain(r#"{"type":"file-history-snapshot","snapshot":[1]}"#);
        log.writes("a", "/w/a").result("a", false, "ok");
        assert_eq!(log.turns(), ["one Open: /w/a"]);
        let damages = log.out().damages;
        assert_eq!(damages.iter().map(|d| d.line.unwrap()).collect::<Vec<_>>(), [2, 3, 5]);
        assert!(damages.iter().all(|d| !d.message.contains('\n')));
    }

    #[test]
    fn one_record_of_two_glued_ones_is_not_lost() {
        let mut log = Log::default();
        log.user("1", "one").user("2", "two").user("3", "three");
        let glued = log.rows.split_off(1).join("");
        log.plain(&glued);
        assert_eq!(log.turns().len(), 3);
    }

    #[test]
    fn a_change_without_its_prompt_is_still_a_change() {
        let mut log = Log { last: Some("lost".into()), ..Log::default() };
        log.says("1", "end_turn").writes("a", "/w/a").result("a", false, "ok");
        assert_eq!(log.turns(), [" Open: /w/a"]);
    }
}
