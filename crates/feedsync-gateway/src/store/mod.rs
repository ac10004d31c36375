//! What a gateway keeps: the rows of what was decided in an SQLite file, and the bytes that belong to it by
//! their digest, the large ones in files beside it.
//!
//! - A [commit](Store::commit) happens whole or not at all, also when the disk is full, and is seen by every
//!   [`Reader`] at once. It outlives the process; a power cut only once a [sync](Store::sync) has ended that
//!   began after it. So many commits wait for the disk together.
//! - Bytes can be read from the moment in which they are [held](Store::hold). A step that needs bytes which
//!   are neither held nor stored is refused.
//! - Bytes are compared with their digest whenever they are read from the disk: damaged ones are an error, never
//!   bytes.
//! - One process at a time has the directory, and nobody but its owner reads it (R-B37, 4.3).

mod attempts;
mod changes;
mod check;
mod columns;
mod contents;
mod edits;
mod error;
mod incoming;
mod keepings;
mod newsreaders;
mod place;
mod quota;
mod readers;
mod recent;
mod representations;
mod reserve;
mod schema;
mod sweep;
#[cfg(test)]
mod tests;
mod told;

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_offline::interceptor::{Content, Digest, Rows, Step};
use rusqlite::{Connection, TransactionBehavior};

pub use check::{Fault, check};
pub use contents::{Held, Opened, Unchecked};
pub use error::StoreError;
pub use incoming::Incoming;
pub use quota::Quota;
pub use readers::Reader;
pub use sweep::Swept;

use contents::Contents;
use place::Place;
use readers::Readers;
use recent::Recent;
use reserve::Reserve;
use sweep::Sweep;

/// What a gateway keeps.
#[derive(Debug)]
pub struct Store {
    writer: Mutex<Writer>,
    readers: Arc<Readers>,
    contents: Arc<Contents>,
    recent: Arc<Recent>,
    quota: Quota,
    /// Where commits are until they are carried over. SQLite keeps the file as long as it is open.
    log: File,
    reserve: Reserve,
    /// The disk would not say that it holds what was committed.
    is_unsure: AtomicBool,
    _place: Place,
}

#[derive(Debug)]
struct Writer {
    connection: Connection,
    /// Bytes that are stored of addresses.
    total: i64,
    sweep: Sweep,
}

impl Store {
    /// Opens the store of a directory, or makes one, with what it has to go on from.
    pub fn open(directory: &Path, quota: Quota) -> Result<(Self, Rows), StoreError> {
        let place = Place::take(directory)?;
        let file = place.database();
        let mut connection = schema::connect(&file)?;
        schema::migrate(&mut connection, &file)?;
        let contents = Contents::open(place.contents())?;
        contents.forget_unknown(|digest| is_in_file(&connection, digest))?;
        forget_lost(&mut connection, &contents)?;
        let rows = rows(&connection)?;
        let total = quota::total(&connection)?;
        let log = place.log();
        let log = OpenOptions::new()
            .write(true)
            .open(&log)
            .map_err(|source| StoreError::file(&log, source))?;
        let recent = Arc::new(Recent::new());
        let store = Self {
            writer: Mutex::new(Writer { connection, total, sweep: Sweep::default() }),
            readers: Readers::new(file, Arc::clone(&contents), Arc::clone(&recent)),
            contents,
            recent,
            quota,
            log,
            reserve: Reserve::new(place.reserve()),
            is_unsure: AtomicBool::new(false),
            _place: place,
        };
        store.reserve.keep();
        Ok((store, rows))
    }

    /// What there is to go on from.
    pub fn rows(&self) -> Result<Rows, StoreError> {
        rows(&self.writer().connection)
    }

    /// One that reads what was committed last, also while others write.
    pub fn reader(&self) -> Reader {
        self.readers.reader()
    }

    /// Takes in bytes that a step is going to need.
    pub fn hold(&self, bytes: &[u8]) -> Result<Held, StoreError> {
        let mut incoming = self.incoming();
        incoming.take(bytes)?;
        incoming.end()
    }

    /// Takes in bytes as they come.
    pub fn incoming(&self) -> Incoming {
        Incoming::begin(Arc::clone(&self.contents))
    }

    /// Makes all changes of steps, in their order, with the bytes that they need, and waits for the disk if
    /// one of them has to outlive a power cut.
    pub fn apply(&self, steps: &[Step]) -> Result<(), StoreError> {
        self.commit(steps)?;
        if steps.iter().any(|step| step.is_durable) { self.sync() } else { Ok(()) }
    }

