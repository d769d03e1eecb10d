//! The embedded demo session: its log in memory, its git objects unpacked for as long as it is looked at.

use crate::log::open::{LogError, LogFile, OpenOptions};
use crate::log::source::Stored;
use anyhow::Context;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const LOG: &[u8] = include_bytes!("../../assets/demo/session.jsonl");
const PACK: &[u8] = include_bytes!("../../assets/demo/objects.pack");
const INDEX: &[u8] = include_bytes!("../../assets/demo/objects.idx");

/// The demo's objects on disk. Dropping it removes them.
pub(super) struct Demo {
    directory: PathBuf,
}

impl Demo {
    pub(super) fn unpack() -> anyhow::Result<Self> {
        let directory = std::env::temp_dir().join(format!("handback-demo-{}", std::process::id()));
        // A folder left by a dead process of our number is ours to replace; a link is not followed.
        let _ = fs::remove_dir_all(&directory);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .with_context(|| directory.display().to_string())?;
        let demo = Self { directory };
        let pack = demo.objects().join("pack");
        fs::create_dir_all(&pack)?;
        fs::write(pack.join("pack-demo.pack"), PACK)?;
        fs::write(pack.join("pack-demo.idx"), INDEX)?;
        Ok(demo)
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    pub(super) fn log() -> Result<LogFile, LogError> {
        LogFile::from_stored(Path::new("demo"), Stored::Bytes(LOG.into()), &OpenOptions::default())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // In the temporary folder, whatever stays.
        let _ = fs::remove_dir_all(&self.directory);
    }
}
