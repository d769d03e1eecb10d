//! Where the shared reference material lies, for tests that compare with it.

use std::path::{Path, PathBuf};

/// The folder of the reference material: `HANDBACK_SHARED`, or `../shared` beside the crate.
#[expect(clippy::print_stdout, reason = "a skipped test must be seen")]
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let places = [
        std::env::var_os("HANDBACK_SHARED").map(PathBuf::from),
        Some(beside),
        Some("/work/shared".into()),
    ];
    let found = places.into_iter().flatten().find(|place| place.is_dir());
    if found.is_none() {
        println!("skipped: no ../shared");
    }
    found
}
