//! The reading state of a user in a file of the data directory, synchronised through a log, a collection or a
//! database.

mod collection;
mod database;

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedsync_endpoint::EndpointError;
use feedsync_endpoint::documents::DocumentsError;
use feedsync_fetch::shown_text;
use feedsync_log::{Device, Event, LogResponse, Position, RecordId, Session, Stop};
use feedsync_reading_state::{Replica, ReplicaError, SnapshotError};
use feedsync_store::StoreError;

use crate::log::{Follower, LogAccess, LogError, synchronise};
use crate::private_file::{Lock, PrivateFile, PrivateFileError};

/// Size in bytes up to which a log is not compacted.
const MIN_COMPACTION_BYTES: u64 = 1 << 20;

/// Minimum ratio of the size of a log to that of a snapshot at which it is compacted.
const COMPACTION_FACTOR: u64 = 4;

/// The reader file of a data directory.
#[derive(Debug, Clone)]
pub struct ReaderFile {
    file: PrivateFile,
}

/// Content of the reader file. A lock excludes other writers.
pub struct StoredReader {
    /// The state and the waiting records. [`StoredReader::store`] stores changes of it.
    pub replica: Replica,
    file: PrivateFile,
    lock: Lock,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Outcome of a synchronisation with a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReaderSync {
    /// Number of records that were appended.
    pub appended: usize,
    /// Whether new records were read.
    pub has_read: bool,
    /// Whether the log was compacted.
    pub was_compacted: bool,
    /// Whether there is no log, and nothing to create one with.
    pub is_absent: bool,
}

/// Outcome of merging with the items of a collection, or the documents of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderJoin {
    /// Whether they contained new information.
    pub has_read: bool,
    /// Number of items or documents that were written.
    pub written: u64,
    /// Ids of those that were skipped, since a later version of this program wrote them.
    pub newer: BTreeSet<String>,
}

/// Reason for the failure of a merge.
#[derive(Debug, thiserror::Error)]
pub enum ReaderJoinError {
    /// The reader file failed.
    #[error(transparent)]
    Reader(#[from] ReaderFileError),
    /// The collection failed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database failed.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reason for failing to read, store or synchronise a reader file.
#[derive(Debug, thiserror::Error)]
pub enum ReaderFileError {
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file is invalid.
    #[error("{path}: {source}")]
    Faulty {
        /// Path of the file.
        path: PathBuf,
        /// The fault in it.
        source: ReplicaError,
    },
    /// The snapshot beside a log is invalid. None of it was used.
    #[error("the snapshot of {log} is invalid: {source}")]
    Snapshot {
        /// Name of the log.
        log: String,
        /// The fault in it.
        source: SnapshotError,
    },
    /// The reader is synchronised with another log.
    #[error("this reader syncs with the log {known}, and not with {given}")]
    DifferentLog {
        /// The other log.
        known: String,
        /// The given log.
        given: String,
    },
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// Message of the system.
        source: io::Error,
    },
}

impl From<PrivateFileError> for ReaderFileError {
    fn from(PrivateFileError { path, source }: PrivateFileError) -> Self {
        Self::File { path, source }
    }
}

impl ReaderFile {
    /// The name of the file.
    pub const NAME: &'static str = "reader.jsonl";

    /// Returns the file in this directory; neither needs to exist.
    pub fn within(directory: &Path) -> Self {
        Self { file: PrivateFile::within(directory, Self::NAME) }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// Reads the file without a lock and without creating it; returns a new replica if it does not exist.
    pub fn read(&self, random: impl Fn() -> u64) -> Result<Replica, ReaderFileError> {
        let path = self.path();
        let Some(mut file) = self.file.open()? else {
            return Ok(Replica::new(Device::minted(random())));
        };
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|source| ReaderFileError::File { path: path.clone(), source })?;
        Replica::read(&bytes).map_err(|source| ReaderFileError::Faulty { path, source })
    }

    /// Waits until no other process changes the file, and reads it. `waiting` is called first if one does.
    pub fn open(
        &self,
        random: impl Fn() -> u64 + Send + Sync + 'static,
        waiting: impl FnOnce(),
    ) -> Result<StoredReader, ReaderFileError> {
        let lock = self.file.lock(waiting)?;
        let replica = self.read(&random)?;
        Ok(StoredReader { replica, file: self.file.clone(), lock, random: Arc::new(random) })
    }
}

impl StoredReader {
    /// Stores the changes, atomically and durably.
    pub fn store(&self) -> Result<(), ReaderFileError> {
        store(&self.file, &self.lock, &self.replica)
    }

