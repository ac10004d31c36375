//! Decisions on logs: functions from the stored state of a log to its next state.

use super::{
    Append, EndedGeneration, Expected, KeyedAppend, Log, LogOutcome, LogSnapshot,
    MAX_EARLIER_GENERATIONS,
};
use super::{Generation, LogPosition, NewGeneration, NewSnapshot};
use crate::blob::Digest;
use crate::order::Moment;
use crate::people::AuditAction;

/// A day, in microseconds.
const DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// A requested change of a log.
pub(crate) enum LogRequest {
    Append(Append),
    Generation(NewGeneration),
    Removal(Expected, Option<AuditAction>),
    Snapshot(NewSnapshot),
}

/// A change for a backend to apply.
pub(crate) struct Change {
    /// The log after the change.
    pub(crate) log: Log,
    #[cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code))]
    /// Whether the change begins a generation.
    pub(crate) begins: bool,
    /// Bytes to add at the end of the current generation.
    pub(crate) bytes: Vec<u8>,
    /// Key under which the append is known from now on.
    pub(crate) key: Option<KeyedAppend>,
    /// The bytes of a new snapshot.
    pub(crate) snapshot: Option<Vec<u8>>,
    /// Entry for the audit record.
    pub(crate) act: Option<AuditAction>,
}

/// The stored state on which a request is decided.
pub(crate) struct StoredLogState {
    pub(crate) log: Option<Log>,
    /// The earlier append with the key of the requested one.
    pub(crate) known: Option<KeyedAppend>,
    /// The greatest generation number of logs that were dropped with their collections.
    pub(crate) last_dropped: u64,
    pub(crate) now: Moment,
    /// Random part of a new generation.
    pub(crate) tail: u32,
}

/// The change, or the reason why nothing changes.
type Decision = Result<Change, Box<LogOutcome>>;

impl LogRequest {
    /// Idempotency key of the request.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Append(append) => append.key.as_deref(),
            _ => None,
        }
    }

    /// Digest of the request's bytes, where it is needed. It is computed before the transaction, so that no
    /// other writer waits for it.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Append(Append { key: Some(_), bytes, .. }) => Some(Digest::of(bytes)),
            Self::Snapshot(new) => Some(Digest::of(&new.bytes)),
            _ => None,
        }
    }

    /// Decides on the request. `digest` is the result of its [`digest`](Self::digest).
    pub(crate) fn decide(self, found: StoredLogState, digest: Option<Digest>) -> Decision {
        match self {
            Self::Append(append) => decide_append(append, found, digest),
            Self::Generation(new) => decide_generation(new, found),
            Self::Removal(expected, act) => decide_removal(&expected, act, found),
            Self::Snapshot(new) => decide_snapshot(new, found, digest),
        }
    }
}

impl Log {
    /// Total number of bytes of all stored generations.
    fn stored_bytes(&self) -> u64 {
        self.generations().fold(0, |sum, (_, length)| sum.saturating_add(length))
    }

    /// Whether the log is at an expected position.
    fn is(&self, expected: &Expected) -> bool {
        match expected {
            Expected::Absent => false,
            Expected::Present => true,
            Expected::At(places) => places.contains(&self.place),
        }
    }

    /// The log after its store was restored or moved: earlier generations are no longer available.
    pub(crate) fn renewed(self, tail: u32, now: Moment) -> Self {
        Self { earlier: Default::default(), ..self.continued(tail, now) }
    }

    /// A log of which others may have seen more than is stored. It continues in the next generation, which
    /// holds the bytes of the current one.
    pub(crate) fn continued(self, tail: u32, now: Moment) -> Self {
        if self.removed {
            return self;
        }
        let LogPosition { generation, length } = self.place;
        let place = LogPosition { generation: generation.next(tail), length };
        let snapshot = self.snapshot.map(|snapshot| match snapshot.covers {
            covers if covers.generation == generation => {
                let covers = LogPosition { generation: place.generation, ..covers };
                LogSnapshot { covers, ..snapshot }
            }
            _ => snapshot,
        });
        Self { place, snapshot, began: now, ..self }
    }

    /// The log at the start of its transfer into another store: its bytes follow separately.
    pub(crate) fn moved(self, tail: u32, now: Moment) -> Self {
        let mut log = self.renewed(tail, now);
        if !log.removed {
            log.place.length = 0;
        }
        log
    }

    fn begun(generation: Generation, media_type: String, now: Moment) -> Self {
        Self {
            place: LogPosition { generation, length: 0 },
            media_type,
            removed: false,
            began: now,
            changed: now,
            earlier: Default::default(),
            snapshot: None,
        }
    }

    /// A change that only stores this log.
    fn changed(self) -> Change {
        let (bytes, key, snapshot, act) = (Vec::new(), None, None, None);
        Change { log: self, begins: false, bytes, key, snapshot, act }
    }
}

