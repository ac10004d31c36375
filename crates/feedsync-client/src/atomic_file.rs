//! Files that are replaced atomically: a concurrent reader, and a crash, sees all of the old bytes or all of
//! the new ones.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Users who may read a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReaders {
    /// Only its owner.
    Owner,
    /// The default of this process.
    ProcessDefault,
}

/// Replaces the content of a file, atomically and durably. If the path is a link, its target is replaced. A
/// path that is not a regular file, such as a terminal or a pipe, is written to.
pub fn replace_file(path: &Path, bytes: &[u8], readers: FileReaders) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // Concurrent writers of the same file have different partial files.
    let partial = format!(".{}.partial", std::process::id());
    replace_by(&path, &beside(&path, &partial), bytes, readers)
}

/// Replaces a file through a partial file that no other process writes at the same time.
pub(crate) fn replace_by(
    path: &Path,
    partial: &Path,
    bytes: &[u8],
    readers: FileReaders,
) -> io::Result<()> {
    let write = || {
        let mut file = begun(partial, readers)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(partial, path)
    };
    if let Err(error) = write() {
        let _ = fs::remove_file(partial);
        return Err(error);
    }
    // The new name is durable once its directory is.
    #[cfg(unix)]
    File::open(directory(path))?.sync_all()?;
    Ok(())
}

/// Returns the path of a file in the same directory, with a suffix after the name.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

/// Creates a new file, and removes one that a crash left there.
fn begun(path: &Path, readers: FileReaders) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == FileReaders::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(path)
}

#[cfg(unix)]
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}
