//! What becomes of a log: from what is stored of it to what is stored instead.

use super::{Append, Ended, Expected, GENERATIONS_KEPT, Keyed, Log, LogOutcome, LogSnapshot};
use super::{Generation, LogPlace, NewGeneration, NewSnapshot};
use crate::blob::Digest;
use crate::order::Moment;
use crate::people::Act;

/// A day, in microseconds.
const DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// What somebody asks of a log.
pub(crate) enum Asked {
    Append(Append),
    Generation(NewGeneration),
    Removal(Expected, Option<Act>),
    Snapshot(NewSnapshot),
}

/// What a backend carries out if a decision changes something.
pub(crate) struct Change {
    /// The log as it then stands.
    pub(crate) log: Log,
    /// Whether a generation begins with it.
    pub(crate) begins: bool,
    /// Bytes that stand at the end of the current generation.
    pub(crate) bytes: Vec<u8>,
    /// By what the append is known from here on.
    pub(crate) key: Option<Keyed>,
    /// The bytes of a new snapshot.
    pub(crate) snapshot: Option<Vec<u8>>,
    /// What is recorded.
    pub(crate) act: Option<Act>,
}

/// What is known of a log when it is decided on.
pub(crate) struct Found {
    pub(crate) log: Option<Log>,
    /// The append that had the key of the one that is asked for.
    pub(crate) known: Option<Keyed>,
    /// The greatest number of a generation of logs that went with their collections.
    pub(crate) last_dropped: u64,
    pub(crate) now: Moment,
    /// Random.
    pub(crate) tail: u32,
}

/// What changes, or why nothing does.
type Decision = Result<Change, Box<LogOutcome>>;

impl Asked {
    /// The key that it has.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Append(append) => append.key.as_deref(),
            _ => None,
        }
    }

    /// The digest of its bytes, where it is needed: worked out before anybody has to wait for it.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Append(Append { key: Some(_), bytes, .. }) => Some(Digest::of(bytes)),
            Self::Snapshot(new) => Some(Digest::of(&new.bytes)),
            _ => None,
        }
    }

    /// Decides on it. `digest` is its [`digest`](Self::digest).
    pub(crate) fn decide(self, found: Found, digest: Option<Digest>) -> Decision {
        match self {
            Self::Append(append) => decide_append(append, found, digest),
            Self::Generation(new) => decide_generation(new, found),
            Self::Removal(expected, act) => decide_removal(&expected, act, found),
            Self::Snapshot(new) => decide_snapshot(new, found, digest),
        }
    }
}

impl Log {
    /// Bytes of all generations that are kept.
    fn kept_bytes(&self) -> u64 {
        self.generations().fold(0, |sum, (_, length)| sum.saturating_add(length))
    }

    /// Whether it is where somebody believes it to be.
    fn is(&self, expected: &Expected) -> bool {
        match expected {
            Expected::Absent => false,
            Expected::Present => true,
            Expected::At(places) => places.contains(&self.place),
        }
    }

    /// The log of a store that was put back or moved: earlier generations are not here any more.
    pub(crate) fn renewed(self, tail: u32, now: Moment) -> Self {
        Self { earlier: Default::default(), ..self.gone_on(tail, now) }
    }

    /// A log of which others may have seen more than is here: it goes on in the next generation, which holds what
    /// this one held.
    pub(crate) fn gone_on(self, tail: u32, now: Moment) -> Self {
        if self.removed {
            return self;
        }
        let LogPlace { generation, length } = self.place;
        let place = LogPlace { generation: generation.next(tail), length };
        let snapshot = self.snapshot.map(|snapshot| match snapshot.covers {
            covers if covers.generation == generation => {
                let covers = LogPlace { generation: place.generation, ..covers };
                LogSnapshot { covers, ..snapshot }
            }
            _ => snapshot,
        });
        Self { place, snapshot, began: now, ..self }
    }

    /// It as it begins in the store that it is moved to: its bytes come after it.
    pub(crate) fn moved(self, tail: u32, now: Moment) -> Self {
        let mut log = self.renewed(tail, now);
        if !log.removed {
            log.place.length = 0;
        }
        log
    }