    /// Synchronises it with a log, and compacts the log if it has become long. With `may_begin`, a log that
    /// was removed is created again.
    pub async fn synchronise(
        &mut self,
        log: &dyn LogAccess,
        may_begin: bool,
    ) -> Result<ReaderSync, ReaderFileError> {
        let was_kept = self.replica.log().is_some();
        let (file, lock) = (&self.file, &self.lock);
        let store = |replica: &Replica| store(file, lock, replica);
        let done = bring_in_step(&mut self.replica, log, &store, &*self.random, may_begin).await;
        if !was_kept && done.as_ref().map_or(true, |done| done.is_absent) {
            // A person gave this address, and there was no log: the address may be wrong.
            self.replica.unset_log();
            self.store()?;
        }
        done
    }
}

/// Synchronises a replica that is not stored in a file: records that wait in it are lost with it.
pub async fn synchronise_reader(
    replica: &mut Replica,
    log: &dyn LogAccess,
    random: &(dyn Fn() -> u64 + Send + Sync),
) -> Result<ReaderSync, ReaderFileError> {
    bring_in_step(replica, log, &|_| Ok(()), random, true).await
}

async fn bring_in_step(
    replica: &mut Replica,
    log: &dyn LogAccess,
    store: &Store<'_>,
    random: &(dyn Fn() -> u64 + Send + Sync),
    may_begin: bool,
) -> Result<ReaderSync, ReaderFileError> {
    if !replica.is_synchronised_by(&log.address()) {
        let known = shown_text(replica.log().unwrap_or_default());
        return Err(ReaderFileError::DifferentLog { known, given: log.name() });
    }
    replica.set_log(log.address());
    let followed = follow(replica, log, store, random, may_begin).await;
    let stored = store(replica);
    let (session, mut done) = followed?;
    stored?;
    if is_long(&session, replica) {
        done.was_compacted = compact(log, replica, &session, random()).await?;
        store(replica)?;
    }
    Ok(done)
}

fn store(file: &PrivateFile, lock: &Lock, replica: &Replica) -> Result<(), ReaderFileError> {
    Ok(file.replace(replica.write().as_bytes(), lock)?)
}

fn is_long(session: &Session, replica: &Replica) -> bool {
    let Position { offset, generation, .. } = session.position();
    // On servers without generations, other programs may depend on the log's bytes.
    generation.is_some()
        && *offset > MIN_COMPACTION_BYTES
        && *offset > COMPACTION_FACTOR * replica.write().len() as u64
}

/// Reads all of a log.
pub async fn read_reader_log(
    log: &dyn LogAccess,
    random: &(dyn Fn() -> u64 + Send + Sync),
) -> Result<(Replica, Session), ReaderFileError> {
    let mut replica = Replica::new(Device::minted(random()));
    let (session, _) = follow(&mut replica, log, &|_| Ok(()), random, false).await?;
    Ok((replica, session))
}

/// Stores a snapshot beside a log, and starts its next generation with only a reference to it (LR45, LR46).
/// Returns `false` if another client appended in the meantime, or if not all of the log was read.
pub async fn compact(
    log: &dyn LogAccess,
    replica: &mut Replica,
    session: &Session,
    random: u64,
) -> Result<bool, ReaderFileError> {
    let Some(compaction) = replica.compacted(session, random) else { return Ok(false) };
    let stored = log.put_snapshot(&compaction.covers, compaction.snapshot.into_bytes()).await?;
    // A server that knows generations returns errors of its own, not an HTML page.
    let has_generations = session.position().generation.is_some();
    let check = |answer: &LogResponse| match answer.status {
        404 | 409 | 410 | 412 if has_generations => answer.refused(true),
        _ => Ok(()),
    };
    check(&stored).map_err(|stop| stopped(log, stop))?;
    match stored.status {
        // A snapshot that is already stored for this position, or a later one, is as good. If the log has
        // grown, the next step detects it.
        409 => {}
        // A generation that refers to a missing snapshot would lose its content.
        200..=399 => stored.stored().map_err(|stop| stopped(log, stop))?,
        _ => return Ok(false),
    }
    let header = compaction.header.clone().into_bytes();
    let begun = log.begin_generation(&compaction.tag, header).await?;
    check(&begun).map_err(|stop| stopped(log, stop))?;
    let is_begun = (200..400).contains(&begun.status);
    if is_begun {
        begun.stored().map_err(|stop| stopped(log, stop))?;
        replica.record_compaction(&compaction.header, begun.etag, begun.generation);
    }
    Ok(is_begun)
}

fn stopped(log: &dyn LogAccess, stop: Stop) -> LogError {
    LogError::Stopped { log: log.name(), stop }
}

type Store<'a> = dyn Fn(&Replica) -> Result<(), ReaderFileError> + Send + Sync + 'a;

async fn follow(
    replica: &mut Replica,
    log: &dyn LogAccess,
    store: &Store<'_>,
    random: &(dyn Fn() -> u64 + Send + Sync),
    may_begin: bool,
) -> Result<(Session, ReaderSync), ReaderFileError> {
    let mut session = replica.session();
    if may_begin {
        session.begin_removed();
    }
    let (name, done) = (log.name(), ReaderSync::default());
    let mut following = ReplicaFollower { replica, store, random, log: name, done };
    synchronise(log, &mut session, &mut following, random).await?;
    let done = ReaderSync { is_absent: session.is_absent(), ..following.done };
    Ok((session, done))
}

struct ReplicaFollower<'a> {
    replica: &'a mut Replica,
    store: &'a Store<'a>,
    random: &'a (dyn Fn() -> u64 + Send + Sync),
    log: String,
    done: ReaderSync,
}

impl Follower for ReplicaFollower<'_> {
    type Error = ReaderFileError;

    fn waiting(&mut self, session: &Session) -> Result<Vec<(RecordId, String)>, ReaderFileError> {
        if self.replica.offer(session) {
            (self.store)(self.replica)?;
        }
        Ok(self.replica.waiting())
    }

    fn apply(&mut self, event: Event, session: &mut Session) -> Result<(), ReaderFileError> {
        let appended = match &event {
            Event::Appended(count) => *count,
            _ => 0,
        };
        self.done.appended += appended;
        let applied = self.replica.apply(event, session, (self.random)());
        self.done.has_read |= applied
            .map_err(|source| ReaderFileError::Snapshot { log: self.log.clone(), source })?;
        // Own records are recognised when they are read back (LR14), so a crash only costs reading them
        // again. Storing everything after each of many appends would have quadratic cost.
        if appended > 0 { Ok(()) } else { (self.store)(self.replica) }
    }
}
