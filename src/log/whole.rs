//! A log that is read as a whole: again each time it changes, on a thread of its own, so that what it tells can be taken piece by piece.

use super::lines::ENOUGH;
use super::open::Progress;
use super::{LogFormat, Output, WholeLog};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Such a log and how far it has been read.
pub(super) struct Whole {
    pub(super) format: &'static dyn LogFormat,
    reads: &'static dyn WholeLog,
    session: Option<String>,
    /// The version that was read last.
    version: Option<u64>,
    reading: Option<Reading>,
}

/// One reading of it.
struct Reading {
    version: u64,
    told: Receiver<Told>,
}

enum Told {
    Some(Output),
    End(io::Result<()>),
}

impl Whole {
    /// A log that `reads` reads; `session` picks one of several.
    pub(super) fn new(
        format: &'static dyn LogFormat,
        reads: &'static dyn WholeLog,
        session: Option<String>,
    ) -> Self {
        Self { format, reads, session, version: None, reading: None }
    }

    /// Appends the next piece of what it tells.
    pub(super) fn step(&mut self, path: &Path, out: &mut Output) -> io::Result<Progress> {
        let done = Progress { caught_up: true, ..Progress::default() };
        let reading = if let Some(reading) = self.reading.take() {
            reading
        } else {
            let version = self.reads.version(path)?;
            if self.version == Some(version) {
                return Ok(done);
            }
            self.start(path, version)?
        };
        match reading.told.recv() {
            Ok(Told::Some(mut some)) => {
                out.events.append(&mut some.events);
                out.damages.append(&mut some.damages);
                self.reading = Some(reading);
                Ok(Progress::default())
            }
            Ok(Told::End(end)) => {
                end?;
                self.version = Some(reading.version);
                Ok(done)
            }
            Err(_) => Err(io::Error::other("the reading thread failed")),
        }
    }

    fn start(&self, path: &Path, version: u64) -> io::Result<Reading> {
        let (tell, told) = sync_channel(1);
        let (reads, session, path) = (self.reads, self.session.clone(), PathBuf::from(path));
        thread::Builder::new().name("log-whole".to_owned()).spawn(move || {
            let mut so_far = |out: &mut Output| {
                out.events.len() < ENOUGH || tell.send(Told::Some(std::mem::take(out))).is_ok()
            };
            let mut out = Output::default();
            let end = reads.read(&path, session.as_deref(), &mut out, &mut so_far);
            // Whoever wants it no more has dropped the receiver.
            if end.is_ok() {
                let _ = tell.send(Told::Some(out));
            }
            let _ = tell.send(Told::End(end));
        })?;
        Ok(Reading { version, told })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{FORMATS, SoFar};
    use crate::session::event::LogEvent;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    /// Tells so many turns; how many it has told so far, and its version, can be seen.
    #[derive(Default)]
    struct Turns {
        told: AtomicU64,
        version: AtomicU64,
    }

    const MOST: u32 = 10_000;

    impl WholeLog for Turns {
        fn recognizes(&self, _: &Path, _: &[u8]) -> bool {
            true
        }

        fn version(&self, _: &Path) -> io::Result<u64> {
            Ok(self.version.load(Ordering::SeqCst))
        }

        fn read(
            &self,
            _: &Path,
            session: Option<&str>,
            out: &mut Output,
            so_far: &mut SoFar<'_>,
        ) -> io::Result<()> {
            out.events.push(LogEvent::Reset);
            for turn in 1..=MOST {
                self.told.fetch_add(1, Ordering::SeqCst);
                out.events.push(LogEvent::TurnStart { turn, at: None });
                if !so_far(out) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                if session == Some("broken") && turn == 5000 {
                    return Err(io::Error::other("it is torn"));
                }
            }
            Ok(())
        }
    }

    fn whole(session: Option<&str>) -> (Whole, &'static Turns) {
        let turns: &'static Turns = Box::leak(Box::default());
        (Whole::new(FORMATS[0], turns, session.map(str::to_owned)), turns)
    }

    fn rest(whole: &mut Whole) -> io::Result<(usize, usize)> {
        let (mut events, mut most) = (0, 0);
        loop {
            let mut out = Output::default();
            let progress = whole.step(Path::new("log"), &mut out)?;
            events += out.events.len();
            most = most.max(out.events.len());
            if progress.caught_up {
                return Ok((events, most));
            }
        }
    }

    #[test]
    fn it_is_told_in_pieces_and_again_when_it_has_changed() {
        let (mut whole, turns) = whole(None);
        assert_eq!(rest(&mut whole).unwrap(), (MOST as usize + 1, ENOUGH));
        assert_eq!(rest(&mut whole).unwrap(), (0, 0));
        turns.version.store(7, Ordering::SeqCst);
        assert_eq!(rest(&mut whole).unwrap().0, MOST as usize + 1);
    }

    #[test]
    fn what_breaks_is_said_and_tried_again() {
        let (mut whole, _) = whole(Some("broken"));
        for _ in 0..2 {
            assert_eq!(rest(&mut whole).unwrap_err().to_string(), "it is torn");
        }
    }

    #[test]
    fn nobody_reads_on_for_one_who_has_left() {
        let (mut whole, turns) = whole(None);
        whole.step(Path::new("log"), &mut Output::default()).unwrap();
        drop(whole);
        let told = || turns.told.load(Ordering::SeqCst);
        let (start, mut seen) = (Instant::now(), 0);
        while seen != told() && start.elapsed() < Duration::from_secs(5) {
            seen = told();
            thread::sleep(Duration::from_millis(50));
        }
        assert!(seen < 5 * ENOUGH as u64, "{seen} turns were read");
    }
}
