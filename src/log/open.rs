//! An open log: which format it is, and its bytes fed to that format's reader, slice by slice.

use super::companions::Companions;
use super::lines::Lines;
use super::newest::newest_turn;
use super::source::{Rows, Stored};
use super::whole::Whole;
use super::{FORMATS, LogFormat, Output, WholeLog};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A log that cannot be opened or read at all. One line that names the file and the cause.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system says no.
    #[error("{}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// No format claims it.
    #[error("{}: {place}: not a session log of a known agent", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// How far it was looked at.
        place: String,
    },
    /// There is nothing in it.
    #[error("{}: line 1: the log is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// `--format` names none.
    #[error("--format {name}: no such format")]
    NoSuchFormat {
        /// As given.
        name: String,
    },
    /// `--session` names none.
    #[error("--session {name}: no such file, and no session with this id")]
    NoSuchSession {
        /// As given.
        name: String,
    },
}

/// How to open a log.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The format's name, where it is not to be found out; `auto` is as good as none.
    pub format: Option<String>,
    /// The session in a log that holds several.
    pub session: Option<String>,
    /// The branch to tell, in a log that has several; none: the live one. The first is 1.
    pub branch: Option<u32>,
    /// The session's own log only, without those of its sub-agents: enough to count its turns.
    pub alone: bool,
}

/// A log that holds several sessions is named with one of them: `opencode.db#ses_…`. A file whose
/// own name has a `#` is just that file.
pub(super) fn split_session(path: PathBuf) -> (PathBuf, Option<String>) {
    if path.exists() {
        return (path, None);
    }
    match path.to_str().and_then(|text| text.rsplit_once('#')) {
        Some((file, session)) if Path::new(file).exists() => {
            (PathBuf::from(file), Some(session.to_owned()))
        }
        _ => (path, None),
    }
}

/// How far a log has been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Stored bytes read.
    pub read: u64,
    /// Stored bytes that there were at the last look.
    pub total: u64,
    /// Nothing more to read at the moment.
    pub caught_up: bool,
}

/// An open log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    body: Body,
}

enum Body {
    /// None: it is read without the logs of its sub-agents.
    Lines(Box<Lines>, Option<Companions>),
    Whole(Whole),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines(..) => "Lines",
            Self::Whole(_) => "Whole",
        })
    }
}

