//! One synchronisation with a log: the five steps of the protocol as decisions (LR9 to LR19).
//!
//! 1. What was appended since the last time is read, from the offset on, under the entity tag (LR9, LR20, LR22).
//! 2. Its lines are handed out in their order (LR10); 3. the caller applies them, takes those of its own records
//!    off its list, and with them what they make superfluous (LR11, LR14, LR16), and stores that together with
//!    [`Session::position`].
//! 4. What the caller then has waiting is put together (LR12, LR18), 5. and appended under the tag of what was
//!    read (LR13). If somebody was quicker, step 1 again.
//!
//! A crash between any two steps is a crash before all of them: nothing is stored of an append until it is
//! answered, and records that arrived without an answer are read back in step 1 by who made them.
//!
//! ```
//! use feedsync_log::{Answer, Ask, Event, Session, Start};
//!
//! let mut session = Session::new(None, Start::Whole);
//! let Some(ask) = session.next(&[]) else { panic!("a log that was never read") };
//! assert_eq!(ask, Ask::Snapshot);
//! // ... ask the server, and tell what it answered:
//! let event = session.answered(&ask, Answer { status: 404, ..Answer::default() }, 0);
//! assert_eq!(event, Event::Nothing);
//! ```

mod appending;
mod reading;
mod stop;

use serde::{Deserialize, Serialize};

use crate::device::RecordId;
use crate::exchange::{Answer, Append, Ask, Condition, Range, Read};
use crate::lines::Lines;
use crate::position::{Position, overlap};
use crate::stamp::Millis;

pub use appending::at_once;
pub use reading::overlap_of;
pub use stop::Stop;

/// The most bytes that are read at once.
pub const MOST_READ: u64 = 8 << 20;

/// The most bytes of records that are appended at once (LR18).
pub const MOST_APPEND: usize = 512 << 10;

/// So many bytes are appended at once however often nobody answered.
const LEAST_APPEND: usize = 32 << 10;

/// So often in a row an answer that says nothing is taken before it ends a session: about half a minute.
pub(crate) const MOST_ATTEMPTS: u32 = 8;

/// Maximum number of retries where the server never gave another answer in this session: about three seconds.
const MOST_FIRST_ATTEMPTS: u32 = 4;

/// So often in a row somebody else may be quicker.
const MOST_OUTRUN: u32 = 40;

/// So often a log may look shorter than it was before that is believed: caches of web servers answer with
/// what was there a second ago (LR30).
const DOUBTS: u32 = 3;

/// So often one session begins anew with a log that is another one than before.
const MOST_RESTARTS: u32 = 3;

/// How much of a log that was never read is wanted, where there is no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// All of it.
    Whole,
    /// The last bytes only, from the next line on (LR43): enough for who wants to know what was read lately,
    /// and not what is subscribed to.
    Last(u64),
    /// All of it, whatever it goes on from: for who copies.
    Copy,
    /// No more than it takes to append: for who only writes.
    End,
}

/// What of a log is read by who only writes.
const END: u64 = 256;

/// A record that waits to be appended.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// Its name.
    pub id: &'a RecordId,
    /// Its line, with the line feed.
    pub line: &'a str,
}

/// What a snapshot says of the log that it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The place, as [`Base::covers`](crate::Base) says it.
    pub covers: String,
    /// How many bytes of the log.
    pub offset: u64,
    /// The last of them ([`overlap_of`]).
    pub overlap: String,
    /// Of which generation, where the server tells generations apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
}

/// What came of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Nothing to apply: ask on.
    Nothing,
    /// Lines, to be applied in their order: whole ones, with their line feeds.
    Lines(Vec<u8>),
    /// The snapshot: to be applied, and [`Session::begin_behind`] to be told what it covers.
    Snapshot(Vec<u8>),
    /// So many of the records that wait, the first ones, are in the log now.
    Appended(usize),
    /// The log is another one than the one that was read: what is known from it may not be in this one.
    /// Whatever the caller has beyond what it will read now is to be appended again.
    Restarted,
    /// The next request is to be made so many milliseconds later.
    Wait(Millis),
    /// The session has ended before it was done. What waits goes on waiting.
    Stopped(Stop),
}

