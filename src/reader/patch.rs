//! A changed file as a patch that `git apply` takes.

use super::compare::Shown;
use crate::content::{ContentId, FileChange, Pair};
use crate::diff::patch::{self, Movement, PatchHeader};
use crate::session::FileStatus;
use crate::session::path::{PathRules, resolve};
use std::io::{self, Write};

/// Writes one file's patch; paths are relative to the repository's root (to `rules.root`).
///
/// # Errors
/// What `out` says.
pub fn write_patch(
    out: &mut dyn Write,
    change: &FileChange,
    shown: &Shown,
    rules: &PathRules,
    context: u32,
) -> io::Result<()> {
    let file = &change.file;
    let new_path = path_in_root(&file.path, rules);
    let old_path = file.old_path.as_ref().map_or(new_path.clone(), |old| path_in_root(old, rules));
    let (old_mode, new_mode) = match &change.pair {
        Pair::Sides { old, new } => (mode(old), mode(new)),
        Pair::Hunks(_) => (None, None),
    };
    let similarity = similarity(shown);
    let movement = match file.status {
        FileStatus::Renamed => Movement::Renamed(similarity),
        FileStatus::Copied => Movement::Copied(similarity),
        _ => Movement::None,
    };
    let header =
        PatchHeader { old_path: &old_path, new_path: &new_path, old_mode, new_mode, movement };
    match shown {
        Shown::Text(comparison) => patch::write(out, &header, comparison, context),
        Shown::Binary(old, new) | Shown::Oversized(old, new) => {
            patch::write_binary(out, &header, (old.is_some(), new.is_some()))
        }
        Shown::Failed(_) => Ok(()),
    }
}

fn path_in_root(path: &str, rules: &PathRules) -> Vec<u8> {
    let absolute = resolve(&rules.cwd, path);
    let inside = absolute.strip_prefix(&rules.root).unwrap_or(&absolute);
    let bytes = inside.as_os_str().as_encoded_bytes();
    bytes.strip_prefix(b"/").unwrap_or(bytes).to_vec()
}

fn mode(side: &ContentId) -> Option<u32> {
    match side {
        ContentId::Blob { mode, .. } => Some(*mode),
        _ => None,
    }
}

/// The unchanged lines among all lines of both sides, in percent.
fn similarity(shown: &Shown) -> u8 {
    let Shown::Text(comparison) = shown else { return 100 };
    let all = u64::from(comparison.old.len()) + u64::from(comparison.new.len());
    let changed = u64::from(comparison.added()) + u64::from(comparison.deleted());
    match all {
        0 => 100,
        _ => ((all - changed.min(all)) * 100 / all) as u8,
    }
}
