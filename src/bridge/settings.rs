//! Our hooks in an agent's settings file: put in, and taken out again, with nothing else touched.

use super::agent::{self, Agent, EVENTS};
use super::json::JsonText;
use crate::diff::patch::{self, Movement, PatchHeader};
use crate::diff::{Limit, compare};
use crate::log::Places;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How long an agent waits for one call, in seconds. A call ends earlier by itself.
const TIMEOUT: u32 = 10;

/// Settings that cannot be changed. One line each; nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is no JSON (perhaps it has comments), or not as the agent has it.
    #[error("{}: {cause}: the file is left as it is", .path.display())]
    Unexpected {
        /// The settings file.
        path: PathBuf,
        /// What is wrong, with its place.
        cause: String,
    },
    /// The disk refuses.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// This program's own path cannot stand in a settings file.
    #[error("{}: this program's path is no UTF-8", .0.display())]
    Program(PathBuf),
}

/// What is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The hooks are to be there.
    Install,
    /// They are to be gone.
    Remove,
}

/// What there is to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What a person has to know of this agent's hooks.
    pub word: &'static str,
    /// The change of the settings file; none: this agent has none that is for us.
    pub change: Option<Change>,
}

/// A settings file before and after.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text; none: there is no file.
    pub old: Option<String>,
    /// The text that it is to have.
    pub new: String,
}

/// The agents that can be asked about, by name.
pub fn agents() -> impl Iterator<Item = &'static str> {
    agent::names()
}

/// Works out what is to change for an agent, so that it calls `program`. None: no such agent.
///
/// # Errors
/// The settings file cannot be read, or is not what the agent takes.
pub fn plan(
    name: &str,
    wish: Wish,
    program: &Path,
    places: &Places,
) -> Result<Option<Plan>, SettingsError> {
    let Some(agent) = agent::find(name) else { return Ok(None) };
    let Some(path) = agent.settings_file(places) else {
        return Ok(Some(Plan { word: agent.word, change: None }));
    };
    let old = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|cause| SettingsError::Io { path: path.clone(), cause })?),
    };
    let unexpected = |cause: String| SettingsError::Unexpected { path: path.clone(), cause };
    let old = old.map(String::from_utf8).transpose();
    let old = old.map_err(|error| unexpected(error.utf8_error().to_string()))?;
    let new = match (&old, wish) {
        // Nothing is there, and nothing is wished for.
        (None, Wish::Remove) => return Ok(Some(Plan { word: agent.word, change: None })),
        (old, wish) => {
            let text = old.as_deref().unwrap_or_default();
            let hooks = Hooks { agent, command: command(agent, program)? };
            let changed = match wish {
                Wish::Install => hooks.install(text),
                Wish::Remove => hooks.remove(text),
            };
            changed.map_err(unexpected)?
        }
    };
    Ok(Some(Plan { word: agent.word, change: Some(Change { path, old, new }) }))
}

/// How the agent's shell calls this program.
fn command(agent: &Agent, program: &Path) -> Result<String, SettingsError> {
    let text = program.to_str().ok_or_else(|| SettingsError::Program(program.to_owned()))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%=:,".contains(c);
    let is_quoted = !text.chars().all(is_plain);
    let quoted =
        if is_quoted { format!("'{}'", text.replace('\'', r"'\''")) } else { text.to_owned() };
    Ok(format!("{quoted} hook {}", agent.name))
}

/// One entry of an event, as agents have it.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'a str>,
    hooks: [Hook<'a>; 1],
}

#[derive(Serialize)]
struct Hook<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    command: &'a str,
    timeout: u32,
}

/// Our hooks for one agent.
struct Hooks {
    agent: &'static Agent,
    command: String,
}

/// Where one of our hooks stands: the event's place among events, the entry's place in it, and the
/// hook's in an entry that holds others too.
struct Ours {
    event: usize,
    entry: usize,
    hook: Option<usize>,
}

