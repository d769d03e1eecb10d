//! An opened session: its log, its sources, each turn's changes and comparisons.

mod head;

pub use head::TurnHead;
