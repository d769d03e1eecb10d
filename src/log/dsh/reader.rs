//! Rows of a dsh log in order → neutral events. Rows that tell nothing are passed over by their first bytes.

use super::body;
use super::row::{
    CallData, DispatchData, EndSeedData, HeaderRow, Message, PresentedData, ResultData, Row,
    TitleData, ToolOutput, TurnData, milliseconds,
};
use super::sequence::{self, Sequence};
use super::tool::{self, ToolKind};
use crate::log::row::lossy;
use crate::log::{LogReader, Output, Stretch, rows};
use crate::session::event::{
    Command, Delegation, Edit, EditOutcome, EditSource, Header, KnownText, KnownTextSource,
    LogEvent, Place, Stamp,
};
use crate::session::{Damage, TreePair, TurnState};
use serde_json::Value;
use std::collections::HashMap;

/// What is remembered between rows.
#[derive(Debug, Default)]
pub(super) struct Reader {
    sequence: Sequence,
    /// The turn of the last `turn/start`; user messages do not name theirs.
    turn: Option<u32>,
    /// When the row in hand was written.
    at: Option<i64>,
    /// v0 and v1: the events below this number came from the parent session.
    seed: Option<u64>,
    /// Calls without a result yet.
    open: HashMap<String, OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    turn: u32,
    kind: ToolKind,
}

impl LogReader for Reader {
    fn line(&mut self, place: Place, line: &[u8], out: &mut Output) {
        if self.sequence.skip(line) {
            return;
        }
        match serde_json::from_slice::<Row<'_>>(line) {
            Ok(row) => self.row(place, &row, line, out),
            Err(_) => self.pieces(place, line, out),
        }
    }

    fn splits_rows(&self) -> bool {
        true
    }

    fn pass(&mut self, place: Place, stretch: &Stretch, out: &mut Output) {
        self.number(place, stretch.first, stretch.next, out);
    }

    fn gap(&mut self) {
        self.sequence.forget();
    }

    fn caught_up(&mut self, out: &mut Output) {
        if let Some(next) = self.sequence.next() {
            self.leave_seed(next, out);
        }
    }
}

