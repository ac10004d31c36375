//! One synchronization with a log: the five steps of the protocol as decisions (LR9 to LR19).
//!
//! 1. The session reads what was appended since the last time, from the offset on, under the entity tag (LR9,
//!    LR20, LR22).
//! 2. It returns the lines in order (LR10).
//! 3. The caller applies them, and removes from its outbox its own records among them and the records that
//!    they make redundant (LR11, LR14, LR16). It stores the result together with [`Session::position`].
//! 4. The waiting records of the caller are batched (LR12, LR18).
//! 5. They are appended under the tag of what was read (LR13). If another client was faster, step 1 follows
//!    again.
//!
//! A crash between any two steps is equivalent to a crash before all of them. Nothing about an append is
//! stored before its response. Records whose response was lost are read back in step 1 by the device that
//! made them.
//!
//! ```
//! use feedsync_log::{LogResponse, LogRequest, Event, Session, Start};
//!
//! let mut session = Session::new(None, Start::Whole);
//! let Some(ask) = session.next(&[]) else { panic!("a log that was never read") };
//! assert_eq!(ask, LogRequest::Snapshot);
//! // ... send the request, and pass the response to the session:
//! let event = session.handle_response(&ask, LogResponse { status: 404, ..LogResponse::default() }, 0);
//! assert_eq!(event, Event::Nothing);
//! ```

mod append;
mod read;
mod stop;

use serde::{Deserialize, Serialize};

use crate::device::RecordId;
use crate::exchange::{Append, Condition, LogRequest, LogResponse, Range, Read};
use crate::lines::Lines;
use crate::position::{Position, overlap};
use crate::stamp::Millis;

pub use append::append_batch;
pub use read::overlap_of;
pub use stop::Stop;

/// Maximum number of bytes that one request reads.
pub const MAX_READ_BYTES: u64 = 8 << 20;

/// Maximum number of bytes of records in one append (LR18).
pub const MAX_APPEND_BYTES: usize = 512 << 10;

/// Minimum to which the limit of an append is reduced when there is no response.
const MIN_APPEND_BYTES: usize = 32 << 10;

/// Maximum number of consecutive retries before a session ends: about half a minute.
pub(crate) const MAX_ATTEMPTS: u32 = 8;

/// Maximum number of retries if the server never gave another response in this session: about three seconds.
const MAX_FIRST_ATTEMPTS: u32 = 4;

/// Maximum number of consecutive appends that other clients may precede.
const MAX_LOST_RACES: u32 = 40;

/// Number of reads that must see a shorter log before it is accepted: caches of web servers return the state
/// of a second ago (LR30).
const CONFIRMING_READS: u32 = 3;

/// Maximum number of restarts in one session because of a replaced log.
const MAX_RESTARTS: u32 = 3;

/// The part of a log that is read if it was never read before and there is no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// All of it.
    Whole,
    /// Only the last bytes, from the next line on (LR43). This suffices for clients that need recent read
    /// marks but not subscriptions.
    Last(u64),
    /// The whole log, whatever it continues from; for making copies.
    Copy,
    /// Only what an append requires; for clients that only write.
    End,
}

/// Number of bytes at the end of a log that a write-only session reads.
const END: u64 = 256;

/// A record that waits to be appended.
#[derive(Debug, Clone, Copy)]
pub struct PendingRecord<'a> {
    /// Id of the record.
    pub id: &'a RecordId,
    /// Its line, with the line feed.
    pub line: &'a str,
}

/// The part of a log that a snapshot covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotCoverage {
    /// Position, in the form of [`Base::covers`](crate::Base).
    pub covers: String,
    /// Number of bytes of the log.
    pub offset: u64,
    /// The last of these bytes ([`overlap_of`]).
    pub overlap: String,
    /// Generation, if the server supports generations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
}

/// Result of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// There is nothing to apply; the next request can be made.
    Nothing,
    /// Complete lines to apply in order, with their line feeds.
    Lines(Vec<u8>),
    /// A snapshot to apply; then [`Session::continue_after_snapshot`] must be called with what it covers.
    Snapshot(Vec<u8>),
    /// The given number of waiting records, from the first, are in the log now.
    Appended(usize),
    /// The log is not the one that was read before, so it may lack what is known from that one. The caller
    /// must append again whatever the new log turns out to lack.
    Restarted,
    /// The next request must be made after this time.
    Wait(Millis),
    /// The session has ended prematurely. Waiting records continue to wait.
    Stopped(Stop),
}

