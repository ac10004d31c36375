//! Information from an SSE publisher about a feed: `sx:sharing` and `sx:related` (2.1, 2.2).

use crate::feed::RelatedKind;
use crate::sse::Date;

/// `sx:sharing` (S5 to S10). Everything except the version is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Time from which changed items are in the feed, inclusive; absent means the beginning of time,
    /// so the feed contains everything (S6).
    pub since: Option<Date>,
    /// Time after which changed items are not in the feed; absent gives no bound (S7).
    pub until: Option<Date>,
    /// SSE version of the feed, `0.91` (S9).
    pub version: String,
    /// Number of days for which the publisher keeps changes, a hint for how often to read (S10).
    pub window: Option<u64>,
    /// Related feeds in document order.
    pub related: Vec<Related>,
}

/// `sx:related` (S11, S12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Address of the feed.
    pub link: String,
    /// Readable name.
    pub title: Option<String>,
    /// The complete collection, or a feed whose items are incorporated.
    pub kind: RelatedKind,
    /// Beginning of that feed; absent means that it is complete.
    pub since: Option<Date>,
    /// End of that feed.
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
    /// read the complete feed (R-S2). `since` is inclusive, so an equal time leaves no gap. Nothing
    /// is discarded: SSE has no rule for that.
    pub fn leaves_a_gap_after(&self, last: &Date) -> bool {
        self.since.as_ref().is_some_and(|since| since > last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn related(link: &str, kind: RelatedKind) -> Related {
        Related { link: link.into(), title: None, kind, since: None, until: None }
    }

    #[test]
    fn a_since_later_than_what_was_seen_leaves_a_gap() {
        // Ascending instants, whose texts sort in another order.
        let instants = [
            "Fri, 31 Dec 1999 23:59:59 GMT",
            "Mon, 01 Nov 2004 09:43:32 GMT",
            "Tue, 1 Nov 2004 09:43:33 GMT",
            "Mon, 01 Nov 2004 09:43:34 GMT",
            "Wed, 2 Feb 2005 00:00:00 GMT",
            "Fri, 1 Apr 2005 00:00 UT",
        ];
        for (seen, last) in instants.iter().enumerate() {
            let mut sharing = Sharing::default();
            assert!(!sharing.leaves_a_gap_after(&date(last)), "the beginning of time");
            // Values before until do not indicate a gap.
            sharing.until = Some(date(instants[0]));
            for (from, since) in instants.iter().enumerate() {
                sharing.since = Some(date(since));
                assert_eq!(sharing.leaves_a_gap_after(&date(last)), from > seen, "{since} {last}");
            }
        }
        let same = Sharing { since: Some(date("1 Nov 2004 09:43:33 UT")), ..Sharing::default() };
        assert!(!same.leaves_a_gap_after(&date(instants[2])));
    }

    #[test]
    fn a_new_subscriber_starts_from_the_first_complete_feed_and_from_no_aggregated_one() {
        let aggregated = || related("http://y.net/B.xml", RelatedKind::Aggregated);
        let complete = |link| related(link, RelatedKind::Complete);
        let from =
            |related| Sharing { related, ..Sharing::default() }.complete().map(str::to_owned);
        assert_eq!(from(vec![]), None);
        assert_eq!(from(vec![aggregated()]), None);
        let several = vec![aggregated(), complete("http://x.com/all.xml"), complete("http://z/")];
        assert_eq!(from(several).as_deref(), Some("http://x.com/all.xml"));
    }
}
