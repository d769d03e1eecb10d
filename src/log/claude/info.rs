//! What the records of a Claude Code log say of the session as a whole. There is no header: every
//! record carries it, and it may change on the way.

use crate::log::Output;
use crate::log::branches::Branches;
use crate::log::lazy::{Json, Object};
use crate::session::event::Header;
use std::collections::HashMap;

/// What is known of a session so far.
#[derive(Default)]
pub(super) struct Info {
    /// The first working directory; the agent may walk into others later.
    cwd: Option<String>,
    /// Titles by the last record of the conversation that they are of.
    titles: HashMap<String, String>,
    /// The title is one that a person gave: no other one takes its place.
    is_named: bool,
    /// A sub-agent's own log: what is a side chain elsewhere is the conversation here.
    is_subagent: Option<bool>,
}

impl Info {
    /// The working directory.
    pub(super) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Whether a record is of a sub-agent within the conversation.
    pub(super) fn is_side(&mut self, record: &Object<'_>) -> bool {
        let caller = record.get("parent_tool_use_id");
        let side = record.flag("isSidechain") || caller.is_some_and(|caller| !caller.is_null());
        // The first record tells whose log this is.
        let own_log = side && record.has("agentId");
        let is_subagent = *self.is_subagent.get_or_insert(own_log);
        side && !is_subagent
    }

    /// Takes what a record of the conversation says.
    pub(super) fn header(
        &mut self,
        record: &Object<'_>,
        at: Option<i64>,
        branches: &mut Branches,
        out: &mut Output,
    ) {
        // Nearly every record says what is known.
        let known = branches.header();
        let complete = known.cwd.is_some() && known.created_at.is_some();
        if complete
            && known.agent_version.is_some()
            && known.id.as_deref() == record.text("sessionId").as_deref()
        {
            return;
        }
        let string = |one: &str, other: &str| record.string(one).or_else(|| record.string(other));
        if self.cwd.is_none() {
            self.cwd = record.string("cwd");
        }
        let change = |header: &mut Header| {
            header.cwd = header.cwd.take().or_else(|| self.cwd.clone());
            header.created_at = header.created_at.or(at);
            if header.agent_version.is_none() {
                header.agent_version = string("version", "claude_code_version");
            }
            let id = string("sessionId", "session_id");
            if self.is_subagent == Some(true) {
                header.is_subagent = Some(true);
                header.parent = id;
                header.id = record.string("agentId").or(header.id.take());
            } else if id.is_some() && id != header.id {
                // A fork's first records may still have the id of the session they are copies of.
                header.parent = header.id.take().or(header.parent.take());
                header.id = id;
            }
        };
        branches.tell_header(change, out);
    }

    /// Takes a title row.
    pub(super) fn title(
        &mut self,
        kind: &str,
        record: &Object<'_>,
        branches: &mut Branches,
        out: &mut Output,
    ) {
        let key = match kind {
            "custom-title" => "customTitle",
            "ai-title" => "aiTitle",
            _ => "summary",
        };
        let Some(title) = record.string(key).filter(|_| !self.is_named || kind == "custom-title")
        else {
            return;
        };
        self.is_named |= kind == "custom-title";
        let leaf = record.get("leafUuid").and_then(Json::text);
        match leaf {
            // A summary may be of another session: it counts once its record stands here.
            Some(leaf) if branches.turn_of(&leaf).is_none() => {
                self.titles.insert(leaf.into_owned(), title);
            }
            _ => branches.tell_header(|header| header.title = Some(title), out),
        }
    }

    /// A record stands here: if a title waited for it, that is the session's.
    pub(super) fn noted(&mut self, uuid: &str, branches: &mut Branches, out: &mut Output) {
        if let Some(title) = self.titles.remove(uuid).filter(|_| !self.is_named) {
            branches.tell_header(|header| header.title = Some(title), out);
        }
    }
}