impl LogFile {
    /// Opens a log by its path.
    ///
    /// # Errors
    /// The file cannot be read, or `options` names no format. That a file is of no known format
    /// shows while it is read.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, LogError> {
        let forced = forced(options.format.as_deref())?;
        let (path, named) = split_session(path.to_owned());
        let path = path.as_path();
        let unreadable = |cause| LogError::Unreadable { path: path.to_owned(), cause };
        if let Some((format, whole)) = whole_format(path, forced).map_err(unreadable)? {
            let session = options.session.clone().or(named);
            let body = Body::Whole(Whole::new(format, whole, session));
            return Ok(Self { path: path.to_owned(), body });
        }
        let stored = Stored::open(path).map_err(unreadable)?;
        Self::from_stored(path, stored, options)
    }

    /// Opens a log whose bytes are at hand; `name` stands for its path in errors.
    pub fn from_stored(
        name: &Path,
        stored: Stored,
        options: &OpenOptions,
    ) -> Result<Self, LogError> {
        let forced = forced(options.format.as_deref())?;
        let mut lines = Lines::new(stored, forced, name);
        if let Some(branch) = options.branch {
            lines.choose_branch(branch);
        }
        let companions = (!options.alone).then(Companions::default);
        Ok(Self { path: name.to_owned(), body: Body::Lines(Box::new(lines), companions) })
    }

    /// Its path, or the name that stands for it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format, once that is known.
    pub fn format(&self) -> Option<&'static dyn LogFormat> {
        match &self.body {
            Body::Lines(lines, _) => lines.format(),
            Body::Whole(whole) => Some(whole.format),
        }
    }

    /// The stored bytes, for a log of lines.
    pub fn stored(&self) -> Option<&Stored> {
        match &self.body {
            Body::Lines(lines, _) => Some(lines.stored()),
            Body::Whole(_) => None,
        }
    }

    /// A reader of single rows; none where the log is not lines (its events keep their texts).
    pub fn rows(&self) -> Option<io::Result<Rows>> {
        self.stored().map(|stored| Rows::new(stored.clone()))
    }

    /// The newest turn of a long log of lines, and the log's format, without reading all of it.
    /// The events begin with `Reset`; they are a first sight that the index replaces. None where
    /// the log is short enough to be indexed at once, or the turn's start is not near the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn newest_turn_first(&self) -> io::Result<Option<(&'static dyn LogFormat, Output)>> {
        match &self.body {
            // What stands at the end is of the live branch.
            Body::Lines(lines, _) if !lines.has_chosen_branch() => {
                newest_turn(lines.stored(), lines.format())
            }
            _ => Ok(None),
        }
    }

    /// Stored bytes read so far.
    pub fn position(&self) -> u64 {
        match &self.body {
            Body::Lines(lines, _) => lines.position(),
            Body::Whole(_) => 0,
        }
    }

    /// Whether the log still holds what was read last before the position.
    pub(super) fn still_stands(&self) -> bool {
        match &self.body {
            Body::Lines(lines, _) => lines.still_stands(),
            Body::Whole(_) => true,
        }
    }

    /// Whether logs of sub-agents belong to it, which grow on their own.
    pub(super) fn has_companions(&self) -> bool {
        matches!(&self.body, Body::Lines(_, Some(companions)) if companions.any())
    }

    /// Whether a sub-agent's log is another than the one that was told.
    pub(super) fn is_stale(&self) -> bool {
        matches!(&self.body, Body::Lines(_, Some(companions)) if companions.is_stale())
    }

    /// Reads on for about `max_bytes` stored bytes, less where they tell much, and appends what they
    /// tell. The first events of a log begin with `Reset`.
    ///
    /// # Errors
    /// The file cannot be read, or is no log of a known format.
    pub fn step(&mut self, max_bytes: u64, out: &mut Output) -> Result<Progress, LogError> {
        match &mut self.body {
            Body::Lines(lines, companions) => {
                let from = out.events.len();
                let mut progress = lines.step(&self.path, max_bytes, out)?;
                if let (Some(companions), Some(format)) = (companions, lines.format()) {
                    companions.hear(out.events.get(from..).unwrap_or_default());
                    if progress.caught_up && companions.any() {
                        progress.caught_up = companions.step(format, &self.path, out);
                    }
                }
                Ok(progress)
            }
            Body::Whole(whole) => whole
                .step(&self.path, out)
                .map_err(|cause| LogError::Unreadable { path: self.path.clone(), cause }),
        }
    }

    /// Reads to the end and takes that for the log's end: what is torn there becomes damage.
    ///
    /// # Errors
    /// As for `step`; also an empty log, and one of which no format can be told.
    pub fn read_all(&mut self, out: &mut Output) -> Result<(), LogError> {
        while !self.step(u64::MAX, out)?.caught_up {}
        match &mut self.body {
            Body::Lines(lines, companions) => {
                let from = out.events.len();
                lines.finish(&self.path, out)?;
                if let (Some(companions), Some(format)) = (companions, lines.format()) {
                    companions.hear(out.events.get(from..).unwrap_or_default());
                    if companions.any() {
                        companions.finish(format, &self.path, out);
                    }
                }
                Ok(())
            }
            Body::Whole(_) => Ok(()),
        }
    }
}

fn forced(name: Option<&str>) -> Result<Option<&'static dyn LogFormat>, LogError> {
    match name {
        None | Some("auto") => Ok(None),
        Some(name) => match FORMATS.iter().find(|format| format.name() == name) {
            Some(format) => Ok(Some(*format)),
            None => Err(LogError::NoSuchFormat { name: name.to_owned() }),
        },
    }
}

