//! Items that several endpoints edit, online or offline, without losing an edit.
//!
//! The library implements FeedSync 1.0.2 (creation, update, merge, conflict resolution, partial and
//! complete feeds) and its ancestor SSE 0.91 as pure functions: bytes, time, identity and randomness
//! are arguments, values are results. It has no I/O, clock or random numbers, so the same code runs
//! in a server, in a browser and in a simulation.
//!
//! Section numbers in the documentation are those of the published texts; `F`, `P` and `S` numbers
//! are those of `docs/conformance.md`.

mod bounded;
mod bounds;
mod counter;
mod coverage;
mod edit;
mod feed;
mod history;
mod identifier;
mod incorporate;
mod item;
pub mod line;
mod merge;
mod payload;
mod resolve;
mod revision;
pub mod sse;
mod timestamp;
pub mod window;

pub use bounded::bounded;
pub use bounds::{
    MAX_CONFLICTS, MAX_INCOMING_UPDATES, MAX_ITEM_BYTES, MAX_READ_UPDATES, MAX_UPDATES,
};
pub use counter::{CounterError, MAX_COUNTER, Sequence, Updates};
pub use edit::{Base, Creation, Edit, EditError, Stamp};
pub use feed::{Feed, Related, RelatedKind, Sharing, Window};
pub use history::{History, LINE_WINDOW, MAX_LONE_UPDATES};
pub use identifier::{By, IdentifierError, ItemId, MAX_IDENTIFIER_BYTES};
pub use incorporate::{Incorporation, Refusal, check_bounds, incorporate, incorporate_unbounded};
pub use item::{Item, Unsigned, Update, Version};
pub use merge::{DifferentItems, Outcome, merge};
pub use payload::{Format, Payload, UnknownFormat};
pub use resolve::{Keep, Resolution, ResolveError, Resolved};
pub use timestamp::{Timestamp, TimestampError};
