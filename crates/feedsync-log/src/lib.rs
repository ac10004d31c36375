//! REST-logging: an append-only log as an HTTP resource, which clients read, and append to under a
//! precondition.
//!
//! This crate contains values only: no sockets, no clock, no randomness.

mod check;
mod device;
mod exchange;
mod header;
mod interruption;
mod lines;
mod position;
mod record;
mod session;
mod stamp;

pub use check::{Check, Fault, Finding, Summary, last_lines};
pub use device::{Device, DeviceError, RecordId, RecordIdError};
pub use exchange::{Append, Condition, LogRequest, LogResponse, Range, Read};
pub use header::{Base, Header};
pub use interruption::Interruption;
pub use lines::Lines;
pub use position::Position;
pub use record::{Line, LineError, MAX_RECORD_BYTES, Object, Record, VERSION};
pub use session::{
    Event, MAX_APPEND_BYTES, MAX_READ_BYTES, PendingRecord, Session, SnapshotCoverage, Start, Stop,
    append_batch, overlap_of,
};
pub use stamp::{Clock, Millis, Stamp, StampError, Tick};
