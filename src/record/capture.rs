//! Whole files read from the disk and kept: what snapshots do not cover.

use crate::content::disk::{is_absence, open_regular};
use crate::store::kept::{KeptSide, NotKept};
use crate::store::{Named, StoreError, Writer};
use gix::objs::Kind;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Reads a file as it is now and keeps it, if it may be kept. A symbolic link is its target.
///
/// # Errors
/// Only where the store cannot be written. A file that cannot be read is named as such.
pub(super) fn keep_file(
    writer: &mut Writer,
    file: Named<'_>,
    path: &Path,
    max_bytes: u64,
) -> Result<KeptSide, StoreError> {
    match read(path, max_bytes) {
        Ok(Found::Nothing) => Ok(KeptSide::Absent),
        Ok(Found::Bytes { bytes, mode }) => writer.put_blob(Named { mode, ..file }, &bytes),
        Ok(Found::Large { mut file, len, mode }) => Ok(KeptSide::Blob {
            id: large_id(&mut file, len, writer.objects().id_digits()).unwrap_or_default(),
            mode,
            bytes: len,
            not_kept: Some(NotKept::TooLarge),
        }),
        Err(error) => Ok(KeptSide::Blob {
            id: String::new(),
            mode: 0o100_644,
            bytes: 0,
            not_kept: Some(NotKept::Unreadable(error.to_string())),
        }),
    }
}

enum Found {
    Nothing,
    Bytes { bytes: Vec<u8>, mode: u32 },
    Large { file: File, len: u64, mode: u32 },
}

fn read(path: &Path, max_bytes: u64) -> io::Result<Found> {
    match fs::symlink_metadata(path) {
        Err(error) if is_absence(&error) => return Ok(Found::Nothing),
        Ok(metadata) if metadata.is_symlink() => {
            let bytes = fs::read_link(path)?.into_os_string().into_encoded_bytes();
            return Ok(Found::Bytes { bytes, mode: 0o120_000 });
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    let (len, mode) = (metadata.len(), mode(&metadata));
    if len > max_bytes {
        return Ok(Found::Large { file, len, mode });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    // One that grows while it is read is cut off one byte over the limit, and so not kept.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Found::Bytes { bytes, mode })
}

/// As git would say it.
fn mode(metadata: &Metadata) -> u32 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.mode() & 0o100 != 0 {
            return 0o100_755;
        }
    }
    let _ = metadata;
    0o100_644
}

/// The object id of a file that is not read into memory.
fn large_id(file: &mut File, len: u64, digits: usize) -> Option<String> {
    let hash = if digits == 64 { gix::hash::Kind::Sha256 } else { gix::hash::Kind::Sha1 };
    let (mut nothing, never) = (gix::progress::Discard, AtomicBool::new(false));
    gix::objs::compute_stream_hash(hash, Kind::Blob, file, len, &mut nothing, &never)
        .ok()
        .map(|id| id.to_string())
}
