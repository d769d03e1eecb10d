//! The result of a Codex tool call: its text, its exit code, whether a patch was applied.

use crate::log::loose::plain_text;
use crate::session::CommandOutcome;
use crate::session::event::EditOutcome;
use serde_json::Value;

/// A tool's result in one shape, whatever the version wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolOutput {
    /// What the tool printed.
    pub(super) text: String,
    /// The exit code where the log has it.
    pub(super) exit_code: Option<i32>,
    /// The log says that the call did not succeed.
    pub(super) failed: bool,
}

impl ToolOutput {
    /// Reads the `output` of a `…_output` item: a text, a JSON text, an object or a list of blocks.
    pub(super) fn read(output: &Value) -> Self {
        let parsed = output
            .as_str()
            .filter(|text| text.starts_with('{'))
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .filter(|value| value.get("output").is_some() || value.get("content").is_some());
        let value = parsed.as_ref().unwrap_or(output);
        let inner = value.get("output").or_else(|| value.get("content")).unwrap_or(value);
        let text = plain_text(inner);
        let exit_code = value["metadata"]["exit_code"]
            .as_i64()
            .and_then(|code| i32::try_from(code).ok())
            .or_else(|| exit_code_in(&text));
        let failed = value["success"].as_bool() == Some(false)
            || value["isError"].as_bool() == Some(true)
            || value["is_error"].as_bool() == Some(true);
        Self { text, exit_code, failed }
    }

    /// How a patch went that this is the result of. Only words of success count; in a script an
    /// exit code of 0 says nothing of the patch.
    pub(super) fn patch_outcome(&self, scripted: bool) -> EditOutcome {
        let succeeded = self.text.contains("Success. Updated") || self.text.trim() == "Done!";
        match self.exit_code {
            Some(0) if !scripted || succeeded => EditOutcome::Applied,
            None if succeeded || self.text.starts_with("Success.") => EditOutcome::Applied,
            _ if refused(&self.text) => EditOutcome::Denied,
            _ => EditOutcome::Failed,
        }
    }

    /// How a command went.
    pub(super) fn command_outcome(&self) -> CommandOutcome {
        by_exit_code(self.exit_code)
    }

    /// Whether the call succeeded, as far as the log says.
    pub(super) fn succeeded(&self) -> bool {
        !self.failed && self.exit_code.unwrap_or(0) == 0 && !self.text.starts_with("Error")
    }
}

/// How a command went that ended with this code.
pub(super) fn by_exit_code(exit_code: Option<i32>) -> CommandOutcome {
    match exit_code {
        Some(0) => CommandOutcome::Passed,
        Some(_) => CommandOutcome::Failed,
        None => CommandOutcome::Unknown,
    }
}

/// `Exit code: 0` and `Process exited with code 0` stand in the head that Codex puts before the
/// output, one a line; what the program printed is not looked at.
fn exit_code_in(text: &str) -> Option<i32> {
    text.lines()
        .take_while(|line| *line != "Output:")
        .take(8)
        .find_map(|line| {
            line.strip_prefix("Exit code: ")
                .or_else(|| line.strip_prefix("Process exited with code "))
        })
        .and_then(|code| code.trim().parse().ok())
}

fn refused(text: &str) -> bool {
    ["rejected", "aborted by user", "denied", "declined"].iter().any(|word| text.contains(word))
}

/// A command that the user ran in the agent's shell, and its exit code, from the message by which
/// the model is told of it.
pub(super) fn user_shell(text: &str) -> Option<(&str, Option<i32>)> {
    let rest = text.trim_start().strip_prefix("<user_shell_command>")?;
    let (command, rest) = rest.split_once("<command>")?.1.split_once("</command>")?;
    let result = rest.split_once("<result>").map_or(rest, |(_, result)| result);
    Some((command.trim(), exit_code_in(result.trim_start())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_shape_gives_its_exit_code() {
        let code = |output: Value| ToolOutput::read(&output).exit_code;
        assert_eq!(code(json!("{\"output\":\"\",\"metadata\":{\"exit_code\":1}}")), Some(1));
        assert_eq!(code(json!({"output": "x", "metadata": {"exit_code": 0}})), Some(0));
        assert_eq!(code(json!("Exit code: 2\nWall time: 0 seconds\nOutput:\n")), Some(2));
        assert_eq!(
            code(json!("Chunk ID: 1\nWall time: 0\nProcess exited with code -1\nOutput:\n")),
            Some(-1)
        );
        assert_eq!(
            code(json!([{"type": "input_text", "text": "Exit code: 3\nOutput:\n"}])),
            Some(3)
        );
        assert_eq!(code(json!("Output:\nExit code: 9\n")), None);
        assert_eq!(code(json!("aborted by user after 5.9s")), None);
        assert_eq!(code(json!(null)), None);
    }

    #[test]
    fn a_users_own_command_is_read_from_its_message() {
        let text = "<user_shell_command>\n<command>\necho hi > x\n</command>\n<result>\nExit code: 3\n\
            Duration: 0.01 seconds\nOutput:\n\n</result>\n</user_shell_command>";
        assert_eq!(user_shell(text), Some(("echo hi > x", Some(3))));
        assert_eq!(user_shell("<user_shell_command>"), None);
        assert_eq!(user_shell("what is <user_shell_command><command>x</command>?"), None);
    }

    #[test]
    fn only_words_of_success_apply_a_patch() {
        let went =
            |output: &str, scripted| ToolOutput::read(&json!(output)).patch_outcome(scripted);
        let good = "{\"output\":\"Success. Updated the following files:\\nA x\\n\",\"metadata\":{\"exit_code\":0}}";
        assert_eq!(went(good, true), EditOutcome::Applied);
        assert_eq!(went("Exit code: 0\nOutput:\n", false), EditOutcome::Applied);
        assert_eq!(went("Exit code: 0\nOutput:\n", true), EditOutcome::Failed);
        assert_eq!(
            went("apply_patch verification failed: no such lines", false),
            EditOutcome::Failed
        );
        assert_eq!(went("error: Failed to find expected lines", false), EditOutcome::Failed);
        assert_eq!(went("patch rejected by user", false), EditOutcome::Denied);
        assert_eq!(went("aborted by user after 0.1s", false), EditOutcome::Denied);
        assert_eq!(went("Exit code: 1\nOutput:\nSuccess. Updated?", false), EditOutcome::Failed);
    }
}