/// One synchronization. The next one begins with the [`Position`] that this one stored.
#[derive(Debug, Clone)]
pub struct Session {
    position: Position,
    start: Start,
    phase: Phase,
    /// Whether the server states that there is no log.
    absent: bool,
    attempts: u32,
    /// Whether the server gave a response other than a temporary failure.
    has_answered: bool,
    /// Number of consecutive appends that other clients preceded.
    lost_race: u32,
    doubts: u32,
    restarts: u32,
    /// Maximum size of the next append, in bytes.
    most_append: usize,
    /// Condition of an append without reading first, after a refusal.
    current: Option<Condition>,
    /// Bytes without a line feed at the end of the log: their writer crashed, or is writing.
    torn: Option<Torn>,
    /// Whether the position comes from a snapshot, and nothing was read after it yet.
    is_behind_snapshot: bool,
    /// The position in the previous generation, if this generation may continue from it.
    before: Option<Position>,
    /// Position that the applied snapshot covers.
    base: Option<String>,
    /// Position that the snapshot covers according to the server.
    reported_coverage: Option<String>,
    /// Whether a removed log is treated as absent.
    may_begin: bool,
    /// Position that a snapshot must cover according to the log.
    wanted: Option<String>,
    /// An append that the server confirmed without proof: it counts once it is read back.
    unproved: Option<Append>,
    /// Number of reads that did not find it.
    proof_reads: u32,
    /// Number of consecutive appends that were confirmed and not found.
    unproved_appends: u32,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Snapshot,
    Read,
    /// Everything is read.
    InStep,
    Stopped,
}

/// An incomplete last line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Torn {
    etag: Option<String>,
    bytes: u64,
    /// Whether it was unchanged when the log was read again.
    is_steady: bool,
}

impl Session {
    /// A session that continues from a position, or begins without one.
    pub fn new(position: Option<Position>, start: Start) -> Self {
        let phase = match position {
            None if !matches!(start, Start::End | Start::Copy) => Phase::Snapshot,
            _ => Phase::Read,
        };
        Self {
            position: position.unwrap_or_default(),
            start,
            phase,
            absent: false,
            attempts: 0,
            has_answered: false,
            lost_race: 0,
            doubts: 0,
            restarts: 0,
            most_append: MAX_APPEND_BYTES,
            current: None,
            torn: None,
            is_behind_snapshot: false,
            before: None,
            base: None,
            reported_coverage: None,
            may_begin: false,
            wanted: None,
            unproved: None,
            proof_reads: 0,
            unproved_appends: 0,
        }
    }

    /// The position up to which the log was read, to be stored with the result of the last event.
    pub fn position(&self) -> &Position {
        // The new generation does not count before it is known what it continues from.
        self.before.as_ref().unwrap_or(&self.position)
    }

    /// Whether the whole log was read. If so, nothing in it was unknown at the time of the last request.
    pub fn is_in_step(&self) -> bool {
        self.phase == Phase::InStep
    }

    /// Whether there is no log.
    pub fn is_absent(&self) -> bool {
        self.absent
    }

    /// The next request; `None` if everything is read and nothing waits, or if the session has stopped. An
    /// empty list makes no request (LR19).
    pub fn next(&self, waiting: &[PendingRecord<'_>]) -> Option<LogRequest> {
        match self.phase {
            Phase::Snapshot => Some(LogRequest::Snapshot),
            Phase::Read => match self.append_unread(waiting) {
                Some(append) => Some(LogRequest::Append(append)),
                None => Some(LogRequest::Read(self.read())),
            },
            Phase::InStep => self.append(waiting).map(LogRequest::Append),
            Phase::Stopped => None,
        }
    }

    /// Why waiting records are not appended although everything is read.
    pub fn refusal(&self) -> Option<Stop> {
        self.position().newer.filter(|_| self.is_in_step()).map(Stop::Newer)
    }

    /// Permits a removed log to begin again, as the user decided.
    pub fn begin_removed(&mut self) {
        self.may_begin = true;
    }

    /// Handles a response. `random` spreads the pauses of competing clients.
    pub fn handle_response(&mut self, ask: &LogRequest, answer: LogResponse, random: u64) -> Event {
        self.has_answered |= answer.excuse().is_none();
        match ask {
            LogRequest::Read(read) => {
                let event = self.read_answered(read, answer, random);
                self.find_unproved_append(event)
            }
            LogRequest::Append(append) => self.append_answered(append, &answer, random),
            LogRequest::Snapshot => self.snapshot_answered(answer, random),
        }
    }

    /// Whether a malformed snapshot means that the server has none, since some servers send a page for every
    /// address. `false` if the server stated what the snapshot covers, so that it exists and is damaged.
    pub fn is_without_snapshot(&self) -> bool {
        self.reported_coverage.is_none()
    }

    /// Continues after the part that a snapshot covers. If the log has been replaced, the next read detects
    /// that.
    pub fn continue_after_snapshot(&mut self, covered: SnapshotCoverage) {
        // A restored server has assigned its snapshot to the generation that it began then.
        let reported_coverage = self.reported_coverage.take().and_then(|reported_coverage| {
            let covers = reported_coverage.trim_matches('"').to_owned();
            let (generation, offset) = covers.rsplit_once('-')?;
            let (generation, offset) = (Some(generation.to_owned()), offset.parse().ok()?);
            Some(SnapshotCoverage { covers, offset, generation, overlap: covered.overlap.clone() })
        });
        // A server that states nothing does not support generations: then bytes are compared (LR28).
        let untold = SnapshotCoverage { generation: None, ..covered };
        let SnapshotCoverage { covers, offset, overlap, generation } =
            reported_coverage.unwrap_or(untold);
        self.position = Position { offset, overlap, generation, ..Position::default() };
        self.base = Some(covers);
        self.is_behind_snapshot = true;
    }

    /// Restarts, with the snapshot or with the log itself.
    fn restart_session(&mut self, phase: Phase) -> Event {
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            return self.stop(Stop::ReplacedRepeatedly);
        }
        self.position = Position::default();
        self.phase = phase;
        self.is_behind_snapshot = false;
        self.before = None;
        self.base = None;
        self.torn = None;
        self.current = None;
        self.doubts = 0;
        Event::Restarted
    }

