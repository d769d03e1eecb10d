//! Whole texts of files that a Claude Code log holds or points to: full reads, and the backups of
//! the client's file history.

use crate::log::lazy::{Json, Object};
use crate::session::event::KnownTextSource;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The path and the text of a file that this record shows from its first to its last line.
pub(super) fn whole_file<'a>(record: &Object<'a>) -> Option<(String, Json<'a>)> {
    let details = record.get("toolUseResult").or_else(|| record.get("tool_use_result"));
    let details = match details {
        Some(details) => details.object(),
        None => record.object("attachment").object("content"),
    };
    let file = details.object("file");
    let lines = file.number("numLines");
    let whole = file.number("startLine") == Some(1)
        && lines.is_some_and(|lines| lines > 0)
        && lines == file.number("totalLines");
    if !details.is("type", "text") || !whole {
        return None;
    }
    Some((file.string("filePath")?, file.get("content")?))
}

/// Paths and texts.
pub(super) type Texts = Vec<(String, KnownTextSource)>;

/// The client's own backups of files, as a log tells of them.
#[derive(Default)]
pub(super) struct History {
    backups: Option<PathBuf>,
    /// Backups of a prompt that has not come yet.
    held: Option<(String, Texts)>,
    /// Turns and paths whose backup was told. Snapshots list all files again and again.
    told: HashSet<(usize, String)>,
}

impl History {
    /// The file history of the log at this path.
    pub(super) fn new(log: Option<&Path>) -> Self {
        Self { backups: log.and_then(backup_directory), ..Self::default() }
    }

    /// The prompt before which a file-history record's backups were made, and the backups.
    pub(super) fn backups(
        &self,
        record: &Object<'_>,
        cwd: Option<&str>,
    ) -> Option<(String, Texts)> {
        let backup = |path: &str, of: &Object<'_>| backup(path, of, cwd, self.backups.as_deref());
        if let Some(path) = record.text("trackingPath") {
            let text = backup(&path, &record.object("backup"));
            return Some((record.string("snapshotMessageId")?, text.into_iter().collect()));
        }
        let snapshot = record.object("snapshot");
        let files = snapshot.object("trackedFileBackups");
        let texts = files.members().filter_map(|(path, of)| backup(path, &of.object())).collect();
        Some((snapshot.string("messageId").or_else(|| record.string("messageId"))?, texts))
    }

    /// Whether this is the first backup of a file for a turn.
    pub(super) fn is_first(&mut self, turn: usize, path: &str) -> bool {
        self.told.insert((turn, path.to_owned()))
    }

    /// Keeps backups until their prompt comes.
    pub(super) fn hold(&mut self, prompt: String, texts: Texts) {
        self.held = Some((prompt, texts));
    }

    /// The backups that were held for this prompt.
    pub(super) fn held_for(&mut self, prompt: &str) -> Texts {
        self.held.take_if(|(held, _)| held == prompt).map(|(_, texts)| texts).unwrap_or_default()
    }
}

/// Where the client keeps the backups of the session whose log lies at `log`:
/// `<home>/file-history/<session>`, for a log at `<home>/projects/<project>/<session>.jsonl`; or
/// beside a log that was taken elsewhere.
fn backup_directory(log: &Path) -> Option<PathBuf> {
    let (folder, session) = (log.parent()?, log.file_stem()?);
    let homes = [folder.parent().and_then(Path::parent), Some(folder)];
    let homes = homes.into_iter().flatten();
    homes.map(|home| home.join("file-history").join(session)).find(|dir| dir.is_dir())
}

/// A file as it was when the client began to follow it in a turn.
fn backup(
    path: &str,
    backup: &Object<'_>,
    cwd: Option<&str>,
    backups: Option<&Path>,
) -> Option<(String, KnownTextSource)> {
    let path = match (Path::new(path).is_absolute(), cwd) {
        (false, Some(cwd)) => format!("{}/{path}", cwd.trim_end_matches('/')),
        _ => path.to_owned(),
    };
    let name = backup.get("backupFileName")?;
    if name.is_null() {
        return Some((path, KnownTextSource::Absent));
    }
    // A name is a name: what would lead out of the directory is not followed.
    let name = name.text().filter(|name| !name.contains(['/', '\\']) && name != "..")?;
    let file = backups?.join(&*name);
    Some((path, KnownTextSource::File(file.into_os_string().into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lazy::objects;

    fn read(file: &str) -> Option<(String, String)> {
        let row = format!(r#"{{"toolUseResult":{{"type":"text","file":{file}}}}}"#);
        let (found, _) = objects(&row);
        let (path, text) = whole_file(&found[0])?;
        Some((path, text.text()?.into_owned()))
    }

    #[test]
    fn only_a_whole_read_is_a_known_text() {
        let whole =
            r#"{"filePath":"/a","content":"x\n","numLines":2,"startLine":1,"totalLines":2}"#;
        assert_eq!(read(whole), Some(("/a".into(), "x\n".into())));
        assert_eq!(read(&whole.replace(r#""totalLines":2"#, r#""totalLines":3"#)), None);
        assert_eq!(read(&whole.replace(r#""startLine":1"#, r#""startLine":2"#)), None);
        assert_eq!(read(r#""text""#), None);
    }

    #[test]
    fn a_backup_names_no_file_elsewhere() {
        let of = |name: &str, path: &str| {
            let row = format!(r#"{{"backupFileName":{name}}}"#);
            backup(path, &objects(&row).0[0], Some("/w/"), Some(Path::new("/b")))
        };
        let file = |path: &str| KnownTextSource::File(path.into());
        assert_eq!(of(r#""k@v1""#, "a.txt"), Some(("/w/a.txt".into(), file("/b/k@v1"))));
        assert_eq!(of("null", "/x/a.txt"), Some(("/x/a.txt".into(), KnownTextSource::Absent)));
        assert_eq!(of(r#""../../etc/passwd""#, "a"), None);
        assert_eq!(of("7", "a"), None);
    }
}
