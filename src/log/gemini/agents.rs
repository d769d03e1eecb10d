//! The logs of the sub-agents of a Gemini CLI session: `chats/<session>/<sub-agent>.jsonl`.
//!
//! Nothing in the session's log names them: one belongs to the latest turn that called an agent
//! before it began.

use crate::log::companions::latest_call;
use crate::log::timestamp::millis;
use crate::log::{Companion, head};
use crate::session::event::Delegation;
use std::path::{Path, PathBuf};

/// The sub-agents' logs that are there.
pub(super) fn logs(path: &Path, calls: &[Delegation]) -> Vec<Companion> {
    let session = head::of_first(path, |header| header.string("sessionId"));
    let session = session.filter(|id| !id.is_empty() && !id.starts_with('.') && !id.contains('/'));
    let folder = path.parent().zip(session).map(|(chats, session)| chats.join(session));
    let logs = folder.map(|folder| head::files(&folder, "jsonl")).unwrap_or_default();
    logs.into_iter().filter_map(|log| of_turn(log, calls)).collect()
}

fn of_turn(log: PathBuf, calls: &[Delegation]) -> Option<Companion> {
    let began = head::of_first(&log, |header| Some(header.get("startTime").and_then(millis)))?;
    let turn = latest_call(calls, began)?.turn;
    let agent = log.file_stem()?.to_str()?.to_owned();
    Some(Companion { path: log, agent, turn })
}
