//! Large comparisons are made once: the list's counts and the viewer ask for the same one.

use super::compare::Shown;
use crate::content::{ContentId, FileChange, Pair};
use crate::diff::{Cancelled, Comparison, Limit};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Comparisons of so many bytes of text and more are kept for a while.
const LARGE: usize = 1 << 20;

/// So many bytes of text are kept.
const MOST: usize = 32 << 20;

/// How long the cancel flag is not looked at while another makes the comparison.
const LOOK: Duration = Duration::from_millis(2);

/// The comparisons that are being made, and the large ones that were made last.
#[derive(Debug, Default)]
pub struct Recent {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    making: Vec<Sides>,
    made: VecDeque<(Sides, Arc<Comparison>)>,
}

/// Two sides that never change: git objects, or none.
type Sides = (ContentId, ContentId);

impl Recent {
    /// The comparison of a change: as it was made before, as another makes it at this moment, or
    /// else by `make`. Past the limit's deadline nobody is waited for.
    ///
    /// # Errors
    /// [`Cancelled`] once nobody wants the answer any more.
    pub fn compare(
        &self,
        change: &FileChange,
        limit: &Limit,
        make: impl FnOnce() -> Result<Shown, Cancelled>,
    ) -> Result<Shown, Cancelled> {
        let Some(sides) = lasting_sides(change) else { return make() };
        let mut state = self.state();
        loop {
            if let Some((_, made)) = state.made.iter().find(|(known, _)| *known == sides) {
                return Ok(Shown::Text(Arc::clone(made)));
            }
            let is_late = limit.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if is_late || !state.making.contains(&sides) {
                break;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if limit.cancel.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
        }
        state.making.push(sides.clone());
        drop(state);
        let making = Making { recent: self, sides };
        let shown = make();
        if let Ok(Shown::Text(comparison)) = &shown
            && !comparison.coarse
            && size(comparison) >= LARGE
        {
            self.state().keep(making.sides.clone(), Arc::clone(comparison));
        }
        shown
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, sides: Sides, comparison: Arc<Comparison>) {
        self.made.push_back((sides, comparison));
        let mut bytes: usize = self.made.iter().map(|(_, made)| size(made)).sum();
        while bytes > MOST
            && let Some((_, oldest)) = self.made.pop_front()
        {
            bytes -= size(&oldest);
        }
    }
}

/// While it lives, a comparison is being made; it may end in a panic.
struct Making<'a> {
    recent: &'a Recent,
    sides: Sides,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let mut state = self.recent.state();
        if let Some(at) = state.making.iter().position(|sides| *sides == self.sides) {
            state.making.swap_remove(at);
        }
        self.recent.changed.notify_all();
    }
}

fn size(comparison: &Comparison) -> usize {
    comparison.old.bytes().len() + comparison.new.bytes().len()
}

fn lasting_sides(change: &FileChange) -> Option<Sides> {
    let lasts = |side: &ContentId| matches!(side, ContentId::Blob { .. } | ContentId::Absent);
    match &change.pair {
        Pair::Sides { old, new } if lasts(old) && lasts(new) => Some((old.clone(), new.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compare;
    use crate::session::ChangedFile;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    fn change(id: &str) -> FileChange {
        let blob = |id: &str| ContentId::Blob { id: id.to_owned(), mode: 0o100_644 };
        FileChange {
            file: ChangedFile::default(),
            pair: Pair::Sides { old: ContentId::Absent, new: blob(id) },
            counted: false,
            note: None,
        }
    }

    fn shown(bytes: usize) -> Shown {
        let new = vec![b'\n'; bytes].into();
        Shown::Text(Arc::new(compare(None, Some(new), &Limit::default()).unwrap()))
    }

    #[test]
    fn a_large_comparison_is_made_once_and_given_up_for_others() {
        let recent = Recent::default();
        let makes = AtomicUsize::new(0);
        let compare = |id: &str, bytes| {
            let made = recent.compare(&change(id), &Limit::default(), || {
                makes.fetch_add(1, Ordering::Relaxed);
                Ok(shown(bytes))
            });
            assert!(matches!(made, Ok(Shown::Text(made)) if size(&made) == bytes));
            makes.load(Ordering::Relaxed)
        };
        assert_eq!([compare("small", 10), compare("small", 10)], [1, 2]);
        assert_eq!([compare("large", LARGE), compare("large", LARGE)], [3, 3]);
        assert_eq!([compare("other", MOST), compare("large", LARGE)], [4, 5]);
    }

    #[test]
    fn who_wants_what_another_makes_waits_for_it() {
        let recent = Recent::default();
        let (begun, wait) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                recent.compare(&change("a"), &Limit::default(), || {
                    begun.send(()).unwrap();
                    thread::sleep(Duration::from_millis(50));
                    Ok(shown(LARGE))
                })
            });
            wait.recv().unwrap();
            let found = recent.compare(&change("a"), &Limit::default(), || panic!("made twice"));
            assert!(found.is_ok());
        });
    }

    #[test]
    fn nobody_waits_past_a_deadline_or_after_a_cancel() {
        let recent = Recent::default();
        let (begun, wait) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        thread::scope(|scope| {
            let recent = &recent;
            scope.spawn(move || {
                recent.compare(&change("a"), &Limit::default(), || {
                    begun.send(()).unwrap();
                    let _ = ended.recv();
                    Err(Cancelled)
                })
            });
            wait.recv().unwrap();
            let late = Limit::within(Duration::from_millis(5));
            assert!(recent.compare(&change("a"), &late, || Ok(shown(3))).is_ok());
            let cancelled = Limit::default();
            cancelled.cancel.store(true, Ordering::Relaxed);
            assert!(recent.compare(&change("a"), &cancelled, || panic!("made")).is_err());
            drop(end);
        });
        // What was given up is made by the next one.
        assert!(recent.compare(&change("a"), &Limit::default(), || Ok(shown(3))).is_ok());
    }
}