/// One synchronisation. A new one begins with the [`Position`] that the last one stored.
#[derive(Debug, Clone)]
pub struct Session {
    position: Position,
    start: Start,
    phase: Phase,
    /// The server says that there is no log.
    absent: bool,
    attempts: u32,
    /// The server gave an answer that is no excuse.
    has_answered: bool,
    /// Appends in a row that others were quicker than.
    outrun: u32,
    doubts: u32,
    restarts: u32,
    /// The most bytes of the next append.
    most_append: usize,
    /// Where to append after a refusal, if that is worth a try without reading first.
    current: Option<Condition>,
    /// Bytes without a line feed at the end of the log: who wrote them crashed, or is writing.
    torn: Option<Torn>,
    /// The place where reading began is what a snapshot said, and nothing was read behind it yet.
    is_behind_snapshot: bool,
    /// How far the generation before this one was read, if that may be where this one goes on from.
    before: Option<Position>,
    /// What the snapshot that was applied covers.
    base: Option<String>,
    /// What the server says that the snapshot covers.
    told: Option<String>,
    /// A log that was removed is one that is not there.
    may_begin: bool,
    /// What a snapshot must cover, as the log said.
    wanted: Option<String>,
    /// An append that the server confirmed without proof: it counts once it is read back.
    unproved: Option<Append>,
    /// Reads that did not find it.
    looks: u32,
    /// Appends in a row that were confirmed and not found.
    claims: u32,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Snapshot,
    Read,
    /// All is read.
    InStep,
    Stopped,
}

/// A last line that has no end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Torn {
    etag: Option<String>,
    bytes: u64,
    /// It was there when the log was read again.
    is_steady: bool,
}

