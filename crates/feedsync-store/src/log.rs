//! Append-only logs (REST-logging, LR1). Each log belongs to the collection of its name, shares its name and
//! rights, and is removed with it.
//!
//! A log is a sequence of bytes that only grows; the store does not interpret them (LR4). A [`Generation`] is
//! one such sequence, and compacting a log begins its next generation (LR46). All backends share the code
//! that decides what may be appended.

mod decide;
mod position;

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::AuditAction;

pub(crate) use decide::{Change, LogRequest, StoredLogState};
pub use position::{Generation, LogPosition, LogPositionError};

/// The state of a log. A removed log retains its last generation, so that the next one has a greater number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Its current generation and the committed length.
    pub place: LogPosition,
    /// Media type of its bytes, from the request that began it.
    pub media_type: String,
    /// Whether it was removed; then none of it can be read.
    pub removed: bool,
    /// When its current generation began.
    pub began: Moment,
    /// When it was last appended to, or began.
    pub changed: Moment,
    /// Earlier generations whose bytes are still stored, with their lengths and the times at which they
    /// ended; at most [`MAX_EARLIER_GENERATIONS`].
    pub earlier: BTreeMap<Generation, EndedGeneration>,
    /// The stored snapshot of the log.
    pub snapshot: Option<LogSnapshot>,
}

impl Log {
    /// Committed length of a generation in bytes; `None` if it is not stored.
    pub fn length_of(&self, generation: Generation) -> Option<u64> {
        self.generations().find(|(kept, _)| *kept == generation).map(|(_, length)| length)
    }

    /// The stored generations, oldest first, with their lengths.
    pub(crate) fn generations(&self) -> impl Iterator<Item = (Generation, u64)> {
        let earlier = self.earlier.iter().map(|(generation, ended)| (*generation, ended.length));
        let current = (!self.removed).then_some((self.place.generation, self.place.length));
        earlier.chain(current)
    }
}

/// An earlier generation of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedGeneration {
    /// Number of its bytes.
    pub length: u64,
    /// When the next one began.
    pub at: Moment,
}

/// Metadata of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSnapshot {
    /// The part of the log that it replaces.
    pub covers: LogPosition,
    /// Media type of its bytes.
    pub media_type: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// Number of its bytes.
    pub length: u64,
    /// When it was stored.
    pub stored: Moment,
}

/// An append that had a key (`Idempotency-Key`, LR38).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedAppend {
    /// The key.
    pub key: String,
    /// Digest of the appended bytes.
    pub digest: Digest,
    /// End of the appended bytes.
    pub end: LogPosition,
    /// Number of the appended bytes.
    pub length: u64,
}

/// Number of the most recent keyed appends of a log that are stored.
pub const MAX_APPEND_KEYS: usize = 100;

/// Maximum number of earlier generations of a log that are stored. If more end within a day, those that
/// lasted shortest are removed.
pub const MAX_EARLIER_GENERATIONS: usize = 32;

/// Expected state of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// There is no log.
    Absent,
    /// There is a log, at any position.
    Present,
    /// The log is at one of these positions.
    At(Vec<LogPosition>),
}

/// Bytes to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Required state of the log.
    pub expected: Expected,
    /// The bytes, at least one.
    pub bytes: Vec<u8>,
    /// Media type of a log that begins with these bytes.
    pub media_type: String,
    /// Idempotency key, by which a repeated request is recognized.
    pub key: Option<String>,
    /// Maximum size of a generation, in bytes.
    pub most: u64,
    /// Entry for the audit record if the append begins the log.
    pub act: Option<AuditAction>,
}

/// A new generation of a log that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGeneration {
    /// Required state of the log.
    pub expected: Expected,
    /// Initial bytes of the generation; may be empty.
    pub bytes: Vec<u8>,
    /// Maximum number of bytes of the generation together with the earlier generations except the last. To
    /// make room, the oldest ones are removed once they ended a day ago. Before that, those between the
    /// oldest and the last that lasted shortest are removed.
    pub most: u64,
    /// Entry for the audit record.
    pub act: Option<AuditAction>,
}

/// A snapshot to store with a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSnapshot {
    /// The part of the current generation that it replaces.
    pub covers: LogPosition,
    /// Media type of its bytes.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Result of a change of a log. Only [`Done`](LogOutcome::Done) changed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogOutcome {
    /// The change was made; contains the new state of the log.
    Done(Log),
    /// An earlier request with the same key made the change.
    Repeated {
        /// Start of its bytes.
        start: u64,
        /// End of its bytes.
        end: LogPosition,
    },
    /// The key was used with other bytes.
    KeyReused,
    /// The log is not in the expected state: another client changed it, or it is another log.
    PositionMismatch(Log),
    /// There is no log, or it was removed.
    Absent(Option<Log>),
    /// The change would exceed the size limit.
    Full {
        /// Size that would result, in bytes.
        bytes: u64,
    },
    /// The snapshot covers bytes that are not stored, or is older than the stored one.
    NotCovered(Log),
}

/// The part of a store that holds logs; the guarantees of [`ItemStore`](crate::ItemStore) apply to it.
///
/// **Atomicity.** An append is stored completely or not at all, and is durable before the response (LR37). No
/// read returns a byte beyond the committed length. Of several appends that expect the log at one position,
/// one succeeds.
///
/// **Generations.** A position is never issued twice, whatever is removed, dropped, restored or moved. The
/// number of a log's generations only grows, and each generation has a random part. The first number of a log
/// is greater than those of all logs that were dropped with their collections. A store that was restored or
/// moved begins a new generation of every log: it holds the bytes of the last one, and earlier ones are gone.
///
/// **Keys.** The last [`MAX_APPEND_KEYS`] appends with a key are recognized by it until the log is removed, also in
/// later generations.
///
/// **Notices.** Subscribers of the collection are notified of every change of its log. Sweeping earlier
/// generations is not a change.
///
/// A collection that does not exist is [`StoreError::NoCollection`].
#[async_trait]
pub trait Logs: Send + Sync + 'static {
    /// The log of a collection, removed ones included; `None` if there never was one.
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError>;

    /// Appends bytes; begins the log if it is expected to be absent.
    async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError>;

    /// Begins the next generation of a log. The previous one stays readable until it is swept, or until
    /// [`MAX_EARLIER_GENERATIONS`] others have ended.
    async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, StoreError>;

    /// Removes a log with all generations, its snapshot and its keys.
    async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
        act: Option<AuditAction>,
    ) -> Result<LogOutcome, StoreError>;

    /// Committed bytes of a generation from an offset on: at most the given number, and fewer only at its
    /// end. `None` if the generation is not stored.
    async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Replaces the stored snapshot (LR45). A snapshot that is not newer than the stored one, or that covers
    /// bytes that are not stored, yields [`LogOutcome::NotCovered`].
    async fn put_log_snapshot(
        &self,
        collection: &CollectionName,
        new: NewSnapshot,
    ) -> Result<LogOutcome, StoreError>;

    /// The snapshot of a log that was not removed, and its bytes.
    async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError>;

    /// Removes generations that ended before a moment; returns their number.
    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError>;
}
