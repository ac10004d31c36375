//! A store in one SQLite file.
//!
//! Every commit is synchronized to the disk before it is acknowledged (write-ahead log, `synchronous =
//! FULL`). One thread writes, and commits all queued writes together. Other threads read without waiting for
//! it, each read at one moment. Several processes may have the same store open: the lock of the file
//! serializes their updates, and each process detects the commits of the others. The tables are defined in
//! `migrations/`, and are meant to be readable with the `sqlite3` shell. The bytes of logs are in plain files
//! next to the database.

mod acts;
mod attachment_rows;
mod backup_files;
mod blobs;
mod body_rows;
mod charges;
mod check;
mod collections;
mod commit_hooks;
mod copy;
mod database_reads;
mod database_rows;
mod database_transfer;
mod database_writes;
mod databases;
mod disk_reserve;
mod increment;
#[cfg(feature = "queries")]
mod indexes;
mod local_documents;
mod location;
mod log_backup;
mod log_files;
mod log_repair;
mod log_rows;
mod logs;
#[cfg(not(feature = "queries"))]
mod no_indexes;
mod nonce;
mod past_documents;
mod past_rows;
mod people;
#[cfg(feature = "queries")]
mod queries;
mod read;
mod read_cache;
mod remotes;
mod rows;
mod schema;
mod store;
mod sweep_limits;
mod transfer;
mod update;
mod view_removal;
#[cfg(feature = "queries")]
mod views;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use feedsync_couch::DatabaseName;
use rusqlite::{Connection, TransactionBehavior};

use crate::environment::Environment;
use crate::error::StoreError;
use crate::name::{CollectionName, EndpointName};
use crate::notifier::ChangeNotifier;
use crate::sqlite_support::{Contents, ReadPool, Writer, enable_wal};
pub use backup_files::BackupFile;
use commit_hooks::StoreHooks;
pub use copy::BackupPlan;
use disk_reserve::DiskReserve;
pub use log_backup::{BackupReport, DamagedLog};
use log_files::LogFiles;
use nonce::NonceRenewal;
use read_cache::ReadCache;
use schema::{SCHEMA, SETTINGS};
use watch::Watch;

/// A store in the file `feedsync.db` of a directory. Dropping it writes what is queued and waits for its
/// threads.
pub struct SqliteStore {
    directory: PathBuf,
    environment: Arc<dyn Environment>,
    files: Arc<LogFiles>,
    notifier: Arc<ChangeNotifier<CollectionName>>,
    database_notifier: Arc<ChangeNotifier<DatabaseName>>,
    writer: Writer<StoreError>,
    readers: ReadPool<StoreError>,
    known: ReadCache,
    /// Whether a write failed because the disk was full, and the disk has no space since.
    is_full: Arc<AtomicBool>,
    _watch: Watch,
}

impl SqliteStore {
    /// Creates an endpoint in a directory that has none. Creates the directory if necessary, readable by the
    /// owner only.
    pub fn init(
        directory: &Path,
        name: &EndpointName,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, StoreError> {
        location::make_directory(directory)?;
        let file = directory.join(location::FILE);
        location::make_file(&file)?;
        let mut connection = SETTINGS.connect(&file)?;
        match SCHEMA.contents(&connection)? {
            Contents::Empty if nonce::exists(directory) => {
                return Err(location::lost(&file));
            }
            Contents::Empty => schema::begin(&connection)?,
            Contents::Known(_) => return Err(location::occupied(&file)),
            Contents::Foreign => return Err(StoreError::Foreign { path: file }),
        }
        let place = location::place(&file)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done this already.
        if SCHEMA.contents(&transaction)? != Contents::Empty {
            return Err(location::occupied(&file));
        }
        SCHEMA.migrate(&transaction, &file)?;
        collections::found(&transaction, name, &place, &*environment)?;
        transaction.commit()?;
        // The nonce comes after the first commit. So a database without tables is one whose creation was
        // interrupted, unless there is a nonce: then it has lost its data.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if nonce::agrees(&transaction, directory)? {
            nonce::begin(&transaction, directory)?;
        }
        transaction.commit()?;
        location::sync_directory(directory)?;
        location::sync_directory(&location::parent(directory))?;
        Self::start(directory, connection, environment)
    }

