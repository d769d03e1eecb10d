//! A worker that always does the newest job: a newer one stops the one at work and replaces the one that waits.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

struct State<J> {
    waiting: Option<J>,
    /// Set: whoever works on the job that this belongs to shall stop.
    cancel: Arc<AtomicBool>,
    is_over: bool,
}

/// A thread and the one job that may wait for it.
pub(super) struct Newest<J> {
    shared: Arc<(Mutex<State<J>>, Condvar)>,
}

impl<J: Send + 'static> Newest<J> {
    /// Starts a worker. `work` gets each job with the flag that tells it to stop; `failed` is
    /// called when it panics.
    pub(super) fn start(
        name: &str,
        work: impl FnMut(J, &Arc<AtomicBool>) + Send + 'static,
        failed: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let state = State { waiting: None, cancel: Arc::default(), is_over: false };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let theirs = Arc::clone(&shared);
        thread::Builder::new().name(name.to_owned()).spawn(move || run(&theirs, work, &failed))?;
        Ok(Self { shared })
    }

    /// Stops what is at work and does this instead.
    pub(super) fn post(&self, job: J) {
        self.replace(Some(job));
    }

    /// Stops what is at work.
    pub(super) fn cancel(&self) {
        self.replace(None);
    }

    fn replace(&self, job: Option<J>) {
        let mut state = lock(&self.shared.0);
        state.cancel.store(true, Ordering::Relaxed);
        state.cancel = Arc::default();
        state.waiting = job;
        self.shared.1.notify_one();
    }
}

impl<J> Drop for Newest<J> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.0);
        state.cancel.store(true, Ordering::Relaxed);
        state.is_over = true;
        self.shared.1.notify_one();
    }
}

fn run<J>(
    shared: &(Mutex<State<J>>, Condvar),
    mut work: impl FnMut(J, &Arc<AtomicBool>),
    failed: &dyn Fn(),
) {
    loop {
        let (job, cancel) = {
            let mut state = lock(&shared.0);
            loop {
                if state.is_over {
                    return;
                }
                if let Some(job) = state.waiting.take() {
                    break (job, Arc::clone(&state.cancel));
                }
                state = shared.1.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        };
        // A job that panics is lost; the jobs after it are not.
        let done = panic::catch_unwind(AssertUnwindSafe(|| work(job, &cancel)));
        if done.is_err() {
            failed();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A worker that panicked left no half-made state here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_newer_job_stops_the_older_and_skips_those_between() {
        let (send, receive) = mpsc::channel();
        let worker = Newest::start(
            "test",
            move |job: u32, cancel: &Arc<AtomicBool>| {
                while job == 1 && !cancel.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                send.send(job).unwrap();
                thread::sleep(Duration::from_millis(30));
            },
            || {},
        )
        .unwrap();
        worker.post(1);
        thread::sleep(Duration::from_millis(20));
        for job in 2..10 {
            worker.post(job);
        }
        let mut done = Vec::new();
        while let Ok(job) = receive.recv_timeout(Duration::from_millis(200)) {
            done.push(job);
        }
        assert_eq!(done.first(), Some(&1));
        assert_eq!(done.last(), Some(&9));
        assert!(done.len() <= 3, "{done:?}");
    }

    #[test]
    fn a_job_that_panics_is_told_and_the_next_one_is_done() {
        let (send, receive) = mpsc::channel();
        let told = send.clone();
        let work = move |job: u32, _: &Arc<AtomicBool>| {
            assert!(job != 1, "on purpose");
            send.send(job).unwrap();
        };
        let worker = Newest::start("test", work, move || told.send(0).unwrap()).unwrap();
        worker.post(1);
        assert_eq!(receive.recv_timeout(Duration::from_secs(9)), Ok(0));
        worker.post(2);
        assert_eq!(receive.recv_timeout(Duration::from_secs(9)), Ok(2));
    }
}
