//! What an agent writes to a hook's standard input: one JSON object, in Claude Code's shape.

use crate::log::patched_paths;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::path::PathBuf;

/// One call. Codex and dsh send the same names; what an agent does not send is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    /// The agent's own session id. A sub-agent's calls bear its parent's.
    #[serde(deserialize_with = "or_empty")]
    pub(super) session_id: String,
    /// The session's log, which need not be there yet.
    pub(super) transcript_path: Option<PathBuf>,
    /// Where the agent works now.
    pub(super) cwd: Option<PathBuf>,
    /// What happens.
    #[serde(deserialize_with = "or_empty")]
    pub(super) hook_event_name: String,
    /// The whole prompt, as it is submitted.
    #[serde(deserialize_with = "or_empty")]
    pub(super) prompt: String,
    /// How a session starts: `startup`, `resume`, `clear`, `compact`.
    #[serde(deserialize_with = "or_empty")]
    pub(super) source: String,
    /// The sub-agent that the call is of.
    pub(super) agent_id: Option<String>,
    /// The tool that is about to be called.
    #[serde(deserialize_with = "or_empty")]
    pub(super) tool_name: String,
    /// What the tool is given.
    pub(super) tool_input: Value,
    /// The tool call; old versions do not tell it.
    #[serde(deserialize_with = "or_empty")]
    pub(super) tool_use_id: String,
}

fn or_empty<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    Option::deserialize(source).map(Option::unwrap_or_default)
}

/// What a call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The agent was started on the session (again): no turn runs.
    Started,
    /// A prompt begins a turn.
    Prompted,
    /// A file tool is about to run.
    Editing,
    /// The agent is done with the turn.
    Stopped,
    /// The turn was aborted.
    Interrupted,
    /// The session is left.
    Left,
    /// Nothing that matters here.
    Other,
}

/// The tools that change files, of all agents that call hooks.
const FILE_TOOLS: &[&str] = &["write", "edit", "multiedit", "notebookedit", "apply_patch"];

impl Call {
    /// What it means. A sub-agent has no turns of its own here: its edits count for its parent's.
    pub(super) fn moment(&self) -> Moment {
        let moment = match self.hook_event_name.as_str() {
            "SessionStart" if self.source != "compact" => Moment::Started,
            "UserPromptSubmit" => Moment::Prompted,
            "PreToolUse" if !self.files().is_empty() => Moment::Editing,
            "Stop" => Moment::Stopped,
            "Interrupt" => Moment::Interrupted,
            "SessionEnd" => Moment::Left,
            _ => Moment::Other,
        };
        if self.agent_id.is_some() && moment != Moment::Editing { Moment::Other } else { moment }
    }

    /// The files that the tool is about to change, as the call spells them.
    pub(super) fn files(&self) -> Vec<String> {
        let text = |key: &str| self.tool_input.get(key).and_then(Value::as_str);
        let script = ["command", "input", "patch"].into_iter().find_map(text).unwrap_or_default();
        let is_file_tool = FILE_TOOLS.iter().any(|tool| self.tool_name.eq_ignore_ascii_case(tool));
        if script.contains("*** Begin Patch") {
            return patched_paths(script);
        }
        let path = ["file_path", "notebook_path"].into_iter().find_map(text);
        path.filter(|_| is_file_tool).map(str::to_owned).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(json: &str) -> Call {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn calls_mean_what_their_names_say() {
        let moment = |json: &str| call(json).moment();
        assert_eq!(moment(r#"{"hook_event_name":"UserPromptSubmit"}"#), Moment::Prompted);
        assert_eq!(moment(r#"{"hook_event_name":"Stop"}"#), Moment::Stopped);
        assert_eq!(moment(r#"{"hook_event_name":"Interrupt"}"#), Moment::Interrupted);
        assert_eq!(moment(r#"{"hook_event_name":"SessionEnd"}"#), Moment::Left);
        assert_eq!(
            moment(r#"{"hook_event_name":"SessionStart","source":"resume"}"#),
            Moment::Started
        );
        // A running turn's context is compacted.
        let compact = r#"{"hook_event_name":"SessionStart","source":"compact"}"#;
        assert_eq!(moment(compact), Moment::Other);
        assert_eq!(moment(r#"{"hook_event_name":"SubagentStop","agent_id":"a"}"#), Moment::Other);
        assert_eq!(moment(r#"{"hook_event_name":"Stop","agent_id":"a"}"#), Moment::Other);
        assert_eq!(moment("{}"), Moment::Other);
        let nulls = r#"{"hook_event_name":"Stop","prompt":null,"source":null,"agent_id":null}"#;
        assert_eq!(moment(nulls), Moment::Stopped);
    }

    #[test]
    fn the_files_of_a_tool_call_are_found() {
        let edit = r#"{"hook_event_name":"PreToolUse","agent_id":"a","tool_name":"Edit",
            "tool_input":{"file_path":"/w/a"}}"#;
        assert_eq!(call(edit).files(), ["/w/a"]);
        assert_eq!(call(edit).moment(), Moment::Editing);
        let read = edit.replace("Edit", "Read");
        assert_eq!(call(&read).moment(), Moment::Other);
        let patch = r#"{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":
            {"command":"*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n*** End Patch\n"}}"#;
        assert_eq!(call(patch).files(), ["a", "b", "c"]);
        let shell = patch.replace("apply_patch\",", "Bash\",");
        assert_eq!(call(&shell).files(), ["a", "b", "c"]);
        let odd = r#"{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":[1]}"#;
        assert_eq!(call(odd).moment(), Moment::Other);
    }
}
