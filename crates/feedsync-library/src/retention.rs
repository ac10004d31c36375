//! What is kept of a feed when it is swept.

use std::collections::BTreeSet;

use feedsync_log::Millis;
use feedsync_reader::ArticleId;

/// What a sweep keeps: an article goes only if nothing of this holds it, and if the last document of its feed does
/// not tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those that arrived then or later stay.
    pub received_since: Millis,
    /// So many stay, the newest.
    pub newest: usize,
    /// Those of these names stay: what somebody starred, say.
    pub names: BTreeSet<ArticleId>,
}