    fn begun(generation: Generation, media_type: String, now: Moment) -> Self {
        Self {
            place: LogPlace { generation, length: 0 },
            media_type,
            removed: false,
            began: now,
            changed: now,
            earlier: Default::default(),
            snapshot: None,
        }
    }

    /// A change after which it stands so, and no more.
    fn changed(self) -> Change {
        let (bytes, key, snapshot, act) = (Vec::new(), None, None, None);
        Change { log: self, begins: false, bytes, key, snapshot, act }
    }
}

impl Log {
    /// The earlier generation that goes first to make room. The oldest goes once it ended a day ago. Before that it stays,
    /// and so does the one that has just ended: of those between them the one goes that lasted shortest. So a log may be
    /// compacted any number of times a day, and nobody who compacts it takes away within a day what it held before.
    fn dispensable(&self, now: Moment) -> Option<Generation> {
        let (oldest, ended) = self.earlier.first_key_value()?;
        if ended.at.micros().saturating_add(DAY) <= now.micros() {
            return Some(*oldest);
        }
        let next = self.earlier.iter().skip(1);
        let between = self.earlier.values().zip(next).take(self.earlier.len().saturating_sub(2));
        let lasted = |(before, (_, ended)): &(&Ended, (&Generation, &Ended))| {
            ended.at.micros().saturating_sub(before.at.micros())
        };
        between.min_by_key(lasted).map(|(_, (generation, _))| *generation)
    }
}

fn decide_append(append: Append, found: Found, digest: Option<Digest>) -> Decision {
    let Found { log, known, last_dropped, now, tail } = found;
    let known = known.filter(|_| log.as_ref().is_some_and(|log| !log.removed));
    if let Some(known) = known {
        let (start, end) = (known.end.length - known.length, known.end);
        return Err(match digest == Some(known.digest) {
            true => LogOutcome::Repeated { start, end }.into(),
            false => LogOutcome::KeyOfAnother.into(),
        });
    }
    let (mut log, begins) = match log {
        Some(log) if !log.removed => match log.is(&append.expected) {
            true => (log, false),
            false => return Err(LogOutcome::Elsewhere(log).into()),
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
    let key = key.map(|(key, digest)| Keyed { key, digest, end: log.place, length });
    let act = append.act.filter(|_| begins);
    Ok(Change { begins, bytes: append.bytes, key, act, ..log.changed() })
}

fn decide_generation(new: NewGeneration, found: Found) -> Decision {
    let Found { log, now, tail, .. } = found;
    let mut log = present(log, &new.expected)?;
    let LogPlace { generation, length } = log.place;
    log.earlier.insert(generation, Ended { length, at: now });
    let bytes = new.bytes.len() as u64;
    if bytes > new.most {
        return Err(LogOutcome::Full { bytes }.into());
    }
    log.place = LogPlace { generation: generation.next(tail), length: bytes };
    // Earlier generations make room for the next. A full log is what needs compacting most, so that the one that ends with
    // this does not count.
    while log.earlier.len() > GENERATIONS_KEPT || log.kept_bytes().saturating_sub(length) > new.most
    {
        let bytes = log.kept_bytes();
        let dispensable = log.dispensable(now).ok_or(LogOutcome::Full { bytes })?;
        log.earlier.remove(&dispensable);
    }
    log.began = now;
    log.changed = now;
    Ok(Change { begins: true, bytes: new.bytes, act: new.act, ..log.changed() })
}

fn decide_removal(expected: &Expected, act: Option<Act>, found: Found) -> Decision {
    let mut log = present(found.log, expected)?;
    log.removed = true;
    log.changed = found.now;
    log.earlier.clear();
    log.snapshot = None;
    Ok(Change { act, ..log.changed() })
}

fn decide_snapshot(new: NewSnapshot, found: Found, digest: Option<Digest>) -> Decision {
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
        Some(log) => Err(LogOutcome::Elsewhere(log).into()),
        None => Err(LogOutcome::Absent(None).into()),
    }
}
