//! Reserved disk space, so that data can be deleted on a full disk.
//!
//! A deletion needs space before it frees any: for its tombstone, and for the write-ahead log. Therefore a
//! reserve, the file `feedsync.reserve`, is created after the first commit. When a write fails because the
//! disk is full, the reserve is released. From then on the store accepts only writes that add nothing. When
//! there is space for the reserve and a margin, the reserve is created again, and the store accepts all
//! writes. A disk that is too small for a reserve has none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::location;
use crate::error::StoreError;

const FILE: &str = "feedsync.reserve";

/// Size of the reserve, in bytes.
const RESERVE: u64 = 8 << 20;

/// Number of bytes that must be free besides the reserve before the store accepts all writes again.
const MARGIN: u64 = 1 << 20;

/// Pause between two attempts to create the reserve.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of bytes that a probe writes.
const PROBE: u64 = 64 << 10;

/// Number of pages that are returned to the file system at once.
const VACUUM_PAGES: u32 = 4_096;

/// The reserve of a store, owned by the writing thread.
pub(super) struct DiskReserve {
    file: PathBuf,
    is_full: Arc<AtomicBool>,
    has_reserve: bool,
    tried: Option<Instant>,
}

impl DiskReserve {
    /// The reserve of the store in a directory. The flag tells other threads whether the disk is full.
    pub(super) fn new(directory: &Path, is_full: Arc<AtomicBool>) -> Self {
        let file = directory.join(FILE);
        let has_reserve = fs::metadata(&file).is_ok_and(|known| known.len() >= RESERVE);
        Self { file, is_full, has_reserve, tried: None }
    }

    /// Tells whether a write failed because the disk was full, and the disk has no space since.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Releases the reserve after a write failed because the disk was full. Without a reserve, each write is
    /// attempted.
    pub(super) fn release(&mut self, connection: &Connection) {
        self.has_reserve = false;
        if fs::remove_file(&self.file).is_ok() {
            self.is_full.store(true, Ordering::Relaxed);
            self.tried = None;
            shrink(connection);
        } else if self.is_full() {
            shrink(connection);
        } else {
            // An immediate attempt to create the reserve would take the space that was just released.
            self.tried = Some(Instant::now());
        }
    }

    /// Creates the reserve after a commit, if there is none. On a full disk this also resets the write-ahead
    /// log after each commit, unless it is being read, so that the log needs no more space than one commit.
    pub(super) fn keep(&mut self, connection: &Connection) {
        if self.is_full() {
            let home = "PRAGMA wal_checkpoint(PASSIVE)";
            let _ = connection.query_row(home, [], |_| Ok(()));
        }
        if !self.has_reserve && !self.is_full() && self.may_try() {
            self.has_reserve = make(&self.file).is_ok();
        }
    }

    /// Creates the reserve again if there is space. From then on the store accepts all writes.
    pub(super) fn restore(&mut self, connection: &Connection) {
        if !self.is_full() || !self.may_try() {
            return;
        }
        shrink(connection);
        if make(&self.file).is_ok() {
            self.has_reserve = true;
            self.is_full.store(false, Ordering::Relaxed);
        }
    }

    fn may_try(&mut self) -> bool {
        let may_try = self.tried.is_none_or(|tried| tried.elapsed() >= PAUSE);
        if may_try {
            self.tried = Some(Instant::now());
        }
        may_try
    }
}

/// Returns free pages and the write-ahead log to the file system as far as possible. Failures are ignored:
/// there is less space then.
fn shrink(connection: &Connection) {
    let vacuum = || {
        let sql = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok::<_, rusqlite::Error>(())
    };
    let shorten = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    // The write-ahead log is reset first, because the vacuum needs its space, and again after the vacuum.
    let _ = shorten();
    let _ = vacuum();
    let _ = shorten();
}

/// Creates the reserve; leaves nothing behind if there is no space for it and the margin.
fn make(file: &Path) -> io::Result<()> {
    let made = fill(file, RESERVE + MARGIN)
        .and_then(|()| OpenOptions::new().write(true).open(file)?.set_len(RESERVE));
    if made.is_err() {
        let _ = fs::remove_file(file);
    }
    made
}

/// Writes random bytes, which file systems cannot compress.
fn fill(file: &Path, bytes: u64) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(file)?;
    let mut piece = vec![0; PROBE as usize];
    for _ in 0..bytes / PROBE {
        getrandom::getrandom(&mut piece)?;
        file.write_all(&piece)?;
    }
    Ok(())
}

/// Checks that bytes can be written in a directory.
pub(super) fn probe(directory: &Path) -> Result<(), StoreError> {
    // Concurrent probes use different files.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = directory.join(format!("feedsync.probe-{}-{number}", std::process::id()));
    let written = fill(&file, PROBE);
    let removed = fs::remove_file(&file);
    written.and(removed).map_err(|error| location::failed(&file, error))
}

/// Releases the reserve of a directory whose disk is full; returns whether there was one.
pub(super) fn release_where_full(directory: &Path) -> bool {
    let reserve = directory.join(FILE);
    // Nothing is written to a directory without a store.
    let is_full = || matches!(probe(directory), Err(StoreError::Full));
    reserve.exists() && is_full() && fs::remove_file(reserve).is_ok()
}

/// Removes the reserve of a directory, if it exists.
pub(super) fn remove(directory: &Path) -> Result<(), StoreError> {
    let file = directory.join(FILE);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(location::failed(&file, error))
        }
        _ => Ok(()),
    }
}
