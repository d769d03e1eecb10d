//! The one test binary: a commented `mod` line per theme.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail loudly")]
#![allow(missing_docs, unreachable_pub, reason = "tests are read, not called")]

/// The floors of the house.
mod architecture;

/// Logs of Codex, opencode and ACP: turns, edits and file lists of every sample.
mod agents_more;
/// Where the shared reference material lies.
mod shared;
