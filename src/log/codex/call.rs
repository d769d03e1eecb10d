//! A tool call of a Codex row: its patch, its command, its deliverables.

use crate::log::loose::word;
use crate::log::patch_text::{self, PatchSection};
use crate::log::present::{is_present, presented_files};
use serde_json::Value;
use std::borrow::Cow;

/// What a tool call asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolCall {
    /// The tool's name.
    pub(super) name: String,
    /// The files that its patch names, in order.
    pub(super) sections: Vec<PatchSection>,
    /// The directory that the call's relative paths stand in, where it names one.
    pub(super) directory: Option<String>,
    /// The command line that a shell or program runs.
    pub(super) command: Option<String>,
    /// The patch is part of a script: an exit code alone does not say that it was applied.
    pub(super) scripted: bool,
    /// The files that it declares.
    pub(super) presents: Vec<(String, Option<String>)>,
}

impl ToolCall {
    /// Reads a `function_call`, `custom_tool_call` or `local_shell_call` item.
    pub(super) fn read(item: &Value) -> Option<Self> {
        let name = word(&item["name"]).unwrap_or("shell").to_owned();
        let plain = name.rsplit('.').next().unwrap_or(&name);
        let arguments = arguments(item);
        let mut call = Self { directory: directory(&arguments), ..Self::default() };
        match plain {
            "apply_patch" => {
                let text =
                    ["input", "patch", "patchText"].iter().find_map(|key| word(&arguments[*key]));
                call.sections = patch_text::sections(text.or(word(&arguments))?);
            }
            "shell" | "shell_command" | "exec_command" | "local_shell" | "container.exec" => {
                call.read_command(&arguments);
            }
            // Code mode: a program that calls tools. What it does is told by items of their own.
            "exec" => call.command = Some("exec".to_owned()),
            _ if is_present(plain) && is_own_server(item) => {
                call.presents = presented_files(&arguments);
            }
            _ => {}
        }
        Some(Self { name, ..call })
    }

    fn read_command(&mut self, arguments: &Value) {
        let Some(command) = ["command", "cmd"].iter().find_map(|key| words(&arguments[*key]))
        else {
            return;
        };
        match command {
            Words::Line(line) => self.read_script(&line),
            Words::List(list) => match list.as_slice() {
                [program, patch, ..] if is_patch_program(program) => {
                    self.sections = patch_text::sections(patch);
                }
                list => match script(list) {
                    Some(script) => self.read_script(script),
                    None => self.command = Some(list.join(" ")),
                },
            },
        }
    }

    fn read_script(&mut self, script: &str) {
        let patch = patch_text::in_script(script);
        if let Some(patch) = &patch {
            self.sections = patch_text::sections(patch.text);
            self.scripted = true;
            if let Some(directory) = patch.directory {
                self.directory = Some(join(self.directory.as_deref(), directory));
            }
        }
        let alone = patch.is_some_and(|patch| patch.alone) && !self.sections.is_empty();
        self.command = (!alone).then(|| script.to_owned());
    }
}

/// A path as it is seen from a directory; absolute paths stay.
pub(super) fn join(directory: Option<&str>, path: &str) -> String {
    match directory {
        Some(directory) if !path.starts_with('/') => {
            format!("{}/{path}", directory.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    }
}

/// The command line of an argument list: the script of a shell, or the words.
pub(super) fn command_line(command: &Value) -> Option<String> {
    Some(match words(command)? {
        Words::Line(line) => line.into_owned(),
        Words::List(list) => script(&list).map_or_else(|| list.join(" "), str::to_owned),
    })
}

enum Words<'a> {
    Line(Cow<'a, str>),
    List(Vec<&'a str>),
}

fn words(value: &Value) -> Option<Words<'_>> {
    match value {
        Value::String(line) => Some(Words::Line(line.into())),
        Value::Array(list) => Some(Words::List(list.iter().filter_map(Value::as_str).collect())),
        _ => None,
    }
}

/// The script of `bash -lc script` and its like.
fn script<'a>(list: &[&'a str]) -> Option<&'a str> {
    match list {
        [shell, flag, script] if flag.starts_with('-') && flag.ends_with('c') => {
            let shell = shell.rsplit('/').next().unwrap_or(shell);
            matches!(shell, "bash" | "sh" | "zsh" | "dash" | "fish").then_some(*script)
        }
        _ => None,
    }
}

