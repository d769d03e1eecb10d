//! Codex sub-agents: their calls in a rollout, and the rollouts of their own.
//!
//! A call of `spawn_agent` starts one. Its thread is named by the call's output (`agent_id`), by an
//! event, or by an item of the call's id; its rollout is `rollout-<time>-<thread>.jsonl`.

use super::base::find_rollout;
use super::calls::Call;
use super::reader::{CodexReader, Row};
use crate::log::loose::{owned, word};
use crate::log::{Companion, Output};
use crate::session::event::{Delegation, LogEvent};
use serde_json::Value;
use std::path::Path;

/// The rollouts of sub-agents that are there.
pub(super) fn logs(path: &Path, calls: &[Delegation]) -> Vec<Companion> {
    let found = calls.iter().filter_map(|call| {
        let agent = call.agent.clone()?;
        Some(Companion { path: find_rollout(&agent, path)?, agent, turn: call.turn })
    });
    found.collect()
}

impl CodexReader {
    /// A tool call, if it is one that starts a sub-agent.
    pub(super) fn spawn(&mut self, row: &Row<'_>, payload: &Value, out: &mut Output) {
        let name = word(&payload["name"]).unwrap_or_default();
        let is_spawn = name.rsplit('.').next() == Some("spawn_agent");
        let Some(call_id) = owned(&payload["call_id"]).filter(|_| is_spawn) else { return };
        let id = word(&payload["internal_chat_message_metadata_passthrough"]["turn_id"]);
        let turn = self.turn(id, row.at, out);
        self.calls.insert(call_id.clone(), Call::of_agent(turn));
        let called = Delegation { turn, call_id, at: row.at, ..Delegation::default() };
        out.events.push(LogEvent::Delegated(called));
    }

    /// The output of a call that started a sub-agent, or failed to.
    pub(super) fn spawned(turn: u32, payload: &Value, out: &mut Output) {
        let output = &payload["output"];
        let text = word(output).or_else(|| word(&output["content"])).unwrap_or_default();
        let told: Value = serde_json::from_str(text).unwrap_or_default();
        let agent = owned(&told["agent_id"]);
        let call_id = owned(&payload["call_id"]).unwrap_or_default();
        let settled = Delegation { turn, call_id, agent, at: None, is_settled: true };
        out.events.push(LogEvent::Delegated(settled));
    }

    /// An item or event that names the thread of a sub-agent.
    pub(super) fn agent_named(
        &mut self,
        row: &Row<'_>,
        (call_id, id): (&Value, Option<&str>),
        agent: &Value,
        out: &mut Output,
    ) {
        let (Some(call_id), Some(agent)) = (owned(call_id), owned(agent)) else { return };
        let known = self.calls.get(&call_id).map(|call| call.turn);
        let turn = known.unwrap_or_else(|| self.turn(id, row.at, out));
        let (agent, is_settled) = (Some(agent), true);
        let named = Delegation { turn, call_id, agent, at: row.at, is_settled };
        out.events.push(LogEvent::Delegated(named));
    }
}
