//! Backups: a file copied whole, and put in its place.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::log_files::LogFiles;
use super::log_pack::{self, BackedUp};
use super::{check, place, schema};
use crate::error::StoreError;

/// Copies all of one moment: in a single step, so that no writer can make it begin again.
pub(super) fn backup(
    source: &Connection,
    files: &LogFiles,
    file: &Path,
) -> Result<BackedUp, StoreError> {
    let partial = with_suffix(file, ".partial");
    remove(&partial)?;
    place::make_file(&partial)?;
    let mut target = copy(source, &partial)?;
    // A backup from which nothing can be restored replaces no older one.
    if let Some(fault) = check::file(&target)?.into_iter().next() {
        drop(target);
        remove(&partial)?;
        return Err(StoreError::Damaged(fault));
    }
    let backed_up = log_pack::pack(&mut target, source, files)?;
    close(target, &partial)?;
    fs::rename(&partial, file).map_err(|error| place::failed(file, error))?;
    place::sync_directory(&place::parent(file))?;
    Ok(backed_up)
}

/// Puts a backup where no store is.
pub(super) fn restore(backup: &Path, file: &Path) -> Result<(), StoreError> {
    if fs::metadata(file).is_ok_and(|file| file.len() > 0) {
        return Err(super::occupied(file));
    }
    // A log left behind by another file would be taken for this one's.
    let log = with_suffix(file, "-wal");
    if log.exists() {
        let reason = "belongs to a store that is gone; move it away first";
        return Err(StoreError::Place { path: log, reason });
    }
    let source = Connection::open_with_flags(
        backup,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    if !matches!(schema::contents(&source)?, schema::Contents::Store(_)) {
        return Err(StoreError::Foreign { path: backup.to_owned() });
    }
    if let Some(fault) = check::file(&source)?.into_iter().next() {
        return Err(StoreError::Damaged(fault));
    }
    let partial = with_suffix(file, ".partial");
    remove(&partial)?;
    place::make_file(&partial)?;
    let copied = copy(&source, &partial)?;
    // The store's recorded place must not be that of this file by chance (an inode used again).
    copied.execute("UPDATE endpoint SET place = 'backup'", [])?;
    close(copied, &partial)?;
    fs::rename(&partial, file).map_err(|error| place::failed(file, error))?;
    place::sync_directory(&place::parent(file))
}

/// One file, without companions.
pub(super) fn copy(source: &Connection, file: &Path) -> Result<Connection, StoreError> {
    let mut target = schema::connect(file)?;
    let step = Backup::new(source, &mut target)?.step(-1)?;
    if step != StepResult::Done {
        return Err(StoreError::Database(format!("the backup ended with {step:?}").into()));
    }
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    Ok(target)
}

/// What was written is durable.
fn close(target: Connection, file: &Path) -> Result<(), StoreError> {
    target.close().map_err(|(_, error)| error)?;
    fs::File::open(file)
        .and_then(|file| file.sync_all())
        .map_err(|error| place::failed(file, error))
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove(file: &Path) -> Result<(), StoreError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(place::failed(file, error))
        }
        _ => Ok(()),
    }
}
