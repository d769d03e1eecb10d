//! What is to be said of a changed file beside its lines: every kind of change, in words.

use crate::content::{FileChange, Pair};
use crate::reader::Shown;
use crate::session::{ChangedFile, EofNewline, FileStatus};

/// The notes on a changed file, a line each; none for a plain edit.
pub(super) fn of(change: &FileChange, shown: Option<&Shown>) -> Vec<String> {
    let file = &change.file;
    let mut notes = Vec::new();
    notes.extend(status(file));
    notes.extend(modes(file));
    match shown {
        Some(Shown::Text(comparison)) => {
            match comparison.eof_newline {
                Some(EofNewline::Added) => notes.push("final newline added".into()),
                Some(EofNewline::Removed) => notes.push("final newline removed".into()),
                None => {}
            }
            if comparison.coarse {
                notes.push(
                    "coarse: the comparison ran out of time; every line is shown as changed".into(),
                );
            }
            let both = comparison.has_old && comparison.has_new;
            if both && comparison.changes.is_empty() && comparison.eof_newline.is_none() {
                notes.push("both sides hold the same lines".into());
            }
        }
        Some(Shown::Binary(old, new)) => notes.push(format!("binary: {}", sizes(*old, *new))),
        Some(Shown::Oversized(old, new)) => notes.push(format!("too large: {}", sizes(*old, *new))),
        Some(Shown::Failed(_)) | None => {}
    }
    // The file's own note says it better where there is one.
    if matches!(change.pair, Pair::Hunks(_)) && change.note.is_none() {
        notes.push("only the applied hunks are known".into());
    }
    notes.extend(change.note.clone());
    notes
}

fn status(file: &ChangedFile) -> Option<String> {
    let from = || file.old_path.as_deref().map(crate::text::clean).unwrap_or_default();
    Some(match file.status {
        FileStatus::Added => "new file".into(),
        FileStatus::Deleted => "deleted file".into(),
        FileStatus::Renamed => format!("renamed from {}", from()),
        FileStatus::Copied => format!("copied from {}", from()),
        FileStatus::TypeChanged | FileStatus::ModeChanged | FileStatus::Modified => return None,
    })
}

fn modes(file: &ChangedFile) -> Option<String> {
    let (old, new) = (file.old_mode.as_deref(), file.new_mode.as_deref());
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            Some(format!("mode {old} → {new}: {} → {}", mode_word(old), mode_word(new)))
        }
        (_, Some(mode)) | (Some(mode), _) if mode != "100644" => Some(mode_word(mode).into()),
        _ => None,
    }
}

fn mode_word(mode: &str) -> &'static str {
    match mode {
        "100644" => "file",
        "100755" => "executable file",
        "120000" => "symbolic link",
        "160000" => "submodule",
        _ => "other",
    }
}

fn sizes(old: Option<u64>, new: Option<u64>) -> String {
    match (old, new) {
        (Some(old), Some(new)) => format!("{} → {}", size(old), size(new)),
        (None, Some(new)) => size(new),
        (Some(old), None) => format!("{} before", size(old)),
        (None, None) => "size not known".into(),
    }
}

/// A size as a person reads it; exact below 10 KiB.
pub fn size(bytes: u64) -> String {
    const UNITS: &[&str] = &["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 10 * 1024 {
        return format!("{bytes} bytes");
    }
    let (mut value, mut unit) = (bytes, 0);
    while value >= 10 * 1024 * 1024 / 10 && unit + 1 < UNITS.len() {
        value /= 1024;
        unit += 1;
    }
    // Here `value` is below 1 MiB: the unit is that of its thousands.
    format!("{}.{} {}", value / 1024, value % 1024 * 10 / 1024, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(10_239), "10239 bytes");
        assert_eq!(size(10_240), "10.0 KiB");
        assert_eq!(size(3_000_000), "2.8 MiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
        assert_eq!(sizes(Some(1), Some(2)), "1 bytes → 2 bytes");
    }
}
