//! The rows before a segment or a fork, which stand in another file (generation D).
//!
//! `session_meta.history_base` names a thread or a segment and the ordinal at which its rows end for
//! this log. The file is `rollout-<time>-<thread>.jsonl` or `…_<segment>.jsonl`, in the same folder or
//! elsewhere below `sessions`; it may have a base itself.

use super::discover::{collect, open};
use super::reader::CodexReader;
use crate::log::loose::owned;
use crate::log::{LogReader, Output};
use crate::session::event::Place;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Segments stand on segments; more than this many is a circle.
const DEEPEST: u8 = 64;

/// What a log stands on.
pub(super) struct Base {
    /// The thread or segment.
    pub(super) name: String,
    /// The first ordinal that is not of it any more.
    end: u64,
    depth: u8,
}

/// A row's number.
#[derive(Deserialize)]
struct Numbered {
    ordinal: Option<u64>,
}

impl Base {
    /// The base that a `session_meta` names.
    pub(super) fn of(meta: &Value) -> Option<Self> {
        let base = &meta["history_base"];
        let end = base["end_ordinal_exclusive"].as_u64().unwrap_or(u64::MAX);
        Some(Self { name: owned(&base["thread_id"])?, end, depth: 0 })
    }

    /// Hands the base's rows to the reader of the log at `path`.
    pub(super) fn read(
        &self,
        path: &Path,
        reader: &mut CodexReader,
        out: &mut Output,
    ) -> io::Result<()> {
        if self.depth >= DEEPEST {
            return Err(io::Error::other("it stands on itself"));
        }
        let file = find_rollout(&self.name, path).ok_or(io::ErrorKind::NotFound)?;
        let mut lines = BufReader::new(open(&file)?);
        let mut line = Vec::new();
        let mut first = true;
        while lines.read_until(b'\n', &mut line)? > 0 {
            if std::mem::take(&mut first) {
                let row: Value = serde_json::from_slice(&line).unwrap_or_default();
                if let Some(base) = Self::of(&row["payload"]) {
                    Self { depth: self.depth + 1, ..base }.read(&file, reader, out)?;
                }
            }
            let row = serde_json::from_slice(&line).unwrap_or(Numbered { ordinal: None });
            if row.ordinal.is_some_and(|ordinal| ordinal >= self.end) {
                break;
            }
            // What is torn in another file is that file's damage.
            let mut heard = Output::default();
            reader.line(Place::default(), line.trim_ascii_end(), &mut heard);
            out.events.append(&mut heard.events);
            line.clear();
        }
        Ok(())
    }
}