impl Session {
    /// A session that goes on where the last one stopped, or begins.
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
            outrun: 0,
            doubts: 0,
            restarts: 0,
            most_append: MOST_APPEND,
            current: None,
            torn: None,
            is_behind_snapshot: false,
            before: None,
            base: None,
            told: None,
            may_begin: false,
            wanted: None,
            unproved: None,
            looks: 0,
            claims: 0,
        }
    }

    /// How far the log was read: to be stored with what the last event brought.
    pub fn position(&self) -> &Position {
        // Until it is known what another generation goes on from, nothing of it counts.
        self.before.as_ref().unwrap_or(&self.position)
    }

    /// Whether the whole log was read: nothing was in it, a moment ago, that is not known now.
    pub fn is_in_step(&self) -> bool {
        self.phase == Phase::InStep
    }

    /// Whether there is no log.
    pub fn is_absent(&self) -> bool {
        self.absent
    }

    /// What to ask for; nothing if all is read and nothing waits, or the session has stopped. An empty list
    /// makes no request (LR19).
    pub fn next(&self, waiting: &[Waiting<'_>]) -> Option<Ask> {
        match self.phase {
            Phase::Snapshot => Some(Ask::Snapshot),
            Phase::Read => match self.append_unread(waiting) {
                Some(append) => Some(Ask::Append(append)),
                None => Some(Ask::Read(self.read())),
            },
            Phase::InStep => self.append(waiting).map(Ask::Append),
            Phase::Stopped => None,
        }
    }

    /// Why what waits is not appended, though all is read.
    pub fn refusal(&self) -> Option<Stop> {
        self.position().newer.filter(|_| self.is_in_step()).map(Stop::Newer)
    }

    /// A log that was removed may begin again: somebody decided that.
    pub fn begin_removed(&mut self) {
        self.may_begin = true;
    }

    /// Takes an answer. `random` spreads the waiting of those who got in each other's way.
    pub fn answered(&mut self, ask: &Ask, answer: Answer, random: u64) -> Event {
        self.has_answered |= answer.excuse().is_none();
        match ask {
            Ask::Read(read) => {
                let event = self.read_answered(read, answer, random);
                self.look_for_appended(event)
            }
            Ask::Append(append) => self.append_answered(append, &answer, random),
            Ask::Snapshot => self.snapshot_answered(answer, random),
        }
    }

    /// Whether a snapshot that cannot be read means that the server has none: some servers have a page for every
    /// address. `false` if the server said what the snapshot covers, so that there is one, and it is damaged.
    pub fn is_without_snapshot(&self) -> bool {
        self.told.is_none()
    }

    /// Goes on behind what a snapshot stands for. If the log is another one by now, reading on finds that out.
    pub fn begin_behind(&mut self, covered: Covered) {
        // A server that was put back has moved its snapshot to the generation that it then began.
        let told = self.told.take().and_then(|told| {
            let covers = told.trim_matches('"').to_owned();
            let (generation, offset) = covers.rsplit_once('-')?;
            let (generation, offset) = (Some(generation.to_owned()), offset.parse().ok()?);
            Some(Covered { covers, offset, generation, overlap: covered.overlap.clone() })
        });
        // A server that says nothing does not tell generations apart: then its bytes are compared (LR28).
        let untold = Covered { generation: None, ..covered };
        let Covered { covers, offset, overlap, generation } = told.unwrap_or(untold);
        self.position = Position { offset, overlap, generation, ..Position::default() };
        self.base = Some(covers);
        self.is_behind_snapshot = true;
    }

    /// Begins anew, with the snapshot or with the log itself.
    fn begin_anew(&mut self, phase: Phase) -> Event {
        self.restarts += 1;
        if self.restarts > MOST_RESTARTS {
            return self.stop(Stop::Unsteady);
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

    fn snapshot_answered(&mut self, answer: Answer, random: u64) -> Event {
        match answer.status {
            // A server that has a page for every address has no snapshot; whether it has a log, reading shows.
            200 if answer.covers.is_none() && answer.is_page() => {
                self.phase = Phase::Read;
                Event::Nothing
            }
            200 if answer.coding.is_none() && answer.ended => {
                self.attempts = 0;
                self.told = answer.covers;
                self.phase = Phase::Read;
                Event::Snapshot(answer.body)
            }
            200 => self.again(&answer, random),
            // There need not be any (LR44). Who may not know that there is none is told that they may not ask: if they
            // may not read the log either, that says so.
            400 | 401 | 403..=406 | 410 | 501 => {
                self.phase = Phase::Read;
                Event::Nothing
            }
            _ => self.otherwise(&answer, random),
        }
    }

    /// Asks again, later; or gives up.
    fn again(&mut self, answer: &Answer, random: u64) -> Event {
        self.attempts += 1;
        let most = match &answer.interruption {
            Some(interruption) => interruption.retries(self.has_answered),
            None if self.has_answered || answer.retry_after.is_some() => MOST_ATTEMPTS,
            None => MOST_FIRST_ATTEMPTS,
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

    /// What any request may be answered with.
    fn otherwise(&mut self, answer: &Answer, random: u64) -> Event {
        match answer.status {
            401 | 403 => self.stop(Stop::Refused(answer.status)),
            // 511 is the status of networks that want a sign-in first (RFC 6585 6).
            1..=399 | 511 => self.stop(answer.foreign()),
            0 | 408 | 425 | 429 | 500.. => self.again(answer, random),
            410 => match (&self.position.generation, answer.refused(true)) {
                (Some(_), Err(foreign)) => self.stop(foreign),
                // A web server of files says in a page that the file is gone.
                _ => self.stop(Stop::Gone),
            },
            // Web servers refuse methods and large bodies in pages of their own.
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

/// A pause that doubles with each attempt, up to the longest, of which chance takes up to half.
fn pause(first: u64, longest: u64, attempts: u32, random: u64) -> Millis {
    let pause = first.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(longest);
    Millis::new(pause / 2 + random % (pause / 2).max(1))
}

#[cfg(test)]
mod tests;
