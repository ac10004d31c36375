//! Small files of the data directory that are readable by their owner only and are replaced atomically.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces a file atomically: readers find either the old or the new contents.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // Temporary files are created with access for the owner only.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
