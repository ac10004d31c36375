//! The whole state as lines: what a new replica begins with, beside a log (LR45), and a file to take away.
//!
//! ```json
//! {"v":1,"snapshot":{"feeds":1,"kept":0,"log":{"covers":"1.9c2e11ab-4096","offset":4096,"overlap":"…}\n"}}}
//! {"feed":"https://example.org/feed","subscribed":[true,"1000.0@laptop"],"v":1}
//! ```
//!
//! After the header comes the document of each feed, in the order of their addresses, then each change that is
//! kept without being understood, in the order of their stamps. How many there are is said before, so that
//! a snapshot that breaks off is known to. `log` says how much of a log it stands for, if it does.

use feedsync_log::Covered;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::change::Change;
use crate::document::{DOCUMENT_VERSION, DocumentError, read_document, write_document};
use crate::kept;
use crate::state::ReaderState;

/// The most bytes of a snapshot that is read.
pub const MOST_SNAPSHOT: usize = 256 << 20;

/// A state, and what it stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// How much of a log it stands for; `None` if it stands for itself.
    pub covers: Option<Covered>,
    /// The state.
    pub state: ReaderState,
}

/// Why bytes are not a snapshot. Nothing of it counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct SnapshotError {
    /// The line at fault, from 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: SnapshotFault,
}

/// What is wrong with a line of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// More than [`MOST_SNAPSHOT`] bytes in all.
    #[error("a snapshot has at most {MOST_SNAPSHOT} bytes")]
    TooLarge,
    /// It is not UTF-8, or does not end in a line feed.
    #[error("a line is UTF-8 and ends in a line feed")]
    Line,
    /// The first line is not the header of a snapshot.
    #[error("the header of a snapshot is expected")]
    Header,
    /// The snapshot is of a later version.
    #[error("version {0} of the snapshot is later than {DOCUMENT_VERSION}, which is known here")]
    Newer(u64),
    /// Not the document of a feed.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A feed for the second time.
    #[error("the feed occurs twice")]
    Again,
    /// Not a change.
    #[error("a change is expected")]
    Change,
    /// More or fewer lines than the header says.
    #[error("the header says that there are {0} lines after it")]
    Count(u64),
}

impl SnapshotError {
    /// Whether not even the first line is one of a snapshot.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        self.line == 1 && matches!(self.fault, SnapshotFault::Line | SnapshotFault::Header)
    }
}

/// What a snapshot says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    feeds: u64,
    kept: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<Covered>,
}

impl Snapshot {
    /// The bytes of the snapshot; equal ones for equal states.
    pub fn write(&self) -> String {
        let mut out = String::new();
        for line in self.lines() {
            out.push_str(&line);
        }
        out
    }

    /// Its lines, one after the other, each with its line feed.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let header = Header {
            feeds: self.state.feeds.len() as u64,
            kept: self.state.kept.len() as u64,
            log: self.covers.clone(),
        };
        let mut object = Map::new();
        object.insert("v".to_owned(), DOCUMENT_VERSION.into());
        object.insert("snapshot".to_owned(), serde_json::to_value(header).unwrap_or_default());
        let documents = self.state.feeds().map(|(feed, state)| write_document(feed, state));
        let kept = self.state.kept.lines().map(str::to_owned);
        let header = std::iter::once(Value::Object(object).to_string());
        header.chain(documents).chain(kept).map(|line| line + "\n")
    }

    /// Reads a snapshot, all of it or nothing. What an earlier version kept without understanding it is
    /// understood now, if it can be.
    pub fn read(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let at = |line: usize| move |fault| SnapshotError { line, fault };
        if bytes.len() > MOST_SNAPSHOT {
            return Err(at(1)(SnapshotFault::TooLarge));
        }
        let mut lines = (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n'));
        let (_, first) = lines.next().ok_or_else(|| at(1)(SnapshotFault::Header))?;
        let header = header(first).map_err(at(1))?;
        let mut snapshot = Self { covers: header.log, state: ReaderState::default() };
        let count = header.feeds.saturating_add(header.kept);
        let mut last = 1;
        for (number, line) in lines {
            last = number;
            let place = number as u64 - 1;
            if place > count {
                return Err(at(number)(SnapshotFault::Count(count)));
            }
            take_in(&mut snapshot.state, line, place <= header.feeds).map_err(at(number))?;
        }
        if last as u64 - 1 != count {
            return Err(at(last)(SnapshotFault::Count(count)));
        }
        Ok(snapshot)
    }
}

fn header(line: &[u8]) -> Result<Header, SnapshotFault> {
    let text = text(line)?;
    let Ok(Value::Object(mut object)) = serde_json::from_str(text) else {
        return Err(SnapshotFault::Header);
    };
    match object.get("v").and_then(Value::as_u64) {
        Some(DOCUMENT_VERSION) => {}
        Some(version) if version > DOCUMENT_VERSION => return Err(SnapshotFault::Newer(version)),
        _ => return Err(SnapshotFault::Header),
    }
    let header = object.remove("snapshot").unwrap_or_default();
    Header::deserialize(header).map_err(|_| SnapshotFault::Header)
}

fn take_in(state: &mut ReaderState, line: &[u8], is_document: bool) -> Result<(), SnapshotFault> {
    let text = text(line)?;
    if is_document {
        let (feed, document) = read_document(text)?;
        if state.feeds.contains_key(&feed) {
            return Err(SnapshotFault::Again);
        }
        state.join_feed(feed, document);
        return Ok(());
    }
    match kept::read(text).as_ref().and_then(Change::delta) {
        Some((feed, delta)) => {
            state.join_feed(feed, delta);
        }
        None if state.kept.keep_line(text) => {}
        None => return Err(SnapshotFault::Change),
    }
    Ok(())
}

fn text(line: &[u8]) -> Result<&str, SnapshotFault> {
    let line = line.strip_suffix(b"\n").ok_or(SnapshotFault::Line)?;
    std::str::from_utf8(line).map_err(|_| SnapshotFault::Line)
}
