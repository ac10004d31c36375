//! The reading state of a user as the items of a collection of this endpoint, which is synchronised with
//! other devices like any collection.
//!
//! The items are merged into the state, conflicts of items are resolved as states are merged, and missing
//! information is written to them. A concurrent edit of an item is not overwritten: it is kept as a conflict,
//! and the next merge resolves both.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{Base, Item, ItemId, Payload};
use feedsync_endpoint::{Endpoint, Source};
use feedsync_reading_state::collection::{edit, item_id, new_item, read_item, resolution};
use feedsync_reading_state::{FeedAddress, ReaderState};
use feedsync_store::{CollectionName, PageLimit, Selection};

use super::{ReaderJoin, ReaderJoinError, StoredReader};

/// Content of a collection.
#[derive(Default)]
struct CollectionItems {
    /// Items by feed.
    by_feed: BTreeMap<FeedAddress, Vec<Item<Payload>>>,
    /// Items that do not concern exactly one feed, or that cannot be read here.
    others: BTreeSet<ItemId>,
}

impl CollectionItems {
    /// Returns the merged state of all items. If several items concern one feed, a deleted one was a
    /// duplicate and does not end the subscription.
    fn stated(&self) -> ReaderState {
        let mut stated = ReaderState::default();
        for (feed, items) in &self.by_feed {
            let is_there = items.iter().any(|item| !item.winner.deleted);
            for item in items {
                let mut item = item.clone();
                item.winner.deleted &= !is_there;
                if let Ok(Some((_, state))) = read_item(&item, Some(feed)) {
                    stated.join_feed(feed.clone(), state);
                }
            }
        }
        stated
    }
}

impl StoredReader {
    /// Merges the state with the items of a collection of this endpoint, in both directions.
    pub async fn join_collection(
        &mut self,
        endpoint: &Endpoint,
        collection: &CollectionName,
    ) -> Result<ReaderJoin, ReaderJoinError> {
        let mut done = ReaderJoin::default();
        resolve(endpoint, collection, &mut done).await?;
        let feeds = self.replica.state().feeds();
        let known = feeds.map(|(feed, _)| (item_id(feed), feed.clone())).collect();
        let found = read(endpoint, collection, &known, &mut done).await?;
        done.has_read = self.replica.merge_state(found.stated());
        self.store()?;
        for (feed, state) in self.replica.state().feeds() {
            let Some(items) = found.by_feed.get(feed) else {
                let (id, creation, payload) = new_item(feed, state);
                if !found.others.contains(&id) {
                    endpoint.add(collection, id, creation, payload).await?;
                    done.written += 1;
                }
                continue;
            };
            for item in items {
                if let Ok(Some(edit)) = edit(item, feed, state) {
                    let base = Some(Base::from(&item.winner));
                    endpoint.edit(collection, &item.id, base, edit).await?;
                    done.written += 1;
                }
            }
        }
        Ok(done)
    }
}

/// Resolves conflicts: the next version of an item is the merged state of all its versions.
async fn resolve(
    endpoint: &Endpoint,
    collection: &CollectionName,
    done: &mut ReaderJoin,
) -> Result<(), ReaderJoinError> {
    let conflicted = Selection { deleted: true, conflicted: true, ..Selection::default() };
    each(endpoint, collection, conflicted, async |item| {
        match resolution(&item) {
            Ok(Some(winner)) => {
                let resolved = Item { id: item.id, winner, conflicts: Vec::new() };
                endpoint.incorporate(collection, Source::Offered, vec![resolved], None).await?;
                done.written += 1;
            }
            Ok(None) => {}
            Err(_) => drop(done.newer.insert(item.id.to_string())),
        }
        Ok(())
    })
    .await
}

/// Reads all items. `known` are the feeds that items of these ids concern.
async fn read(
    endpoint: &Endpoint,
    collection: &CollectionName,
    known: &BTreeMap<ItemId, FeedAddress>,
    done: &mut ReaderJoin,
) -> Result<CollectionItems, ReaderJoinError> {
    let mut found = CollectionItems::default();
    let all = Selection { deleted: true, ..Selection::default() };
    each(endpoint, collection, all, async |item| {
        match read_item(&item, known.get(&item.id)) {
            Ok(Some((feed, _))) => found.by_feed.entry(feed).or_default().push(item),
            // The item is not of a reader.
            Ok(None) => drop(found.others.insert(item.id)),
            Err(_) => {
                done.newer.insert(item.id.to_string());
                found.others.insert(item.id);
            }
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

/// Calls `take` with each of the selected items.
async fn each(
    endpoint: &Endpoint,
    collection: &CollectionName,
    mut selection: Selection,
    mut take: impl AsyncFnMut(Item<Payload>) -> Result<(), ReaderJoinError>,
) -> Result<(), ReaderJoinError> {
    loop {
        let page = endpoint.listing(collection, &selection, PageLimit::items(500)).await?;
        selection.before = page.items.last().map(|stored| stored.number);
        for stored in page.items {
            take(stored.item).await?;
        }
        if !page.more {
            return Ok(());
        }
    }
}
