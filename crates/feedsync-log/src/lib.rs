//! REST-logging: an append-only log as an HTTP resource, read by anybody and appended to under a precondition.
//!
//! Values only: no socket, no clock, no randomness.

mod device;
mod header;
mod record;
mod stamp;

pub use device::{Device, DeviceError, RecordId, RecordIdError};
pub use header::{Base, Header};
pub use record::{Line, LineError, MOST_RECORD, Object, Record, VERSION};
pub use stamp::{Clock, Millis, Stamp, StampError, Tick};
