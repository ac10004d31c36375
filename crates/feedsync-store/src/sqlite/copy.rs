//! Backup and restoration of the database file.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::backup_files::{self, BackupFile};
use super::increment;
use super::log_backup::{self, BackupReport};
use super::log_files::LogFiles;
use super::schema::{SCHEMA, SETTINGS};
use super::{check, location};
use crate::error::StoreError;
use crate::sqlite_support::Contents;

/// Contents and place of a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupPlan {
    /// File of the backup. An older file of this name is replaced when the new one is complete.
    pub file: PathBuf,
    /// Files that it holds beside the store.
    pub files: Vec<BackupFile>,
    /// An earlier complete backup. Then the file is an increment: what changed since that backup.
    pub since: Option<PathBuf>,
}

/// Copies a snapshot in a single step, so that no concurrent writer can make the copy restart.
pub(super) fn backup(
    source: &Connection,
    files: &LogFiles,
    plan: &BackupPlan,
) -> Result<BackupReport, StoreError> {
    let file = &plan.file;
    if let Some(earlier) = &plan.since {
        check_complete(earlier)?;
        check_other(earlier, file)?;
    }
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
    backup_files::pack(&mut target, &plan.files)?;
    close(target, &partial)?;
    let complete = match &plan.since {
        None => partial,
        Some(earlier) => {
            let difference = with_suffix(file, ".partial-increment");
            remove(&difference)?;
            location::make_file(&difference)?;
            increment::write(&partial, earlier, &difference)?;
            remove(&partial)?;
            difference
        }
    };
    fs::rename(&complete, file).map_err(|error| location::failed(file, error))?;
    location::sync_directory(&location::parent(file))?;
    Ok(backed_up)
}

/// Fails if an increment would replace the backup that it belongs to, by whatever path.
fn check_other(earlier: &Path, file: &Path) -> Result<(), StoreError> {
    match (fs::canonicalize(earlier), fs::canonicalize(file)) {
        (Ok(earlier), Ok(there)) if earlier == there => {
            let reason = "is the backup that the increment would belong to";
            Err(StoreError::Place { path: file.to_owned(), reason })
        }
        _ => Ok(()),
    }
}

/// Fails if a file is no complete backup.
fn check_complete(backup: &Path) -> Result<(), StoreError> {
    let foreign = || StoreError::Foreign { path: backup.to_owned() };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(backup, flags)?;
    let is_known = matches!(SCHEMA.contents(&source)?, Contents::Known(_));
    if is_known && log_backup::contains_logs(&source)? { Ok(()) } else { Err(foreign()) }
}

/// Restores a backup, with an increment or without, to a path where there is no store. The files of the backup go
/// beside it; returns the names of those that existed and stayed.
pub(super) fn restore(
    backup: &Path,
    increment: Option<&Path>,
    file: &Path,
) -> Result<Vec<String>, StoreError> {
    if fs::metadata(file).is_ok_and(|file| file.len() > 0) {
        return Err(location::occupied(file));
    }
    // A write-ahead log that belongs to another file would be applied to this one.
    let log = with_suffix(file, "-wal");
    if log.exists() {
        let reason = "belongs to a store that is gone; move it away first";
        return Err(StoreError::Place { path: log, reason });
    }
    let Some(increment) = increment else { return restore_complete(backup, file) };
    check_complete(backup)?;
    let later = with_suffix(file, ".partial-backup");
    remove(&later)?;
    location::make_file(&later)?;
    let restored =
        increment::apply(backup, increment, &later).and_then(|()| restore_complete(&later, file));
    remove(&later)?;
    restored
}

fn restore_complete(backup: &Path, file: &Path) -> Result<Vec<String>, StoreError> {
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
    let stayed = backup_files::unpack(&copied, &location::parent(file))?;
    // The recorded location must not equal that of this file by chance (a reused inode).
    copied.execute("UPDATE endpoint SET place = 'backup'", [])?;
    close(copied, &partial)?;
    fs::rename(&partial, file).map_err(|error| location::failed(file, error))?;
    location::sync_directory(&location::parent(file))?;
    Ok(stayed)
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

pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes a file, if it exists.
pub(super) fn remove(file: &Path) -> Result<(), StoreError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(location::failed(file, error))
        }
        _ => Ok(()),
    }
}
