//! The one test binary: a commented `mod` line per theme.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail loudly")]
#![allow(clippy::format_collect, reason = "texts for tests are short")]
#![allow(missing_docs, unreachable_pub, reason = "tests are read, not called")]

/// Logs of Claude Code, Gemini CLI and pi, as their clients wrote them.
mod agents;
/// Logs of Codex, opencode and ACP: turns, edits and file lists of every sample.
mod agents_more;
/// The floors of the house.
mod architecture;
/// Bases, file history, the session picker.
mod bases;
/// Sessions that went back to an earlier turn.
mod branches;
/// Checkpoints that an agent's client made.
mod checkpoints;
/// What sub-agents did, told in the turn that called them.
mod children;
/// What the agent ran in a turn, and how it went.
mod commands;
/// Comparisons against the reference pairs and against git itself.
mod comparison;
/// The README says what the program says.
mod docs;
/// The store when things go wrong.
mod faults;
/// Real logs, told as upstream tells them.
mod formats;
/// Hooks as agents call them.
mod hooks;
/// What is read is shown, never sent.
mod hostile;
/// Keys in, screens out.
mod journeys;
/// Sessions of very many turns.
mod long;
/// Display paths, their order, and canonical paths.
mod paths;
/// A person at the reviewer, without a terminal.
mod person;
/// Turns that are recorded live.
mod recording;
/// Edits of a log made into changed files.
mod replays;
/// Where shared material lies.
mod shared;
/// A real pseudo-terminal.
mod terminal;
/// The program's output and exit codes.
mod transcripts;
/// Two trees compared, against git.
mod tree_diff;
/// The work tree as a tree, against git.
mod trees;