impl Hooks {
    fn entry(&self, event: &str) -> Entry<'_> {
        let hook = Hook { kind: "command", command: &self.command, timeout: TIMEOUT };
        let matcher = (event == "PreToolUse").then_some(self.agent.file_tools);
        Entry { matcher, hooks: [hook] }
    }

    fn install(&self, text: &str) -> Result<String, String> {
        let mut json = parse(text)?;
        if self.is_installed(&json)? {
            return Ok(text.to_owned());
        }
        self.take_out(&mut json)?;
        for event in EVENTS {
            self.put_in(&mut json, event)?;
        }
        Ok(json.into_text())
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        let mut json = parse(text)?;
        let is_changed = self.take_out(&mut json)?;
        Ok(if is_changed { json.into_text() } else { text.to_owned() })
    }

    /// Whether each event has our entry as it should be, and no other one of ours.
    fn is_installed(&self, json: &JsonText) -> Result<bool, String> {
        let mut wanted = EVENTS.to_vec();
        for (event, place) in events(json)? {
            for entry in entries(json, &event, &place)? {
                if self.ours_in(json, &entry).is_empty() {
                    continue;
                }
                let found: Value = serde_json::from_str(json.at(&entry)).unwrap_or_default();
                let is_right = serde_json::to_value(self.entry(&event)).is_ok_and(|v| v == found);
                let known = wanted.iter().position(|wanted| *wanted == event);
                match known {
                    Some(at) if is_right => drop(wanted.remove(at)),
                    _ => return Ok(false),
                }
            }
        }
        Ok(wanted.is_empty())
    }

    fn put_in(&self, json: &mut JsonText, event: &str) -> Result<(), String> {
        let root = json.root();
        let Some(hooks) = json.member(&root, "hooks") else {
            let items = places(json, &root)?;
            let item = format!("\"hooks\": {{\n{}\n}}", self.event(json, event, 1));
            json.push(&root, &items, &item, 0);
            return Ok(());
        };
        let Some(entries) = json.member(&hooks, event) else {
            let items = places(json, &hooks)?;
            let item = self.event(json, event, 0);
            json.push(&hooks, &items, &item, 1);
            return Ok(());
        };
        let items = json.elements(&entries).ok_or_else(|| no_list(event))?;
        let item = self.pretty(json, event);
        json.push(&entries, &items, &item, 2);
        Ok(())
    }

    /// An event with our entry alone, indented by so many steps.
    fn event(&self, json: &JsonText, event: &str, depth: usize) -> String {
        let step = json.step();
        let entry = self.pretty(json, event);
        let entry = entry.lines().map(|line| format!("{step}{line}"));
        let first = format!("\"{event}\": [");
        let lines = [first].into_iter().chain(entry).chain(["]".to_owned()]);
        lines.map(|line| step.repeat(depth) + &line).collect::<Vec<_>>().join("\n")
    }

    fn pretty(&self, json: &JsonText, event: &str) -> String {
        let mut out = Vec::new();
        let format = PrettyFormatter::with_indent(json.step().as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut out, format);
        // Plain texts into memory: nothing can fail.
        let _ = self.entry(event).serialize(&mut writer);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Takes out every hook of ours, and what is empty without it; tells whether there was one.
    fn take_out(&self, json: &mut JsonText) -> Result<bool, String> {
        let mut is_changed = false;
        while let Some(ours) = self.find(json)? {
            take_one(json, &ours)?;
            is_changed = true;
        }
        Ok(is_changed)
    }

    fn find(&self, json: &JsonText) -> Result<Option<Ours>, String> {
        for (event, (name, place)) in events(json)?.iter().enumerate() {
            for (entry, place) in entries(json, name, place)?.iter().enumerate() {
                let ours = self.ours_in(json, place);
                let hooks = json.member(place, "hooks").and_then(|hooks| json.elements(&hooks));
                let is_all = hooks.is_some_and(|hooks| hooks.len() == ours.len());
                if let Some(first) = ours.first() {
                    return Ok(Some(Ours { event, entry, hook: (!is_all).then_some(*first) }));
                }
            }
        }
        Ok(None)
    }

    /// Which hooks of an entry are ours.
    fn ours_in(&self, json: &JsonText, entry: &Range<usize>) -> Vec<usize> {
        let hooks = json.member(entry, "hooks").and_then(|hooks| json.elements(&hooks));
        let command = |hook: &Range<usize>| {
            let place = json.member(hook, "command")?;
            serde_json::from_str::<String>(json.at(&place)).ok()
        };
        let is_ours =
            |hook: &Range<usize>| command(hook).is_some_and(|line| is_call(&line, self.agent.name));
        let hooks = hooks.unwrap_or_default();
        (0..).zip(&hooks).filter(|(_, hook)| is_ours(hook)).map(|(at, _)| at).collect()
    }
}

