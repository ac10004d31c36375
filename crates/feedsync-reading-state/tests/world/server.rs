//! Models of servers of one log: a hub, and stock web servers with all their known peculiarities (LR3, LR20
//! to LR38).

use std::collections::BTreeMap;

use feedsync_log::{
    Append, Condition, Lines, LogRequest, LogResponse, MAX_READ_BYTES, Range, Read,
};
use rand::Rng;
use rand::rngs::SmallRng;

/// Behaviour of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// A hub with generations, snapshots, and all conditions.
    Hub,
    /// A file on a web server with a script that appends; entity tags are opaque.
    Plain,
    /// The same, behind a proxy that does not support ranges.
    NoRanges,
    /// The same, with a cache that returns a slightly older state.
    Stale,
    /// The same, with weak entity tags, so that the length is the condition of an append.
    Weak,
}

pub(crate) const HABITS: [Habit; 5] =
    [Habit::Hub, Habit::Plain, Habit::NoRanges, Habit::Stale, Habit::Weak];

/// A log on a server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) habit: Habit,
    /// The log; `None` before it begins.
    log: Option<Log>,
    snapshot: Option<Vec<u8>>,
    /// Position that the snapshot covers, on a hub.
    covers: Option<String>,
    keys: BTreeMap<String, String>,
    /// State that a cache still returns, and for how many requests.
    stale: Option<(Option<Log>, u32)>,
    generations: u64,
    /// All lines that were ever appended, or with which a generation began.
    pub(crate) appended: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Log {
    generation: u64,
    bytes: Vec<u8>,
}

impl Server {
    pub(crate) fn new(habit: Habit) -> Self {
        Self {
            habit,
            log: None,
            snapshot: None,
            covers: None,
            keys: BTreeMap::new(),
            stale: None,
            generations: 0,
            appended: Vec::new(),
        }
    }

