//! Merges one document into another (3, 4, 5).

use std::collections::HashSet;

use feedsync_core::{Format, ItemId, Outcome};

use super::document::Document;
use super::plan::{Plan, plan};
use super::rebuild::rebuild;
use crate::stale_window::without_window;

/// Result of merging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The local document with the changes, in its own encoding.
    pub bytes: Vec<u8>,
    /// Outcome of each incoming item, in their order.
    pub outcomes: Vec<(ItemId, Outcome)>,
    /// Items that had become their own ancestors. They were moved to the root and flagged (4.4.2).
    pub moved: Vec<ItemId>,
}

/// Reason why two documents cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// One document is RSS, the other OPML.
    #[error("the local document is {local}, the incoming one {incoming}: convert one of them")]
    Formats {
        /// Format of the local document.
        local: Format,
        /// Format of the incoming document.
        incoming: Format,
    },
    /// The outlines of both documents together are nested too deeply.
    #[error("the merged outlines are nested more than {limit} deep")]
    Depth {
        /// The limit in [`crate::Limits`].
        limit: usize,
    },
}

impl Document {
    /// Merges the items of another document into this one, by the rules of SSE.
    ///
    /// Parts that did not change keep their bytes: the head with `sx:sharing`, foreign markup, items that take no
    /// part in sharing, and items that won without a new conflict. An item of the other document that won is written
    /// with its own element and its `sx:sync` intact (4.2). Its inherited properties are declared on it. Moves are
    /// applied (3.2), and cycles are broken (4.4.2). Tombstones stay, together with their children (R-S12). If
    /// nothing changed, the bytes are those of this document.
    pub fn merge(&self, incoming: &Self) -> Result<Merged, MergeError> {
        if self.format() != incoming.format() {
            return Err(MergeError::Formats { local: self.format(), incoming: incoming.format() });
        }
        let plan = plan(self, incoming);
        let bytes = if leaves_unchanged(&plan) {
            self.bytes.clone()
        } else {
            self.encoding.encode(&without_window(rebuild(self, incoming, &plan)?))
        };
        Ok(Merged { bytes, outcomes: plan.outcomes, moved: plan.moved })
    }
}

/// Whether no item changes. Then no item moves either, except in cycles of claims, which are flagged.
fn leaves_unchanged(plan: &Plan<'_>) -> bool {
    let moved: HashSet<&ItemId> = plan.moved.iter().collect();
    plan.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Unchanged)
        && plan.decisions.values().all(|decision| decision.edit.is_none())
        && moved.is_empty()
}
