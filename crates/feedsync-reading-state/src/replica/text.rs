//! Serialized form of a replica, to be stored atomically.
//!
//! The first line has the device, the position in the log and the waiting records; a [`Snapshot`] of the
//! state follows.

use std::fmt;

use feedsync_log::{Clock, Device, Line, Position, Record, Tick};
use serde::{Deserialize, Serialize};

use super::{Outbox, Replica};
use crate::snapshot::{Snapshot, SnapshotError};
use crate::state::ReaderState;

/// Version of this form.
const VERSION: u64 = 1;

/// Why bytes are not a replica.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The first line is not valid.
    #[error("line 1: {0}")]
    Head(String),
    /// A later version wrote the bytes.
    #[error(
        "the file has version {0}, but this program knows only versions up to {VERSION}; update the \
         program"
    )]
    Newer(u64),
    /// The state is not valid; its lines are counted after the first one.
    #[error("the state: {0}")]
    State(#[from] SnapshotError),
}

#[derive(Serialize, Deserialize)]
struct Head {
    v: u64,
    device: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    sequence: u64,
    clock: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
    /// Whether the log is being read again, from its beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
    /// Whether the log has lines that are not in the state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    passed_over: bool,
    waiting: Vec<String>,
}

impl Replica {
    /// Serializes the replica.
    pub fn write(&self) -> String {
        let again = self.read_again.is_some();
        let head = Head {
            v: VERSION,
            device: self.device.to_string(),
            log: self.log.clone(),
            sequence: self.sequence,
            clock: self.clock.last().to_string(),
            // Progress of reading a log again is not stored: reading restarts.
            position: self.position.clone().filter(|_| !again),
            again,
            passed_over: self.has_passed_over,
            waiting: self.outbox.records().map(Record::line).collect(),
        };
        let mut text = serde_json::to_string(&head).unwrap_or_default();
        text.push('\n');
        text.push_str(&Snapshot { covers: None, state: self.state.clone() }.write());
        text
    }

    /// Parses a serialized replica.
    pub fn read(bytes: &[u8]) -> Result<Self, ReplicaError> {
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let (first, rest) = bytes.split_at(end);
        let head = |error: &dyn fmt::Display| ReplicaError::Head(error.to_string());
        let Head { v, device, log, sequence, clock, position, again, passed_over, waiting } =
            serde_json::from_slice(first).map_err(|error| head(&error))?;
        match v {
            VERSION => {}
            newer if newer > VERSION => return Err(ReplicaError::Newer(newer)),
            _ => return Err(head(&"another version")),
        }
        let device: Device = device.parse().map_err(|error| head(&error))?;
        let last: Tick = clock.parse().map_err(|error| head(&error))?;
        let mut outbox = Outbox::default();
        for line in &waiting {
            match Line::read(line.as_bytes()) {
                Line::Record(record) if outbox.follows(&record.id, &device, sequence) => {
                    outbox.add(record);
                }
                _ => return Err(head(&"something else than a record of this device waits")),
            }
        }
        let state = Snapshot::read(rest.strip_prefix(b"\n").unwrap_or_default())?.state;
        let read_again = again.then(ReaderState::default);
        let clock = Clock::resumed(last);
        Ok(Self {
            device,
            log,
            sequence,
            clock,
            position,
            state,
            outbox,
            read_again,
            has_passed_over: passed_over,
        })
    }
}
