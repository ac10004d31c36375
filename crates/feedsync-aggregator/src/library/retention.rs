//! Retention rules for articles.

use std::collections::BTreeSet;

use feedsync_log::Millis;
use feedsync_reading_state::ArticleId;

/// Retention rules of a sweep. An article is deleted only if no rule covers it and the last document of its feed
/// does not contain it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Articles that arrived at or after this time stay.
    pub received_since: Millis,
    /// Number of newest articles that stay.
    pub newest: usize,
    /// Identifiers of articles that stay, for example starred ones.
    pub names: BTreeSet<ArticleId>,
}

/// Maximum number of articles that are deleted in one transaction.
pub(super) const SWEEP_BATCH: usize = 500;

/// Result of one step of deleting feeds.
pub(super) enum FeedDeletion {
    /// A feed was deleted.
    Feed,
    /// A batch of articles of a feed was deleted.
    Articles,
    /// Nothing remains to be deleted.
    Nothing,
}
