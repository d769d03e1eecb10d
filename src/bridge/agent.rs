//! The agents, and how each can call this program.

use crate::log::Places;
use std::path::PathBuf;

/// One agent.
#[derive(Debug)]
pub(super) struct Agent {
    /// As the command line and the log's format name it.
    pub(super) name: &'static str,
    /// It calls hooks in Claude Code's shape.
    pub(super) calls_hooks: bool,
    /// The file of its settings that hooks stand in; none: it is not for us to change.
    settings: Option<Settings>,
    /// The tools that change files, as the agent's matcher takes them.
    pub(super) file_tools: &'static str,
    /// What a person has to know of its hooks.
    pub(super) word: &'static str,
}

#[derive(Debug)]
struct Settings {
    /// The environment variable that names the folder.
    variable: &'static str,
    /// The folder in the home directory, where the variable is not set.
    folder: &'static str,
    file: &'static str,
}

/// The events that hooks are installed for. An event name that the installed version of Claude
/// Code does not know turns off all hooks of the file; versions from 1.0.128 on know these.
pub(super) const EVENTS: &[&str] =
    &["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"];

const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        calls_hooks: true,
        settings: Some(Settings {
            variable: "CLAUDE_CONFIG_DIR",
            folder: ".claude",
            file: "settings.json",
        }),
        file_tools: "Write|Edit|MultiEdit|NotebookEdit",
        word: "sessions that run already have read their settings: start them anew",
    },
    Agent {
        name: "codex",
        calls_hooks: true,
        settings: Some(Settings { variable: "CODEX_HOME", folder: ".codex", file: "hooks.json" }),
        file_tools: "apply_patch",
        word: "Codex runs new hooks only when they are trusted: open `/hooks` in it once",
    },
    Agent {
        name: "dsh",
        calls_hooks: true,
        settings: None,
        file_tools: "write|edit",
        word: "dsh has no settings file that is known here. It takes hooks in Claude Code's shape: \
               where it does, give it the entries of `init claude --print`, with `hook dsh`",
    },
    Agent {
        name: "opencode",
        calls_hooks: false,
        settings: None,
        file_tools: "",
        word: "opencode needs no hooks: its own data base has the trees of each turn",
    },
    Agent {
        name: "gemini",
        calls_hooks: false,
        settings: None,
        file_tools: "",
        word: "Gemini CLI's hooks are of another shape and are not taken: \
               `handback record` beside it, or the open reviewer, records its turns",
    },
    Agent {
        name: "pi",
        calls_hooks: false,
        settings: None,
        file_tools: "",
        word: "pi calls extensions, no hooks: \
               `handback record` beside it, or the open reviewer, records its turns",
    },
];

/// The agent of this name.
pub(super) fn find(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// The names of all agents.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.name)
}

impl Agent {
    /// The file that its hooks stand in.
    pub(super) fn settings_file(&self, places: &Places) -> Option<PathBuf> {
        let settings = self.settings.as_ref()?;
        let given = places.env.get(settings.variable).filter(|folder| !folder.is_empty());
        let folder = given.map_or_else(|| places.home.join(settings.folder), PathBuf::from);
        Some(folder.join(settings.file))
    }
}
