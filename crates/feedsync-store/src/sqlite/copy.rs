//! Backup and restoration of the database file.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::log_backup::{self, BackupReport};
use super::log_files::LogFiles;
use super::schema::{SCHEMA, SETTINGS};
use super::{check, location};
use crate::error::StoreError;
use crate::sqlite_support::Contents;

/// Copies a snapshot in a single step, so that no concurrent writer can make the copy restart.
pub(super) fn backup(
    source: &Connection,
    files: &LogFiles,
    file: &Path,
) -> Result<BackupReport, StoreError> {
    let partial = with_suffix(file, ".partial");
    remove(&partial)?;
    location::make_file(&partial)?;
    let mut target = copy(source, &partial)?;
    // A damaged backup must not replace an older one.
    if let Some(fault) = check::file(&target)?.into_iter().next() {
        drop(target);
        remove(&partial)?;
        return Err(StoreError::Damaged(fault));
    }
    let backed_up = log_backup::pack(&mut target, source, files)?;
    close(target, &partial)?;
    fs::rename(&partial, file).map_err(|error| location::failed(file, error))?;
    location::sync_directory(&location::parent(file))?;
    Ok(backed_up)
}

/// Restores a backup to a path where there is no store.
pub(super) fn restore(backup: &Path, file: &Path) -> Result<(), StoreError> {
    if fs::metadata(file).is_ok_and(|file| file.len() > 0) {
        return Err(location::occupied(file));
    }
    // A write-ahead log that belongs to another file would be applied to this one.
    let log = with_suffix(file, "-wal");
    if log.exists() {
        let reason = "belongs to a store that is gone; move it away first";
        return Err(StoreError::Place { path: log, reason });
    }
    let source = Connection::open_with_flags(
        backup,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    if !matches!(SCHEMA.contents(&source)?, Contents::Known(_)) {
        return Err(StoreError::Foreign { path: backup.to_owned() });
    }
    if let Some(fault) = check::file(&source)?.into_iter().next() {
        return Err(StoreError::Damaged(fault));
    }
    let partial = with_suffix(file, ".partial");
    remove(&partial)?;
    location::make_file(&partial)?;
    let copied = copy(&source, &partial)?;
    // The recorded location must not equal that of this file by chance (a reused inode).
    copied.execute("UPDATE endpoint SET place = 'backup'", [])?;
    close(copied, &partial)?;
    fs::rename(&partial, file).map_err(|error| location::failed(file, error))?;
    location::sync_directory(&location::parent(file))
}

/// Copies a database into one file without companion files.
pub(super) fn copy(source: &Connection, file: &Path) -> Result<Connection, StoreError> {
    let mut target = SETTINGS.connect(file)?;
    let step = Backup::new(source, &mut target)?.step(-1)?;
    if step != StepResult::Done {
        return Err(StoreError::Database(format!("the backup ended with {step:?}").into()));
    }
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    Ok(target)
}

/// Closes a copy and makes it durable.
fn close(target: Connection, file: &Path) -> Result<(), StoreError> {
    target.close().map_err(|(_, error)| error)?;
    fs::File::open(file)
        .and_then(|file| file.sync_all())
        .map_err(|error| location::failed(file, error))
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove(file: &Path) -> Result<(), StoreError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(location::failed(file, error))
        }
        _ => Ok(()),
    }
}
