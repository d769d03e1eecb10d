//! Ids that a log gives to its entries.

use std::hash::{DefaultHasher, Hash, Hasher};

/// An id in 8 bytes: a log has many, and they are long.
pub(super) fn hashed(id: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
