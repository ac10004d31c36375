//! Merging one document into another (3, 4, 5).

use std::collections::HashSet;

use feedsync_core::{Format, ItemId, Outcome};

use super::document::Document;
use super::plan::{Plan, plan};
use super::rebuild::rebuild;
use crate::stale_window::without_window;

/// What merging gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The local document with what changed, in its own encoding.
    pub bytes: Vec<u8>,
    /// What became of each incoming item, in its order.
    pub outcomes: Vec<(ItemId, Outcome)>,
    /// Items that had become their own ancestors and moved to the root, flagged (4.4.2).
    pub moved: Vec<ItemId>,
}

/// Why two documents cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One is RSS, the other OPML.
    #[error("the local document is {local}, the incoming one {incoming}: convert one of them")]
    Formats {
        /// Of the local document.
        local: Format,
        /// Of the incoming document.
        incoming: Format,
    },
    /// The outlines of both, one below the other, are nested too deep.
    #[error("the merged outlines are nested more than {limit} deep")]
    Depth {
        /// The bound of [`crate::Limits`].
        limit: usize,
    },
}

impl Document {
    /// Merges the items of another document into this one, by the rules of SSE.
    ///
    /// What did not change keeps its bytes: the head with `sx:sharing`, foreign markup, items that take
    /// no part, items that won without a new conflict. An item of the other document that won comes
    /// with its own element and its `sx:sync` intact (4.2); what it inherited there is declared on it.
    /// Moves are taken over (3.2), cycles broken (4.4.2); tombstones stay, with what is in them
    /// (R-S12). If nothing changed, the bytes are those of this document.
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

/// Whether no item changes; then none moves either, but for cycles of claims, which are flagged.
fn leaves_unchanged(plan: &Plan<'_>) -> bool {
    let moved: HashSet<&ItemId> = plan.moved.iter().collect();
    plan.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Unchanged)
        && plan.decisions.values().all(|decision| decision.edit.is_none())
        && moved.is_empty()
}
