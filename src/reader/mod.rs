//! An opened session: its log, its sources, each turn's changes and comparisons.

mod base;
mod brief;
mod commands;
mod compare;
mod head;
mod history;
mod net;
mod patch;
mod present;
mod range;
mod recent;
mod recorded;
mod report;
mod session;
mod texts;
mod told;

pub use base::Base;
pub use brief::{Brief, brief};
pub use compare::{Counts, Shown, compare, compare_soon, whole};
pub use head::{HeadKey, TurnHead};
pub use history::Touch;
pub use patch::write_patch;
pub use recent::Recent;
pub use report::{count_all, summary};
pub use session::{ReadOptions, Reader, open_objects, rules};
