//! What is done in the background: comparing, counting, searching.

use super::newest::Newest;
use crate::app::{Base, Event, Shown, Subject};
use crate::content::{Changes, GitObjects};
use crate::diff::{Comparison, Limit};
use crate::layout::{Plan, search_rows};
use crate::reader::{Recent, compare_soon, count_all, whole};
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
    pub(super) base: Base,
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

/// What a worker tells when it panicked: a fault of ours, and nothing else is lost by it.
pub(super) fn told(send: &Send, what: &'static str) -> impl Fn() + std::marker::Send + 'static {
    let send = Arc::clone(send);
    move || {
        send(Event::Warning(format!("internal error while {what}; please report it")));
    }
}

/// Compares the newest subject; where time runs out, shows that and goes on.
pub(super) fn comparer(
    objects: Objects,
    recent: Arc<Recent>,
    timeout: Duration,
    send: Send,
) -> io::Result<Newest<CompareJob>> {
    let failed = told(&send, "comparing");
    let work = move |job: CompareJob, cancel: &Arc<AtomicBool>| {
        let objects = objects_of(&objects);
        let request = job.request;
        let compared = |time: Duration| {
            let deadline = Instant::now().checked_add(time);
            let limit = Limit { deadline, cancel: Arc::clone(cancel) };
            match &job.subject {
                Subject::Change(change) => {
                    let make = || compare_soon(&objects, change, &limit);
                    recent.compare(change, &limit, make).ok()
                }
                Subject::Anyway(change) => {
                    let objects = objects.clone().with_max_file_bytes(u64::MAX);
                    compare_soon(&objects, change, &limit).ok()
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
    };
    Newest::start("compare", work, failed)
}

/// Counts the files of the newest list.
pub(super) fn counter(
    objects: Objects,
    recent: Arc<Recent>,
    timeout: Duration,
    send: Send,
) -> io::Result<Newest<CountJob>> {
    let failed = told(&send, "counting");
    let work = move |job: CountJob, cancel: &Arc<AtomicBool>| {
        let objects = objects_of(&objects);
        let (turn, revision, base) = (job.turn, job.revision, job.base);
        let found = |counts| {
            send(Event::Counted { turn, revision, base, counts });
        };
        count_all(&objects, Some(&recent), &job.changes, Some(timeout), cancel, &found);
    };
    Newest::start("count", work, failed)
}

/// Searches the newest pattern.
pub(super) fn searcher(send: Send) -> io::Result<Newest<SearchJob>> {
    let failed = told(&send, "searching");
    let work = move |job: SearchJob, cancel: &Arc<AtomicBool>| {
        let is_wanted = || !cancel.load(Ordering::Relaxed);
        let found = search_rows(&job.comparison, &job.plan, &job.pattern, &is_wanted);
        if let Some(rows) = found {
            send(Event::Found { request: job.request, rows });
        }
    };
    Newest::start("search", work, failed)
}
