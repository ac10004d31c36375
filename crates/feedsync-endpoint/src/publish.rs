//! Publication of a collection as a feed (4.2).

use std::ops::Range;

use feedsync_core::window::answer;
use feedsync_core::{Timestamp, Window};
use feedsync_formats::FeedDetails;
use feedsync_store::{
    ChangeNumber, ChangePage, Collection, CollectionName, Moment, PageLimit, Recent, Until,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::{Partial, Period, Settings};

/// A feed to be published: its window, and the changes in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The collection at the time of the request.
    pub collection: Collection,
    /// The window of the feed. `until` was read before any item.
    pub window: Window,
    /// Time by which a subscriber should have polled again, if the collection is set to state it (2.2). It
    /// advances in steps, so that a feed in which nothing else changed stays the same for a while.
    pub expires: Option<Timestamp>,
    /// Changes after this one are included.
    pub after: ChangeNumber,
    /// Changes up to and including this one are included.
    pub up_to: ChangeNumber,
    /// Details of the feed besides its title.
    pub details: FeedDetails,
}

impl Endpoint {
    /// Returns the feed for a subscriber that has seen a collection up to `since`, which may be any text.
    /// Without `since` the feed has all changes, within the bounds in the collection's settings.
    pub async fn publish(
        &self,
        collection: &CollectionName,
        since: Option<&str>,
    ) -> Result<Publication, EndpointError> {
        let collection = self.collection(collection).await?;
        let settings = Settings::read(&collection.settings)?;
        let horizon = match since {
            Some(_) => collection.horizon,
            None => self.partial_horizon(&collection, settings.partial).await?,
        };
        Ok(self.publication(collection, &settings, since, horizon))
    }

    /// Returns the complete feed of a collection: all items, under the window from the purge horizon (F135,
    /// R-F26).
    pub async fn publish_complete(
        &self,
        collection: &CollectionName,
    ) -> Result<Publication, EndpointError> {
        let collection = self.collection(collection).await?;
        let settings = Settings::read(&collection.settings)?;
        let horizon = collection.horizon;
        Ok(self.publication(collection, &settings, None, horizon))
    }

    /// Returns the feed of changes after `since`. Without it, the feed has the changes after the horizon, the
    /// last change that the feed leaves out.
    fn publication(
        &self,
        collection: Collection,
        settings: &Settings,
        since: Option<&str>,
        horizon: ChangeNumber,
    ) -> Publication {
        let text = |number| collection.until(number).to_string();
        let window = answer(since, &text(horizon), &text(collection.last));
        let after = match window.since.parse::<Until>() {
            Ok(until) if until.epoch == collection.epoch => until.number,
            // A `since` within our numbers that we never issued: include everything, to be safe.
            _ => horizon,
        };
        let expires = settings.expires.and_then(|period| expires(self.environment.now(), period));
        let up_to = collection.last;
        let details = settings.details();
        Publication { collection, window, expires, after, up_to, details }
    }

    /// Finds the last change that the partial feed leaves out (4.2.4).
    pub(crate) async fn partial_horizon(
        &self,
        collection: &Collection,
        partial: Partial,
    ) -> Result<ChangeNumber, EndpointError> {
        let now = self.environment.now();
        let from = partial.age.map(|age| age.before(now));
        let recent = Recent { count: partial.count, from };
        if recent == Recent::default() {
            return Ok(collection.horizon);
        }
        // The collection may have changed since it was read.
        let left_out = self.store.last_before(&collection.name, recent).await?;
        Ok(left_out.min(collection.last).max(collection.horizon))
    }

    /// Reads the next items of a publication. An item that has changed again since is no longer in it; it
    /// comes after its `until`.
    ///
    /// A purge since then may have removed tombstones that the window of the publication covers. Then this
    /// returns an error, since a reader would not see those deletions.
    pub async fn page(
        &self,
        publication: &Publication,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Result<ChangePage, EndpointError> {
        let Publication { collection, up_to, .. } = publication;
        self.published(collection, after..*up_to, limit).await
    }

    /// Reads changes of a collection in a range that excludes its start and includes its end. Fails if any of
    /// them was purged.
    pub(crate) async fn published(
        &self,
        collection: &Collection,
        Range { start: after, end: up_to }: Range<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, EndpointError> {
        let page = self.store.changes(&collection.name, after, Some(up_to), limit).await?;
        let is_same = page.collection.epoch == collection.epoch;
        match is_same && page.collection.horizon <= after {
            true => Ok(page),
            false => Err(EndpointError::Overtaken(collection.name.clone())),
        }
    }

    /// Records that others have been shown a collection up to a change. If the record is lost, the worst
    /// consequence is a conflict.
    pub async fn mark_sent(
        &self,
        collection: &CollectionName,
        up_to: ChangeNumber,
    ) -> Result<(), EndpointError> {
        Ok(self.store.mark_sent(collection, up_to).await?)
    }
}

/// Returns the end of a period that begins now, rounded up to the next sixteenth of it.
fn expires(now: Moment, period: Period) -> Option<Timestamp> {
    let period = period.duration().as_secs();
    let step = (period / 16).max(1);
    let seconds = now.micros().div_ceil(1_000_000).div_ceil(step) * step + period;
    Timestamp::from_unix_seconds(i64::try_from(seconds).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_expires_no_earlier_than_its_period_and_little_later() {
        for (text, step) in [("1s", 1), ("15m", 56), ("1d", 5_400)] {
            let period: Period = text.parse().unwrap();
            let seconds = |micros| {
                let expires = expires(Moment::from_micros(micros), period).unwrap();
                u64::try_from(expires.unix_seconds()).unwrap()
            };
            for micros in [1_763_668_000_000_000_u64, 1_763_668_000_000_001, 1_763_668_055_999_999]
            {
                let least = micros.div_ceil(1_000_000) + period.duration().as_secs();
                assert!((least..least + step).contains(&seconds(micros)), "{text} {micros}");
            }
            let begin = 1_763_668_000 / step * step * 1_000_000;
            let end = begin + step * 1_000_000;
            assert_eq!(seconds(begin + 1), seconds(end), "{text}");
            assert!(seconds(end) < seconds(end + 1), "{text}");
        }
        assert!(expires(Moment::MAX, "36500d".parse().unwrap()).is_some());
    }
}
