//! Changes → the summary of the outside interface: counted, capped, in order.

use super::compare::{Counts, Shown, compare, compare_soon};
use super::recent::Recent;
use crate::content::{Changes, FileChange, GitObjects};
use crate::diff::Limit;
use crate::session::ChangesSummary;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So few files are counted on the thread that asks: starting others costs more.
const FEW: usize = 50;

/// Counts every file that is not counted yet, each within `time` (none: as long as it takes), and
/// hands the counts over in small groups as they are found. Ends early when `cancel` is set. What
/// is compared is shared with the viewer through `recent`, where there is one.
pub fn count_all(
    objects: &GitObjects,
    recent: Option<&Recent>,
    changes: &Changes,
    time: Option<Duration>,
    cancel: &Arc<AtomicBool>,
    found: &(dyn Fn(Vec<(usize, Counts)>) + Sync),
) {
    const GROUP: usize = 64;
    let todo: Vec<usize> = changes
        .files
        .iter()
        .enumerate()
        .filter_map(|(at, change)| (!change.counted).then_some(at))
        .collect();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let few = todo.len() <= FEW || threads == 1;
    let work = |objects: &GitObjects| {
        let mut group = Vec::new();
        while let Some(at) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(change) = changes.files.get(*at) else { break };
            let mut limit = time.map_or_else(Limit::default, Limit::within);
            limit.cancel = Arc::clone(cancel);
            let compared = || {
                if few {
                    compare_soon(objects, change, &limit)
                } else {
                    compare(objects, change, &limit)
                }
            };
            let made = match recent {
                Some(recent) => recent.compare(change, &limit, compared),
                None => compared(),
            };
            let Ok(shown) = made else { break };
            group.push((*at, shown.counts()));
            if group.len() == GROUP {
                found(std::mem::take(&mut group));
            }
        }
        if !group.is_empty() {
            found(group);
        }
    };
    if few {
        return work(objects);
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let objects = objects.clone();
            let work = &work;
            scope.spawn(move || work(&objects));
        }
    });
}

/// The summary of a turn's changes, or of two trees (`turn` none); at most `max_files` are listed.
/// Beside it a line for each file whose sides cannot be read.
pub fn summary(
    objects: &GitObjects,
    changes: &Changes,
    turn: Option<u32>,
    time: Duration,
    max_files: usize,
) -> (ChangesSummary, Vec<String>) {
    let counts = Mutex::new(vec![None; changes.files.len()]);
    count_all(objects, None, changes, Some(time), &Arc::default(), &|found| {
        let Ok(mut counts) = counts.lock() else { return };
        for (at, count) in found {
            if let Some(slot) = counts.get_mut(at) {
                *slot = Some(count);
            }
        }
    });
    let counts = counts.into_inner().unwrap_or_default();
    let mut files: Vec<_> = changes.files.iter().map(|change| change.file.clone()).collect();
    let mut failures = Vec::new();
    for ((file, counts), change) in files.iter_mut().zip(counts).zip(&changes.files) {
        let Some(counts) = counts else { continue };
        if counts.failed {
            failures.push(format!("{}: {}", file.display, why(objects, change)));
        }
        file.added = counts.added.into();
        file.deleted = counts.deleted.into();
        file.binary = counts.binary;
        file.oversized = counts.oversized;
    }
    let (added, deleted) = files
        .iter()
        .fold((0, 0), |(added, deleted), file| (added + file.added, deleted + file.deleted));
    let total = files.len();
    files.truncate(max_files);
    let summary = ChangesSummary {
        turn,
        cwd: changes.cwd.clone(),
        files,
        total,
        added,
        deleted,
        snapshot: changes.snapshot.clone(),
        source: changes.source,
    };
    (summary, failures)
}

/// Why a file cannot be compared.
fn why(objects: &GitObjects, change: &FileChange) -> String {
    match compare(objects, change, &Limit::default()) {
        Ok(Shown::Failed(why)) => why,
        _ => "it could not be read a moment ago".into(),
    }
}
