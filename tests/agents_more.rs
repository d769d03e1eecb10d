//! Every sample log of Codex, opencode and ACP: its turns, its edits, the files of its script.

use crate::shared::shared;
use handback::log::{FORMATS, LogFormat, Output};
use handback::session::event::{EditBody, EditOutcome, EditSource, Place};
use handback::session::transcript::{Transcript, TurnRecord};
use std::fs;
use std::io::Read;
use std::path::Path;

/// A log read to its end, with its bytes to read edits from.
struct Opened {
    format: &'static dyn LogFormat,
    bytes: Vec<u8>,
    told: Transcript,
    damages: Vec<String>,
}

fn place(bytes: &[u8], line: &[u8], number: usize) -> Place {
    let offset = line.as_ptr() as usize - bytes.as_ptr() as usize;
    Place { offset: offset as u64, inner: 0, len: line.len() as u64, line: number as u64 + 1 }
}

/// The first 4 KiB of a file; nothing of a folder.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        let _ = file.take(4096).read_to_end(&mut head);
    }
    head
}

impl Opened {
    fn read(path: &Path) -> Self {
        let head = head(path);
        let whole = |format: &&&'static dyn LogFormat| {
            format.whole().is_some_and(|whole| whole.recognizes(path, &head))
        };
        match FORMATS.iter().find(whole) {
            Some(format) => Self::read_whole(*format, path, None),
            None => Self::read_lines(fs::read(path).unwrap()),
        }
    }

    fn read_whole(format: &'static dyn LogFormat, path: &Path, session: Option<&str>) -> Self {
        let mut out = Output::default();
        format.whole().unwrap().read(path, session, &mut out).unwrap();
        Self::told(format, Vec::new(), out)
    }

    fn read_lines(bytes: Vec<u8>) -> Self {
        let lines = || bytes.split(|byte| *byte == b'\n');
        let rows: Vec<serde_json::Value> =
            lines().filter_map(|line| serde_json::from_slice(line).ok()).take(10).collect();
        let format = *FORMATS.iter().find(|format| format.recognizes(&rows)).unwrap();
        let (mut reader, mut out) = (format.reader(), Output::default());
        for (number, line) in lines().enumerate() {
            reader.line(place(&bytes, line, number), line, &mut out);
        }
        reader.caught_up(&mut out);
        Self::told(format, bytes, out)
    }

    fn told(format: &'static dyn LogFormat, bytes: Vec<u8>, out: Output) -> Self {
        let mut told = Transcript::default();
        out.events.into_iter().for_each(|event| told.apply(event));
        let damages = out.damages.into_iter().map(|damage| damage.message).collect();
        Self { format, bytes, told, damages }
    }

    fn row(&self, place: Place) -> &[u8] {
        &self.bytes[place.offset as usize..][..place.len as usize]
    }

    fn body(&self, turn: &TurnRecord, at: usize) -> EditBody {
        let edit = &turn.edits[at];
        let nth = turn.edits[..at].iter().filter(|e| e.call_id == edit.call_id).count();
        match &edit.body {
            EditSource::Kept(body) => EditBody::clone(body),
            EditSource::InLog { call, result } => {
                self.format.edit_body(self.row(*call), result.map(|r| self.row(r)), nth)
            }
        }
    }
}

#[test]
fn dump() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("fixtures/agents");
    let list = std::env::var("DUMP").unwrap_or_default();
    for name in list.split_whitespace() {
        let log = Opened::read(&folder.join(name));
        println!("=== {name} {:?} {:?}", log.told.header, log.damages);
        for turn in &log.told.turns {
            let p: String = turn.prompt.chars().take(50).collect();
            println!(
                "  turn {} {:?} inh={} rb={} {p:?} tree={:?}",
                turn.turn, turn.state, turn.inherited, turn.rolled_back, turn.tree_before
            );
            for (at, edit) in turn.edits.iter().enumerate() {
                let body = log.body(turn, at);
                println!(
                    "     {} {:?} {} before={:?} after={:?} hunks={} {:?} {:?}",
                    edit.call_id,
                    edit.outcome,
                    edit.path,
                    body.before.map(|b| b.len()),
                    body.after.map(|b| b.len()),
                    body.hunks.len(),
                    format!("{:?}", body.action).chars().take(40).collect::<String>(),
                    body.moved_from
                );
            }
            for (at, k) in &turn.known_texts {
                println!(
                    "     known {at} {} {:?}",
                    k.path,
                    format!("{:?}", k.text).chars().take(40).collect::<String>()
                );
            }
            println!(
                "     trees {:?} {:?} {:?} presented {:?}",
                turn.tree_before, turn.tree_after, turn.git_dir, turn.presented
            );
            for c in &turn.commands {
                println!(
                    "     $ {:?} {:?} {:?} settled={}",
                    c.call.command.chars().take(50).collect::<String>(),
                    c.exit_code,
                    c.outcome,
                    c.settled
                );
            }
        }
    }
}
