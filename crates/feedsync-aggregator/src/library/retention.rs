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

impl Retention {
    /// Number of newest articles besides the last one that stays for being new; `None` if none does.
    pub(super) fn newest_before_last(&self) -> Option<i64> {
        let others = self.newest.checked_sub(1)?;
        Some(i64::try_from(others).unwrap_or(i64::MAX))
    }
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
