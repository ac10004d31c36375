//! Receives contents into a store.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use feedsync_bitsy::interceptor::{Content, Digest};
use feedsync_store::owned;
use sha2::{Digest as _, Sha256};

use super::contents::{Contents, PinnedContent};
use super::error::StoreError;

/// Contents that are being received; their digest is known at the end. Dropping it earlier deletes the received
/// part.
#[derive(Debug)]
pub struct Incoming {
    contents: Arc<Contents>,
    digest: Sha256,
    length: u64,
    memory: Vec<u8>,
    file: Option<Partial>,
}

#[derive(Debug)]
struct Partial {
    path: PathBuf,
    file: File,
}

impl Incoming {
    pub(super) fn begin(contents: Arc<Contents>) -> Self {
        Self { contents, digest: Sha256::new(), length: 0, memory: Vec::new(), file: None }
    }

    /// Number of bytes received so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the contents are in memory so far; [`Incoming::end`] then does not wait for the disk.
    pub fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Appends bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.digest.update(bytes);
        self.length += bytes.len() as u64;
        if self.file.is_none() {
            self.memory.extend_from_slice(bytes);
            if !self.contents.fits_in_memory(self.memory.len()) {
                self.spill()?;
            }
            return Ok(());
        }
        self.write(bytes)
    }

    /// Completes the contents and holds them; they are readable from now on.
    pub fn end(mut self) -> Result<PinnedContent, StoreError> {
        let digest = Digest(std::mem::take(&mut self.digest).finalize().into());
        let content = Content { digest, length: self.length };
        let Some(partial) = self.file.take() else {
            let bytes = Bytes::from(std::mem::take(&mut self.memory));
            return Ok(self.contents.pin_bytes(content, bytes));
        };
        let synced = partial.file.sync_all();
        synced.map_err(|source| StoreError::file(&partial.path, source))?;
        self.contents.pin_file(content, &partial.path)
    }

    fn spill(&mut self) -> Result<(), StoreError> {
        let path = self.contents.partial();
        let file = owned::make_file(&path).map_err(|source| StoreError::file(&path, source))?;
        self.file = Some(Partial { path, file });
        let memory = std::mem::take(&mut self.memory);
        self.write(&memory)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(Partial { path, file }) = &mut self.file else { return Ok(()) };
        file.write_all(bytes).map_err(|source| StoreError::file(path, source))
    }
}

impl Write for Incoming {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename the file no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}
