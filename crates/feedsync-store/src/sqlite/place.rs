//! Where a store lives: its directory, its file, and how a copy is told from the original.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SqliteStore;
use crate::error::StoreError;
use crate::owned;

/// The file of a store in its directory.
pub(super) const FILE: &str = "feedsync.db";

/// Makes the directory, readable for its owner only, if it is not there.
pub(super) fn make_directory(directory: &Path) -> Result<(), StoreError> {
    owned::make_directory(directory).map_err(|source| failed(directory, source))
}

/// Makes the file, readable for its owner only, if it is not there; the database gives its companions
/// the same permissions. Refuses to make the database of a directory that has lost it.
pub(super) fn make_file(file: &Path) -> Result<(), StoreError> {
    if file.file_name().is_some_and(|name| name == FILE) && SqliteStore::is_lost(&parent(file)) {
        let reason = "the database of the store that was here is gone or empty";
        return Err(StoreError::Place { path: file.to_owned(), reason });
    }
    owned::make_file(file).map(drop).map_err(|source| failed(file, source))
}

/// Makes new and renamed entries of a directory durable.
pub(super) fn sync_directory(directory: &Path) -> Result<(), StoreError> {
    owned::sync_directory(directory).map_err(|source| failed(directory, source))
}

/// Names the place of a store: two copies never have the same. It holds device and inode of the
/// directory, the inode of the file and the path. A file copied back over the one that is there keeps
/// all of them; that is [`super::life`]'s to notice.
pub(super) fn place(file: &Path) -> Result<String, StoreError> {
    let path = absolute(&parent(file))?;
    let numbers = |path: &Path| {
        let metadata = fs::metadata(path).map_err(|source| failed(path, source))?;
        Ok::<_, StoreError>(identity(&metadata))
    };
    let (device, inode) = numbers(&path)?;
    let (_, file) = numbers(file)?;
    Ok(format!("{device} {inode} {file} {}", path.display()))
}

/// The directory by its own path, from the root and without links.
pub(super) fn absolute(directory: &Path) -> Result<PathBuf, StoreError> {
    fs::canonicalize(directory).map_err(|source| failed(directory, source))
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// The directory of a file.
pub(super) fn parent(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

pub(super) fn failed(path: &Path, source: io::Error) -> StoreError {
    StoreError::file(path, source)
}