    /// Opens the store of a directory, and creates an endpoint of this name if there is none, or if its creation was
    /// interrupted. Any number of processes may do this at once.
    pub fn open_or_init(
        directory: &Path,
        name: &EndpointName,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, StoreError> {
        match Self::open(directory, Arc::clone(&environment)) {
            Err(StoreError::Place { .. }) => {}
            opened => return opened,
        }
        match Self::init(directory, name, Arc::clone(&environment)) {
            // Another process was faster, unless opening finds none again.
            Err(refused @ StoreError::Place { .. }) => {
                Self::open(directory, environment).map_err(|error| match error {
                    StoreError::Place { .. } => refused,
                    error => error,
                })
            }
            created => created,
        }
    }

    /// Opens the store of a directory. The store may be a copy or a restored old state: it is at another
    /// location than when it was last open, or not in the state of that time. Then it continues as a new
    /// incarnation, in new epochs. A whole directory restored over itself, file by file, or a disk reset to a
    /// snapshot, cannot be detected. A log whose file was not restored with the rest continues in a new
    /// generation.
    ///
    /// On a full disk the reserve is released, since even reading a store requires some space.
    pub fn open(directory: &Path, environment: Arc<dyn Environment>) -> Result<Self, StoreError> {
        match Self::open_once(directory, Arc::clone(&environment)) {
            Err(_) if disk_reserve::release_where_full(directory) => {
                let store = Self::open_once(directory, environment)?;
                store.is_full.store(true, Ordering::Relaxed);
                Ok(store)
            }
            opened => opened,
        }
    }

    fn open_once(directory: &Path, environment: Arc<dyn Environment>) -> Result<Self, StoreError> {
        let file = directory.join(location::FILE);
        let absent = |reason| StoreError::Place { path: directory.to_owned(), reason };
        if !Self::exists(directory) {
            return Err(absent("there is no store here"));
        }
        let mut connection = SETTINGS.connect(&file)?;
        let contents = SCHEMA.contents(&connection)?;
        match contents {
            Contents::Known(_) => enable_wal(&connection)?,
            Contents::Empty if nonce::exists(directory) => {
                return Err(location::lost(&file));
            }
            Contents::Empty => {
                return Err(absent("there is no store here; its creation was interrupted"));
            }
            Contents::Foreign => return Err(StoreError::Foreign { path: file }),
        }
        let place = location::place(&file)?;
        let is_settled = |connection: &Connection| {
            if !collections::is_finished(connection)? {
                return Err(StoreError::Unfinished { path: directory.to_owned() });
            }
            let settled = collections::is_at_location(connection, &place)?
                && nonce::agrees(connection, directory)?
                && !log_backup::contains_logs(connection)?;
            Ok::<_, StoreError>(settled)
        };
        let mut settles = false;
        // Usually there is nothing to do, and no lock for writing is needed.
        if contents != Contents::Known(SCHEMA.version()) || !is_settled(&connection)? {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            SCHEMA.migrate(&transaction, &file)?;
            // Another process may have done this already, or may have been renewing the nonces.
            if !is_settled(&transaction)? {
                collections::settle(&transaction, &place, &*environment)?;
                log_repair::settle(&transaction, &LogFiles::of(directory), &*environment)?;
                nonce::begin(&transaction, directory)?;
                settles = true;
            }
            transaction.commit()?;
        }
        log_repair::repair(&mut connection, directory, &*environment, settles)?;
        Self::start(directory, connection, environment)
    }

    /// Whether a directory holds a store.
    pub fn exists(directory: &Path) -> bool {
        location::exists(directory)
    }

    /// Whether a directory held a store whose database is missing or empty, although other files of the store
    /// exist.
    pub fn is_lost(directory: &Path) -> bool {
        nonce::is_lost(directory)
    }

    /// Removes the reserve of a store that is no longer written to.
    pub fn remove_reserve(directory: &Path) -> Result<(), StoreError> {
        disk_reserve::remove(directory)
    }

    fn start(
        directory: &Path,
        connection: Connection,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, StoreError> {
        let file = directory.join(location::FILE);
        // The path is made absolute, because the process may change its working directory.
        let absolute = location::absolute(directory)?;
        let files = Arc::new(LogFiles::of(&absolute));
        let is_full = Arc::new(AtomicBool::new(false));
        let space = DiskReserve::new(&absolute, Arc::clone(&is_full));
        let nonce = NonceRenewal::new(absolute);
        let hooks = StoreHooks { nonce, files: Arc::clone(&files), space, renews: false };
        let threads =
            std::thread::available_parallelism().map_or(2, |count| count.get().clamp(2, 8));
        let connections = || {
            let each = (0..threads).map(|_| SETTINGS.connect_reader(&file));
            each.collect::<Result<Vec<_>, _>>()
        };
        let readers = ReadPool::start("feedsync-reader", connections()?)?;
        let notifier = Arc::new(ChangeNotifier::default());
        let database_notifier = Arc::new(ChangeNotifier::default());
        let notifiers = (Arc::clone(&notifier), Arc::clone(&database_notifier));
        let watch = Watch::start(SETTINGS.connect_reader(&file)?, notifiers)?;
        Ok(Self {
            directory: directory.to_owned(),
            environment,
            writer: Writer::start("feedsync-writer", connection, hooks)?,
            is_full,
            files,
            notifier,
            database_notifier,
            readers,
            known: ReadCache::new(connections()?),
            _watch: watch,
        })
    }

    /// Copies the store, while it is in use, into one file that includes the bytes of logs. The copy is a
    /// snapshot of one moment, except that a log which is removed meanwhile is copied in a slightly later
    /// state. It is durable, and readable by the owner only. An older file of that name is replaced when the
    /// copy is complete. A log whose file is damaged does not make the backup fail: its existing bytes are
    /// copied, and the result reports what is missing.
    pub async fn backup(&self, file: &Path) -> Result<BackupReport, StoreError> {
        self.backup_with(BackupPlan { file: file.to_owned(), ..BackupPlan::default() }).await
    }

    /// Makes a backup like [`SqliteStore::backup`] that also holds other files, or an increment: a file with the changes since an
    /// earlier backup.
    pub async fn backup_with(&self, plan: BackupPlan) -> Result<BackupReport, StoreError> {
        let files = Arc::clone(&self.files);
        self.readers.run(move |connection| copy::backup(connection, &files, &plan)).await?
    }

    /// Restores a backup into a directory that has no store. The store is the same endpoint in a new
    /// incarnation, with its collections in new epochs and its logs in new generations. Sequences that were
    /// issued after the backup therefore stay distinguishable from later ones.
    pub fn restore(
        backup: &Path,
        directory: &Path,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, StoreError> {
        Self::restore_with(backup, None, directory, environment).map(|(store, _)| store)
    }

    /// Restores a backup like [`SqliteStore::restore`], with an increment of it or without. Files of the backup go beside the store, except those that exist
    /// there, whose names are returned.
    pub fn restore_with(
        backup: &Path,
        increment: Option<&Path>,
        directory: &Path,
        environment: Arc<dyn Environment>,
    ) -> Result<(Self, Vec<String>), StoreError> {
        location::make_directory(directory)?;
        let stayed = copy::restore(backup, increment, &directory.join(location::FILE))?;
        // The recorded location is another one, so that opening the store does the rest.
        Ok((Self::open(directory, environment)?, stayed))
    }

    /// Returns faults of the database and missing bytes of log files, one line each; empty if there are none.
    /// Reads every row.
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        let files = Arc::clone(&self.files);
        self.readers
            .run(move |connection| {
                let mut faults = check::file(connection)?;
                if !faults.is_empty() {
                    // Further findings in a damaged file may be consequences of the damage.
                    return Ok(faults);
                }
                faults.extend(check::rows(connection)?);
                faults.extend(check::digests(connection)?);
                #[cfg(feature = "queries")]
                faults.extend(indexes::faults(connection)?);
                faults.extend(log_repair::check(connection, &files)?);
                Ok(faults)
            })
            .await?
    }
}

impl SqliteStore {
    /// Tells whether a write failed because the disk was full, and the disk has no space since.
    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Checks that there is room on the disk.
    async fn check_space(&self) -> Result<(), StoreError> {
        if self.is_full() {
            // The writing thread checks for space before each batch.
            self.writer.run(|_| Ok(())).await?;
        }
        let directory = self.directory.clone();
        self.readers.run(move |_| disk_reserve::probe(&directory)).await?
    }
}
