//! The whole state as lines: the start of a new replica, stored with a log (LR45), and a file for export.
//!
//! ```json
//! {"v":1,"snapshot":{"feeds":1,"kept":0,"log":{"covers":"1.9c2e11ab-4096","offset":4096,"overlap":"…}\n"}}}
//! {"feed":"https://example.org/feed","subscribed":[true,"1000.0@laptop"],"v":1}
//! ```
//!
//! After the header come the documents of the feeds, in the order of their addresses. Then come other changes: the
//! settings in the order of their names, and the preserved changes that are not understood, in the order of their
//! stamps. A version that does not know settings preserves their changes. The header states the numbers of documents
//! and of changes, so that a truncated snapshot is detected. `log` states the part of a log that the snapshot replaces, if any.

use feedsync_log::SnapshotCoverage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{DOCUMENT_VERSION, DocumentError, read_document, write_document};
use crate::kept;
use crate::setting::Settings;
use crate::state::ReaderState;

/// Maximum size of a snapshot that is read, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = 256 << 20;

/// A state, and the part of a log that it replaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The part of a log that it replaces; `None` if it belongs to no log.
    pub covers: Option<SnapshotCoverage>,
    /// The state.
    pub state: ReaderState,
}

/// Why bytes are not a snapshot. No part of the snapshot is used then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct SnapshotError {
    /// Number of the line with the fault, from 1.
    pub line: usize,
    /// The fault.
    pub fault: SnapshotFault,
}

/// A fault in a line of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// More than [`MAX_SNAPSHOT_BYTES`] bytes in all.
    #[error("a snapshot can have at most {MAX_SNAPSHOT_BYTES} bytes")]
    TooLarge,
    /// It is not UTF-8, or does not end in a line feed.
    #[error("a line must be UTF-8 and end with a line feed")]
    Line,
    /// The first line is not the header of a snapshot.
    #[error("not the header of a snapshot")]
    Header,
    /// The snapshot is of a later version.
    #[error(
        "the snapshot has version {0}, but this program knows only versions up to \
         {DOCUMENT_VERSION}; update the program"
    )]
    Newer(u64),
    /// The line is not the document of a feed.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The feed occurs for the second time.
    #[error("the feed occurs twice")]
    DuplicateFeed,
    /// The line is not a change.
    #[error("not a change")]
    Change,
    /// There are more or fewer lines than the header states.
    #[error("the header announces {0} lines, but the snapshot has another number")]
    Count(u64),
}

impl SnapshotError {
    /// Whether not even the first line belongs to a snapshot.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        self.line == 1 && matches!(self.fault, SnapshotFault::Line | SnapshotFault::Header)
    }
}

/// The header of a snapshot.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    feeds: u64,
    kept: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<SnapshotCoverage>,
}

impl Snapshot {
    /// The bytes of the snapshot, which are equal for equal states.
    pub fn write(&self) -> String {
        let mut out = String::new();
        for line in self.lines() {
            out.push_str(&line);
        }
        out
    }

    /// The lines, each with its line feed.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let header = Header {
            feeds: self.state.feeds.len() as u64,
            kept: (self.state.settings.len() + self.state.kept.len()) as u64,
            log: self.covers.clone(),
        };
        let mut object = Map::new();
        object.insert("v".to_owned(), DOCUMENT_VERSION.into());
        object.insert("snapshot".to_owned(), serde_json::to_value(header).unwrap_or_default());
        let documents = self.state.feeds().map(|(feed, state)| write_document(feed, state));
        let settings = self.state.settings.changes();
        let settings = settings.map(|change| kept::line(&change));
        let kept = self.state.kept.lines().map(str::to_owned);
        let header = std::iter::once(Value::Object(object).to_string());
        header.chain(documents).chain(settings).chain(kept).map(|line| line + "\n")
    }

    /// Reads a complete snapshot, or fails. Changes that an earlier version preserved without understanding
    /// them are applied if this version understands them.
    pub fn read(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let at = |line: usize| move |fault| SnapshotError { line, fault };
        if bytes.len() > MAX_SNAPSHOT_BYTES {
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
            return Err(SnapshotFault::DuplicateFeed);
        }
        state.join_feed(feed, document);
        return Ok(());
    }
    let change = kept::read(text).ok_or(SnapshotFault::Change)?;
    if change.delta().is_some() || Settings::of(&change).is_some() {
        state.apply_change(&change);
    } else {
        // The text of a change that is not understood stays as it is.
        state.kept.preserve_line(text);
    }
    Ok(())
}

fn text(line: &[u8]) -> Result<&str, SnapshotFault> {
    let line = line.strip_suffix(b"\n").ok_or(SnapshotFault::Line)?;
    std::str::from_utf8(line).map_err(|_| SnapshotFault::Line)
}