    /// Number of bytes of the log.
    pub(crate) fn length(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.bytes.len())
    }

    /// Responds to a request.
    pub(crate) fn answer(&mut self, ask: &LogRequest) -> LogResponse {
        match ask {
            LogRequest::Read(read) => self.read(read),
            LogRequest::Append(append) => self.append(append),
            LogRequest::Snapshot => match &self.snapshot {
                Some(body) => LogResponse {
                    covers: self.covers.clone().filter(|_| self.habit == Habit::Hub),
                    body: body.clone(),
                    ..status(200)
                },
                None => status(404),
            },
        }
    }

    fn read(&mut self, read: &Read) -> LogResponse {
        let shown = match &mut self.stale {
            Some((shown, left)) if *left > 0 => {
                *left -= 1;
                shown.clone()
            }
            _ => self.log.clone(),
        };
        let Some(log) = shown else { return status(404) };
        let base = self.of(&log, 206);
        if read.unless.is_some() && read.unless == base.etag {
            return LogResponse { status: 304, ..base };
        }
        let length = log.bytes.len() as u64;
        let (start, end) = match read.range {
            Range::From { offset, most } => (offset, offset.saturating_add(most).min(length)),
            Range::Last(most) => (length.saturating_sub(most), length),
        };
        assert!(MAX_READ_BYTES > length, "the world's logs are read at once");
        if self.habit == Habit::NoRanges {
            let skipped = start.min(length);
            let body = log.bytes[usize::try_from(skipped).unwrap()..].to_vec();
            return LogResponse { status: 200, start: skipped, body, ..base };
        }
        if start >= end {
            let content_range = Some(format!("bytes */{length}"));
            return LogResponse { status: 416, content_range, ..base };
        }
        let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
        LogResponse {
            content_range: Some(format!("bytes {start}-{}/{length}", end - 1)),
            body: log.bytes[range].to_vec(),
            ..base
        }
    }

    fn append(&mut self, append: &Append) -> LogResponse {
        if let Some(tag) = self.keys.get(&append.key)
            && self.habit == Habit::Hub
        {
            return LogResponse { etag: Some(tag.clone()), ..self.now(204) };
        }
        let tag = self.log.as_ref().and_then(|log| self.of(log, 0).etag);
        let length = self.length() as u64;
        let holds = match &append.condition {
            Condition::Present => self.log.is_some(),
            Condition::Absent => self.log.is_none(),
            Condition::Match(wanted) => self.habit != Habit::Weak && tag.as_ref() == Some(wanted),
            Condition::Length(wanted) => self.log.is_some() && *wanted == length,
        };
        if !holds {
            return if self.log.is_some() { self.now(412) } else { status(404) };
        }
        self.remember();
        let generation = self.generations.max(1);
        self.generations = generation;
        let log = self.log.get_or_insert(Log { generation, bytes: Vec::new() });
        log.bytes.extend_from_slice(&append.body);
        self.appended.extend(Lines::of(&append.body).iter().map(<[u8]>::to_vec));
        let answer = self.now(204);
        self.keys.insert(append.key.clone(), answer.etag.clone().unwrap());
        answer
    }

    /// Lets a cache continue to return the current state.
    fn remember(&mut self) {
        if self.habit == Habit::Stale && self.stale.as_ref().is_none_or(|(_, left)| *left == 0) {
            self.stale = Some((self.log.clone(), 2));
        }
    }

    /// Stores a snapshot with the log, and then begins a generation with a header, if the log still has this
    /// tag. A crash between the two steps leaves the snapshot.
    pub(crate) fn compact(&mut self, tag: &str, covers: &str, snapshot: &str) -> bool {
        if self.log.as_ref().and_then(|log| self.of(log, 0).etag).as_deref() != Some(tag) {
            return false;
        }
        self.snapshot = Some(snapshot.into());
        self.covers = Some(covers.to_owned());
        true
    }

    pub(crate) fn begin(&mut self, tag: &str, header: &str) -> Option<LogResponse> {
        if self.log.as_ref().and_then(|log| self.of(log, 0).etag).as_deref() != Some(tag) {
            return None;
        }
        self.remember();
        self.generations += 1;
        self.log = Some(Log { generation: self.generations, bytes: header.into() });
        Some(self.now(204))
    }

    /// Restores an earlier state of the server: a hub begins a new generation with it.
    pub(crate) fn put_back(&mut self, before: &Self) {
        self.log = before.log.clone();
        self.snapshot = before.snapshot.clone();
        self.covers = before.covers.clone();
        self.keys.clear();
        self.stale = None;
        self.generations += 1;
        if let Some(log) = &mut self.log {
            // The snapshot covers the same bytes of the continued generation.
            let of_old = format!("{}-", name(log.generation));
            let length = self.covers.as_ref().and_then(|covers| covers.strip_prefix(&of_old));
            if let Some(length) = length {
                self.covers = Some(format!("{}-{length}", name(self.generations)));
            }
            log.generation = self.generations;
        }
    }

    /// A script that is killed while it appends leaves a partial line; a hub does not.
    pub(crate) fn tear(&mut self, random: &mut SmallRng) {
        if self.habit == Habit::Hub {
            return;
        }
        self.remember();
        if let Some(log) = &mut self.log {
            let torn = b"{\"v\":1,\"id\":\"torn";
            let length = random.random_range(1..torn.len());
            log.bytes.extend_from_slice(&torn[..length]);
        }
    }

    fn now(&self, status_: u16) -> LogResponse {
        self.log.as_ref().map_or_else(|| status(status_), |log| self.of(log, status_))
    }

    fn of(&self, log: &Log, status_: u16) -> LogResponse {
        let place = format!("{}-{}", name(log.generation), log.bytes.len());
        let (etag, generation) = match self.habit {
            Habit::Hub => (format!("\"{place}\""), Some(name(log.generation))),
            Habit::Weak => (format!("W/\"{place}\""), None),
            // The tag does not state the position.
            _ => (format!("\"{:x}\"", place.len() as u64 * 31 + digest(&place)), None),
        };
        LogResponse { etag: Some(etag), generation, ..status(status_) }
    }
}

fn name(generation: u64) -> String {
    format!("{generation}.0000000a")
}

fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(7, |hash, byte| ((hash % (1 << 50)) * 131 + u64::from(byte)) % ((1 << 61) - 1))
}

fn status(status: u16) -> LogResponse {
    LogResponse { status, ended: true, ..LogResponse::default() }
}
