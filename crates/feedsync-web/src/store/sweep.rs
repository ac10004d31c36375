//! Deletion of contents that no row refers to.
//!
//! A content becomes a candidate when its bytes are stored, and when a row stops referring to it. A sweep looks at the
//! candidates. It must not run at the same time as another transaction.

use feedsync_bitsy::collections::SortedSet;
use feedsync_bitsy::interceptor::Digest;

use super::row::{CANDIDATES, USES};
use super::writes::Writes;
use crate::codec::bytes_of;

/// Result of a sweep: rows to write, and contents to delete, in one transaction.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Candidates that were looked at, which are no candidates any more.
    pub writes: Writes,
    /// Contents whose bytes are to be deleted.
    pub unused: Vec<Digest>,
}

/// Key of the row that makes a content a candidate.
pub fn candidate(digest: &Digest) -> String {
    format!("{CANDIDATES}{digest}")
}

/// First characters of the keys of rows that say which rows refer to a content.
pub fn uses(digest: &Digest) -> String {
    format!("{USES}{digest} ")
}

impl Swept {
    /// Decides about candidates: keys of their rows, and whether a row refers to the content. Contents that are
    /// `needed` in memory stay candidates.
    pub fn of<'k>(
        candidates: impl IntoIterator<Item = (&'k str, bool)>,
        needed: &SortedSet<Digest>,
    ) -> Self {
        let mut swept = Self::default();
        for (key, is_used) in candidates {
            let digest = key.strip_prefix(CANDIDATES).and_then(bytes_of).map(Digest);
            if !is_used && digest.is_some_and(|digest| needed.contains(&digest)) {
                continue;
            }
            swept.writes.rows.insert(key.to_owned(), None);
            swept.unused.extend(digest.filter(|_| !is_used));
        }
        swept
    }
}
