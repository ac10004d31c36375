//! Publishing a collection to peers that know SSE 0.91 alone: the same items, bounded by dates (2.1).
//!
//! SSE tells time in seconds. So that no change is missed and `until` grows with each (S6 to S8), a document holds
//! whole seconds: it begins with the first change of one, and says where it ends once that second is over.

use std::time::Duration;

use feedsync_core::sse::Date;
use feedsync_formats::FeedDetails;
use feedsync_formats::sse::Dates;
use feedsync_store::{ChangePage, Collection, CollectionName, Moment, Number, PageLimit, Recent};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::Settings;

/// A document of SSE about to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsePublication {
    /// The collection when it was asked.
    pub collection: Collection,
    /// Its bounds. Without `since` it holds all items.
    pub dates: Dates,
    /// Its items changed after this.
    pub after: Number,
    /// And at or before this.
    pub up_to: Number,
    /// How long it takes until the document can say where it ends, if it cannot yet.
    pub settles_in: Option<Duration>,
    /// Details of the feed beside its title.
    pub details: FeedDetails,
}

impl Endpoint {
    /// The document of all items, or of those that the settings of the collection bound a partial feed to.
    pub async fn publish_sse(
        &self,
        collection: &CollectionName,
        is_complete: bool,
    ) -> Result<SsePublication, EndpointError> {
        let collection = self.collection(collection).await?;
        let settings = Settings::read(&collection.settings)?;
        let up_to = collection.last;
        let left_out = match is_complete {
            true => Number::ZERO,
            false => self.partial_horizon(&collection, settings.partial).await?,
        };
        let (after, since) = match left_out {
            Number::ZERO => (left_out, None),
            left_out => self.begin(&collection, left_out).await?,
        };
        let now = self.environment.now();
        let edited = second(collection.edited);
        let settles_in = (second(now) <= edited).then(|| {
            let over = (edited + 1).saturating_mul(1_000_000).saturating_sub(now.micros());
            Duration::from_micros(over)
        });
        let until = settles_in.is_none().then_some(edited).filter(|_| up_to > Number::ZERO);
        let days = settings.partial.age.map(|age| age.duration().as_secs() / 86_400);
        let dates =
            Dates { since, until: until.and_then(date), window: days.filter(|days| *days > 0) };
        let details = settings.details();
        Ok(SsePublication { collection, dates, after, up_to, settles_in, details })
    }

    /// The next items of a publication, as [`Endpoint::page`] reads them.
    pub async fn sse_page(
        &self,
        publication: &SsePublication,
        after: Number,
        limit: PageLimit,
    ) -> Result<ChangePage, EndpointError> {
        self.published(&publication.collection, after..publication.up_to, limit).await
    }

    /// The change after which the document begins that would leave out all up to one, and the second of its first change.
    async fn begin(
        &self,
        collection: &Collection,
        left_out: Number,
    ) -> Result<(Number, Option<Date>), EndpointError> {
        let name = &collection.name;
        let before = Number::new(left_out.get().saturating_sub(1));
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
            // What was purged in that second is in no document.
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
