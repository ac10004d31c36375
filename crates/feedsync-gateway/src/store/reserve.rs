//! Reserved disk space: on a full disk, even operations that free space need some to write.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use feedsync_store::owned;

/// Size of the reserve, in bytes.
const RESERVE_BYTES: usize = 1 << 20;

/// A file without meaning, which is removed when its space is needed.
#[derive(Debug)]
pub(super) struct Reserve(PathBuf);

impl Reserve {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Reserves the space, unless it is reserved or the disk is full.
    pub(super) fn keep(&self) {
        if fs::metadata(&self.0).is_ok_and(|file| file.len() == RESERVE_BYTES as u64) {
            return;
        }
        let kept =
            owned::make_file(&self.0).and_then(|mut file| file.write_all(&[0; RESERVE_BYTES]));
        if let Err(error) = kept {
            tracing::debug!(%error, "no disk space is reserved");
            self.release();
        }
    }

    /// Releases the reserved space.
    pub(super) fn release(&self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "cannot release the reserved disk space");
            }
            _ => {}
        }
    }
}
