//! Simple Sharing Extensions 0.91, FeedSync's ancestor, as pure functions.
//!
//! SSE keeps one version of an item and a flag: an [`Item`] has a version number, the [`Stamp`] of its
//! latest change and the stamps of earlier ones, and, if the endpoint likes, a list of what lost
//! ([`Conflict`]). Where its text loses an edit, so does this module, and says so: two SSE documents
//! merge as their text says ([`merge`]), anything else is upgraded to FeedSync first ([`upgrade`]) and
//! comes back by [`downgrade`], which reports what does not fit. An endpoint of FeedSync that peers of SSE edit with
//! gives their items what it knows itself ([`graft`]).
//!
//! Section numbers are those of the SSE text, `S`, `U` and `D` numbers those of `docs/conformance.md`.

mod conflicts;
mod date;
mod downgrade;
mod edit;
mod graft;
mod hierarchy;
mod item;
mod merge;
mod number;
mod sharing;
mod upgrade;

pub use conflicts::add_conflict;
pub use date::{Date, DateError};
pub use downgrade::{DowngradeLoss, Downgraded, downgrade};
pub use edit::{Change, VersionsSpent};
pub use graft::graft;
pub use hierarchy::{Claim, Place, Tree, cycles, order};
pub use item::{Conflict, History, Item, Stamp};
pub use merge::{merge, steps_on, wins};
pub use number::{VersionNumber, VersionNumberError};
pub use sharing::{Related, Sharing};
pub use upgrade::{UpgradeError, UpgradeLoss, Upgraded, upgrade};

#[cfg(test)]
mod tests;

/// The namespace as it is written: every implementation uses this spelling (reading 27).
pub const NAMESPACE: &str = "http://www.microsoft.com/schemas/rss/sse";

/// The namespace as section 1.1 prints it; read as well (S2).
pub const NAMESPACE_AS_PRINTED: &str = "https://www.microsoft.com/schemas/rss/sse";

/// The version of the specification that we write (S9).
pub const VERSION: &str = "0.91";
