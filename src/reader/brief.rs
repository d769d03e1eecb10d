//! What a list of sessions says of one beyond what its discovery found: how many turns, and its title.

use crate::log::open::{LogError, LogFile, OpenOptions};
use crate::log::{FoundSession, Output};
use crate::session::transcript::Transcript;

/// So many stored bytes are read between two looks at whether anybody still waits.
const SLICE: u64 = 8 << 20;

/// What only the whole log of a session tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// How many turns it has; none where the log cannot be read.
    pub turns: Option<usize>,
    /// Its title, or else what it was found by, or else its first prompt.
    pub title: Option<String>,
}

/// Reads a session's log for its brief; none once nobody wants it any more.
pub fn brief(found: &FoundSession, is_wanted: &dyn Fn() -> bool) -> Option<Brief> {
    let mut transcript = Transcript::default();
    let read = read(found, &mut transcript, is_wanted);
    if !is_wanted() {
        return None;
    }
    let title = transcript.header.title.take().or_else(|| found.title.clone());
    let mut prompts = transcript.turns.iter().map(|turn| &turn.prompt);
    let title = title.or_else(|| prompts.find(|prompt| !prompt.is_empty()).cloned());
    Some(Brief { turns: read.is_ok().then_some(transcript.turns.len()), title })
}

fn read(
    found: &FoundSession,
    transcript: &mut Transcript,
    is_wanted: &dyn Fn() -> bool,
) -> Result<(), LogError> {
    let (format, session) = (Some(found.format.into()), Some(found.id.clone()));
    let how = OpenOptions { format, session, branch: None, alone: true };
    let mut log = LogFile::open(&found.path, &how)?;
    let mut output = Output::default();
    while is_wanted() {
        let is_done = log.step(SLICE, &mut output)?.caught_up;
        let end = if is_done { log.read_all(&mut output) } else { Ok(()) };
        output.events.drain(..).for_each(|event| transcript.apply(event));
        output.damages.clear();
        if is_done {
            return end;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::time::SystemTime;

    fn found(path: &Path, title: Option<&str>) -> FoundSession {
        FoundSession {
            format: "claude",
            id: "s".into(),
            path: path.to_owned(),
            cwd: None,
            title: title.map(str::to_owned),
            modified: SystemTime::UNIX_EPOCH,
        }
    }

    fn prompt(n: u32) -> String {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"sessionId\":\"s\",\"message\":{{\"content\":\"prompt {n}\"}}}}\n"
        )
    }

    #[test]
    fn turns_are_counted_and_a_first_prompt_is_a_title() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, prompt(1) + &prompt(2)).unwrap();
        let told = brief(&found(&path, None), &|| true).unwrap();
        assert_eq!(told, Brief { turns: Some(2), title: Some("prompt 1".into()) });
        let told = brief(&found(&path, Some("found")), &|| true).unwrap();
        assert_eq!(told.title.as_deref(), Some("found"));
        let told = brief(&found(Path::new("/no/such/log"), Some("found")), &|| true).unwrap();
        assert_eq!(told, Brief { turns: None, title: Some("found".into()) });
    }

    #[test]
    fn reading_ends_when_nobody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let long = format!("{}{}", prompt(1), "{\"type\":\"progress\"}\n".repeat(4_000_000));
        fs::write(&path, long).unwrap();
        let looks = std::cell::Cell::new(0);
        let is_wanted = || {
            looks.set(looks.get() + 1);
            looks.get() < 3
        };
        assert_eq!(brief(&found(&path, None), &is_wanted), None);
        assert!(looks.get() < 8, "it went on for {} looks", looks.get());
    }
}
