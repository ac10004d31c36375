//! Searches for created members in feeds.

use crate::time::Time;

/// Search for created members in a feed.
#[derive(Debug, Clone)]
pub(crate) struct MemberSearch {
    pub(crate) not_before: Time,
    pub(crate) tries: u32,
    pub(crate) is_in_progress: bool,
}