/// Takes out one hook of ours, or what is empty without it.
fn take_one(json: &mut JsonText, ours: &Ours) -> Result<(), String> {
    let root = json.root();
    let Some(hooks) = json.member(&root, "hooks") else { return Ok(()) };
    let all = events(json)?;
    let Some((event, place)) = all.get(ours.event) else { return Ok(()) };
    let items = entries(json, event, place)?;
    if let Some(hook) = ours.hook {
        let entry = items.get(ours.entry).and_then(|entry| json.member(entry, "hooks"));
        if let Some((list, hooks)) =
            entry.and_then(|list| Some((list.clone(), json.elements(&list)?)))
        {
            json.remove(&list, &hooks, hook);
        }
    } else if items.len() > 1 {
        json.remove(place, &items, ours.entry);
    } else if all.len() > 1 {
        let all: Vec<_> = all.into_iter().map(|(_, place)| place).collect();
        json.remove(&hooks, &all, ours.event);
    } else {
        let members = json.members(&root).unwrap_or_default();
        let at = members.iter().rposition(|(name, _)| name == "hooks");
        let members: Vec<_> = members.into_iter().map(|(_, place)| place).collect();
        json.remove(&root, &members, at.unwrap_or(members.len()));
    }
    Ok(())
}

/// Whether a command line calls this program, wherever it was, as the agent's hook.
fn is_call(line: &str, agent: &str) -> bool {
    let program = line.strip_suffix(agent).and_then(|line| line.strip_suffix(" hook "));
    let name = program.map(|program| program.rsplit('/').next().unwrap_or(program));
    name.is_some_and(|name| name.trim_matches(['\'', '"']) == "handback")
}

fn parse(text: &str) -> Result<JsonText, String> {
    let json = JsonText::parse(text).map_err(|error| format!("not JSON: {error}"))?;
    match json.members(&json.root()) {
        Some(_) => Ok(json),
        None => Err("not a JSON object".into()),
    }
}

fn no_list(event: &str) -> String {
    format!("`hooks.{event}` is no list")
}

fn places(json: &JsonText, object: &Range<usize>) -> Result<Vec<Range<usize>>, String> {
    let members = json.members(object).ok_or("`hooks` is no object")?;
    Ok(members.into_iter().map(|(_, place)| place).collect())
}

/// The events that have hooks.
fn events(json: &JsonText) -> Result<Vec<(String, Range<usize>)>, String> {
    let Some(hooks) = json.member(&json.root(), "hooks") else { return Ok(Vec::new()) };
    json.members(&hooks).ok_or_else(|| "`hooks` is no object".into())
}

fn entries(
    json: &JsonText,
    event: &str,
    place: &Range<usize>,
) -> Result<Vec<Range<usize>>, String> {
    match json.elements(place) {
        Some(entries) => Ok(entries),
        // Some agents have settings of other kinds beside the events.
        None if !EVENTS.contains(&event) => Ok(Vec::new()),
        None => Err(no_list(event)),
    }
}

impl Change {
    /// Whether there is nothing to change.
    pub fn is_nothing(&self) -> bool {
        self.old.as_ref() == Some(&self.new)
    }

