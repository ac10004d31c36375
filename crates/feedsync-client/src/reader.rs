//! Somebody's newsreading in a file of the data directory, kept in step by a log, a collection or a database.

mod collection;
mod database;

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedsync_endpoint::EndpointError;
use feedsync_endpoint::documents::DocumentsError;
use feedsync_log::{Answer, Device, Event, Position, RecordId, Session, Stop};
use feedsync_reading_state::{Replica, ReplicaError, SnapshotError};
use feedsync_store::StoreError;

use crate::fetch::shown_text;
use crate::log::{Follower, LogAccess, LogError, synchronise};
use crate::private_file::{Lock, PrivateFile, PrivateFileError};

/// A log that is shorter is not compacted.
const LONG: u64 = 1 << 20;

/// Nor is one that is not so many times as long as a snapshot.
const TIMES: u64 = 4;

/// The file of a data directory.
#[derive(Debug, Clone)]
pub struct ReaderFile {
    file: PrivateFile,
}

/// What it holds, while nobody else can change it.
pub struct StoredReader {
    /// The state, and what waits. What is changed is stored by [`StoredReader::store`].
    pub replica: Replica,
    file: PrivateFile,
    lock: Lock,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// What came of bringing it in step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReaderSync {
    /// How many records were appended.
    pub appended: usize,
    /// Whether something new was read.
    pub has_read: bool,
    /// Whether the log was compacted.
    pub was_compacted: bool,
    /// Whether there is no log, and nothing to begin one with.
    pub is_absent: bool,
}

/// What came of joining it with the items of a collection, or the documents of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderJoin {
    /// Whether they said something new.
    pub has_read: bool,
    /// How many of them were written.
    pub written: u64,
    /// Ids of those that were left alone, since a later version of this program wrote them.
    pub newer: BTreeSet<String>,
}

/// Why it could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum ReaderJoinError {
    /// The file of the reader.
    #[error(transparent)]
    Reader(#[from] ReaderFileError),
    /// The collection.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why it could not be read, stored or brought in step.
#[derive(Debug, thiserror::Error)]
pub enum ReaderFileError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file is not what was written.
    #[error("{path}: {source}")]
    Faulty {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: ReplicaError,
    },
    /// The snapshot beside a log is none. Nothing was taken from it.
    #[error("the snapshot of {log}: {source}")]
    Snapshot {
        /// Which log.
        log: String,
        /// What is wrong with it.
        source: SnapshotError,
    },
    /// It is kept in step by another log.
    #[error("this reader is kept in step by {known}, and not by {given}")]
    OtherLog {
        /// By which.
        known: String,
        /// Which was given.
        given: String,
    },
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
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

    /// The file in this directory; neither needs to be there.
    pub fn within(directory: &Path) -> Self {
        Self { file: PrivateFile::within(directory, Self::NAME) }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// Reads it, whoever changes it meanwhile, and makes nothing; a new replica where it is not there.
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

    /// Waits until nobody else changes it, and reads it. If somebody does, `waiting` is told of it first.
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
    /// Stores what was changed: whole and durable, or not at all.
    pub fn store(&self) -> Result<(), ReaderFileError> {
        store(&self.file, &self.lock, &self.replica)
    }

    /// Brings it in step with a log, and compacts the log if it has become long. `may_begin` lets a log that was
    /// removed begin again.
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
            // A person gave this address, and no log was found there: it may be a wrong one.
            self.replica.keep_by_none();
            self.store()?;
        }
        done
    }
}

/// The same for a replica that nobody stores: what waits in it is lost with it.
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
    if !replica.is_kept_by(&log.address()) {
        let known = shown_text(replica.log().unwrap_or_default());
        return Err(ReaderFileError::OtherLog { known, given: log.name() });
    }
    replica.keep_by(log.address());
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
    // Of other servers nobody knows who else counts their bytes.
    generation.is_some() && *offset > LONG && *offset > TIMES * replica.write().len() as u64
}

/// What a log says, all of it.
pub async fn read_reader_log(
    log: &dyn LogAccess,
    random: &(dyn Fn() -> u64 + Send + Sync),
) -> Result<(Replica, Session), ReaderFileError> {
    let mut replica = Replica::new(Device::minted(random()));
    let (session, _) = follow(&mut replica, log, &|_| Ok(()), random, false).await?;
    Ok((replica, session))
}

/// Puts a snapshot beside a log, and begins its next generation with nothing but that (LR45, LR46). `false` if
/// somebody appended meanwhile, or not all of the log is known.
pub async fn compact(
    log: &dyn LogAccess,
    replica: &mut Replica,
    session: &Session,
    random: u64,
) -> Result<bool, ReaderFileError> {
    let Some(compaction) = replica.compacted(session, random) else { return Ok(false) };
    let stored = log.put_snapshot(&compaction.covers, compaction.snapshot.into_bytes()).await?;
    // A server that tells generations apart refuses in words of its own, not with a page.
    let has_generations = session.position().generation.is_some();
    let check = |answer: &Answer| match answer.status {
        404 | 409 | 410 | 412 if has_generations => answer.refused(true),
        _ => Ok(()),
    };
    check(&stored).map_err(|stop| stopped(log, stop))?;
    match stored.status {
        // One that stands there already for this place, or a later one, is as good: if the log went on, the next step
        // finds that out.
        409 => {}
        // A generation that goes on from a snapshot which nobody has would lose what it leaves out.
        200..=399 => stored.stored().map_err(|stop| stopped(log, stop))?,
        _ => return Ok(false),
    }
    let header = compaction.header.clone().into_bytes();
    let begun = log.begin_generation(&compaction.tag, header).await?;
    check(&begun).map_err(|stop| stopped(log, stop))?;
    let is_begun = (200..400).contains(&begun.status);
    if is_begun {
        begun.stored().map_err(|stop| stopped(log, stop))?;
        replica.was_compacted(&compaction.header, begun.etag, begun.generation);
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
    let mut following = Following { replica, store, random, log: name, done };
    synchronise(log, &mut session, &mut following, random).await?;
    let done = ReaderSync { is_absent: session.is_absent(), ..following.done };
    Ok((session, done))
}

struct Following<'a> {
    replica: &'a mut Replica,
    store: &'a Store<'a>,
    random: &'a (dyn Fn() -> u64 + Send + Sync),
    log: String,
    done: ReaderSync,
}

impl Follower for Following<'_> {
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
        // Records of ours are known when they are read back (LR14): a crash costs no more than that, and to store all
        // after each of many appends would cost the square of them.
        if appended > 0 { Ok(()) } else { (self.store)(self.replica) }
    }
}
