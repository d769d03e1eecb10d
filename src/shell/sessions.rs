//! The sessions of this machine: listed when asked, and looked after for a newer one.

use super::newest::Newest;
use super::workers::{Send, told};
use crate::app::{Event, SessionRow, TurnCount};
use crate::log::discover::discover_all;
use crate::log::{FoundSession, Places};
use crate::reader::brief;
use crate::session::path::escape_name;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// So long after a look comes the next one, at the earliest.
const PAUSE: Duration = Duration::from_secs(5);

/// So many times as long as a look took is waited before the next one: where there are thousands
/// of logs a look takes long, and this keeps it below two thousandths of one core.
const REST: u32 = 500;

/// Lists all sessions on a thread of its own.
pub(super) fn list(places: Places, send: Send) -> io::Result<()> {
    let work = move || {
        let now = SystemTime::now();
        let found = discover_all(&places, None);
        send(Event::Sessions(found.iter().map(|found| row(found, now)).collect()));
    };
    thread::Builder::new().name("sessions".into()).spawn(work).map(drop)
}

/// Sessions whose turns are to be counted, in this order, each with its place among all.
pub(super) struct BriefJob {
    pub(super) request: u64,
    pub(super) rows: Vec<(usize, SessionRow)>,
}

/// Reads the logs of the newest list of sessions, one after the other, and tells of each.
pub(super) fn briefer(send: Send) -> io::Result<Newest<BriefJob>> {
    let failed = told(&send, "counting turns");
    let work = move |job: BriefJob, cancel: &Arc<AtomicBool>| {
        let is_wanted = || !cancel.load(Ordering::Relaxed);
        for (at, row) in job.rows {
            let Some(brief) = brief(&found(row), &is_wanted) else { return };
            send(Event::Brief { request: job.request, at, brief });
        }
    };
    Newest::start("turns", work, failed)
}

/// What discovery found, as far as it is needed to read the log.
fn found(row: SessionRow) -> FoundSession {
    let title = Some(row.title).filter(|title| !title.is_empty());
    let (path, modified) = (row.path, SystemTime::UNIX_EPOCH);
    FoundSession { format: row.agent, id: row.id, path, cwd: None, title, modified }
}

/// Looks for sessions of a directory that begin from now on, and tells of the newest.
pub(super) fn watch(places: Places, cwd: PathBuf, send: Send) -> io::Result<()> {
    let start = SystemTime::now();
    let work = move || {
        // The first screen goes before this.
        thread::sleep(Duration::from_secs(1));
        let mut known: Option<HashSet<PathBuf>> = None;
        loop {
            let began = Instant::now();
            let found = discover_all(&places, Some(&cwd));
            let known = known.get_or_insert_with(|| {
                let old = found.iter().filter(|found| !began_since(&found.path, start));
                old.map(|found| found.path.clone()).collect()
            });
            let newer = found.iter().find(|found| !known.contains(&found.path));
            let row = newer.map(|newer| row(newer, SystemTime::now()));
            known.extend(found.into_iter().map(|found| found.path));
            if let Some(row) = row
                && !send(Event::Newer(Box::new(row)))
            {
                return;
            }
            thread::sleep(PAUSE.max(began.elapsed() * REST));
        }
    };
    thread::Builder::new().name("newer".into()).spawn(work).map(drop)
}

/// Whether a log was made after a moment; not where the file system does not tell.
fn began_since(path: &Path, moment: SystemTime) -> bool {
    fs::metadata(path).and_then(|meta| meta.created()).is_ok_and(|created| created > moment)
}

fn row(found: &FoundSession, now: SystemTime) -> SessionRow {
    SessionRow {
        agent: found.format,
        id: found.id.clone(),
        title: found.title.clone().unwrap_or_default(),
        cwd: found.cwd.as_ref().map(|cwd| escape_name(cwd.as_os_str())).unwrap_or_default(),
        path: found.path.clone(),
        turns: TurnCount::Awaited,
        age: now.duration_since(found.modified).unwrap_or_default().as_secs(),
    }
}
