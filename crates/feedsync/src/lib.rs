//! Items that several endpoints edit, online or off, and no edit is lost.
//!
//! The library implements FeedSync 1.0.2 (creation, update, merge, conflict resolution, partial and
//! complete feeds) and its ancestor SSE 0.91 as pure functions: bytes, time, identity and randomness
//! come in as arguments, values go out. There is no I/O, no clock and no random number in here, so
//! the same code runs in a server, in a browser and in a simulated world.
//!
//! Section numbers in the documentation are those of the published texts; `F`, `P` and `S` numbers
//! are those of `docs/conformance.md`.

mod counter;
mod feed;
mod identifier;
mod item;
mod payload;
mod timestamp;

pub use counter::{CounterError, MAX_COUNTER, Sequence, Updates};
pub use feed::{Feed, Related, RelatedKind, Sharing, Window};
pub use identifier::{By, IdentifierError, ItemId, MAX_IDENTIFIER_BYTES};
pub use item::{History, Item, Unsigned, Update, Version};
pub use payload::{Format, Payload, UnknownFormat};
pub use timestamp::{Timestamp, TimestampError};
