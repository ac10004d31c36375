//! Location of a store: its directory, its file, and the identification that distinguishes a copy from the
//! original.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::nonce;
use crate::error::StoreError;
use crate::owned;

/// The file of a store in its directory.
pub(super) const FILE: &str = "feedsync.db";

/// Whether a directory holds a store.
pub(super) fn exists(directory: &Path) -> bool {
    has_content(&directory.join(FILE))
}

/// Whether a file exists and is not empty.
pub(super) fn has_content(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.len() > 0)
}

/// The error of a new store where there is one.
pub(super) fn occupied(file: &Path) -> StoreError {
    StoreError::Place { path: file.to_owned(), reason: "there is already a store" }
}

/// Creates the directory, readable by the owner only, if it does not exist.
pub(super) fn make_directory(directory: &Path) -> Result<(), StoreError> {
    owned::make_directory(directory).map_err(|source| failed(directory, source))
}

/// Creates the file, readable by the owner only, if it does not exist; SQLite gives its companion files the
/// same permissions. Fails in a directory of a store whose database was lost.
pub(super) fn make_file(file: &Path) -> Result<(), StoreError> {
    if file.file_name().is_some_and(|name| name == FILE) && nonce::is_lost(&parent(file)) {
        return Err(lost(file));
    }
    owned::make_file(file).map(drop).map_err(|source| failed(file, source))
}

/// The error of a directory whose database was lost.
pub(super) fn lost(file: &Path) -> StoreError {
    let reason = "the database of the store that was here is gone or empty";
    StoreError::Place { path: file.to_owned(), reason }
}

/// Makes new and renamed entries of a directory durable.
pub(super) fn sync_directory(directory: &Path) -> Result<(), StoreError> {
    owned::sync_directory(directory).map_err(|source| failed(directory, source))
}

/// Identification of a store's location: no two existing copies have the same. It consists of the device and
/// inode of the directory, the inode of the file, and the path. It stays the same if a file is copied back
/// over the existing one; [`super::nonce`] detects that.
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

/// The canonical path of the directory: absolute and without links.
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
