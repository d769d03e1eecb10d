//! Two texts → a comparison: exact in time, coarse otherwise.
//!
//! A small pair is compared where it is asked for. A large one is compared on a thread of its own,
//! because giving back the memory of a comparison that is given up can itself take longer than
//! whoever asked may wait. That thread is told to stop and does so within milliseconds.

use super::limit::{Cancelled, Limit, Stop, Ticker};
use super::text::Text;
use super::{Change, Comparison, Piece, discard, line_class, myers, slider};
use crate::session::EofNewline;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// From this many bytes on, a pair is large.
const LARGE: usize = 1 << 20;

/// How long the cancel flag is not looked at while a large pair is compared.
const LOOK: Duration = Duration::from_millis(2);

/// Compares two texts; none stands for a file that is not there. Past the deadline the answer is
/// coarse: one change that replaces every line.
///
/// # Errors
/// [`Cancelled`] once the limit's flag is set.
pub fn compare(
    old: Option<Arc<[u8]>>,
    new: Option<Arc<[u8]>>,
    limit: &Limit,
) -> Result<Comparison, Cancelled> {
    let (has_old, has_new) = (old.is_some(), new.is_some());
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let large = old.len() + new.len() >= LARGE;
    let (old, new) =
        both(large, || Text::cancellable(old, limit), || Text::cancellable(new, limit));
    let (old, new) = (Arc::new(old?), Arc::new(new?));
    let changes = match changes(&old, &new, large, limit) {
        Ok(changes) => Some(changes),
        Err(Stop::Late) => None,
        Err(Stop::Cancelled) => return Err(Cancelled),
    };
    let coarse = changes.is_none();
    Ok(Comparison {
        changes: changes.unwrap_or_else(|| whole(&old, &new)),
        pieces: vec![Piece {
            old: 0..old.len(),
            new: 0..new.len(),
            old_start: Some(1),
            new_start: Some(1),
        }],
        eof_newline: eof_newline(&old, &new),
        old,
        new,
        has_old,
        has_new,
        coarse,
    })
}

/// Does two things, on two threads where that pays.
pub(super) fn both<T: Send>(
    parallel: bool,
    first: impl FnOnce() -> T + Send,
    second: impl FnOnce() -> T,
) -> (T, T) {
    if !parallel {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        match first.join() {
            Ok(first) => (first, second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// What became of the final newline; nothing where a side has no line.
fn eof_newline(old: &Text, new: &Text) -> Option<EofNewline> {
    match (old.ends_with_newline(), new.ends_with_newline()) {
        _ if old.is_empty() || new.is_empty() => None,
        (false, true) => Some(EofNewline::Added),
        (true, false) => Some(EofNewline::Removed),
        _ => None,
    }
}

/// Every old line replaced by every new one.
pub(super) fn whole(old: &Text, new: &Text) -> Vec<Change> {
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    vec![Change { old: 0..old.len(), new: 0..new.len() }]
}

fn changes(
    old: &Arc<Text>,
    new: &Arc<Text>,
    large: bool,
    limit: &Limit,
) -> Result<Vec<Change>, Stop> {
    if old.is_empty() || new.is_empty() {
        return Ok(whole(old, new));
    }
    limit.check()?;
    if !large {
        return exact(old, new, limit);
    }
    let (old, new) = (Arc::clone(old), Arc::clone(new));
    let own = Limit::default();
    let stop = Arc::clone(&own.cancel);
    let (send, receive) = channel();
    let worker = thread::Builder::new().name("compare".to_owned());
    // The thread is not joined: it may still be giving back memory when the answer is due.
    let spawned = worker.spawn(move || {
        // Nobody may be waiting any more, and then the answer is not missed.
        let _ = send.send(exact(&old, &new, &own));
    });
    let answer = match spawned {
        Ok(_) => wait(&receive, limit),
        Err(_) => Err(Stop::Late),
    };
    stop.store(true, Ordering::Relaxed);
    answer
}

/// Waits for the worker's answer until the limit.
fn wait(receive: &Receiver<Result<Vec<Change>, Stop>>, limit: &Limit) -> Result<Vec<Change>, Stop> {
    loop {
        let left = limit.deadline.map(|due| due.saturating_duration_since(Instant::now()));
        match receive.recv_timeout(left.map_or(LOOK, |left| left.min(LOOK))) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return Err(Stop::Late),
            Err(RecvTimeoutError::Timeout) => limit.check()?,
        }
    }
}

/// The shortest script that git's search finds, placed as git places it.
pub(super) fn exact(old: &Text, new: &Text, limit: &Limit) -> Result<Vec<Change>, Stop> {
    let classes = line_class::classify(old, new, limit)?;
    let mut ticker = Ticker::new(limit);
    let mut old_changed = vec![false; classes.old.len()];
    let mut new_changed = vec![false; classes.new.len()];
    let ends = myers::common_ends(&classes.old, &classes.new);
    let (old_kept, new_kept) =
        discard::keep(&classes, ends, (&mut old_changed, &mut new_changed), &mut ticker)?;
    let changed = (&mut old_changed[..], &mut new_changed[..]);
    myers::search((&old_kept, &new_kept), classes.counts.len(), changed, &mut ticker)?;
    drop((old_kept, new_kept));
    slider::slide(&classes.old, &mut old_changed, &new_changed, &classes.indents, &mut ticker)?;
    slider::slide(&classes.new, &mut new_changed, &old_changed, &classes.indents, &mut ticker)?;
    Ok(script(&old_changed, &new_changed))
}

/// Marked lines → changes.
fn script(old: &[bool], new: &[bool]) -> Vec<Change> {
    let run = |side: &[bool], from: usize| {
        from + side[from..].iter().take_while(|changed| **changed).count()
    };
    let mut changes = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    loop {
        let (old_end, new_end) = (run(old, old_at), run(new, new_at));
        if old_end > old_at || new_end > new_at {
            changes.push(Change {
                old: old_at as u32..old_end as u32,
                new: new_at as u32..new_end as u32,
            });
        }
        if old_end >= old.len() || new_end >= new.len() {
            return changes;
        }
        // One unchanged line on both sides.
        (old_at, new_at) = (old_end + 1, new_end + 1);
    }
}
