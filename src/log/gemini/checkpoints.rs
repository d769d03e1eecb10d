//! Gemini CLI's checkpoints: before an edit that a person has to approve, the client commits the
//! work tree to a repository of its own and names the commit in a file.
//!
//! `<home>/tmp/<project>/checkpoints/<time>-<file>-<tool>.json` names a commit of
//! `<home>/history/<project>/.git`. A log holds its texts with LF only; the commit has the bytes.

use super::project;
use crate::log::source::Stored;
use crate::log::timestamp::iso_millis;
use crate::log::{head, lazy};
use crate::session::event::KnownTextSource;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// The commit is named behind the conversation so far, which may be long.
const TAIL: usize = 64 << 10;

/// The checkpoints of the project that a log belongs to.
#[derive(Default)]
pub(super) struct Checkpoints {
    places: Option<Places>,
    /// When the directory changed last that the names are from.
    listed: Option<SystemTime>,
    /// Times in milliseconds since the epoch, and names of files, in order.
    names: Vec<(i64, String)>,
    /// Each belongs to one edit.
    used: HashSet<String>,
}

struct Places {
    checkpoints: PathBuf,
    git_dir: PathBuf,
}

/// An edit that may have a checkpoint.
pub(super) struct Wanted<'a> {
    pub(super) session: &'a str,
    /// The project's directory.
    pub(super) root: &'a str,
    pub(super) tool: &'a str,
    pub(super) path: &'a str,
    /// It was made between these, in milliseconds since the epoch.
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Checkpoints {
    /// Those beside the log at this path.
    pub(super) fn new(log: Option<&Path>) -> Self {
        Self { places: log.and_then(places), ..Self::default() }
    }

    /// What the file held just before an edit, if there is a checkpoint of that moment.
    ///
    /// # Errors
    /// One line that names the checkpoint and why it tells nothing.
    pub(super) fn before(
        &mut self,
        wanted: &Wanted<'_>,
    ) -> Result<Option<KnownTextSource>, String> {
        let Some((name, inside)) = self.of(wanted) else { return Ok(None) };
        self.used.insert(name.clone());
        let Some(places) = &self.places else { return Ok(None) };
        let told = |cause: &str| format!("checkpoint {name}: {cause}");
        let tree = match commit(&places.checkpoints.join(&name), wanted.session) {
            Ok(Some(tree)) => tree,
            Ok(None) => return Ok(None),
            Err(cause) => return Err(told(&cause)),
        };
        let git_dir = places.git_dir.to_str().filter(|_| places.git_dir.is_dir());
        let git_dir = git_dir.ok_or_else(|| told("the repository that it names is gone"))?;
        Ok(Some(KnownTextSource::InTree { git_dir: git_dir.to_owned(), tree, path: inside }))
    }

    /// The name of the edit's checkpoint, and the edit's path within the project.
    fn of(&mut self, wanted: &Wanted<'_>) -> Option<(String, String)> {
        let places = self.places.as_ref()?;
        let changed = fs::metadata(&places.checkpoints).and_then(|data| data.modified()).ok()?;
        if self.listed != Some(changed) {
            self.names = list(&places.checkpoints);
            self.listed = Some(changed);
        }
        let inside = inside(wanted.path, wanted.root)?;
        let file = Path::new(wanted.path).file_name()?.to_str()?;
        let end = format!("-{file}-{}.json", wanted.tool);
        let until = self.names.partition_point(|(at, _)| *at <= wanted.to);
        let (_, name) = self.names.get(..until)?.iter().rev().find(|(at, name)| {
            *at >= wanted.from && name.ends_with(&end) && !self.used.contains(name)
        })?;
        Some((name.clone(), inside))
    }
}

fn places(log: &Path) -> Option<Places> {
    let project = project::folder(log)?;
    let home = project.parent()?.parent()?;
    let git_dir = home.join("history").join(project.file_name()?).join(".git");
    Some(Places { checkpoints: project.join("checkpoints"), git_dir })
}

fn list(checkpoints: &Path) -> Vec<(i64, String)> {
    let files = head::files(checkpoints, "json").into_iter();
    let timed = files.filter_map(|file| {
        let name = file.file_name()?.to_str()?.to_owned();
        Some((time(&name)?, name))
    });
    let mut names: Vec<_> = timed.collect();
    names.sort_unstable();
    names
}

/// The time that a name begins with: `2026-12-01T01-35-48_760Z`.
fn time(name: &str) -> Option<i64> {
    let (day, rest) = name.split_once('T')?;
    let (clock, _) = rest.split_once('Z')?;
    iso_millis(&format!("{day}T{}Z", clock.replace('-', ":").replace('_', ".")))
}

