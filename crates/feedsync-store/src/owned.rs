//! Files and directories that only their owner may read, and their durability.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a directory and its parents, readable by the owner only, if they do not exist.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Opens a file for writing; creates it, readable by the owner only, if it does not exist.
pub fn make_file(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Makes new and renamed entries of a directory durable.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
