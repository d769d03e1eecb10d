//! Tool calls and their results in the records of Claude Code.

use crate::log::lazy::{Json, Object};
use crate::session::CommandOutcome;
use crate::session::event::EditOutcome;

/// A `tool_use` block.
pub(super) struct ToolUse<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Object<'a>,
}

/// What a call does, as far as a review is concerned.
pub(super) enum Deed {
    /// It changes this file.
    Edit(String),
    /// A shell runs this.
    Shell(String),
    /// It declares these deliverables: path and description.
    Present(Vec<(String, Option<String>)>),
    /// It calls a sub-agent.
    Delegate,
    /// It changes nothing.
    Look,
    /// It is a tool that could change anything.
    Unknown,
}

/// Tools of the client that change no file.
const LOOKS: &[&str] = &[
    "Read",
    "NotebookRead",
    "Glob",
    "Grep",
    "LS",
    "LSP",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "TodoRead",
    "TaskCreate",
    "TaskUpdate",
    "TaskList",
    "TaskGet",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillShell",
    "KillBash",
    "EnterPlanMode",
    "ExitPlanMode",
    "AskUserQuestion",
    "ToolSearch",
    "Skill",
    "SlashCommand",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
];

impl<'a> ToolUse<'a> {
    /// The tool calls of an `assistant` record.
    pub(super) fn all(record: &Object<'a>) -> Vec<Self> {
        let blocks = record.object("message").items("content");
        blocks.into_iter().filter_map(|block| Self::of(&block.object())).collect()
    }

    fn of(block: &Object<'a>) -> Option<Self> {
        if !block.is("type", "tool_use") {
            return None;
        }
        let (id, name) = (block.string("id")?, block.string("name")?);
        Some(Self { id, name, input: block.object("input") })
    }

    /// The tool without the server that offers it, where that is our own.
    pub(super) fn tool(&self) -> &str {
        let own = self.name.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
        own.filter(|(server, _)| server.contains("handback")).map_or(&self.name, |(_, tool)| tool)
    }

    /// What the call does.
    pub(super) fn deed(&self) -> Deed {
        let edited = || self.input.string("file_path").or_else(|| self.input.string("path"));
        let edit = |path: Option<String>| path.map_or(Deed::Look, Deed::Edit);
        match self.tool() {
            "Write" | "Edit" | "MultiEdit" | "write" | "edit" => edit(edited()),
            "NotebookEdit" => edit(self.input.string("notebook_path").or_else(edited)),
            "Bash" | "PowerShell" => Deed::Shell(self.input.string("command").unwrap_or_default()),
            tool if tool == "present" || tool.ends_with("__present") => {
                Deed::Present(self.presented())
            }
            "turn_changes" => Deed::Look,
            "Task" | "Agent" => Deed::Delegate,
            tool if LOOKS.contains(&tool) => Deed::Look,
            _ => Deed::Unknown,
        }
    }

    fn presented(&self) -> Vec<(String, Option<String>)> {
        let file = |file: Json<'_>| {
            if let Some(path) = file.text() {
                return Some((path.into_owned(), None));
            }
            let file = file.object();
            Some((file.string("path")?, file.string("description")))
        };
        self.input.items("files").into_iter().filter_map(file).collect()
    }
}

/// A `tool_result` block.
pub(super) struct ToolResult<'a> {
    pub(super) id: String,
    is_error: bool,
    content: Option<Json<'a>>,
    /// The record's `toolUseResult`, which is of any JSON kind, where it can only be of this call.
    pub(super) details: Option<Json<'a>>,
    denial: bool,
}

/// What a result says when the call was refused before it ran.
const REFUSALS: &[&str] = &[
    "The user doesn't want to ",
    "User rejected tool use",
    "Permission to use ",
    "Claude requested permissions to ",
    "PreToolUse:",
];

impl<'a> ToolResult<'a> {
    /// The tool results of a `user` record.
    pub(super) fn all(record: &Object<'a>) -> Vec<Self> {
        let blocks = record.object("message").items("content");
        let blocks = blocks.into_iter().map(Json::object).filter(|b| b.is("type", "tool_result"));
        let details = record.get("toolUseResult").or_else(|| record.get("tool_use_result"));
        let denial = record.has("toolDenialKind")
            || matches!(
                record.object("permissionDecision").text("decision").as_deref(),
                Some("deny" | "reject")
            );
        let mut results: Vec<Self> = blocks
            .filter_map(|block| {
                let id = block.string("tool_use_id")?;
                let is_error = block.flag("is_error");
                Some(Self { id, is_error, content: block.get("content"), details, denial })
            })
            .collect();
        if results.len() > 1 {
            for result in &mut results {
                result.details = None;
            }
        }
        results
    }

