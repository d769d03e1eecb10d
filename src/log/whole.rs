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
        let reading = match self.reading.take() {
            Some(reading) => reading,
            None => {
                let version = self.reads.version(path)?;
                if self.version == Some(version) {
                    return Ok(done);
                }
                self.start(path, version)?
            }
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
