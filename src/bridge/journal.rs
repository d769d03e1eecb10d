//! `<store>/hook.log`: what hooks could not do. A hook says nothing to its agent.

use crate::text::clean;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

/// At this size, in bytes, the log is set aside as `hook.log.1`, and begun anew.
const MAX_BYTES: u64 = 64 << 10;

/// The longest line, in characters.
const MAX_LINE: usize = 1000;

/// Adds a line with the time in milliseconds since the Unix epoch. Several processes may do that
/// at once: each line is one write.
///
/// # Errors
/// The disk refuses.
pub(super) fn write(store: &Path, message: &str) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(store)?;
    let path = store.join("hook.log");
    if fs::metadata(&path).is_ok_and(|meta| meta.len() >= MAX_BYTES) {
        fs::rename(&path, store.join("hook.log.1"))?;
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let message: String = clean(message).chars().take(MAX_LINE).collect();
    let line = format!("{} {message}\n", since.as_millis());
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_lines_and_does_not_grow_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("new/store");
        for _ in 0..500 {
            write(&store, &format!("two\nlines \u{1b}[2J {}", "x".repeat(2000))).unwrap();
        }
        let text = fs::read_to_string(store.join("hook.log")).unwrap();
        let is_line = |line: &str| line.contains(" two") && !line.contains('\u{1b}');
        assert!(text.lines().all(is_line), "{text}");
        let sizes = fs::read_dir(&store).unwrap().map(|e| e.unwrap().metadata().unwrap().len());
        assert!(sizes.sum::<u64>() < 3 * MAX_BYTES);
    }
}
