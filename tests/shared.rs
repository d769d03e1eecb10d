//! Where the shared reference material lies, if it does.

use std::path::{Path, PathBuf};

/// The folder of real sessions and oracles: `HANDBACK_SHARED`, or `../shared` beside the crate, or
/// the usual place. None, and a visible line, where it is missing.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let places = std::env::var_os("HANDBACK_SHARED").map(PathBuf::from).into_iter();
    let found = places.chain([beside, "/work/shared".into()]).find(|place| place.is_dir());
    if found.is_none() {
        eprintln!("skipped: no ../shared");
    }
    found
}