    /// What the result says to the model.
    pub(super) fn text(&self) -> String {
        let Some(content) = self.content else { return String::new() };
        if let Some(text) = content.text() {
            return text.into_owned();
        }
        let texts = content.items().into_iter().filter_map(|block| block.object().string("text"));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The sub-agent that the call called.
    pub(super) fn agent(&self) -> Option<String> {
        self.details?.object().string("agentId")
    }

    /// How an edit went.
    pub(super) fn outcome(&self) -> EditOutcome {
        let details = self.details.and_then(Json::text).unwrap_or_default();
        if !self.is_error {
            let error = || self.details?.object().string("error");
            let failed = details.starts_with("Error:") || error().is_some_and(|e| !e.is_empty());
            return if failed { EditOutcome::Failed } else { EditOutcome::Applied };
        }
        let text = self.text();
        let text = text.trim_start().trim_start_matches("<tool_use_error>");
        let details = details.trim_start_matches("Error:").trim_start();
        let refused = |said: &str| REFUSALS.iter().any(|mark| said.starts_with(mark));
        if self.denial || refused(text) || refused(details) {
            EditOutcome::Denied
        } else {
            EditOutcome::Failed
        }
    }

    /// How a shell command went: its exit code where the result names it, and the outcome.
    pub(super) fn command(&self) -> (Option<i32>, CommandOutcome) {
        let details = self.details.map(Json::object).unwrap_or_default();
        if self.is_error {
            let text = self.text();
            let code = text
                .trim_start()
                .strip_prefix("Exit code ")
                .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
            return match self.outcome() {
                EditOutcome::Denied => (None, CommandOutcome::Unknown),
                _ => (code, CommandOutcome::Failed),
            };
        }
        if details.flag("interrupted") || details.text("backgroundTaskId").is_some() {
            return (None, CommandOutcome::Unknown);
        }
        (None, CommandOutcome::Passed)
    }
}

/// The output of the command whose result stands in this record.
pub(super) fn output(record: &Object<'_>) -> Option<String> {
    let result = ToolResult::all(record).into_iter().next()?;
    let details = result.details.map(Json::object).unwrap_or_default();
    let whole = details.string("stdout").map(|mut output| {
        let errors = details.string("stderr").unwrap_or_default();
        if !output.is_empty() && !errors.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output + &errors
    });
    Some(whole.unwrap_or_else(|| result.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lazy::objects;

    fn result(block: &str, beside: &str) -> (EditOutcome, Option<i32>, CommandOutcome) {
        let row = format!(r#"{{"message":{{"content":[{block}]}}{beside}}}"#);
        let (found, cause) = objects(&row);
        assert_eq!(cause, None);
        let result = ToolResult::all(&found[0]).remove(0);
        let (code, outcome) = result.command();
        (result.outcome(), code, outcome)
    }

    fn block(error: bool, text: &str) -> String {
        format!(
            r#"{{"type":"tool_result","tool_use_id":"t","is_error":{error},"content":"{text}"}}"#
        )
    }

    #[test]
    fn only_a_result_without_error_is_applied() {
        use EditOutcome::{Applied, Denied, Failed};
        assert_eq!(result(&block(false, "ok"), "").0, Applied);
        assert_eq!(result(&block(false, "ok"), r#","toolUseResult":["x"]"#).0, Applied);
        assert_eq!(result(&block(false, ""), r#","toolUseResult":"Error: no""#).0, Failed);
        assert_eq!(result(&block(false, ""), r#","toolUseResult":{"error":"no cell"}"#).0, Failed);
        assert_eq!(result(&block(true, "<tool_use_error>no</tool_use_error>"), "").0, Failed);
        assert_eq!(result(&block(true, "The user doesn't want to proceed"), "").0, Denied);
        assert_eq!(
            result(&block(true, "x"), r#","toolUseResult":"User rejected tool use""#).0,
            Denied
        );
        assert_eq!(result(&block(true, "x"), r#","toolDenialKind":"user-rejected""#).0, Denied);
    }

    #[test]
    fn exit_codes_of_commands() {
        use CommandOutcome::{Failed, Passed, Unknown};
        let of = |block: String, beside| {
            let (_, code, outcome) = result(&block, beside);
            (code, outcome)
        };
        assert_eq!(of(block(true, r"Exit code 127\nnot found"), ""), (Some(127), Failed));
        assert_eq!(of(block(true, "Error"), ""), (None, Failed));
        assert_eq!(of(block(true, "The user doesn't want to proceed"), ""), (None, Unknown));
        assert_eq!(of(block(false, "ok"), r#","toolUseResult":{"stdout":"ok"}"#), (None, Passed));
        let behind = r#","toolUseResult":{"backgroundTaskId":"b1"}"#;
        assert_eq!(of(block(false, "ok"), behind), (None, Unknown));
    }

    #[test]
    fn our_own_server_is_told_from_others() {
        let deed = |name: &str, input: &str| {
            let row = format!(
                r#"{{"message":{{"content":[{{"type":"tool_use","id":"i","name":"{name}","input":{input}}}]}}}}"#
            );
            let (found, _) = objects(&row);
            match ToolUse::all(&found[0]).remove(0).deed() {
                Deed::Edit(path) => format!("edit {path}"),
                Deed::Shell(command) => format!("shell {command}"),
                Deed::Present(files) => format!("present {files:?}"),
                Deed::Look => "look".into(),
                Deed::Delegate => "delegate".into(),
                Deed::Unknown => "unknown".into(),
            }
        };
        assert_eq!(deed("mcp__handback__edit", r#"{"path":"a"}"#), "edit a");
        assert_eq!(deed("mcp__other__edit", r#"{"path":"a"}"#), "unknown");
        assert_eq!(deed("Write", r#"{"file_path":7}"#), "look");
        assert_eq!(deed("Task", "{}"), "delegate");
        let files = r#"{"files":[{"path":"a","description":"b"},"c",3]}"#;
        let told = r#"present [("a", Some("b")), ("c", None)]"#;
        assert_eq!(deed("mcp__handback__present", files), told);
        assert_eq!(deed("mcp__x__present", files), told);
    }
}