impl Reader {
    /// A line that is not one row of the known envelope: several rows, a torn one, or no JSON.
    fn pieces(&mut self, place: Place, line: &[u8], out: &mut Output) {
        for (place, piece) in rows::split(place, line) {
            if sequence::is_passed_over(piece) && self.sequence.skip(piece) {
                continue;
            }
            let text = lossy(piece);
            match serde_json::from_str::<Row<'_>>(&text) {
                Ok(row) => self.row(place, &row, text.as_bytes(), out),
                // JSON, but no event: nothing that a review could miss.
                Err(error) if error.is_data() => {}
                Err(error) => {
                    self.sequence.forget();
                    out.damages.push(damage(place, &not_json(&error)));
                    continue;
                }
            }
            if matches!(text, std::borrow::Cow::Owned(_)) {
                out.damages.push(damage(place, "not UTF-8: the broken bytes are shown as U+FFFD"));
            }
        }
    }

    fn row(&mut self, place: Place, row: &Row<'_>, whole: &[u8], out: &mut Output) {
        if row.kind == "session" {
            self.header(place, whole, out);
            return;
        }
        if let Some((seq, n)) = row.numbers() {
            self.number(place, seq, seq.saturating_add(n), out);
        }
        if row.replaces() {
            return;
        }
        self.event(place, row, out);
    }

    /// Rows came that stand for the events from `first` to just before `next`.
    fn number(&mut self, place: Place, first: u64, next: u64, out: &mut Output) {
        if let Some(wrong) = self.sequence.arrive(first, next) {
            out.damages.push(damage(place, &wrong));
        }
        self.leave_seed(first, out);
    }

    fn event(&mut self, place: Place, row: &Row<'_>, out: &mut Output) -> Option<()> {
        self.at = row.at();
        match &*row.kind {
            "turn/start" => {
                let turn = row.data::<TurnData>().filter(|data| data.turn > 0)?.turn;
                self.turn = Some(turn);
                out.events.push(LogEvent::TurnStart { turn, at: row.at() });
            }
            "turn/end" => {
                let data = row.data::<TurnData>().filter(|data| data.turn > 0)?;
                let state = turn_state(&data.reason);
                out.events.push(LogEvent::TurnEnd { turn: data.turn, at: row.at(), state });
            }
            "user/message" => {
                let message: Message<'_> = row.data()?;
                let turn = self.turn?;
                if message.source.kind.as_deref() == Some("user") {
                    out.events.push(LogEvent::Prompt { turn, text: message.text() });
                }
            }
            "tool/call" => self.call(place, row.data()?, out),
            "tool/result" => self.result(place, &row.data()?, out),
            "tool/code-dispatch-start" | "tool/ptc-dispatch-start" => {
                self.dispatched(place, &row.data()?, out);
            }
            "tool/code-dispatch" | "tool/ptc-dispatch" => {
                let data: DispatchData<'_> = row.data()?;
                if !self.open.contains_key(&data.sub_call_id) {
                    self.dispatched(place, &data, out);
                }
                let output = ToolOutput {
                    call_id: Some(data.sub_call_id),
                    content: data.content,
                    failed: data.is_error.unwrap_or(false),
                };
                self.settle(place, &output, &Value::Null, None, out);
            }
            "deliverables/presented" => {
                let data: PresentedData = row.data()?;
                let (turn, call_id) = (data.turn, data.call_id.clone());
                let files = data.entries();
                if turn > 0 && !call_id.is_empty() && !files.is_empty() {
                    out.events.push(LogEvent::Presented { turn, call_id, at: row.at(), files });
                }
            }
            "workspace/changes" => {
                let data = row.data::<TurnData>().filter(|data| data.turn > 0)?;
                let turn = data.turn;
                out.events.push(LogEvent::ChangesNoticed { turn });
                // The host keeps the tree ids to itself; a log that does tell them is believed.
                if let Some(TreePair { before, after }) = data.trees() {
                    let (before, after) = (Some(before), Some(after));
                    out.events.push(LogEvent::Trees { turn, before, after, git_dir: None });
                }
            }
            "session/title" => {
                let title = Some(row.data::<TitleData>()?.title);
                out.events.push(LogEvent::Header(Header { title, ..Header::default() }));
            }
            // A resumed session has this row too, but without `inherited`.
            "session/end-seed" if row.data::<EndSeedData>()?.inherited == Value::Bool(true) => {
                out.events.push(LogEvent::Inherited);
            }
            _ => {}
        }
        Some(())
    }

    fn header(&mut self, place: Place, row: &[u8], out: &mut Output) {
        let Ok(header) = serde_json::from_slice::<HeaderRow>(row) else { return };
        self.sequence.begin(place);
        self.seed = header.seed_length.as_u64().filter(|length| *length > 0);
        let delegated = header.delegation_depth.as_u64().is_some_and(|depth| depth > 0);
        out.events.push(LogEvent::Header(Header {
            id: header.id,
            cwd: header.cwd,
            created_at: milliseconds(&header.created_at),
            parent: header.parent_session,
            is_subagent: Some(header.origin == "subagent" || delegated),
            ..Header::default()
        }));
    }

    /// Before the first event of a session's own, all turns so far are the parent's.
    fn leave_seed(&mut self, seq: u64, out: &mut Output) {
        if self.seed.is_some_and(|length| seq >= length) {
            self.seed = None;
            out.events.push(LogEvent::Inherited);
        }
    }

    fn call(&mut self, place: Place, call: CallData<'_>, out: &mut Output) {
        if call.turn > 0 {
            let kind = tool::kind(&call.name, call.arguments);
            self.begin(place, call.turn, call.call_id, call.name, kind, out);
        }
    }

    fn dispatched(&mut self, place: Place, call: &DispatchData<'_>, out: &mut Output) {
        // These rows name no turn; the program that made the call has one.
        let root = self.open.get(&call.root_call_id).map(|root| root.turn);
        if let Some(turn) = root.or(self.turn) {
            let kind = tool::kind(&call.name, call.arguments);
            self.begin(place, turn, call.sub_call_id.clone(), call.name.clone(), kind, out);
        }
    }

    fn begin(
        &mut self,
        place: Place,
        turn: u32,
        call_id: String,
        tool: String,
        kind: ToolKind,
        out: &mut Output,
    ) {
        match &kind {
            ToolKind::Edit(path) => out.events.push(LogEvent::Edit(Edit {
                turn,
                call_id: call_id.clone(),
                tool,
                path: path.clone(),
                outcome: EditOutcome::Pending,
                body: EditSource::InLog { call: place, result: None },
                stamp: Stamp::at(self.at),
            })),
            ToolKind::Command { line, is_shell } => out.events.push(LogEvent::Command(Command {
                turn,
                call_id: call_id.clone(),
                command: line.clone(),
                is_shell: *is_shell,
                stamp: Stamp::at(self.at),
            })),
            ToolKind::Read | ToolKind::Other => {}
        }
        if kind.may_delegate() {
            let (call_id, at) = (call_id.clone(), self.at);
            let called = Delegation { turn, call_id, at, ..Delegation::default() };
            out.events.push(LogEvent::Delegated(called));
        }
        self.open.insert(call_id, OpenCall { turn, kind });
    }

    fn result(&mut self, place: Place, data: &ResultData<'_>, out: &mut Output) {
        let output = data.message.result();
        let known = output.call_id.as_ref().is_some_and(|id| self.open.contains_key(id));
        if known {
            let read = if output.failed { None } else { data.meta };
            self.settle(place, &output, &data.error, read, out);
        } else if let Some(turn) = data.turn.filter(|turn| *turn > 0) {
            out.events.push(LogEvent::ToolSettled { turn });
        }
    }

    fn settle(
        &mut self,
        place: Place,
        output: &ToolOutput<'_>,
        error: &Value,
        meta: Option<&serde_json::value::RawValue>,
        out: &mut Output,
    ) {
        let Some(call_id) = output.call_id.clone() else { return };
        let Some(OpenCall { turn, kind }) = self.open.remove(&call_id) else { return };
        if kind.may_delegate() {
            let (call_id, is_settled) = (call_id.clone(), true);
            let settled = Delegation { turn, call_id, is_settled, ..Delegation::default() };
            out.events.push(LogEvent::Delegated(settled));
        }
        out.events.push(match kind {
            ToolKind::Edit(_) => LogEvent::EditSettled {
                turn,
                call_id,
                outcome: tool::edit_outcome(output, error),
                result: Some(place),
                body: None,
            },
            ToolKind::Command { .. } => {
                let (exit_code, outcome) = tool::command_outcome(output, error);
                LogEvent::CommandSettled {
                    turn,
                    call_id,
                    exit_code,
                    outcome,
                    result: Some(place),
                    output: None,
                }
            }
            ToolKind::Read | ToolKind::Other => LogEvent::ToolSettled { turn },
        });
        if kind == ToolKind::Read
            && let Some(path) = body::wholly_read(meta)
        {
            let text = KnownTextSource::InLog(place);
            out.events.push(LogEvent::KnownText(KnownText {
                turn,
                path,
                text,
                stamp: Stamp::at(self.at),
            }));
        }
    }
}

