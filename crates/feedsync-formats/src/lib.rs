//! FeedSync on the wire: Atom, RSS, OPML, POX and JSON, read strictly and written faithfully.
//!
//! Bytes come in, a [`feedsync::Feed`] goes out, and back. What was not edited comes out as it came
//! in; what cannot be read is refused with line and column.

mod diagnostic;
mod options;

pub use diagnostic::{Diagnostic, Position, ReadError, Severity};
pub use options::{Limits, Mode, ReadOptions};
