//! Default implementations of methods of a store of items. They read whole collections, each at one moment.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use feedsync_core::ItemId;

use crate::blob::Digest;
use crate::error::StoreError;
use crate::item_store::ItemStore;
use crate::name::CollectionName;
use crate::order::ChangeNumber;
use crate::stored::{ChangePage, ItemPage, Page, PageLimit, Recent, Selection};

/// A limit that no collection reaches.
const WHOLE: PageLimit = PageLimit { items: usize::MAX, bytes: usize::MAX };

async fn whole<S: ItemStore + ?Sized>(
    store: &S,
    collection: &CollectionName,
) -> Result<ChangePage, StoreError> {
    store.changes(collection, ChangeNumber::ZERO, None, WHOLE).await
}

/// See [`ItemStore::id_before`].
pub(crate) async fn id_before<S: ItemStore + ?Sized>(
    store: &S,
    collection: &CollectionName,
    before: Option<&ItemId>,
    places: NonZeroUsize,
) -> Result<Option<ItemId>, StoreError> {
    let items = store.items_by_id(collection, None, WHOLE).await?.items;
    let ids = items.into_iter().map(|stored| stored.item.id);
    let mut earlier: Vec<_> = ids.filter(|id| before.is_none_or(|before| id < before)).collect();
    let found = earlier.len().checked_sub(places.get());
    Ok(found.map(|found| earlier.swap_remove(found)))
}

/// See [`ItemStore::last_before`].
pub(crate) async fn last_before<S: ItemStore + ?Sized>(
    store: &S,
    collection: &CollectionName,
    recent: Recent,
) -> Result<ChangeNumber, StoreError> {
    let items = whole(store, collection).await?.items;
    let mut changes = items.iter().rev().zip(0_u64..);
    let left_out = changes.find(|(stored, newer)| {
        recent.count.is_some_and(|count| *newer >= count)
            || recent.from.is_some_and(|from| stored.edited < from)
    });
    Ok(left_out.map_or(ChangeNumber::ZERO, |(stored, _)| stored.number))
}

/// See [`ItemStore::listing`].
pub(crate) async fn listing<S: ItemStore + ?Sized>(
    store: &S,
    collection: &CollectionName,
    selection: &Selection,
    limit: PageLimit,
) -> Result<ItemPage, StoreError> {
    let ChangePage { collection, items, .. } = whole(store, collection).await?;
    let mut page = Page::new(limit);
    for stored in items.into_iter().rev().filter(|stored| selection.includes(stored)) {
        if !page.push(stored) {
            break;
        }
    }
    Ok(ItemPage { collection, items: page.items, more: page.more })
}

/// See [`ItemStore::lost_blobs`].
pub(crate) async fn lost_blobs<S: ItemStore + ?Sized>(
    store: &S,
    collection: &CollectionName,
    from: Digest,
    most: usize,
) -> Result<Vec<Digest>, StoreError> {
    let items = whole(store, collection).await?.items;
    let named = items.into_iter().flat_map(|stored| stored.blobs);
    let named: BTreeSet<Digest> = named.filter(|digest| *digest >= from).collect();
    let named: Vec<Digest> = named.into_iter().collect();
    let mut lost = store.missing_blobs(&named).await?;
    lost.truncate(most);
    Ok(lost)
}

/// See [`ItemStore::blob_named_by`].
pub(crate) async fn blob_named_by<S: ItemStore + ?Sized>(
    store: &S,
    digest: Digest,
) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
    let mut named = Vec::new();
    for collection in store.collections().await? {
        let items = match store.items_by_id(&collection.name, None, WHOLE).await {
            Ok(page) => page.items,
            // It was removed meanwhile.
            Err(StoreError::NoCollection(_)) => continue,
            Err(error) => return Err(error),
        };
        let naming = items.into_iter().filter(|stored| stored.blobs.contains(&digest));
        named.extend(naming.map(|stored| (collection.name.clone(), stored.item.id)));
    }
    Ok(named)
}
