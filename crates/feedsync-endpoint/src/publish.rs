//! What an endpoint publishes of a collection (4.2).

use feedsync::Window;
use feedsync::window::answer;
use feedsync_store::{ChangePage, Collection, CollectionName, Number, PageLimit, Until};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

/// A feed about to be published: its window, and which changes are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The collection when it was asked.
    pub collection: Collection,
    /// What the feed says of itself. `until` was read before any item.
    pub window: Window,
    /// Its items changed after this.
    pub after: Number,
    /// And at or before this.
    pub up_to: Number,
}

impl Endpoint {
    /// The feed for a subscriber that has seen a collection up to `since`, a text of ours or of
    /// anybody's.
    pub async fn publish(
        &self,
        collection: &CollectionName,
        since: Option<&str>,
    ) -> Result<Publication, EndpointError> {
        let collection = self.collection(collection).await?;
        let text = |number| collection.until(number).to_string();
        let window = answer(since, &text(collection.horizon), &text(collection.last));
        let after = match window.since.parse::<Until>() {
            Ok(until) if until.epoch == collection.epoch => until.number,
            // A text between our own that we never wrote: everything, to be safe.
            _ => collection.horizon,
        };
        let up_to = collection.last;
        Ok(Publication { collection, window, after, up_to })
    }

    /// The next items of a publication. An item that has changed again since is not in it any more:
    /// it comes after its `until`.
    pub async fn page(
        &self,
        publication: &Publication,
        after: Number,
        limit: PageLimit,
    ) -> Result<ChangePage, EndpointError> {
        let name = &publication.collection.name;
        Ok(self.store.changes(name, after, Some(publication.up_to), limit).await?)
    }

    /// Records that others have been shown a collection up to a change. Losing the record costs a
    /// conflict at worst.
    pub async fn mark_sent(
        &self,
        collection: &CollectionName,
        up_to: Number,
    ) -> Result<(), EndpointError> {
        Ok(self.store.mark_sent(collection, up_to).await?)
    }
}
