//! Handback: a terminal reviewer for what a coding agent's turn hands back.
//!
//! # The map
//!
//! A session log comes in; turns with their presented and changed files come out, as screens or as JSON.
//! Rooms, from the ground up; a room knows only rooms below it (`tests/architecture.rs` holds that):
//!
//! | floor | room | holds |
//! |---|---|---|
//! | 0 | [`session`] | the nouns: session, turn, changed file, comparison; the turn model; what commands were for and how they went |
//! | 0 | [`text`] | graphemes, cells, visible glyphs for what must not be sent to a terminal |
//! | 1 | [`diff`] | two texts → changes, within a deadline |
//! | 1 | [`log`] | bytes → lines → events, one file per agent; the tail; discovery |
//! | 1 | [`content`] | where bytes come from |
//! | 2 | [`snapshot`] | work tree → tree; tree ↔ tree |
//! | 2 | [`replay`] | a log's edits → whole texts or hunks → changed files |
//! | 2 | [`store`] | what is kept on disk |
//! | 2 | [`layout`] | a comparison → rows; the screen's areas |
//! | 3 | [`record`], [`tool`] | the recorder; pure presenters of file tools |
//! | 4 | [`reader`] | an opened session: its log, its sources, each turn's changes and comparisons |
//! | 4 | [`bridge`] | hooks that agents call, and their place in an agent's settings |
//! | 5 | [`app`] | the one state and its one `update` |
//! | 6 | [`view`] | state → cells |
//! | 7 | [`shell`] | the terminal, the threads, the loop |
//! | 8 | [`cli`] | arguments → one command each |
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail loudly")
)]

pub mod session;
pub mod text;

pub mod content;
pub mod diff;
pub mod log;

pub mod layout;
pub mod replay;
pub mod snapshot;
pub mod store;

pub mod record;
pub mod tool;

pub mod bridge;
pub mod reader;

pub mod app;
pub mod view;

pub mod shell;

pub mod cli;
