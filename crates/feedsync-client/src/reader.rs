//! Somebody's newsreading in a file of the data directory, kept in step by a log.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedsync_log::{Device, Event, Position, RecordId, Session};
use feedsync_reader::{Replica, ReplicaError, SnapshotError};

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

    /// Waits until nobody else changes it, and reads it; a new replica where it is not there.
    pub fn open(
        &self,
        random: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<StoredReader, ReaderFileError> {
        let lock = self.file.lock()?;
        let mut bytes = Vec::new();
        let path = self.file.path();
        let replica = match self.file.open()? {
            None => Replica::new(Device::minted(random())),
            Some(mut file) => {
                let read = file.read_to_end(&mut bytes);
                read.map_err(|source| ReaderFileError::File { path: path.clone(), source })?;
                Replica::read(&bytes).map_err(|source| ReaderFileError::Faulty { path, source })?
            }
        };
        Ok(StoredReader { replica, file: self.file.clone(), lock, random: Arc::new(random) })
    }
}

impl StoredReader {
    /// Stores what was changed: whole and durable, or not at all.
    pub fn store(&self) -> Result<(), ReaderFileError> {
        Ok(self.file.replace(self.replica.write().as_bytes(), &self.lock)?)
    }

    /// Brings it in step with a log, and compacts the log if it has become long.
    pub async fn synchronise(
        &mut self,
        log: &dyn LogAccess,
    ) -> Result<ReaderSync, ReaderFileError> {
        if !self.replica.is_kept_by(&log.name()) {
            let known = self.replica.log().unwrap_or_default().to_owned();
            return Err(ReaderFileError::OtherLog { known, given: log.name() });
        }
        self.replica.keep_by(log.name());
        let mut session = self.replica.session();
        let random = Arc::clone(&self.random);
        let mut follower = Following { reader: self, log: log.name(), done: ReaderSync::default() };
        synchronise(log, &mut session, &mut follower, &*random).await?;
        let mut done = follower.done;
        self.store()?;
        if self.is_long(&session) {
            done.was_compacted = self.compact(log, &session).await?;
        }
        Ok(done)
    }

    fn is_long(&self, session: &Session) -> bool {
        let Position { offset, generation, .. } = session.position();
        // On other servers nobody knows who else counts bytes.
        generation.is_some()
            && *offset > LONG
            && *offset > TIMES * self.replica.write().len() as u64
    }

    /// Puts a snapshot beside the log and begins its next generation with nothing but that (R45, R46); `false` if
    /// somebody appended meanwhile, or not all of the log is known.
    pub async fn compact(
        &mut self,
        log: &dyn LogAccess,
        session: &Session,
    ) -> Result<bool, ReaderFileError> {
        let Some(compaction) = self.replica.compacted(session, (self.random)()) else {
            return Ok(false);
        };
        let stored = log.put_snapshot(&compaction.covers, compaction.snapshot.into_bytes()).await?;
        if !matches!(stored.status, 200 | 201 | 204) {
            return Ok(false);
        }
        let header = compaction.header.clone().into_bytes();
        let begun = log.begin_generation(&compaction.tag, header).await?;
        if !matches!(begun.status, 200 | 201 | 204) {
            return Ok(false);
        }
        self.replica.was_compacted(&compaction.header, begun.etag, begun.generation);
        self.store()?;
        Ok(true)
    }
}

struct Following<'a> {
    reader: &'a mut StoredReader,
    log: String,
    done: ReaderSync,
}

impl Follower for Following<'_> {
    type Error = ReaderFileError;

    fn waiting(&mut self, session: &Session) -> Result<Vec<(RecordId, String)>, ReaderFileError> {
        if self.reader.replica.offer(session) {
            self.reader.store()?;
        }
        Ok(self.reader.replica.waiting())
    }

    fn apply(&mut self, event: Event, session: &mut Session) -> Result<(), ReaderFileError> {
        match &event {
            Event::Appended(count) => self.done.appended += count,
            Event::Lines(_) | Event::Snapshot(_) => self.done.has_read = true,
            _ => {}
        }
        let random = (self.reader.random)();
        let applied = self.reader.replica.apply(event, session, random);
        applied.map_err(|source| ReaderFileError::Snapshot { log: self.log.clone(), source })?;
        self.reader.store()
    }
}
