//! Finds the material that is shared between rooms and kept outside the crate.

use std::path::{Path, PathBuf};

/// The folder, or none (the caller then says that it skips).
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let named = std::env::var_os("HANDBACK_SHARED").map(PathBuf::from);
    let places = [named, Some(beside), Some(PathBuf::from("/work/shared"))];
    places.into_iter().flatten().find(|path| path.join("README.md").is_file())
}
