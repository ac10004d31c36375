//! Append-only logs (REST-logging, LR1): each belongs to the collection that has its name, goes with its
//! name and its rights, and ends with it.
//!
//! A log is a sequence of bytes that only grows, and the store never looks at what they mean (LR4). A
//! [`Generation`] is one such sequence; to compact a log is to begin its next generation (LR46). What may be
//! appended where is decided in one place for every backend.

mod decide;
mod place;

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::Act;

pub(crate) use decide::{Asked, Change, Found};
pub use place::{Generation, LogPlace, LogPlaceError};

/// A log as it stands: a log that was removed remembers its last generation, so that the next is later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Its current generation and what is committed of it.
    pub place: LogPlace,
    /// What its bytes are, as whoever began it said.
    pub media_type: String,
    /// Whether it was removed; nothing of it can be read then.
    pub removed: bool,
    /// When its current generation began.
    pub began: Moment,
    /// When it was last appended to, or began.
    pub changed: Moment,
    /// Earlier generations whose bytes are still here, with their lengths and when they ended; at most
    /// [`GENERATIONS_KEPT`].
    pub earlier: BTreeMap<Generation, Ended>,
    /// The snapshot that stands beside it.
    pub snapshot: Option<LogSnapshot>,
}

impl Log {
    /// The bytes of a generation that are committed; `None` if it is not here.
    pub fn length_of(&self, generation: Generation) -> Option<u64> {
        self.generations().find(|(kept, _)| *kept == generation).map(|(_, length)| length)
    }

    /// The generations that are here, oldest first, with their lengths.
    pub(crate) fn generations(&self) -> impl Iterator<Item = (Generation, u64)> {
        let earlier = self.earlier.iter().map(|(generation, ended)| (*generation, ended.length));
        let current = (!self.removed).then_some((self.place.generation, self.place.length));
        earlier.chain(current)
    }
}

/// An earlier generation of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its bytes.
    pub length: u64,
    /// When the next one began.
    pub at: Moment,
}

/// What is known of a snapshot without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSnapshot {
    /// The part of the log that it stands for.
    pub covers: LogPlace,
    /// What its bytes are.
    pub media_type: String,
    /// Its bytes.
    pub digest: Digest,
    /// How many.
    pub length: u64,
    /// When it was stored.
    pub stored: Moment,
}

/// An append that carried a key (`Idempotency-Key`, LR38).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub key: String,
    /// What was appended under it.
    pub digest: Digest,
    /// Where it ended.
    pub end: LogPlace,
    /// Its length.
    pub length: u64,
}

/// So many appends of a log are known by their keys: the last ones.
pub const KEYS_KEPT: usize = 100;

/// Number of earlier generations of a log that are kept at most. Where more end within a day, those go that lasted shortest.
pub const GENERATIONS_KEPT: usize = 32;

/// Where somebody believes a log to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Nowhere: there is none.
    Absent,
    /// Somewhere.
    Present,
    /// At one of these places.
    At(Vec<LogPlace>),
}

/// Bytes to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Where the log must stand.
    pub expected: Expected,
    /// The bytes, at least one.
    pub bytes: Vec<u8>,
    /// What a log that begins with them is.
    pub media_type: String,
    /// By what the same append is known if it is asked for again.
    pub key: Option<String>,
    /// The most bytes that a generation may have.
    pub most: u64,
    /// What is recorded if the log begins with it.
    pub act: Option<Act>,
}

/// A new generation of a log that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGeneration {
    /// Where the log must stand.
    pub expected: Expected,
    /// What the generation begins with; may be empty.
    pub bytes: Vec<u8>,
    /// The most bytes that it may have, together with earlier generations but the last: of those, the oldest go to make
    /// room once they ended a day ago, and before that those between the oldest and the last that lasted shortest.
    pub most: u64,
    /// What is recorded.
    pub act: Option<Act>,
}

/// A snapshot to store beside a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSnapshot {
    /// The part of the log that it stands for: of the current generation.
    pub covers: LogPlace,
    /// What its bytes are.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What came of a change of a log. Only [`Done`](LogOutcome::Done) changed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogOutcome {
    /// It was made; the log as it then stands.
    Done(Log),
    /// It had been made before, under the same key; where its bytes stand.
    Repeated {
        /// Where they begin.
        start: u64,
        /// Where they end.
        end: LogPlace,
    },
    /// The key belongs to other bytes.
    KeyOfAnother,
    /// The log does not stand where it was expected: somebody was quicker, or it is another one.
    Elsewhere(Log),
    /// There is no log, or it was removed.
    Absent(Option<Log>),
    /// More bytes than there may be.
    Full {
        /// How many there would be.
        bytes: u64,
    },
    /// A snapshot of what is not there, or older than the one that is.
    NotCovered(Log),
}

/// The part of a store that keeps logs; the promises of [`Store`](crate::Store) hold for it.
///
/// **Atomicity.** What is appended is there wholly or not at all, and durable before it is answered (LR37).
/// Nobody ever reads a byte beyond the committed length. Of several who expect the log at one place, one
/// appends.
///
/// **Generations.** A place is never given out twice, whatever is removed, dropped, restored or moved: the
/// number of a log's generations only grows, that of the first is greater than those of all logs that went with
/// their collections, and each has a random part. A store that was put back or moved begins a new generation
/// of every log: it holds what the last one held, and earlier ones are gone.
///
/// **Keys.** The last [`KEYS_KEPT`] appends that had a key are known by it until the log is removed, also
/// in later generations.
///
/// **Notices.** Who follows the collection is told of every change of its log; that earlier generations
/// were swept is none.
///
/// A collection that does not exist is [`StoreError::NoCollection`].
#[async_trait]
pub trait Logs: Send + Sync + 'static {
    /// The log of a collection as it stands, one that was removed too; `None` if there never was one.
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError>;

    /// Appends, or begins the log where it is expected to be absent.
    async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError>;

    /// Begins the next generation of a log; the one before stays readable until it is swept, or until
    /// [`GENERATIONS_KEPT`] others have ended.
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
        act: Option<Act>,
    ) -> Result<LogOutcome, StoreError>;

    /// Bytes of a generation from an offset on, within what is committed: at most so many, and fewer only
    /// at its end. `None` if the generation is not here.
    async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores a snapshot in place of the one before (LR45). One that is no younger than what is there, or
    /// that stands for what is not there, is [`LogOutcome::NotCovered`].
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

    /// Forgets generations that ended before a moment; how many.
    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError>;
}
