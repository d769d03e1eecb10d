//! Where the shared reference material lies.

use std::path::{Path, PathBuf};

/// The folder of reference material: `HANDBACK_SHARED`, else `../shared` beside the crate, else
/// `/work/shared`; none where there is none (the caller says that it skips).
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let named = std::env::var_os("HANDBACK_SHARED").map(PathBuf::from);
    [named, Some(beside), Some(PathBuf::from("/work/shared"))]
        .into_iter()
        .flatten()
        .find(|folder| folder.is_dir())
}