/// The commit that a checkpoint names; none if it is of another session.
fn commit(checkpoint: &Path, session: &str) -> Result<Option<String>, String> {
    let tail = tail(checkpoint).map_err(|error| error.to_string())?;
    let tail = String::from_utf8_lossy(&tail);
    // Inside a string the quotes would stand behind backslashes.
    let (_, end) = tail.rsplit_once("\"commitHash\"").ok_or("it names no commit")?;
    let end = format!("{{\"commitHash\"{end}");
    let (objects, torn) = lazy::objects(&end);
    let named = objects.first().filter(|_| torn.is_none()).and_then(|end| {
        let of = end.string("messageId")?;
        let hash = end.string("commitHash")?;
        let is_hash = matches!(hash.len(), 40 | 64) && hash.bytes().all(|b| b.is_ascii_hexdigit());
        is_hash.then_some((of.split_once("########")?.0 == session, hash))
    });
    let (is_ours, hash) = named.ok_or("it is torn, or names no commit")?;
    Ok(is_ours.then_some(hash))
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let stored = Stored::open(path)?;
    let mut tail = vec![0; TAIL];
    let read = stored.read_at(stored.len()?.saturating_sub(TAIL as u64), &mut tail)?;
    tail.truncate(read);
    Ok(tail)
}

/// The path of a file within a project, with slashes.
fn inside(path: &str, root: &str) -> Option<String> {
    let path = Path::new(path);
    let inside = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| inside.to_str().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_has_the_last_checkpoint_before_it_and_no_other_has_that() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("tmp/p");
        fs::create_dir_all(project.join("checkpoints")).unwrap();
        fs::create_dir_all(home.path().join("history/p/.git")).unwrap();
        let write = |name: &str, session: &str, hash: &str| {
            let text = format!(
                "{{\"history\":[\"\\\"commitHash\\\": no\"],\n\"commitHash\": \"{hash}\",\n\"messageId\":\"{session}########0\"}}"
            );
            fs::write(project.join("checkpoints").join(name), text).unwrap();
        };
        let hash = |digit: &str| digit.repeat(40);
        write("2026-12-01T00-00-01_000Z-a.txt-replace.json", "s", &hash("1"));
        write("2026-12-01T00-00-02_500Z-a.txt-replace.json", "s", &hash("2"));
        write("2026-12-01T00-00-02_000Z-b.txt-replace.json", "other", &hash("3"));
        write("2026-12-01T00-00-03_000Z-c.txt-replace.json", "s", "--upload-pack=x");
        write("2026-12-01T00-00-04_000Z-.txt-replace.json", "s", &hash("4"));
        let mut checkpoints = Checkpoints::new(Some(&project.join("chats/session-1.jsonl")));
        let start = iso_millis("2026-12-01T00:00:00.000Z").unwrap();
        let mut before = |path: &str, tool: &str, to: i64| {
            let (from, to) = (start, start + to);
            let wanted = Wanted { session: "s", root: "/w/p", tool, path, from, to };
            match checkpoints.before(&wanted) {
                Ok(Some(KnownTextSource::InTree { tree, path, .. })) => Some((tree, path)),
                Err(cause) => Some((cause, String::new())),
                _ => None,
            }
        };
        assert_eq!(before("/w/p/d/a.txt", "replace", 900), None, "it is of a later edit");
        assert_eq!(before("/w/p/d/a.txt", "write_file", 9000), None);
        assert_eq!(before("/w/p/d/a.txt", "replace", 2400), Some((hash("1"), "d/a.txt".into())));
        assert_eq!(before("/w/p/d/a.txt", "replace", 2400), None, "it has its edit");
        assert_eq!(before("/w/p/d/a.txt", "replace", 2500), Some((hash("2"), "d/a.txt".into())));
        assert_eq!(before("/w/p/b.txt", "replace", 9000), None, "of another session");
        let torn = "checkpoint 2026-12-01T00-00-03_000Z-c.txt-replace.json: it is torn, or names no commit";
        assert_eq!(before("/w/p/c.txt", "replace", 9000), Some((torn.into(), String::new())));
        assert_eq!(before("/elsewhere/.txt", "replace", 9000), None);
        assert_eq!(before("../.txt", "replace", 9000), None);
    }

    #[test]
    fn the_commit_is_found_behind_a_long_history() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.json");
        let history = "x".repeat(200_000);
        let hash = "a".repeat(64);
        let text = format!(
            "{{\"history\":\"{history}\",\"commitHash\":\"{hash}\",\"messageId\":\"s########3\"}}"
        );
        fs::write(&file, &text).unwrap();
        assert_eq!(commit(&file, "s"), Ok(Some(hash)));
        assert_eq!(commit(&file, "t"), Ok(None));
        fs::write(&file, &text[..text.len() - 9]).unwrap();
        assert!(commit(&file, "s").is_err(), "torn");
        let not_regular = Err("not a regular file".to_owned());
        assert_eq!(commit(dir.path(), "s"), not_regular);
        let pipe = dir.path().join("pipe.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(commit(&pipe, "s"), not_regular, "nobody waits for the other end");
    }
}
