//! The logs of the sub-agents of a Claude Code session.
//!
//! Since 2.1 they stand in `<session>/subagents/` beside the log, each with a `.meta.json` that names
//! the call; 2.0 has them in the log's own folder, among those of other sessions. In 1.0 they stand
//! in the log itself. The result of the call names the sub-agent; until then (or for want of the
//! name) it is the call before which it did not begin.

use super::calls::ToolResult;
use crate::log::companions::latest_call;
use crate::log::timestamp::millis;
use crate::log::{Companion, head, lazy};
use crate::session::event::{Delegation, LogEvent};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A sub-agent is called.
pub(super) fn called(turn: u32, call_id: &str, at: Option<i64>) -> LogEvent {
    let call_id = call_id.to_owned();
    LogEvent::Delegated(Delegation { turn, call_id, at, ..Delegation::default() })
}

/// The call of a sub-agent has its result: it is done, or goes on in the background.
pub(super) fn settled(turn: u32, result: &ToolResult<'_>) -> LogEvent {
    let (call_id, agent) = (result.id.clone(), result.agent());
    LogEvent::Delegated(Delegation { turn, call_id, agent, at: None, is_settled: true })
}

/// The sub-agents' logs that are there.
pub(super) fn logs(path: &Path, calls: &[Delegation]) -> Vec<Companion> {
    let own = head::files(&path.with_extension("").join("subagents"), "jsonl");
    let own = own.into_iter().filter_map(|log| own_log(log, calls));
    let beside = path.parent().map(|folder| beside(folder, path, calls)).unwrap_or_default();
    own.chain(beside).collect()
}

fn id(log: &Path) -> Option<&str> {
    log.file_stem()?.to_str()?.strip_prefix("agent-")
}

/// A log in the session's own folder.
fn own_log(log: PathBuf, calls: &[Delegation]) -> Option<Companion> {
    let agent = id(&log)?.to_owned();
    let named = calls.iter().find(|call| call.agent.as_deref() == Some(agent.as_str()));
    let call = named.or_else(|| {
        let meta = head::text(&log.with_extension("meta.json"));
        let meta = lazy::objects(&meta).0.into_iter().next();
        let caller = meta.as_ref().and_then(|meta| meta.string("toolUseId"))?;
        // A sub-agent's own calls have its id before theirs.
        let is_it = |call: &&Delegation| {
            call.call_id == caller || call.call_id.split('/').nth(1) == Some(caller.as_str())
        };
        calls.iter().find(is_it)
    });
    let turn = match call {
        Some(call) => call.turn,
        None => latest_call(calls, Some(began(&log)?))?.turn,
    };
    Some(Companion { path: log, agent, turn })
}

/// The logs in the folder of the session's log: those that a result names, and while a call runs,
/// those of this session that have changed since.
fn beside(folder: &Path, path: &Path, calls: &[Delegation]) -> Vec<Companion> {
    let named = calls.iter().filter_map(|call| {
        let agent = call.agent.clone().filter(|agent| !agent.contains('/'))?;
        let log = folder.join(format!("agent-{agent}.jsonl"));
        log.is_file().then_some(Companion { path: log, agent, turn: call.turn })
    });
    let mut found: Vec<_> = named.collect();
    let running = calls.iter().filter(|call| !call.is_settled).filter_map(|call| call.at).min();
    let Some(since) = running.and_then(|at| u64::try_from(at).ok()) else { return found };
    let since = UNIX_EPOCH + Duration::from_millis(since);
    for log in head::files(folder, "jsonl") {
        let Some(agent) = id(&log) else { continue };
        let changed = fs::metadata(&log).and_then(|data| data.modified());
        if changed.is_ok_and(|at| at >= since)
            && found.iter().all(|known| known.path != log)
            && is_of(&log, path)
            && let Some(call) = latest_call(calls, began(&log))
        {
            found.push(Companion { agent: agent.to_owned(), turn: call.turn, path: log });
        }
    }
    found
}

/// Whether a sub-agent's log names the session of the log at `path`.
fn is_of(log: &Path, path: &Path) -> bool {
    let session = head::of_first(log, |row| row.string("sessionId"));
    session.is_some_and(|session| path.file_stem().is_some_and(|stem| *stem == *session))
}

/// When a log's first row was written.
fn began(log: &Path) -> Option<i64> {
    head::of_first(log, |row| millis(row.get("timestamp")?))
}