/// The rollout of a thread or segment, for the log at `path`: in the same folder, or elsewhere below
/// `sessions`.
pub(super) fn find_rollout(thread: &str, path: &Path) -> Option<PathBuf> {
    let is_it = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl");
        let before = stem.and_then(|stem| stem.strip_suffix(thread));
        file != path && before.is_some_and(|before| before.ends_with(['-', '_']))
    };
    let folder = path.parent()?;
    let sessions = folder.ancestors().take(4).find(|folder| folder.ends_with("sessions"));
    [(folder, 0), (sessions.unwrap_or(folder), 3)].into_iter().find_map(|(folder, depth)| {
        let mut files = Vec::new();
        collect(folder, depth, &mut files);
        files.into_iter().find(is_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::EditSource;
    use crate::session::transcript::Transcript;
    use serde_json::json;
    use std::fs;

    const THREAD: &str = "01a22f07-02fe-72e3-b9cc-2d19704a0b0f";
    const SEGMENT: &str = "01a22f07-37d2-7981-8e2e-79b5763c6a44";

    fn turn(ordinal: u64, id: &str) -> [Value; 3] {
        let event = |ordinal: u64, payload: Value| json!({"type": "event_msg", "ordinal": ordinal, "payload": payload});
        [
            event(ordinal, json!({"type": "task_started", "turn_id": id})),
            event(
                ordinal + 1,
                json!({"type": "item_completed", "turn_id": id, "item": {"type": "UserMessage",
                "content": [{"type": "text", "text": id}]}}),
            ),
            event(
                ordinal + 2,
                json!({"type": "item_completed", "turn_id": id, "item": {"type": "FileChange",
                "id": id, "status": "completed", "changes": {"/w/a": {"type": "add", "content": "x\n"}}}}),
            ),
        ]
    }

    fn write(path: &Path, meta: &Value, turns: &[[Value; 3]]) {
        let meta = json!({"type": "session_meta", "ordinal": 0, "payload": meta});
        let rows: Vec<String> =
            std::iter::once(&meta).chain(turns.iter().flatten()).map(Value::to_string).collect();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, rows.join("\n") + "\n").unwrap();
    }

    fn told(path: &Path) -> (Transcript, Vec<String>) {
        let (mut reader, mut out) = (CodexReader::at(path), Output::default());
        for line in fs::read(path).unwrap().split(|byte| *byte == b'\n') {
            reader.line(Place::default(), line, &mut out);
        }
        let mut told = Transcript::default();
        out.events.into_iter().for_each(|event| told.apply(event));
        (told, out.damages.into_iter().map(|damage| damage.message).collect())
    }

    #[test]
    fn a_segment_and_a_fork_of_it_begin_with_the_turns_of_their_base() {
        let home = tempfile::tempdir().unwrap();
        let day = |day: &str, name: &str| home.path().join("sessions/2026/12").join(day).join(name);
        let whole = day("01", &format!("rollout-2026-12-01T00-35-18-{THREAD}.jsonl"));
        write(
            &whole,
            &json!({"id": THREAD, "history_mode": "paginated"}),
            &[turn(1, "one"), turn(4, "reverted")],
        );
        let segment = day("02", &format!("rollout-2026-12-02T00-00-00-{THREAD}_{SEGMENT}.jsonl"));
        let base = json!({"thread_id": THREAD, "end_ordinal_exclusive": 4});
        write(
            &segment,
            &json!({"id": THREAD, "history_mode": "paginated", "history_base": base}),
            &[turn(5, "two")],
        );
        let fork = day("02", "rollout-2026-12-02T00-00-01-fork.jsonl");
        let base = json!({"thread_id": SEGMENT, "end_ordinal_exclusive": 8});
        write(
            &fork,
            &json!({"id": "fork", "forked_from_id": THREAD, "history_base": base}),
            &[turn(9, "three")],
        );

        let turns = |told: &Transcript| -> Vec<(String, bool)> {
            told.turns.iter().map(|turn| (turn.prompt.clone(), turn.inherited)).collect()
        };
        let (told_segment, damages) = told(&segment);
        assert_eq!(damages, Vec::<String>::new());
        assert_eq!(turns(&told_segment), [("one".into(), false), ("two".into(), false)]);
        let bodies: Vec<bool> = told_segment
            .turns
            .iter()
            .map(|t| matches!(t.edits[0].body, EditSource::Kept(_)))
            .collect();
        assert_eq!(bodies, [true, false]);
        let (told_fork, _) = told(&fork);
        assert_eq!(
            turns(&told_fork),
            [("one".into(), true), ("two".into(), true), ("three".into(), false)]
        );
        assert_eq!(told_fork.header.id.as_deref(), Some("fork"));

        fs::remove_file(&whole).unwrap();
        let (told_alone, damages) = told(&segment);
        assert_eq!(turns(&told_alone), [("two".into(), false)]);
        assert!(damages[0].contains(THREAD), "{damages:?}");
    }

    #[test]
    fn a_base_that_stands_on_itself_ends() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(format!("rollout-{name}.jsonl"));
        write(&path("a"), &json!({"id": "a", "history_base": {"thread_id": "b"}}), &[]);
        write(&path("b"), &json!({"id": "b", "history_base": {"thread_id": "a"}}), &[]);
        assert_eq!(told(&path("a")).1.len(), 1);
    }
}