fn is_patch_program(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("apply_patch" | "applypatch"))
}

/// The arguments as a value: an object, its JSON text, or the bare input of a free-form tool.
fn arguments(item: &Value) -> Value {
    if let Some(input) = item["input"].as_str() {
        return serde_json::from_str(input)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| Value::String(input.to_owned()));
    }
    match &item["arguments"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        Value::Null => item["action"].clone(),
        other => other.clone(),
    }
}

fn directory(arguments: &Value) -> Option<String> {
    let found =
        ["workdir", "working_directory", "cwd"].iter().find_map(|key| word(&arguments[*key]))?;
    Some(found.to_owned())
}

/// A bare name may be another server's; a namespace tells, where there is one.
fn is_own_server(item: &Value) -> bool {
    item["namespace"].as_str().is_none_or(|space| space.contains("handback"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";

    fn read(item: &Value) -> ToolCall {
        ToolCall::read(item).unwrap()
    }

    #[test]
    fn a_patch_is_found_however_it_is_handed_over() {
        let heredoc = format!("apply_patch <<'EOF'\n{PATCH}\nEOF\n");
        let text = |value: Value| Value::String(value.to_string());
        for item in [
            json!({"name": "apply_patch", "input": PATCH}),
            json!({"name": "apply_patch", "arguments": text(json!({"input": PATCH}))}),
            json!({"name": "apply_patch", "arguments": text(json!({"patch": PATCH}))}),
            json!({"name": "shell", "arguments": text(json!({"command": ["apply_patch", PATCH]}))}),
            json!({"name": "shell", "arguments": text(json!({"command": ["bash", "-lc", heredoc]}))}),
            json!({"name": "exec_command", "arguments": text(json!({"cmd": heredoc}))}),
            json!({"name": "shell_command", "arguments": text(json!({"command": heredoc}))}),
            json!({"type": "local_shell_call", "action": {"command": ["apply_patch", PATCH]}}),
        ] {
            let call = read(&item);
            assert_eq!(call.sections.len(), 1, "{item}");
            assert_eq!(call.sections[0].path, "a");
        }
    }

    #[test]
    fn commands_keep_their_words_and_a_shell_only_its_script() {
        let line = |command: Value| {
            read(&json!({"name": "shell", "arguments": json!({"command": command}).to_string()}))
                .command
        };
        assert_eq!(line(json!(["bash", "-lc", "ls -a"])), Some("ls -a".into()));
        assert_eq!(line(json!(["cargo", "test"])), Some("cargo test".into()));
        assert_eq!(line(json!(7)), None);
    }

    #[test]
    fn a_script_may_change_the_directory_of_its_patch() {
        let script = format!("cd sub && apply_patch <<'EOF'\n{PATCH}\nEOF");
        let call = read(&json!({"name": "shell", "arguments":
            json!({"command": ["bash", "-lc", script], "workdir": "/w"}).to_string()}));
        assert_eq!(call.directory.as_deref(), Some("/w/sub"));
        assert!(call.scripted);
    }

    #[test]
    fn deliverables_are_those_of_our_own_server() {
        let arguments = json!({"files": [{"path": "r.html"}]}).to_string();
        let own = read(&json!({"name": "mcp__handback__present", "arguments": arguments}));
        assert_eq!(own.presents, [("r.html".to_owned(), None)]);
        let foreign =
            read(&json!({"name": "present", "namespace": "mcp__slides", "arguments": arguments}));
        assert_eq!(foreign.presents, []);
    }
}
