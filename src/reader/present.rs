//! What the disk says of presented files now.

use crate::session::path::{PathRules, resolve};
use crate::session::transcript::Presented;
use crate::session::{PresentStatus, PresentedFile};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// A presented file with where it is and how it is there.
pub(super) fn presented(declared: &Presented, rules: &PathRules) -> (PresentedFile, PathBuf) {
    let at = resolve(&rules.cwd, &declared.path);
    let (status, bytes) = match fs::symlink_metadata(&at) {
        Ok(metadata) if metadata.is_file() => {
            let modified = metadata.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            let modified = modified.and_then(|since| i64::try_from(since.as_millis()).ok());
            let is_later = modified.zip(declared.at).is_some_and(|(now, then)| now > then);
            let status = if is_later { PresentStatus::Changed } else { PresentStatus::Present };
            (status, Some(metadata.len()))
        }
        // What was presented was a regular file: this is another thing.
        Ok(_) => (PresentStatus::Changed, None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => (PresentStatus::Denied, None),
        Err(_) => (PresentStatus::Missing, None),
    };
    let file = PresentedFile {
        path: declared.path.clone(),
        display: rules.show(&at).display,
        description: declared.description.clone(),
        call_id: declared.call_id.clone(),
        status,
        bytes,
    };
    (file, at)
}
