//! Simple Sharing Extensions 0.91, FeedSync's ancestor, as pure functions.
//!
//! SSE stores one version of an item and a flag: an [`Item`] has a version number, the [`Stamp`] of its
//! latest change and the stamps of earlier ones. An endpoint may also store a list of losing versions
//! ([`Conflict`]). Where the SSE specification loses an edit, so does this module, and its documentation says
//! so. Two SSE documents are merged as SSE says ([`merge`]). Anything else is upgraded to FeedSync first
//! ([`upgrade`]) and converted back by [`downgrade`], which reports losses. A FeedSync endpoint that SSE
//! peers edit with adds its own knowledge to their items ([`graft`]).
//!
//! Section numbers are those of the SSE specification, `S`, `U` and `D` numbers those of
//! `docs/conformance.md`.

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
pub use edit::{Change, VersionExhausted};
pub use graft::graft;
pub use hierarchy::{Claim, Tree, TreePosition, cycles, order};
pub use item::{Conflict, History, Item, Stamp};
pub use merge::{conflicts_with, merge, wins};
pub use number::{VersionNumber, VersionNumberError};
pub use sharing::{Related, Sharing};
pub use upgrade::{UpgradeError, UpgradeLoss, Upgraded, upgrade};

#[cfg(test)]
mod tests;

/// Namespace in the spelling that every implementation writes (reading 27).
pub const NAMESPACE: &str = "http://www.microsoft.com/schemas/rss/sse";

/// Namespace in the spelling of section 1.1; accepted as well (S2).
pub const NAMESPACE_AS_PRINTED: &str = "https://www.microsoft.com/schemas/rss/sse";

/// Version of the specification in written documents (S9).
pub const VERSION: &str = "0.91";
