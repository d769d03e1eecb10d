//! Tree ↔ tree (`compare`), and the work tree → a git tree: exactly the one that git would write, with nothing written into the repository.
//!
//! [`Snapshotter::take`] gives the tree that `git add --all --ignore-errors` on a copy of the index
//! and `git write-tree` would give. It starts from the index as git does: an entry whose file looks
//! unchanged keeps its id, anything else is read, converted and hashed. New objects go to an object
//! directory of ours; what the repository has already is not written again.

mod cache;
pub mod compare;
mod convert;
mod disk;
mod folder;
mod job;
mod objects;
mod renames;
mod repository;
mod scene;
mod snapshotter;
mod sparse;
mod tracked;
mod tree;
mod walk;

pub use snapshotter::{Snapshot, SnapshotError, Snapshotter};
