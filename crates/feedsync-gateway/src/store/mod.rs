//! Persistent state of a gateway: the rows of the decided state in an SQLite file, and contents by digest. Large
//! contents are in files beside the database.
//!
//! - A [commit](Store::commit) is atomic even when the disk is full, and is visible to every [`Reader`] at once.
//!   It survives the end of the process. It survives a power failure only once a [sync](Store::sync) that began
//!   after it has completed. Several commits can thus share one sync.
//! - Contents are readable as soon as they are [pinned](Store::pin). A step that needs contents that are neither
//!   pinned nor stored is refused.
//! - Contents are verified against their digest whenever they are read from the disk. Damaged contents are an
//!   error and are never returned.
//! - One process at a time uses the directory, and only its owner can read it (R-B37, 4.3).

mod attempts;
mod changes;
mod check;
mod columns;
mod contents;
mod data_directory;
mod edits;
mod error;
mod incoming;
mod newsreaders;
mod quota;
mod read_cache;
mod readers;
mod records;
mod representations;
mod reserve;
mod schema;
mod stored_subscriptions;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_bitsy::interceptor::{Content, Digest, Rows, Step};
use rusqlite::{Connection, TransactionBehavior};

pub use check::{Fault, check};
pub use contents::{Opened, PinnedContent, Unchecked};
pub use error::StoreError;
pub use incoming::Incoming;
pub use quota::Quota;
pub use readers::Reader;
pub use sweep::Swept;

use contents::Contents;
use data_directory::DataDirectory;
use read_cache::ReadCache;
use readers::Readers;
use reserve::Reserve;
use schema::{SCHEMA, SETTINGS};
use sweep::Sweep;

/// Persistent state of a gateway.
#[derive(Debug)]
pub struct Store {
    writer: Mutex<Writer>,
    readers: Arc<Readers>,
    contents: Arc<Contents>,
    read_cache: Arc<ReadCache>,
    quota: Quota,
    /// Write-ahead log of the database. SQLite keeps the file as long as it is open.
    log: File,
    reserve: Reserve,
    /// Whether the disk failed to confirm that it holds the commits.
    has_failed_sync: AtomicBool,
    _data_directory: DataDirectory,
}

#[derive(Debug)]
struct Writer {
    connection: Connection,
    /// Total size of the stored representations, in bytes.
    total: i64,
    sweep: Sweep,
}

impl Store {
    /// Opens or creates the store of a directory; also returns its rows.
    pub fn open(directory: &Path, quota: Quota) -> Result<(Self, Rows), StoreError> {
        let place = DataDirectory::take(directory)?;
        let file = place.database();
        let mut connection = SETTINGS.connect(&file)?;
        SCHEMA.open(&mut connection, &file)?;
        let contents = Contents::open(place.contents())?;
        contents.forget_unknown(|digest| is_in_file(&connection, digest))?;
        delete_missing_files(&mut connection, &contents)?;
        let rows = rows(&connection)?;
        let total = quota::total(&connection)?;
        let log = place.log();
        let log = OpenOptions::new()
            .write(true)
            .open(&log)
            .map_err(|source| StoreError::file(&log, source))?;
        let read_cache = Arc::new(ReadCache::new());
        let store = Self {
            writer: Mutex::new(Writer { connection, total, sweep: Sweep::default() }),
            readers: Readers::new(file, Arc::clone(&contents), Arc::clone(&read_cache)),
            contents,
            read_cache,
            quota,
            log,
            reserve: Reserve::new(place.reserve()),
            has_failed_sync: AtomicBool::new(false),
            _data_directory: place,
        };
        store.reserve.keep();
        Ok((store, rows))
    }

    /// Reads the rows from which the interceptor is restored.
    pub fn rows(&self) -> Result<Rows, StoreError> {
        rows(&self.writer().connection)
    }

    /// Returns a reader of the last commit, which works also during writes.
    pub fn reader(&self) -> Reader {
        self.readers.reader()
    }

    /// Stores bytes that a later step needs.
    pub fn pin(&self, bytes: &[u8]) -> Result<PinnedContent, StoreError> {
        let mut incoming = self.incoming();
        incoming.take(bytes)?;
        incoming.end()
    }

    /// Starts to receive contents.
    pub fn incoming(&self) -> Incoming {
        Incoming::begin(Arc::clone(&self.contents))
    }

    /// Applies steps with the contents that they need, in order. Waits for the disk if one of the steps must
    /// survive a power failure.
    pub fn apply(&self, steps: &[Step]) -> Result<(), StoreError> {
        self.commit(steps)?;
        if steps.iter().any(|step| step.is_durable) { self.sync() } else { Ok(()) }
    }

    /// Applies steps without waiting for the disk.
    pub fn commit(&self, steps: &[Step]) -> Result<(), StoreError> {
        self.check_writable()?;
        if steps.iter().all(|step| step.changes.is_empty()) {
            return Ok(());
        }
        let mut writer = self.writer();
        let before = writer.total;
        let Writer { connection, total, .. } = &mut *writer;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for content in changes::contents(steps) {
            self.contents.store(&transaction, content)?;
        }
        let mut now = before;
        for change in steps.iter().flat_map(|step| &step.changes) {
            now += changes::make(&transaction, change)?;
        }
        let kept = quota::keep(&transaction, now, self.quota)?;
        now += kept;
        let committed = transaction.commit();
        // Invalidated whether or not the commit succeeded.
        self.read_cache.follow(steps);
        if kept != 0 {
            self.read_cache.forget_representations();
        }
        committed?;
        *total = now;
        // While the lock prevents a sweep.
        self.contents.stored(changes::contents(steps));
        Ok(())
    }