impl Log {
    /// The earlier generation that is removed first to make room. The oldest is removed once it ended a day
    /// ago. Before that the oldest and the one that has just ended stay, and of those between them the one
    /// that lasted shortest is removed. A log may therefore be compacted any number of times a day without
    /// losing, within a day, what it held before.
    fn removable_generation(&self, now: Moment) -> Option<Generation> {
        let (oldest, ended) = self.earlier.first_key_value()?;
        if ended.at.micros().saturating_add(DAY) <= now.micros() {
            return Some(*oldest);
        }
        let next = self.earlier.iter().skip(1);
        let between = self.earlier.values().zip(next).take(self.earlier.len().saturating_sub(2));
        let lasted =
            |(before, (_, ended)): &(&EndedGeneration, (&Generation, &EndedGeneration))| {
                ended.at.micros().saturating_sub(before.at.micros())
            };
        between.min_by_key(lasted).map(|(_, (generation, _))| *generation)
    }
}

fn decide_append(append: Append, found: StoredLogState, digest: Option<Digest>) -> Decision {
    let StoredLogState { log, known, last_dropped, now, tail } = found;
    let known = known.filter(|_| log.as_ref().is_some_and(|log| !log.removed));
    if let Some(known) = known {
        let (start, end) = (known.end.length - known.length, known.end);
        return Err(match digest == Some(known.digest) {
            true => LogOutcome::Repeated { start, end }.into(),
            false => LogOutcome::KeyReused.into(),
        });
    }
    let (mut log, begins) = match log {
        Some(log) if !log.removed => match log.is(&append.expected) {
            true => (log, false),
            false => return Err(LogOutcome::PositionMismatch(log).into()),
        },
        gone if append.expected == Expected::Absent => {
            let next = |gone: &Log| gone.place.generation.next(tail);
            let first = Generation::new(last_dropped, tail).next(tail);
            let generation = gone.as_ref().map_or(first, next);
            (Log::begun(generation, append.media_type, now), true)
        }
        gone => return Err(LogOutcome::Absent(gone).into()),
    };
    let length = append.bytes.len() as u64;
    let bytes = log.place.length.saturating_add(length);
    if bytes > append.most {
        return Err(LogOutcome::Full { bytes }.into());
    }
    log.place.length = bytes;
    log.changed = now;
    let key = append.key.zip(digest);
    let key = key.map(|(key, digest)| KeyedAppend { key, digest, end: log.place, length });
    let act = append.act.filter(|_| begins);
    Ok(Change { begins, bytes: append.bytes, key, act, ..log.changed() })
}

fn decide_generation(new: NewGeneration, found: StoredLogState) -> Decision {
    let StoredLogState { log, now, tail, .. } = found;
    let mut log = present(log, &new.expected)?;
    let LogPosition { generation, length } = log.place;
    log.earlier.insert(generation, EndedGeneration { length, at: now });
    let bytes = new.bytes.len() as u64;
    if bytes > new.most {
        return Err(LogOutcome::Full { bytes }.into());
    }
    log.place = LogPosition { generation: generation.next(tail), length: bytes };
    // Earlier generations make room for the next one. Full logs need compacting most, so the generation that
    // ends now is not counted.
    while log.earlier.len() > MAX_EARLIER_GENERATIONS
        || log.stored_bytes().saturating_sub(length) > new.most
    {
        let bytes = log.stored_bytes();
        let removable_generation =
            log.removable_generation(now).ok_or(LogOutcome::Full { bytes })?;
        log.earlier.remove(&removable_generation);
    }
    log.began = now;
    log.changed = now;
    Ok(Change { begins: true, bytes: new.bytes, act: new.act, ..log.changed() })
}

fn decide_removal(
    expected: &Expected,
    act: Option<AuditAction>,
    found: StoredLogState,
) -> Decision {
    let mut log = present(found.log, expected)?;
    log.removed = true;
    log.changed = found.now;
    log.earlier.clear();
    log.snapshot = None;
    Ok(Change { act, ..log.changed() })
}

fn decide_snapshot(new: NewSnapshot, found: StoredLogState, digest: Option<Digest>) -> Decision {
    let mut log = present(found.log, &Expected::Present)?;
    let covers = new.covers;
    let is_there = covers.generation == log.place.generation && covers.length <= log.place.length;
    let is_newer = log.snapshot.as_ref().is_none_or(|snapshot| snapshot.covers < covers);
    let Some(digest) = digest.filter(|_| is_there && is_newer) else {
        return Err(LogOutcome::NotCovered(log).into());
    };
    log.snapshot = Some(LogSnapshot {
        covers,
        media_type: new.media_type,
        digest,
        length: new.bytes.len() as u64,
        stored: found.now,
    });
    Ok(Change { snapshot: Some(new.bytes), ..log.changed() })
}

fn present(log: Option<Log>, expected: &Expected) -> Result<Log, Box<LogOutcome>> {
    match log {
        Some(log) if log.removed => Err(LogOutcome::Absent(Some(log)).into()),
        Some(log) if log.is(expected) => Ok(log),
        Some(log) => Err(LogOutcome::PositionMismatch(log).into()),
        None => Err(LogOutcome::Absent(None).into()),
    }
}
