//! Somebody's newsreading as the items of a collection of this endpoint, which every way in which collections are kept
//! in step carries to other devices.
//!
//! What the items say is taken in, their conflicts are resolved as the states join, and what they lack is written. An
//! item that somebody changes at the same time is not written over: the edit stands beside it, and the next time both
//! are joined.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{Base, Item, ItemId, Payload};
use feedsync_endpoint::{Endpoint, Source};
use feedsync_reading_state::collection::{edit, item_id, new_item, read_item, resolution};
use feedsync_reading_state::{FeedAddress, ReaderState};
use feedsync_store::{CollectionName, PageLimit, Selection};

use super::{ReaderJoin, ReaderJoinError, StoredReader};

/// What is in a collection.
#[derive(Default)]
struct Found {
    /// The items of each feed.
    of_feeds: BTreeMap<FeedAddress, Vec<Item<Payload>>>,
    /// Items that are about no one feed, or that cannot be read here.
    others: BTreeSet<ItemId>,
}

impl Found {
    /// What the items say together. Of several of one feed, one that was deleted was one too many: it says nothing of
    /// whether somebody subscribes.
    fn told(&self) -> ReaderState {
        let mut told = ReaderState::default();
        for (feed, items) in &self.of_feeds {
            let is_there = items.iter().any(|item| !item.winner.deleted);
            for item in items {
                let mut item = item.clone();
                item.winner.deleted &= !is_there;
                if let Ok(Some((_, state))) = read_item(&item, Some(feed)) {
                    told.join_feed(feed.clone(), state);
                }
            }
        }
        told
    }
}

impl StoredReader {
    /// Brings it in step with the items of a collection of this endpoint.
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
        done.has_read = self.replica.take_in(found.told());
        self.store()?;
        for (feed, state) in self.replica.state().feeds() {
            let Some(items) = found.of_feeds.get(feed) else {
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

/// Resolves conflicts: what all versions of an item say together is its next version.
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

/// Reads all items. `known` are the feeds that items of these ids are about.
async fn read(
    endpoint: &Endpoint,
    collection: &CollectionName,
    known: &BTreeMap<ItemId, FeedAddress>,
    done: &mut ReaderJoin,
) -> Result<Found, ReaderJoinError> {
    let mut found = Found::default();
    let all = Selection { deleted: true, ..Selection::default() };
    each(endpoint, collection, all, async |item| {
        match read_item(&item, known.get(&item.id)) {
            Ok(Some((feed, _))) => found.of_feeds.entry(feed).or_default().push(item),
            // Not of a reader.
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

/// Does something with each of the items that were selected.
async fn each(
    endpoint: &Endpoint,
    collection: &CollectionName,
    mut selection: Selection,
    mut take: impl AsyncFnMut(Item<Payload>) -> Result<(), ReaderJoinError>,
) -> Result<(), ReaderJoinError> {
    loop {
        let store = endpoint.store();
        let page = store.listing(collection, &selection, PageLimit::items(500)).await?;
        selection.before = page.items.last().map(|stored| stored.number);
        for stored in page.items {
            take(stored.item).await?;
        }
        if !page.more {
            return Ok(());
        }
    }
}
