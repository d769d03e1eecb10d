//! Rows of a dsh log in order → neutral events. Rows that tell nothing are passed over by their first bytes.

use super::body;
use super::row::{
    CallData, DispatchData, EndSeedData, HeaderRow, Message, PresentedData, ResultData, Row,
    TitleData, ToolOutput, TurnData, milliseconds,
};
use super::sequence::{self, Sequence};
use super::tool::{self, ToolKind};
use crate::log::{LogReader, Output, rows};
use crate::session::event::{
    Command, Edit, EditOutcome, EditSource, Header, KnownText, KnownTextSource, LogEvent, Place,
};
use crate::session::{Damage, TurnState};
use serde_json::Value;
use std::collections::HashMap;

/// What is remembered between rows.
#[derive(Debug, Default)]
pub(super) struct Reader {
    sequence: Sequence,
    /// The turn of the last `turn/start`; user messages do not name theirs.
    turn: Option<u32>,
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
            let text = String::from_utf8_lossy(piece);
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
            if let Some(wrong) = self.sequence.arrive(seq, n) {
                out.damages.push(damage(place, &wrong));
            }
            self.leave_seed(seq, out);
        }
        if row.replaces() {
            return;
        }
        self.event(place, row, out);
    }

    fn event(&mut self, place: Place, row: &Row<'_>, out: &mut Output) -> Option<()> {
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
                let turn = row.data::<TurnData>().filter(|data| data.turn > 0)?.turn;
                out.events.push(LogEvent::ChangesNoticed { turn });
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
            })),
            ToolKind::Command { line, is_shell } => out.events.push(LogEvent::Command(Command {
                turn,
                call_id: call_id.clone(),
                command: line.clone(),
                is_shell: *is_shell,
            })),
            ToolKind::Read | ToolKind::Other => {}
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
            out.events.push(LogEvent::KnownText(KnownText { turn, path, text }));
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
