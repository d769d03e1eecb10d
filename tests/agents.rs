//! Real logs of Claude Code, Gemini CLI and pi: turns, edits and files as their manifest says.

use crate::shared::shared;
use handback::log::{FORMATS, LogFormat, Output};
use handback::session::TurnState;
use handback::session::event::{EditBody, EditOutcome, EditSource, Place};
use handback::session::transcript::{Transcript, TurnRecord};
use std::fs;
use std::path::{Path, PathBuf};

struct Log {
    format: &'static dyn LogFormat,
    bytes: Vec<u8>,
    transcript: Transcript,
    damages: usize,
}

/// The format that takes these bytes, as the tail will choose it.
fn detect(path: &Path, bytes: &[u8]) -> Option<&'static dyn LogFormat> {
    let head = &bytes[..bytes.len().min(4096)];
    let whole = |f: &&&dyn LogFormat| f.whole().is_some_and(|w| w.recognizes(path, head));
    if let Some(format) = FORMATS.iter().find(whole) {
        return Some(*format);
    }
    let rows: Vec<serde_json::Value> = bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(serde_json::Value::is_object)
        .take(10)
        .collect();
    FORMATS.iter().find(|format| format.recognizes(&rows)).copied()
}

fn read(path: &Path) -> Option<Log> {
    let bytes = fs::read(path).unwrap();
    let format = detect(path, &bytes)?;
    let mut out = Output::default();
    if let Some(whole) =
        format.whole().filter(|w| w.recognizes(path, &bytes[..bytes.len().min(4096)]))
    {
        whole.read(path, None, &mut out).unwrap();
    } else {
        let mut reader = format.reader_at(path);
        let mut offset = 0;
        for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
            let place = Place { offset, inner: 0, len: line.len() as u64, line: index as u64 + 1 };
            reader.line(place, line, &mut out);
            offset += line.len() as u64 + 1;
        }
        reader.caught_up(&mut out);
    }
    let mut transcript = Transcript::default();
    out.events.into_iter().for_each(|event| transcript.apply(event));
    Some(Log { format, bytes, transcript, damages: out.damages.len() })
}

impl Log {
    fn row(&self, place: Place) -> &[u8] {
        &self.bytes[place.offset as usize..][..place.len as usize]
    }

    fn body(&self, source: &EditSource) -> EditBody {
        match source {
            EditSource::Kept(body) => (**body).clone(),
            EditSource::InLog { call, result } => {
                self.format.edit_body(self.row(*call), result.map(|place| self.row(place)), 0)
            }
        }
    }

    fn counts(&self) -> (usize, usize, usize) {
        let edits = || self.transcript.turns.iter().flat_map(|turn| &turn.edits);
        let ok = edits().filter(|edit| edit.outcome == EditOutcome::Applied).count();
        let bad = |outcome| matches!(outcome, EditOutcome::Failed | EditOutcome::Denied);
        (self.transcript.turns.len(), ok, edits().filter(|edit| bad(edit.outcome)).count())
    }

    /// The files that a turn's successful edits name, in order, each once.
    fn files(&self, turn: &TurnRecord) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for edit in turn.applied_edits() {
            let path = edit.path.split("/proj/").last().unwrap().to_owned();
            if !files.contains(&path) {
                files.push(path);
            }
        }
        files
    }
}

fn agents() -> Option<PathBuf> {
    Some(shared()?.join("fixtures/agents"))
}
#[test]
fn dump() {
    let Some(agents) = agents() else { return };
    let mut files = Vec::new();
    for agent in ["claude", "gemini", "pi", "stream"] {
        walk(&agents.join(agent), &mut files);
    }
    for f in files {
        match read(&f) {
            None => println!("{} NOT", f.display()),
            Some(log) => {
                println!(
                    "{} {} {:?} damages {} id {:?} cwd {:?} title {:?}",
                    f.strip_prefix(&agents).unwrap().display(),
                    log.format.name(),
                    log.counts(),
                    log.damages,
                    log.transcript.header.id,
                    log.transcript.header.cwd,
                    log.transcript.header.title
                );
                for t in &log.transcript.turns {
                    println!(
                        "    {} {:?} {:?} {:?} cmds {} known {:?}",
                        t.turn,
                        t.state,
                        t.prompt.chars().take(40).collect::<String>(),
                        log.files(t),
                        t.commands.len(),
                        t.known_texts
                            .iter()
                            .map(|k| (k.0, k.1.path.split("/").last().unwrap_or("")))
                            .collect::<Vec<_>>()
                    );
                    for e in t.applied_edits() {
                        let b = log.body(&e.body);
                        if matches!(b.action, handback::session::event::EditAction::Unknown)
                            || (b.before.is_none()
                                && !matches!(
                                    &b.action,
                                    handback::session::event::EditAction::Write {
                                        created: Some(true),
                                        ..
                                    }
                                ))
                        {
                            println!(
                                "       {} {} b {} a {} hunks {} {:?}",
                                e.tool,
                                e.path,
                                b.before.is_some(),
                                b.after.is_some(),
                                b.hunks.len(),
                                format!("{:?}", b.action).chars().take(60).collect::<String>()
                            )
                        }
                    }
                }
            }
        }
    }
}
fn walk(d: &Path, out: &mut Vec<PathBuf>) {
    let mut v: Vec<_> = fs::read_dir(d).unwrap().map(|e| e.unwrap().path()).collect();
    v.sort();
    for p in v {
        if p.is_dir() {
            walk(&p, out)
        } else if p.extension().is_some_and(|e| e == "jsonl" || e == "json") {
            out.push(p)
        }
    }
}
