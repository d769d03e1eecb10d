//! How long a comparison may take, and who may stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Until when a comparison may run. The default is: without end.
#[derive(Debug, Clone, Default)]
pub struct Limit {
    /// After this instant the answer is coarse.
    pub deadline: Option<Instant>,
    /// Once true, nobody wants the answer any more.
    pub cancel: Arc<AtomicBool>,
}

/// Nobody wanted the answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the comparison was cancelled")]
pub struct Cancelled;

/// Why an exact comparison ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The deadline passed.
    Late,
    /// It was cancelled.
    Cancelled,
}

impl Limit {
    /// A deadline that much from now.
    pub fn within(time: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(time), cancel: Arc::default() }
    }

    /// Whether it was cancelled.
    pub(super) fn cancelled(&self) -> Result<(), Cancelled> {
        if self.cancel.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }

    /// Whether there is still time. Asks the clock: not for every line.
    pub(super) fn check(&self) -> Result<(), Stop> {
        self.cancelled().map_err(|Cancelled| Stop::Cancelled)?;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stop::Late),
            _ => Ok(()),
        }
    }
}

/// How much work may pass between two looks at the limit: well under a millisecond of it.
const STRIDE: usize = 1 << 16;

/// Counts work and looks at the limit once in a while.
#[derive(Debug)]
pub(super) struct Ticker<'a> {
    limit: &'a Limit,
    done: usize,
}

impl<'a> Ticker<'a> {
    pub(super) fn new(limit: &'a Limit) -> Self {
        Self { limit, done: 0 }
    }

    /// Some work was done (in bytes, lines or steps; each takes about a nanosecond or a few).
    pub(super) fn add(&mut self, work: usize) -> Result<(), Stop> {
        self.done += work;
        if self.done < STRIDE {
            return Ok(());
        }
        self.done = 0;
        self.limit.check()
    }
}