    fn snapshot_answered(&mut self, answer: LogResponse, random: u64) -> Event {
        match answer.status {
            // A server that sends a page for every address has no snapshot; the next read shows whether it
            // has a log.
            200 if answer.covers.is_none() && answer.is_page() => {
                self.phase = Phase::Read;
                Event::Nothing
            }
            200 if answer.coding.is_none() && answer.ended => {
                self.attempts = 0;
                self.reported_coverage = answer.covers;
                self.phase = Phase::Read;
                Event::Snapshot(answer.body)
            }
            200 => self.again(&answer, random),
            // The snapshot is optional (LR44). A client that may not know that there is none gets an access
            // error. If it may not read the log either, reading reports that.
            400 | 401 | 403..=406 | 410 | 501 => {
                self.phase = Phase::Read;
                Event::Nothing
            }
            _ => self.handle_other_response(&answer, random),
        }
    }

    /// Retries later, or ends the session.
    fn again(&mut self, answer: &LogResponse, random: u64) -> Event {
        self.attempts += 1;
        let most = match &answer.interruption {
            Some(interruption) => interruption.retries(self.has_answered),
            None if self.has_answered || answer.retry_after.is_some() => MAX_ATTEMPTS,
            None => MAX_FIRST_ATTEMPTS,
        };
        if self.attempts > most {
            return self.stop(answer.excuse().unwrap_or(Stop::Unavailable(answer.status)));
        }
        let pause = match answer.retry_after {
            Some(seconds) => Millis::new(seconds.saturating_mul(1_000)),
            None => pause(250, 30_000, self.attempts, random),
        };
        Event::Wait(pause)
    }

    /// Handles responses that are possible for any request.
    fn handle_other_response(&mut self, answer: &LogResponse, random: u64) -> Event {
        match answer.status {
            401 | 403 => self.stop(Stop::Refused(answer.status)),
            // Networks that require a sign-in respond with 511 (RFC 6585 6).
            1..=399 | 511 => self.stop(answer.foreign()),
            0 | 408 | 425 | 429 | 500.. => self.again(answer, random),
            410 => match (&self.position.generation, answer.refused(true)) {
                (Some(_), Err(foreign)) => self.stop(foreign),
                // A file server may send a page to state that the file is gone.
                _ => self.stop(Stop::Gone),
            },
            // Web servers send pages to reject methods and large bodies.
            _ if answer.is_page() && !matches!(answer.status, 405 | 413) => {
                self.stop(answer.foreign())
            }
            status => self.stop(Stop::Rejected(status)),
        }
    }

    fn stop(&mut self, stop: Stop) -> Event {
        self.phase = Phase::Stopped;
        Event::Stopped(stop)
    }
}

/// A pause that doubles with each attempt up to a maximum; half of it is random.
fn pause(first: u64, longest: u64, attempts: u32, random: u64) -> Millis {
    let pause = first.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(longest);
    Millis::new(pause / 2 + random % (pause / 2).max(1))
}

#[cfg(test)]
mod tests;
