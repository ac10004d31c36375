//! Files that are replaced as a whole: whoever reads one meanwhile, and whoever crashes, has all of the old bytes or
//! all of the new ones.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Who may read a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner.
    Owner,
    /// Whoever may read what this process makes.
    AsUsual,
}

/// Replaces what a file holds: whole and durable, or not at all. A link leads to the file that is replaced. What is
/// no file, such as a terminal or a pipe, is written to.
pub fn replace_file(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // Who writes the same file at the same time has a part of their own.
    let partial = format!(".{}.partial", std::process::id());
    replace_by(&path, &beside(&path, &partial), bytes, readers)
}

/// The same by a partial file that nobody else writes at the same time.
pub(crate) fn replace_by(
    path: &Path,
    partial: &Path,
    bytes: &[u8],
    readers: Readers,
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
    // The name is durable when its directory is.
    #[cfg(unix)]
    File::open(directory(path))?.sync_all()?;
    Ok(())
}

/// A file beside another one, of the same name with something behind it.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

/// A new file, in place of what a crash left there.
fn begun(path: &Path, readers: Readers) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(path)
}

#[cfg(unix)]
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}
