//! What an SSE publisher says of a feed: `sx:sharing` and `sx:related` (2.1, 2.2).

use crate::feed::RelatedKind;
use crate::sse::Date;

/// `sx:sharing` (S5 to S10). All of it is optional but the version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Items changed at or after this are in the feed; absent is the beginning of time, so the feed
    /// holds everything (S6).
    pub since: Option<Date>,
    /// Items changed after this are not in the feed; absent says nothing (S7).
    pub until: Option<Date>,
    /// The version of SSE that made the feed, `0.91` (S9).
    pub version: String,
    /// Days of changes that the publisher keeps, a hint for how often to read (S10).
    pub window: Option<u64>,
    /// Related feeds in document order.
    pub related: Vec<Related>,
}

/// `sx:related` (S11, S12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Where the feed is.
    pub link: String,
    /// A name for people.
    pub title: Option<String>,
    /// The complete collection, or a feed whose items are incorporated.
    pub kind: RelatedKind,
    /// Where that feed starts; absent means that it is complete.
    pub since: Option<Date>,
    /// Where that feed ends.
    pub until: Option<Date>,
}

impl Sharing {
    /// The link of the first related feed that is complete: where a new subscriber starts (S13).
    pub fn complete(&self) -> Option<&str> {
        self.related
            .iter()
            .find(|related| related.kind == RelatedKind::Complete)
            .map(|related| related.link.as_str())
    }

    /// Whether a subscriber that last saw the feed up to `last` may have missed changes and should
    /// read the complete feed (R-S2). `since` is inclusive, so equal is enough. Nothing is discarded:
    /// SSE has no rule for that.
    pub fn leaves_a_gap_after(&self, last: &Date) -> bool {
        self.since.as_ref().is_some_and(|since| since > last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_since_later_than_what_was_seen_leaves_a_gap() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        let seen = date("Tue, 1 Nov 2004 09:43:33 GMT");
        let mut sharing = Sharing::default();
        assert!(!sharing.leaves_a_gap_after(&seen));
        sharing.since = Some(date("Mon, 01 Nov 2004 09:43:33 UT"));
        assert!(!sharing.leaves_a_gap_after(&seen));
        sharing.since = Some(date("Mon, 01 Nov 2004 09:43:34 GMT"));
        assert!(sharing.leaves_a_gap_after(&seen));
    }
}
