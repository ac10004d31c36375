//! Publication of a collection to peers that know SSE 0.91 alone: the same items, with windows in dates
//! (2.1).
//!
//! Dates in SSE have a resolution of seconds. No change may be missed, and `until` must grow with each one
//! (S6 to S8). So a document covers whole seconds: it begins with the first change of a second, and states
//! its end once the last second is over.

use std::time::Duration;

use feedsync_core::sse::Date;
use feedsync_formats::FeedDetails;
use feedsync_formats::sse::Dates;
use feedsync_store::{
    ChangeNumber, ChangePage, Collection, CollectionName, Moment, PageLimit, Recent,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::Settings;

/// A document of SSE to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsePublication {
    /// The collection at the time of the request.
    pub collection: Collection,
    /// Dates of the window. Without `since` the document has all items.
    pub dates: Dates,
    /// Changes after this one are included.
    pub after: ChangeNumber,
    /// Changes up to and including this one are included.
    pub up_to: ChangeNumber,
    /// Time until the document can state its end, if it cannot do so yet.
    pub stable_in: Option<Duration>,
    /// Details of the feed besides its title.
    pub details: FeedDetails,
}

impl Endpoint {
    /// Returns the document of all items, or of those within the bounds of a partial feed in the collection's
    /// settings.
    pub async fn publish_sse(
        &self,
        collection: &CollectionName,
        is_complete: bool,
    ) -> Result<SsePublication, EndpointError> {
        let collection = self.collection(collection).await?;
        let settings = Settings::read(&collection.settings)?;
        let up_to = collection.last;
        let left_out = match is_complete {
            true => ChangeNumber::ZERO,
            false => self.partial_horizon(&collection, settings.partial).await?,
        };
        let (after, since) = match left_out {
            ChangeNumber::ZERO => (left_out, None),
            left_out => self.begin(&collection, left_out).await?,
        };
        let now = self.environment.now();
        let edited = second(collection.edited);
        let stable_in = (second(now) <= edited).then(|| {
            let over = (edited + 1).saturating_mul(1_000_000).saturating_sub(now.micros());
            Duration::from_micros(over)
        });
        let until = stable_in.is_none().then_some(edited).filter(|_| up_to > ChangeNumber::ZERO);
        let days = settings.partial.age.map(|age| age.duration().as_secs() / 86_400);
        let dates =
            Dates { since, until: until.and_then(date), window: days.filter(|days| *days > 0) };
        let details = settings.details();
        Ok(SsePublication { collection, dates, after, up_to, stable_in, details })
    }

    /// Reads the next items of a publication, as [`Endpoint::page`] does.
    pub async fn sse_page(
        &self,
        publication: &SsePublication,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Result<ChangePage, EndpointError> {
        self.published(&publication.collection, after..publication.up_to, limit).await
    }

    /// Returns the change after which a document begins that may leave out all changes up to `left_out`, and
    /// the second of its first change.
    async fn begin(
        &self,
        collection: &Collection,
        left_out: ChangeNumber,
    ) -> Result<(ChangeNumber, Option<Date>), EndpointError> {
        let name = &collection.name;
        let before = ChangeNumber::new(left_out.get().saturating_sub(1));
        let page = self.store.changes(name, before, None, PageLimit::items(1)).await?;
        let Some(first) = page.items.first() else {
            // Everything has been purged.
            return Ok((left_out, date(second(collection.edited) + 1)));
        };
        let begins = second(first.edited);
        let from = Some(Moment::from_micros(begins.saturating_mul(1_000_000)));
        let after = self.store.last_before(name, Recent { count: None, from }).await?;
        match after.min(left_out) {
            after if after >= collection.horizon => Ok((after, date(begins))),
            // Changes of that second were purged and are in no document.
            _ => Ok((collection.horizon.min(left_out), date(begins + 1))),
        }
    }
}

fn second(moment: Moment) -> u64 {
    moment.micros() / 1_000_000
}

fn date(second: u64) -> Option<Date> {
    Moment::from_micros(second.saturating_mul(1_000_000)).timestamp().map(Date::from)
}
