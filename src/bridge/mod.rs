//! What agents and this program say to each other: hooks that an agent calls, and their place in its settings.

mod agent;
mod call;
pub mod hook;
mod journal;
mod json;
pub mod settings;
mod told;