    /// Makes all changes of steps, and does not wait for the disk.
    pub fn commit(&self, steps: &[Step]) -> Result<(), StoreError> {
        self.sure()?;
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
        // Whatever became of it.
        self.recent.follow(steps);
        if kept != 0 {
            self.recent.forget_representations();
        }
        committed?;
        *total = now;
        // While nobody else can sweep.
        self.contents.stored(changes::contents(steps));
        Ok(())
    }

    /// Waits until the disk holds what was committed before.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.sure()?;
        self.log.sync_data().map_err(|error| {
            // What the system could not write it has forgotten by now: asking again tells nothing.
            self.is_unsure.store(true, Ordering::Relaxed);
            StoreError::Unknown(error.to_string())
        })
    }

    /// Lets go of bytes that nothing needs, some at a time; their files are then to be [removed](Self::remove).
    /// `needed` are those that are needed though no address has them; nobody may commit between asking for them
    /// and this.
    pub fn sweep(&self, needed: &HashSet<Digest>) -> Result<Swept, StoreError> {
        self.sure()?;
        let mut writer = self.writer();
        let Writer { connection, sweep, .. } = &mut *writer;
        let is_needed = |digest: &Digest| needed.contains(digest);
        self.contents.forget_dropped(is_needed, |digest| is_in_file(connection, digest))?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let swept = sweep.portion(&transaction, &self.contents, needed)?;
        transaction.commit()?;
        self.recent.forget_contents();
        Ok(swept)
    }

    /// Removes the files of what was swept, once the disk holds that nothing needs them; whether there is more
    /// to sweep.
    pub fn remove(&self, Swept { files, has_more }: Swept) -> Result<bool, StoreError> {
        if !files.is_empty() {
            self.sync()?;
            let writer = self.writer();
            for digest in &files {
                // Meanwhile a step may have come that needs it.
                if !is_in_file(&writer.connection, digest)? {
                    self.contents.forget_file(digest)?;
                }
            }
        }
        Ok(has_more)
    }

    /// Takes the digests whose bytes were found damaged or missing since the last time.
    pub fn take_damaged(&self) -> HashSet<Digest> {
        self.contents.take_damaged()
    }

    /// Forgets damaged bytes, so that what has the same digest can be stored again.
    pub fn forget_damaged(&self, digests: &HashSet<Digest>) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let transaction =
            writer.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for digest in digests {
            self.contents.forget_damaged(&transaction, digest)?;
        }
        transaction.commit()?;
        self.recent.forget_contents();
        Ok(())
    }

    /// Whether so many bytes are held, or were and nobody has let go of them, that a sweep is due.
    pub fn is_crowded(&self) -> bool {
        self.contents.is_crowded()
    }

    /// Carries what was committed over into the database itself, so that the log does not grow on. Takes its
    /// time, and nobody waits for it.
    pub fn carry_over(&self) -> Result<(), StoreError> {
        let connection = schema::connect(&self.readers.database)?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Makes room on a full disk: carries over what was committed, and gives the log's room back. What is
    /// [swept](Self::sweep) then gives back more.
    pub fn make_room(&self) -> Result<(), StoreError> {
        self.reserve.release();
        let connection = schema::connect(&self.readers.database)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Keeps some room back for the next time, if there is any.
    pub fn keep_room(&self) {
        self.reserve.keep();
    }

    /// Bounds the database, as a full disk does.
    #[cfg(test)]
    pub(crate) fn bound(&self, pages: u32) {
        let writer = self.writer();
        writer.connection.pragma_update(None, "max_page_count", pages).unwrap();
    }

    fn sure(&self) -> Result<(), StoreError> {
        if self.is_unsure.load(Ordering::Relaxed) {
            return Err(StoreError::Unknown("it failed before".to_owned()));
        }
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // A transaction that was not committed is rolled back with whoever panicked.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rows(connection: &Connection) -> Result<Rows, StoreError> {
    Ok(Rows {
        keepings: keepings::all(connection)?,
        edits: edits::all(connection)?,
        errors: told::errors(connection)?,
        shown: told::shown(connection)?,
        named: told::named(connection)?,
        attempts: attempts::all(connection)?,
        newsreaders: newsreaders::all(connection)?,
        counters: told::counters(connection)?,
        policy: told::policy(connection)?,
    })
}

/// Whether a file is one that the database knows.
fn is_in_file(connection: &Connection, digest: &Digest) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM content WHERE digest = ?1 AND bytes IS NULL)";
    Ok(connection.prepare_cached(sql)?.query_row([digest.0], |row| row.get(0))?)
}

/// Forgets addresses whose bytes were in a file that somebody took away: they are fetched again.
fn forget_lost(connection: &mut Connection, contents: &Contents) -> Result<(), StoreError> {
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
