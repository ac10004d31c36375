//! An unnamed temporary file, whose digest is computed while it is written.

use std::fs::File;
use std::io::{self, Write as _};
use std::mem;
use std::path::PathBuf;

use feedsync_store::Digest;
use sha2::{Digest as _, Sha256};
use tokio::task::{JoinError, spawn_blocking};

/// Size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// The bytes received so far. When it is dropped, even by the death of the process, nothing
/// remains.
#[derive(Debug)]
pub(crate) struct TempFile {
    file: File,
    digest: Sha256,
    length: u64,
    part: Vec<u8>,
}

impl TempFile {
    /// Creates an empty file in a directory.
    pub(crate) async fn begin(directory: PathBuf) -> io::Result<Self> {
        let file = done(spawn_blocking(move || tempfile::tempfile_in(directory)).await)?;
        Ok(Self { file, digest: Sha256::new(), length: 0, part: Vec::new() })
    }

    /// Appends bytes; they are written when the buffer is full.
    pub(crate) async fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        self.part.extend_from_slice(bytes);
        if self.part.len() >= BUFFER_BYTES { self.write().await } else { Ok(()) }
    }

    /// Writes the rest. Returns the file, the digest of its content and its length.
    pub(crate) async fn end(mut self) -> io::Result<(File, Digest, u64)> {
        self.write().await?;
        Ok((self.file, Digest::from_bytes(self.digest.finalize().into()), self.length))
    }

    async fn write(&mut self) -> io::Result<()> {
        let mut file = self.file.try_clone()?;
        let (part, mut digest) = (mem::take(&mut self.part), mem::take(&mut self.digest));
        let written = spawn_blocking(move || {
            digest.update(&part);
            file.write_all(&part).map(|()| digest)
        });
        self.digest = done(written.await)?;
        Ok(())
    }
}

fn done<T>(result: Result<io::Result<T>, JoinError>) -> io::Result<T> {
    result.map_err(io::Error::other).flatten()
}