/// The reason of a `turn/end`. The set is open: an unknown reason is not a success, so that
/// somebody looks.
fn turn_state(reason: &Value) -> TurnState {
    match reason["kind"].as_str().or_else(|| reason.as_str()) {
        Some("completed") | None => TurnState::Completed,
        Some("aborted" | "interrupted" | "forked") => TurnState::Interrupted,
        Some("blocked") => TurnState::Blocked,
        Some(_) => TurnState::Failed,
    }
}

fn not_json(error: &serde_json::Error) -> String {
    if error.is_eof() { "the row is cut off".to_owned() } else { format!("not JSON: {error}") }
}

fn damage(place: Place, message: &str) -> Damage {
    Damage {
        line: (place.line > 0).then_some(place.line),
        offset: Some(place.offset),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::CommandOutcome;
    use crate::session::transcript::{Transcript, TurnRecord};

    const HEADER: &str =
        r#"{"type":"session","version":0,"id":"s","createdAt":7,"cwd":"/w","delegationDepth":0}"#;

    fn tell(lines: &[&str]) -> (Transcript, Vec<String>) {
        let mut reader = Reader::default();
        let mut out = Output::default();
        for (line, number) in lines.iter().zip(1..) {
            let place = Place { line: number, len: line.len() as u64, ..Place::default() };
            reader.line(place, line.as_bytes(), &mut out);
        }
        reader.caught_up(&mut out);
        let mut transcript = Transcript::default();
        out.events.into_iter().for_each(|event| transcript.apply(event));
        let damages = out.damages.iter().map(|d| format!("{}: {}", d.line.unwrap(), d.message));
        (transcript, damages.collect())
    }

    fn event(kind: &str, seq: u32, data: &str) -> String {
        format!(r#"{{"type":"{kind}","seq":{seq},"time":9,"data":{data}}}"#)
    }

    /// A log of these events behind a header, and what it tells.
    fn events(rows: &[(&str, &str)]) -> Transcript {
        let rows = rows.iter().zip(0..).map(|((kind, data), seq)| event(kind, seq, data));
        let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(rows).collect();
        let (transcript, damages) = tell(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(damages, [""; 0]);
        transcript
    }

    const START: (&str, &str) = ("turn/start", r#"{"turn":1}"#);

    fn call(name: &str, arguments: &str) -> String {
        let arguments = serde_json::to_string(arguments).unwrap();
        format!(r#"{{"turn":1,"step":1,"callId":"c","name":"{name}","arguments":{arguments}}}"#)
    }

    fn wrapped(failed: bool, text: &str, more: &str) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(
            r#"{{"turn":1,"step":1,"message":{{"source":{{"kind":"tool","callId":"c"}},"content":[{{"type":"tool-result","toolCallId":"c","content":[{{"type":"text","text":{text}}}],"isError":{failed}}}],"role":"user"}}{more}}}"#
        )
    }

    fn flat(failed: bool, text: &str) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(
            r#"{{"turn":1,"step":1,"message":{{"role":"tool","source":{{"kind":"tool","callId":"c"}},"toolCallId":"c","isError":{failed},"content":[{{"type":"text","text":{text}}}]}}}}"#
        )
    }

    /// The first turn after one call with its result.
    fn called(name: &str, arguments: &str, result: &str) -> TurnRecord {
        let call = call(name, arguments);
        events(&[START, ("tool/call", &call), ("tool/result", result)]).turns[0].clone()
    }

    #[test]
    fn turns_end_by_their_reason() {
        let cases = [
            ("completed", TurnState::Completed),
            ("aborted", TurnState::Interrupted),
            ("interrupted", TurnState::Interrupted),
            ("forked", TurnState::Interrupted),
            ("error", TurnState::Failed),
            ("max-tokens", TurnState::Failed),
            ("blocked", TurnState::Blocked),
            ("something-new", TurnState::Failed),
        ];
        for (kind, state) in cases {
            let end = format!(r#"{{"turn":1,"reason":{{"kind":"{kind}"}}}}"#);
            let told = events(&[START, ("turn/end", &end)]);
            assert_eq!(told.turns[0].state, state, "{kind}");
        }
        assert_eq!(events(&[START]).turns[0].state, TurnState::Open);
    }

    #[test]
    fn only_a_person_prompts_and_the_first_message_counts() {
        let message = |kind: &str, text: &str| {
            format!(
                r#"{{"source":{{"kind":"{kind}"}},"content":[{{"type":"text","text":"{text}"}},{{"type":"image"}},{{"type":"text","text":"more"}}]}}"#
            )
        };
        let (injected, v4) = (message("plugin", "a"), message("runtime-context", "b"));
        let (first, steering) = (message("user", "c"), message("user", "d"));
        let told = events(&[
            START,
            ("user/message", &injected),
            ("user/message", &v4),
            ("user/message", &first),
            ("user/message", &steering),
        ]);
        assert_eq!(told.turns[0].prompt, "c\nmore");
    }

    #[test]
    fn both_shapes_of_a_result_settle_an_edit() {
        let write = r#"{"file_path":"a.txt","content":"x"}"#;
        for (result, outcome) in [
            (wrapped(false, "ok", ""), EditOutcome::Applied),
            (flat(false, "ok"), EditOutcome::Applied),
            (
                wrapped(true, "Error: no", r#","error":{"code":"FS_EDIT_NOT_FOUND"}"#),
                EditOutcome::Failed,
            ),
            (flat(true, "Error: no"), EditOutcome::Failed),
            (
                wrapped(true, "Error: x", r#","error":{"code":"FS_SANDBOX_DENIED"}"#),
                EditOutcome::Denied,
            ),
            (flat(true, "Error: the user rejected tool \"write\""), EditOutcome::Denied),
        ] {
            let turn = called("write", write, &result);
            assert_eq!(turn.edits.len(), 1);
            assert_eq!(
                (turn.edits[0].path.as_str(), turn.edits[0].outcome),
                ("a.txt", outcome),
                "{result}"
            );
            assert!(matches!(turn.edits[0].body, EditSource::InLog { result: Some(_), .. }));
        }
    }

    #[test]
    fn a_call_with_bad_arguments_is_no_edit() {
        for arguments in ["{not json", "[]", r#"{"file_path":3}"#, r#"{"content":"x"}"#] {
            let turn = called("write", arguments, &flat(true, "Error: invalid arguments"));
            assert!(turn.edits.is_empty() && turn.tool_settled, "{arguments}");
        }
    }

    #[test]
    fn the_editor_edits_but_for_its_view() {
        let edits = |command: &str| {
            let arguments = format!(r#"{{"command":"{command}","path":"/w/a"}}"#);
            called("str_replace_editor", &arguments, &flat(false, "ok")).edits.len()
        };
        assert_eq!(["create", "str_replace", "insert", "view"].map(edits), [1, 1, 1, 0]);
    }

    #[test]
    fn a_shell_tells_its_exit_where_it_does() {
        let bash = r#"{"command":"make test"}"#;
        let turn =
            called("bash", bash, &flat(false, "out\n[shell exited: code 9]\nThe shell was reset."));
        let command = &turn.commands[0];
        assert_eq!(command.call.command, "make test");
        assert_eq!((command.exit_code, command.outcome), (Some(9), CommandOutcome::Failed));
        let turn = called("bash", bash, &flat(false, "out"));
        assert_eq!(
            (turn.commands[0].exit_code, turn.commands[0].outcome),
            (None, CommandOutcome::Unknown)
        );
        assert!(turn.ran_shell() && turn.commands[0].settled);
    }

    #[test]
    fn calls_of_a_program_belong_to_its_turn() {
        for name in ["code", "ptc"] {
            let (start, end) =
                (format!("tool/{name}-dispatch-start"), format!("tool/{name}-dispatch"));
            let sub = r#""rootCallId":"c","parentCallId":"c","subCallId":"c:code:1","name":"write","arguments":{"file_path":"a","content":"x"}"#;
            let (begun, settled) =
                (format!("{{{sub}}}"), format!(r#"{{{sub},"isError":false,"content":[]}}"#));
            let program = call("run_code", r#"{"code":"…"}"#);
            let told = events(&[
                START,
                ("tool/call", &program),
                ("turn/start", r#"{"turn":2}"#),
                (&start, &begun),
                (&end, &settled),
            ]);
            let edit = &told.turns[0].edits[0];
            assert_eq!((edit.call_id.as_str(), edit.outcome), ("c:code:1", EditOutcome::Applied));
            assert_eq!(told.turns[0].commands[0].call.command, "run_code");
        }
    }

    #[test]
    fn deliverables_skip_malformed_entries() {
        let told = events(&[
            START,
            (
                "deliverables/presented",
                r#"{"turn":1,"callId":"p","files":[{"path":" "},{"path":"a","description":3},{"path":"b","description":"B"},7,{"path":"c"}]}"#,
            ),
            ("deliverables/presented", r#"{"turn":0,"callId":"p","files":[{"path":"x"}]}"#),
            ("deliverables/presented", r#"{"turn":1,"callId":"","files":[{"path":"x"}]}"#),
            ("deliverables/presented", r#"{"turn":1,"callId":"p","files":{}}"#),
        ]);
        let seen: Vec<_> = told.turns[0].presented.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(seen, ["b", "c"]);
    }

    #[test]
    fn changes_belong_to_the_turn_that_they_name() {
        let told = events(&[
            START,
            ("turn/start", r#"{"turn":2}"#),
            ("workspace/changes", r#"{"turn":1}"#),
        ]);
        assert_eq!(told.turns.iter().map(|t| t.changes_noticed).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn the_last_title_wins() {
        let told =
            events(&[("session/title", r#"{"title":"a"}"#), ("session/title", r#"{"title":"b"}"#)]);
        assert_eq!(told.header.title.as_deref(), Some("b"));
    }

    #[test]
    fn a_fork_knows_which_turns_are_its_parents() {
        let inherited =
            |told: &Transcript| told.turns.iter().map(|t| t.inherited).collect::<Vec<_>>();
        let header = r#"{"type":"session","version":1,"id":"s","parentSession":"p","seedLength":2,"delegationDepth":0}"#;
        let rows = [
            header.to_owned(),
            event("turn/start", 0, r#"{"turn":1}"#),
            event("turn/end", 1, r#"{"turn":1}"#),
            event("turn/start", 2, r#"{"turn":2}"#),
        ];
        let lines: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert_eq!(inherited(&tell(&lines).0), [true, false]);
        assert_eq!(inherited(&tell(&lines[..3]).0), [true]);
        assert_eq!(inherited(&tell(&lines[..2]).0), [false]);
        let told = events(&[
            START,
            ("session/end-seed", r#"{"inherited":true}"#),
            ("turn/start", r#"{"turn":2}"#),
            ("session/end-seed", "{}"),
        ]);
        assert_eq!(inherited(&told), [true, false]);
    }

    #[test]
    fn a_delegate_is_known_by_its_header() {
        let (told, _) = tell(&[
            r#"{"type":"session","version":4,"id":"s","isSeeded":false,"origin":"subagent","delegationDepth":1,"parentSession":"p"}"#,
        ]);
        assert_eq!(
            (told.header.is_subagent, told.header.parent.as_deref()),
            (Some(true), Some("p"))
        );
    }

    #[test]
    fn a_pruned_result_changes_nothing() {
        let write = call("write", r#"{"file_path":"a","content":"x"}"#);
        let mut lines = vec![
            HEADER.to_owned(),
            event("turn/start", 0, r#"{"turn":1}"#),
            event("tool/call", 1, &write),
            event("tool/result", 2, &flat(false, "ok")),
        ];
        let pruned = event("tool/result", 3, &flat(true, "[pruned]"));
        lines.push(
            pruned.replace(r#""time""#, r#""surfaceOp":{"op":"replace","start":1,"end":2},"time""#),
        );
        let (told, damages) = tell(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((told.turns[0].edits[0].outcome, damages.len()), (EditOutcome::Applied, 0));
    }

    #[test]
    fn damage_costs_only_itself_and_is_told_once() {
        let start = event("turn/start", 0, r#"{"turn":1}"#);
        let end = event("turn/end", 2, r#"{"turn":1,"reason":{"kind":"completed"}}"#);
        let chunk = event(
            "assistant/chunk",
            1,
            r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"x"}}"#,
        );
        // A broken line in place of a row: the missing number is no second damage.
        let (told, damages) = tell(&[HEADER, &start, "{broken", &end]);
        assert_eq!(told.turns[0].state, TurnState::Completed);
        assert_eq!(damages.len(), 1, "{damages:?}");
        // A row that is gone.
        let (_, damages) = tell(&[HEADER, &start, &end]);
        assert_eq!(damages, ["3: rows are missing or doubled: expected seq 1, got 2"]);
        // Rows glued: nothing is lost. Behind a torn chunk: only that one.
        let glued = format!("{chunk}{end}");
        let (told, damages) = tell(&[HEADER, &start, &glued]);
        assert_eq!((told.turns[0].state, damages.len()), (TurnState::Completed, 0));
        for cut in 1..chunk.len() {
            let torn = format!("{}{end}", &chunk[..cut]);
            let (told, damages) = tell(&[HEADER, &start, &torn]);
            assert_eq!(
                (told.turns[0].state, damages.len()),
                (TurnState::Completed, 1),
                "{torn} {damages:?}"
            );
        }
        // Zeros of a crash, blank lines, CRLF.
        let zeros = format!("\0\0\0{end}");
        let (told, damages) = tell(&[HEADER, &start, &format!("{chunk}\r"), "", "\r", &zeros]);
        assert_eq!((told.turns[0].state, damages.len()), (TurnState::Completed, 1), "{damages:?}");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_shown_and_told_of() {
        let mut line = event("session/title", 0, r#"{"title":"a?b"}"#).into_bytes();
        let at = line.iter().position(|b| *b == b'?').unwrap();
        line[at] = 0xff;
        let mut out = Output::default();
        Reader::default().line(Place::default(), &line, &mut out);
        let LogEvent::Header(header) = &out.events[0] else { panic!() };
        assert_eq!(header.title.as_deref(), Some("a\u{fffd}b"));
        assert_eq!(out.damages.len(), 1);
    }

    #[test]
    fn key_order_and_unknown_rows_do_not_matter() {
        let (told, damages) = tell(&[
            HEADER,
            r#"{"data":{"turn":1},"time":9,"seq":0,"type":"turn/start","ignorable":true}"#,
            r#"{"seq":1,"type":"assistant/chunk","data":{}}"#,
            r#"{"data":{"dt":[1],"texts":["a","b"]},"seq0":2,"time0":1,"type":"text-chunks"}"#,
            r#"{"type":"future/thing","seq":4,"time":9,"data":[1],"ignorable":true}"#,
            r#"{"type":"turn/end","seq":5,"time":9,"data":"no shape"}"#,
            r#"{"type":3,"seq":6}"#,
            "7",
        ]);
        assert_eq!((told.turns.len(), damages), (1, Vec::<String>::new()));
    }

    #[test]
    fn a_whole_read_is_known_a_part_is_not() {
        let meta = |offset: u32, total: u32| {
            format!(
                r#","meta":{{"path":"a","offset":{offset},"lines":[{{"number":1,"text":"x"}}],"totalLines":{total}}}"#
            )
        };
        let read = |meta: &str| {
            called("read", r#"{"file_path":"a"}"#, &wrapped(false, "1: x", meta)).known_texts.len()
        };
        assert_eq!(read(&meta(1, 1)), 1);
        assert_eq!(read(&meta(1, 2)), 0);
        assert_eq!(read(&meta(2, 1)), 0);
        assert_eq!(read(r#","meta":{"path":"a","offset":1,"lines":7}"#), 0);
    }
}
