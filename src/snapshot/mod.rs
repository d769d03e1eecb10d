//! Work tree → tree, and tree ↔ tree.

pub mod compare;
mod renames;
