//! Small files of the data directory that only their owner can read, replaced whole.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Puts a file in the place of what was there: whoever reads it finds the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // Made readable for its owner only.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
