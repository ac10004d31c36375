//! Moving the outlines of a collection.

use feedsync_core::{Base, Item, ItemId, Payload};
use feedsync_formats::{OutlinePosition, move_outline};
use feedsync_store::{CollectionName, PageLimit};

use crate::edit::Edited;
use crate::endpoint::Endpoint;
use crate::error::{EditFailure, EndpointError};

impl Endpoint {
    /// Moves an outline under another item of its collection, or to the top level for `None`, as the last
    /// child. This is an edit of the version that the mover had seen (3.2).
    pub async fn move_outline(
        &self,
        collection: &CollectionName,
        seen: &Item<Payload>,
        under: Option<&ItemId>,
    ) -> Result<Edited, EndpointError> {
        let places = self.outline_places(collection).await?;
        let payload = move_outline(&places, seen, under).map_err(EditFailure::from)?;
        let base = Some(Base::from(&seen.winner));
        self.edit(collection, &seen.id, base, payload.into()).await
    }

    async fn outline_places(
        &self,
        collection: &CollectionName,
    ) -> Result<Vec<OutlinePosition>, EndpointError> {
        let (mut places, mut after) = (Vec::new(), None);
        loop {
            let page =
                self.store.items_by_id(collection, after.as_ref(), PageLimit::items(500)).await?;
            places.extend(page.items.iter().map(|stored| OutlinePosition::of(&stored.item)));
            after = page.items.last().map(|stored| stored.item.id.clone());
            if !page.more {
                return Ok(places);
            }
        }
    }
}
