//! Room that is kept back: on a full disk not even what frees room could be written.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use feedsync_store::owned;

/// How much.
const LENGTH: usize = 1 << 20;

/// A file of nothing, that is removed when its room is needed.
#[derive(Debug)]
pub(super) struct Reserve(PathBuf);

impl Reserve {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Keeps room back, unless it is. On a full disk there is none.
    pub(super) fn keep(&self) {
        if fs::metadata(&self.0).is_ok_and(|file| file.len() == LENGTH as u64) {
            return;
        }
        let kept = owned::make_file(&self.0).and_then(|mut file| file.write_all(&[0; LENGTH]));
        if let Err(error) = kept {
            tracing::debug!(%error, "no room is kept back");
            self.release();
        }
    }

    /// Gives the room back.
    pub(super) fn release(&self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "what was kept back for a full disk cannot be removed");
            }
            _ => {}
        }
    }
}
