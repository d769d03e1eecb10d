//! What is done in the background: comparing, counting, searching.

use super::newest::Newest;
use crate::app::{Event, Shown, Subject};
use crate::content::{Changes, GitObjects};
use crate::diff::{Comparison, Limit};
use crate::layout::Plan;
use crate::reader::{compare, count_all, whole};
use crate::text;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After a coarse comparison, the exact one may take so long.
const EXACT_TIME: Duration = Duration::from_secs(10);

/// Hands an event to the loop; false once nobody listens.
pub(super) type Send = Arc<dyn Fn(Event) -> bool + std::marker::Send + Sync>;

/// The objects that comparisons are made from; each worker takes a clone.
pub(super) type Objects = Arc<Mutex<GitObjects>>;

/// A comparison that is wanted.
pub(super) struct CompareJob {
    pub(super) request: u64,
    pub(super) subject: Subject,
}

/// Files to count.
pub(super) struct CountJob {
    pub(super) turn: u32,
    pub(super) revision: u64,
    pub(super) changes: Arc<Changes>,
}

/// A search.
pub(super) struct SearchJob {
    pub(super) request: u64,
    pub(super) pattern: String,
    pub(super) comparison: Arc<Comparison>,
    pub(super) plan: Arc<Plan>,
}

fn objects_of(objects: &Objects) -> GitObjects {
    objects.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Compares the newest subject; where time runs out, shows that and goes on.
pub(super) fn comparer(
    objects: Objects,
    timeout: Duration,
    send: Send,
) -> io::Result<Newest<CompareJob>> {
    Newest::start("compare", move |job: CompareJob, cancel| {
        let objects = objects_of(&objects);
        let request = job.request;
        let compared = |time: Duration| {
            let deadline = Instant::now().checked_add(time);
            let limit = Limit { deadline, cancel: Arc::clone(cancel) };
            match &job.subject {
                Subject::Change(change) => compare(&objects, change, &limit).ok(),
                Subject::Anyway(change) => {
                    let objects = objects.clone().with_max_file_bytes(u64::MAX);
                    compare(&objects, change, &limit).ok()
                }
                Subject::Present(path) => Some(whole(&objects, path)),
            }
        };
        let is_coarse =
            |shown: &Shown| matches!(shown, Shown::Text(comparison) if comparison.coarse);
        let Some(shown) = compared(timeout) else { return };
        let again = is_coarse(&shown);
        send(Event::Compared { request, shown });
        if again {
            let exact = compared(EXACT_TIME).filter(|shown| !is_coarse(shown));
            if let Some(shown) = exact.filter(|_| !cancel.load(Ordering::Relaxed)) {
                send(Event::Compared { request, shown });
            }
        }
    })
}

/// Counts the files of the newest list.
pub(super) fn counter(
    objects: Objects,
    timeout: Duration,
    send: Send,
) -> io::Result<Newest<CountJob>> {
    Newest::start("count", move |job: CountJob, cancel| {
        let objects = objects_of(&objects);
        let (turn, revision) = (job.turn, job.revision);
        let found = |counts| {
            send(Event::Counted { turn, revision, counts });
        };
        count_all(&objects, &job.changes, Some(timeout), cancel, &found);
    })
}

/// Searches the newest pattern.
pub(super) fn searcher(send: Send) -> io::Result<Newest<SearchJob>> {
    Newest::start("search", move |job: SearchJob, cancel: &Arc<AtomicBool>| {
        let mut rows = Vec::new();
        for (at, row) in job.plan.rows.iter().enumerate() {
            if at % 4096 == 0 && cancel.load(Ordering::Relaxed) {
                return;
            }
            let is_line = row.hidden == 0;
            let matches = |line: &[u8]| text::find(line, &job.pattern).next().is_some();
            let old = row.old().is_some_and(|line| matches(job.comparison.old.line(line)));
            let new = row.new_line().is_some_and(|line| matches(job.comparison.new.line(line)));
            if is_line && (old || new) {
                rows.push(at as u32);
            }
        }
        send(Event::Found { request: job.request, rows });
    })
}