    /// Writes the change as a patch that `git apply` takes in the root directory.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_patch(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = |text: &str| Arc::from(text.as_bytes());
        let (old, new) = (self.old.as_deref().map(bytes), Some(bytes(&self.new)));
        let comparison = compare(old, new, &Limit::default()).map_err(io::Error::other)?;
        let path = self.path.as_os_str().as_encoded_bytes();
        let path = path.strip_prefix(b"/").unwrap_or(path);
        let header = PatchHeader {
            old_path: path,
            new_path: path,
            old_mode: None,
            new_mode: None,
            movement: Movement::None,
        };
        patch::write(out, &header, &comparison, 3)
    }

    /// Makes the change in one step; gives the copy of the file as it was, if it was there.
    ///
    /// # Errors
    /// The disk refuses, or the file was changed meanwhile.
    pub fn make(&self) -> Result<Option<PathBuf>, SettingsError> {
        // A link to a file elsewhere stays one.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |cause| SettingsError::Io { path, cause }
        };
        if self
            .old
            .as_ref()
            .is_some_and(|old| !fs::read(&path).is_ok_and(|now| now == old.as_bytes()))
        {
            let cause = "it was changed meanwhile".to_owned();
            return Err(SettingsError::Unexpected { path, cause });
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        let backup = self.old.as_ref().map(|_| beside(&path, "handback-backup"));
        if let Some(backup) = &backup {
            fs::copy(&path, backup).map_err(failed(backup))?;
        }
        let new = beside(&path, "handback-new");
        self.write_new(&new, &path).map_err(|cause| {
            let _ = fs::remove_file(&new);
            failed(&new)(cause)
        })?;
        Ok(backup)
    }

    fn write_new(&self, new: &Path, path: &Path) -> io::Result<()> {
        let mut file = File::create(new)?;
        if let Ok(metadata) = fs::metadata(path) {
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(self.new.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, path)
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooks(command: &str) -> Hooks {
        let agent = agent::find("claude").unwrap();
        Hooks { agent, command: command.to_owned() }
    }

    #[test]
    fn what_is_put_in_comes_out_whatever_stands_around_it() {
        let foreign = "{ \"hooks\": { \"Stop\": [ {\"hooks\": []} ], \"Other\": 7 }, \"z\": 1 }";
        let lines = "{\r\n  \"hooks\": {\r\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]\r\n  }\r\n}\r\n";
        let texts = [
            ("", "{}\n"),
            ("{}", "{}"),
            (foreign, foreign),
            (lines, lines),
            // What was empty is not told from what is empty again.
            ("{\"hooks\":{}}", "{}"),
            (
                "{\n\t\"a\": [1, 2],\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n",
                "{\n\t\"a\": [1, 2]\n}\n",
            ),
        ];
        let hooks = hooks("/bin/handback hook claude");
        for (text, left) in texts {
            let installed = hooks.install(text).unwrap();
            let value: Value = serde_json::from_str(&installed).unwrap();
            for event in EVENTS {
                let entries = value["hooks"][event].as_array().unwrap();
                let ours = &entries.last().unwrap()["hooks"][0];
                assert_eq!(ours["command"], "/bin/handback hook claude", "{installed}");
            }
            assert!(!text.contains('\r') || !installed.replace("\r\n", "").contains('\n'));
            assert_eq!(hooks.install(&installed).unwrap(), installed);
            assert_eq!(hooks.remove(&installed).unwrap(), left);
        }
    }

    #[test]
    fn a_program_that_moved_takes_the_place_of_the_old_one() {
        let old = hooks("/old/handback hook claude").install("{}").unwrap();
        let new = hooks("'/my new/handback' hook claude").install(&old).unwrap();
        assert!(!new.contains("/old/") && new.matches("hook claude").count() == EVENTS.len());
        assert_eq!(hooks("/old/handback hook claude").remove(&new).unwrap(), "{}");
    }

    #[test]
    fn a_hook_that_stands_among_others_goes_alone() {
        let text = r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"handback hook claude"},{"command":"handback hook codex"}]}]}}"#;
        let left = hooks("").remove(text).unwrap();
        assert_eq!(left, text.replace(r#",{"command":"handback hook claude"}"#, ""));
    }

    #[test]
    fn only_our_own_calls_are_ours() {
        for ours in [
            "handback hook claude",
            "/a b/handback hook claude",
            "'/it'\\''s/handback' hook claude",
        ] {
            assert!(is_call(ours, "claude"), "{ours}");
        }
        for other in
            ["handback hook codex", "nothandback hook claude", "handback show", "claude", ""]
        {
            assert!(!is_call(other, "claude"), "{other}");
        }
    }

    #[test]
    fn a_program_is_quoted_for_the_shell() {
        let agent = agent::find("codex").unwrap();
        let line = |path: &str| command(agent, Path::new(path)).unwrap();
        assert_eq!(line("/usr/bin/handback"), "/usr/bin/handback hook codex");
        assert_eq!(line("/it's $HOME/handback"), r"'/it'\''s $HOME/handback' hook codex");
    }
}