    /// Waits until the disk holds all earlier commits.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.check_writable()?;
        self.log.sync_data().map_err(|error| {
            // The operating system discards pages that it could not write, so a second sync would falsely
            // succeed.
            self.has_failed_sync.store(true, Ordering::Relaxed);
            StoreError::Unknown(error.to_string())
        })
    }

    /// Deletes a batch of contents that are not needed; their files must then be [removed](Self::remove).
    /// `needed` has the contents that are needed without a representation. No commit may happen between its
    /// computation and this call.
    pub fn sweep(&self, needed: &HashSet<Digest>) -> Result<Swept, StoreError> {
        self.check_writable()?;
        let mut writer = self.writer();
        let Writer { connection, sweep, .. } = &mut *writer;
        let is_needed = |digest: &Digest| needed.contains(digest);
        self.contents.forget_dropped(is_needed, |digest| is_in_file(connection, digest))?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let swept = sweep.sweep_batch(&transaction, &self.contents, needed)?;
        transaction.commit()?;
        self.read_cache.forget_contents();
        Ok(swept)
    }

    /// Removes the files of swept contents once the disk holds the sweep; returns whether there is more to sweep.
    pub fn remove(&self, Swept { files, has_more }: Swept) -> Result<bool, StoreError> {
        if !files.is_empty() {
            self.sync()?;
            let writer = self.writer();
            for digest in &files {
                // A step may need the contents again since the sweep.
                if !is_in_file(&writer.connection, digest)? {
                    self.contents.forget_file(digest)?;
                }
            }
        }
        Ok(has_more)
    }

    /// Returns and clears the digests whose contents were found damaged or missing.
    pub fn take_damaged(&self) -> HashSet<Digest> {
        self.contents.take_damaged()
    }

    /// Deletes damaged contents, so that intact ones with the same digest can be stored. Those that are still
    /// `needed` count as damaged until the next call.
    pub fn forget_damaged(
        &self,
        digests: &HashSet<Digest>,
        needed: &HashSet<Digest>,
    ) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let transaction =
            writer.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for digest in digests {
            self.contents.forget_damaged(&transaction, digest, needed.contains(digest))?;
        }
        transaction.commit()?;
        self.read_cache.forget_contents();
        Ok(())
    }

    /// Whether so many contents are held, or were released unused, that a sweep is due.
    pub fn needs_sweep(&self) -> bool {
        self.contents.needs_sweep()
    }

    /// Checkpoints the write-ahead log, so that it does not grow without limit. Takes time, but does not block
    /// others.
    pub fn checkpoint_log(&self) -> Result<(), StoreError> {
        let connection = SETTINGS.connect(&self.readers.database)?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Frees space on a full disk: checkpoints and truncates the log. A following [sweep](Self::sweep) frees
    /// more.
    pub fn free_space(&self) -> Result<(), StoreError> {
        self.reserve.release();
        let connection = SETTINGS.connect(&self.readers.database)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Reserves some space for the next full disk, if there is any.
    pub fn refill_reserve(&self) {
        self.reserve.keep();
    }

    /// Limits the size of the database to simulate a full disk.
    #[cfg(test)]
    pub(crate) fn bound(&self, pages: u32) {
        let writer = self.writer();
        writer.connection.pragma_update(None, "max_page_count", pages).unwrap();
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        if self.has_failed_sync.load(Ordering::Relaxed) {
            return Err(StoreError::Unknown("it failed before".to_owned()));
        }
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // After a panic the open transaction was rolled back.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rows(connection: &Connection) -> Result<Rows, StoreError> {
    Ok(Rows {
        stored_subscriptions: stored_subscriptions::all(connection)?,
        edits: edits::all(connection)?,
        errors: records::errors(connection)?,
        shown: records::shown(connection)?,
        named: records::named(connection)?,
        attempts: attempts::all(connection)?,
        newsreaders: newsreaders::all(connection)?,
        counters: records::counters(connection)?,
        policy: records::policy(connection)?,
    })
}

/// Whether the database knows a file.
fn is_in_file(connection: &Connection, digest: &Digest) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM content WHERE digest = ?1 AND bytes IS NULL)";
    Ok(connection.prepare_cached(sql)?.query_row([digest.0], |row| row.get(0))?)
}

/// Deletes representations whose file is missing; they are fetched again.
fn delete_missing_files(
    connection: &mut Connection,
    contents: &Contents,
) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let sql = "SELECT digest, length FROM content WHERE bytes IS NULL";
        let mut statement = transaction.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let content = columns::Columns::of(row).content()?;
            let Content { digest, .. } = content;
            if !contents.has_file(&content) {
                tracing::warn!(%digest, "the file of stored bytes is gone or damaged");
                for table in ["representation", "kept"] {
                    let sql = format!("DELETE FROM {table} WHERE content = ?1");
                    transaction.prepare_cached(&sql)?.execute([digest.0])?;
                }
            }
        }
    }
    transaction.commit()?;
    Ok(())
}