/// The format that reads this path as a whole, if there is one.
fn whole_format(
    path: &Path,
    forced: Option<&'static dyn LogFormat>,
) -> io::Result<Option<(&'static dyn LogFormat, &'static dyn WholeLog)>> {
    let head = if path.is_dir() { Vec::new() } else { head(path)? };
    let candidates =
        FORMATS.iter().filter(|format| forced.is_none_or(|f| f.name() == format.name()));
    Ok(candidates
        .filter_map(|format| Some((*format, format.whole()?)))
        .find(|(_, whole)| whole.recognizes(path, &head)))
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = vec![0; 4 << 10];
    let read = Stored::open(path)?.read_at(0, &mut head)?;
    head.truncate(read);
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::TurnState;
    use crate::session::event::{EditSource, LogEvent};
    use crate::session::transcript::Transcript;
    use std::fs;
    use std::sync::Arc;

    const HEADER: &str =
        r#"{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/w","delegationDepth":0}"#;

    /// A log of so many turns with one edit each; between them streamed text.
    fn log(turns: u32, chunks: u32) -> String {
        let mut rows = vec![HEADER.to_owned()];
        let mut seq = 0;
        let mut row = |kind: &str, data: String| {
            rows.push(format!(r#"{{"type":"{kind}","seq":{seq},"time":2,"data":{data}}}"#));
            seq += 1;
        };
        for turn in 1..=turns {
            row("turn/start", format!(r#"{{"turn":{turn}}}"#));
            for n in 0..chunks {
                row(
                    "assistant/chunk",
                    format!(
                        r#"{{"turn":{turn},"step":1,"chunk":{{"type":"text-delta","index":0,"text":"fn {n} {{"}}}}"#
                    ),
                );
            }
            row(
                "tool/call",
                format!(
                    r#"{{"turn":{turn},"callId":"c{turn}","name":"write","arguments":"{{\"file_path\":\"f{turn}\",\"content\":\"text {turn}\"}}"}}"#
                ),
            );
            row(
                "tool/result",
                format!(
                    r#"{{"turn":{turn},"message":{{"source":{{"callId":"c{turn}"}},"toolCallId":"c{turn}","content":[]}}}}"#
                ),
            );
            row("turn/end", format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#));
        }
        rows.join("\n") + "\n"
    }

    fn frames(text: &str, lines: usize) -> Vec<u8> {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        all.chunks(lines)
            .flat_map(|lines| zstd::encode_all(lines.concat().as_bytes(), 3).unwrap())
            .collect()
    }

    fn open(bytes: &[u8]) -> LogFile {
        let stored = Stored::Bytes(Arc::from(bytes));
        LogFile::from_stored(Path::new("x"), stored, &OpenOptions::default()).unwrap()
    }

    fn told(log: &mut LogFile) -> Transcript {
        let mut out = Output::default();
        log.read_all(&mut out).unwrap();
        assert_eq!(out.damages, []);
        assert_eq!(out.events.first(), Some(&LogEvent::Reset));
        transcript(out)
    }

    fn transcript(out: Output) -> Transcript {
        let mut transcript = Transcript::default();
        out.events.into_iter().for_each(|event| transcript.apply(event));
        transcript
    }

    #[test]
    fn rows_are_read_again_by_their_places() {
        let text = log(30, 2);
        for bytes in [text.clone().into_bytes(), frames(&text, 7), frames(&text, 100_000)] {
            let mut log = open(&bytes);
            let told = told(&mut log);
            let mut rows = log.rows().unwrap().unwrap();
            for turn in &told.turns {
                let EditSource::InLog { call, result: Some(result) } = &turn.edits[0].body else {
                    panic!()
                };
                let call = String::from_utf8(rows.row(call).unwrap()).unwrap();
                assert!(
                    call.contains(&format!(r"text {}\", turn.turn)) && call.ends_with('}'),
                    "{call}"
                );
                let result = String::from_utf8(rows.row(result).unwrap()).unwrap();
                assert!(result.starts_with(r#"{"type":"tool/result""#), "{result}");
            }
        }
    }

    #[test]
    fn glued_rows_have_places_of_their_own() {
        let glued = log(2, 0).replace("}\n{\"type\":\"tool", "}{\"type\":\"tool");
        for bytes in [glued.clone().into_bytes(), frames(&glued, 1)] {
            let mut log = open(&bytes);
            let told = told(&mut log);
            let mut rows = log.rows().unwrap().unwrap();
            let EditSource::InLog { call, .. } = &told.turns[1].edits[0].body else { panic!() };
            assert!(rows.row(call).unwrap().starts_with(br#"{"type":"tool/call""#));
        }
    }

    #[test]
    fn a_row_that_is_gone_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, log(2, 0)).unwrap();
        let mut log = LogFile::open(&path, &OpenOptions::default()).unwrap();
        let told = told(&mut log);
        fs::write(&path, "").unwrap();
        let EditSource::InLog { call, .. } = &told.turns[1].edits[0].body else { panic!() };
        let error = log.rows().unwrap().unwrap().row(call).unwrap_err();
        assert_eq!(error.to_string(), "the log no longer holds this row");
    }

    #[test]
    fn the_newest_turn_is_found_from_the_end() {
        let text = log(400, 200);
        assert!(text.len() > 8 << 20);
        let plain = text.clone().into_bytes();
        // Frames that do not compress, so that the stored log is long too.
        let packed: Vec<u8> = text
            .split_inclusive('\n')
            .collect::<Vec<_>>()
            .chunks(50)
            .flat_map(|lines| zstd::encode_all(lines.concat().as_bytes(), -100).unwrap())
            .collect();
        for bytes in [plain, packed] {
            let log = open(&bytes);
            let Some((format, out)) = log.newest_turn_first().unwrap() else {
                panic!("not found in {} bytes", bytes.len());
            };
            assert_eq!(format.name(), "dsh");
            assert_eq!(out.events.first(), Some(&LogEvent::Reset));
            let early = transcript(out);
            let whole = told(&mut open(&bytes));
            assert_eq!(early.turns.len(), 1);
            let (early, whole) = (&early.turns[0], whole.turns.last().unwrap());
            assert_eq!((early.turn, early.state), (400, TurnState::Completed));
            assert_eq!(early.edits[0].path, whole.edits[0].path);
            assert_eq!(early.presented, whole.presented);
            let EditSource::InLog { call, .. } = &early.edits[0].body else { panic!() };
            let row = log.rows().unwrap().unwrap().row(call).unwrap();
            assert!(row.starts_with(br#"{"type":"tool/call""#));
        }
        assert!(open(log(2, 0).as_bytes()).newest_turn_first().unwrap().is_none());
    }

    /// Two branches that take turns: at each change of branch, all is told anew.
    #[test]
    fn of_what_is_told_anew_in_one_step_the_last_is_told() {
        let mut text = String::from(
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-12-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n",
        );
        for at in 0..600 {
            let parent = if at < 2 { "null".to_owned() } else { format!("\"e{}\"", at - 2) };
            let message = format!(
                "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"p{at}\"}}]}}"
            );
            let row = format!(
                "{{\"type\":\"message\",\"id\":\"e{at}\",\"parentId\":{parent},\"timestamp\":\"2026-12-01T00:00:00.000Z\",\"message\":{message}}}\n"
            );
            text.push_str(&row);
        }
        let mut out = Output::default();
        open(text.as_bytes()).read_all(&mut out).unwrap();
        assert!(out.events.len() < 2000, "{} events of 300 turns", out.events.len());
        assert_eq!(out.events.first(), Some(&LogEvent::Reset));
        let told = transcript(out);
        let last: Vec<_> =
            told.turns.iter().map(|turn| turn.prompt.as_str()).rev().take(2).collect();
        assert_eq!((told.turns.len(), &last[..]), (300, &["p599", "p597"][..]));
        assert_eq!(told.branch.map(|branch| branch.total), Some(2));
    }

    #[test]
    fn a_long_log_reads_the_same_in_slices_of_any_size() {
        let text = log(300, 200);
        let packed = frames(&text, 1000);
        let whole = told(&mut open(text.as_bytes()));
        for bytes in [text.as_bytes(), &packed] {
            for slice in [1, 1 << 20, 5 << 20] {
                let mut log = open(bytes);
                let mut out = Output::default();
                while !log.step(slice, &mut out).unwrap().caught_up {}
                assert_eq!(out.damages, []);
                assert_eq!(transcript(out).turns.len(), whole.turns.len());
            }
        }
    }

    #[test]
    fn what_is_no_log_is_refused_in_one_line() {
        let refuse =
            |bytes: &[u8]| open(bytes).read_all(&mut Output::default()).unwrap_err().to_string();
        assert_eq!(refuse(b""), "x: line 1: the log is empty");
        assert_eq!(
            refuse(b"hello\nworld\n"),
            "x: lines 1 to 2: not a session log of a known agent"
        );
        assert!(refuse(&b"{\"a\":1}\n".repeat(5000)).contains("not a session log"));
        let options = OpenOptions { format: Some("nope".into()), ..OpenOptions::default() };
        let error = LogFile::open(Path::new("x"), &options).unwrap_err();
        assert_eq!(error.to_string(), "--format nope: no such format");
        let error = LogFile::open(Path::new("/no/such/log"), &OpenOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/log: No such file"), "{error}");
        let error = LogFile::open(Path::new("/dev/null"), &OpenOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "/dev/null: not a regular file");
    }

    #[test]
    fn a_stream_is_spooled_and_read_like_a_file() {
        let text = log(3, 1);
        let stored = Stored::spool(text.as_bytes()).unwrap();
        let mut log =
            LogFile::from_stored(Path::new("-"), stored, &OpenOptions::default()).unwrap();
        assert_eq!(told(&mut log).turns.len(), 3);
    }

    #[test]
    fn a_giant_line_costs_nothing_but_its_length() {
        let text = log(1, 0).replace("text 1", &"x".repeat(20 << 20));
        assert_eq!(told(&mut open(text.as_bytes())).turns[0].edits.len(), 1);
    }

    proptest::proptest! {
        /// Whatever happened to a log's bytes, reading it ends, and damage is told in one line each.
        #[test]
        fn no_bytes_break_the_reader(
            packed: bool,
            hits in proptest::collection::vec((0usize..3000, proptest::prelude::any::<u8>(), 0usize..40), 1..12),
        ) {
            let text = log(3, 2);
            let mut bytes = if packed { frames(&text, 3) } else { text.into_bytes() };
            for (at, byte, dropped) in hits {
                let at = at.min(bytes.len() - 1);
                bytes[at] = byte;
                let end = (at + dropped).min(bytes.len() - 1);
                bytes.drain(at..end);
            }
            let mut out = Output::default();
            if open(&bytes).read_all(&mut out).is_ok() {
                let mut log = open(&bytes);
                let told = transcript(Output { events: out.events, damages: Vec::new() });
                log.read_all(&mut Output::default()).unwrap();
                let mut rows = log.rows().unwrap().unwrap();
                for edit in told.turns.iter().flat_map(|turn| &turn.edits) {
                    let EditSource::InLog { call, .. } = &edit.body else { panic!() };
                    proptest::prop_assert!(rows.row(call).is_ok(), "{:?}", call);
                }
                for damage in out.damages {
                    proptest::prop_assert!(!damage.message.contains('\n'));
                }
            }
        }
    }
}
