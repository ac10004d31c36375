//! Implementation of [`ItemStore`] on the threads of a [`SqliteStore`].

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use feedsync_core::ItemId;

use super::{SqliteStore, acts, blobs, collections, log_rows, people, read, remotes, update};
use crate::blob::{self, Digest};
use crate::collection::{
    Alteration, AlterationDecision, Collection, CreationContext, DecideCollection, NewCollection,
};
use crate::decision::Decide;
use crate::error::StoreError;
use crate::identity::{Identity, LedgerEntry};
use crate::item_store::ItemStore;
use crate::name::CollectionName;
use crate::notifier::Notices;
use crate::order::{ChangeNumber, Moment};
use crate::remote::{NewRemote, Remote, RemoteId};
use crate::stored::{ChangePage, Discarded, ItemPage, PageLimit, Recent, Selection, StoredItem};

#[async_trait]
impl ItemStore for SqliteStore {
    async fn identity(&self) -> Result<Identity, StoreError> {
        self.readers.read(collections::identity).await
    }

    async fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.readers.read(collections::all).await
    }

    async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError> {
        let after = after.map(|name| name.as_str().to_owned()).unwrap_or_default();
        self.readers.read(move |connection| collections::after(connection, &after, most)).await
    }

    async fn collection(&self, name: &CollectionName) -> Result<Option<Collection>, StoreError> {
        let version = match self.known.collection(name)? {
            Ok(collection) => return Ok(Some(collection)),
            Err(version) => version,
        };
        let name = name.clone();
        let find = move |connection: &_| collections::find(connection, &name);
        let found = self.readers.read(find).await?.map(|collection_row| collection_row.collection);
        if let Some(collection) = &found {
            self.known.cache_collection(version, collection);
        }
        Ok(found)
    }

    async fn create_collection_with(
        &self,
        new: NewCollection,
        context: CreationContext,
    ) -> Result<Collection, StoreError> {
        let environment = Arc::clone(&self.environment);
        self.writer
            .run(move |connection| {
                if collections::find(connection, &new.name)?.is_some() {
                    return Err(StoreError::CollectionExists(new.name));
                }
                let epoch = collections::begin_epoch(connection, &*environment)?;
                let collection = Collection::created(new, epoch, &*environment);
                collections::insert(connection, &collection)?;
                if let Some(user) = context.owner {
                    people::found(connection, user, &collection.name)?;
                }
                if let Some(act) = &context.act {
                    acts::insert_act(connection, environment.now(), act)?;
                }
                Ok(collection)
            })
            .await
    }

    async fn alter_collection(
        &self,
        name: &CollectionName,
        decide: DecideCollection,
    ) -> Result<Collection, StoreError> {
        let environment = Arc::clone(&self.environment);
        let files = Arc::clone(&self.files);
        let former = name.clone();
        let (mut decide, mut decided, full) = (Some(decide), None, Arc::clone(&self.is_full));
        let (has_visible_changes, collection) = self
            .writer
            .run_without_growth(move |connection| {
                let collection_row = collections::require(connection, &former)?;
                if let Some(decide) = decide.take() {
                    decided = Some((
                        collection_row.collection.clone(),
                        decide(&collection_row.collection),
                    ));
                }
                // The decision can run only once. If the collection has changed before the second attempt,
                // there is no decision to apply.
                let (_, AlterationDecision { alteration, act }) = decided
                    .clone()
                    .filter(|(seen, _)| *seen == collection_row.collection)
                    .ok_or(StoreError::Full)?;
                if full.load(Ordering::Relaxed) && alteration != Alteration::Drop {
                    return Err(StoreError::Full);
                }
                let has_visible_changes = alteration.has_visible_change(&collection_row.collection);
                let gone = match alteration {
                    Alteration::Drop => log_rows::keys(connection, collection_row.id)?,
                    _ => Vec::new(),
                };
                let now = environment.now();
                let after = collections::alter(connection, collection_row, alteration, now)?;
                if let Some(act) = &act {
                    acts::insert_act(connection, now, act)?;
                }
                files.forget(gone);
                Ok((has_visible_changes, after))
            })
            .await?;
        if has_visible_changes {
            self.notifier.notify_subscribers(name);
        }
        Ok(collection)
    }

    async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Option<StoredItem>, StoreError> {
        let (collection, id) = (collection.clone(), id.clone());
        self.readers
            .read(move |connection| {
                let collection_row = collections::require(connection, &collection)?;
                update::item(connection, collection_row.id, &id)
            })
            .await
    }

    async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError> {
        let (collection, ids) = (collection.clone(), ids.to_vec());
        self.readers.read(move |connection| read::items(connection, &collection, ids)).await
    }

    async fn changes(
        &self,
        collection: &CollectionName,
        after: ChangeNumber,
        up_to: Option<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError> {
        let collection = collection.clone();
        self.readers
            .read(move |connection| read::changes(connection, &collection, after, up_to, limit))
            .await
    }

    async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let (collection, after) = (collection.clone(), after.cloned());
        self.readers
            .read(move |connection| {
                read::items_by_id(connection, &collection, after.as_ref(), limit)
            })
            .await
    }

    async fn id_before(
        &self,
        collection: &CollectionName,
        before: Option<&ItemId>,
        places: NonZeroUsize,
    ) -> Result<Option<ItemId>, StoreError> {
        let (collection, before) = (collection.clone(), before.cloned());
        self.readers
            .read(move |connection| {
                read::id_before(connection, &collection, before.as_ref(), places)
            })
            .await
    }

    async fn last_before(
        &self,
        collection: &CollectionName,
        recent: Recent,
    ) -> Result<ChangeNumber, StoreError> {
        let collection = collection.clone();
        self.readers
            .read(move |connection| read::last_before(connection, &collection, recent))
            .await
    }

    async fn listing(
        &self,
        collection: &CollectionName,
        selection: &Selection,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let (collection, selection) = (collection.clone(), selection.clone());
        self.readers
            .read(move |connection| read::listing(connection, &collection, &selection, limit))
            .await
    }

    async fn update(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        decide: Decide,
    ) -> Result<Collection, StoreError> {
        let name = collection.clone();
        let environment = Arc::clone(&self.environment);
        let (mut decide, full) = (decide, Arc::clone(&self.is_full));
        let (after, has_visible_changes) = self
            .writer
            .run_without_growth(move |connection| {
                let is_full = full.load(Ordering::Relaxed);
                let asked = update::UpdateRequest { name: &name, keys: &keys, is_full };
                update::update(connection, &environment, &asked, &mut decide)
            })
            .await?;
        if has_visible_changes {
            self.notifier.notify_subscribers(collection);
        }
        Ok(after)
    }

    async fn mark_sent(
        &self,
        collection: &CollectionName,
        up_to: ChangeNumber,
    ) -> Result<(), StoreError> {
        let known = self
            .collection(collection)
            .await?
            .ok_or_else(|| StoreError::NoCollection(collection.clone()))?;
        if up_to.min(known.last) <= known.sent {
            return Ok(());
        }
        let name = collection.clone();
        self.writer
            .run_without_growth(move |connection| {
                let collection_row = collections::require(connection, &name)?;
                connection
                    .prepare_cached(
                        "UPDATE collections SET sent = max(sent, min(?2, last)) WHERE id = ?1",
                    )?
                    .execute(rusqlite::params![collection_row.id, up_to.min(ChangeNumber::MAX)])?;
                Ok(())
            })
            .await
    }

    async fn issued(&self, item: &ItemId) -> Result<Vec<LedgerEntry>, StoreError> {
        let item = item.clone();
        self.readers.read(move |connection| update::issued(connection, &item)).await
    }

    async fn discarded(&self, collection: &CollectionName) -> Result<Vec<Discarded>, StoreError> {
        let collection = collection.clone();
        self.readers.read(move |connection| read::discarded(connection, &collection)).await
    }

    async fn remotes(
        &self,
        collection: Option<&CollectionName>,
    ) -> Result<Vec<Remote>, StoreError> {
        let collection = collection.cloned();
        self.readers.read(move |connection| remotes::all(connection, collection.as_ref())).await
    }

    async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError> {
        self.writer.run(move |connection| remotes::add(connection, new)).await
    }

    async fn change_remote(&self, remote: Remote) -> Result<(), StoreError> {
        self.writer.run(move |connection| remotes::change(connection, &remote)).await
    }

    async fn reschedule(
        &self,
        id: RemoteId,
        seen: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError> {
        self.writer
            .run_without_growth(move |connection| remotes::reschedule(connection, id, seen, due))
            .await
    }

    async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError> {
        self.writer.run_without_growth(move |connection| remotes::remove(connection, id)).await
    }

    async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let hash = move |_: &rusqlite::Connection| (Digest::of(&bytes), bytes);
        let (digest, bytes) = self.readers.run(hash).await?;
        let now = self.environment.now();
        self.writer.run(move |connection| blobs::put(connection, digest, &bytes, now)).await?;
        Ok(digest)
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.readers.read(move |connection| blobs::content(connection, digest)).await
    }

    async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        let (digests, now) = (digests.to_vec(), self.environment.now());
        let asked = digests.clone();
        let before = blob::stale_before(now);
        let look = move |connection: &_| blobs::stale(connection, &asked, before);
        let stale = self.readers.read(look).await?;
        if !stale.is_empty() {
            self.writer
                .run_without_growth(move |connection| blobs::touch(connection, &stale, now))
                .await?;
        }
        // The order matters: blobs that are found after touching are recent, and are not swept.
        self.readers.read(move |connection| blobs::missing(connection, digests)).await
    }

    async fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        let name = collection.clone();
        self.readers
            .read(move |connection| {
                let collection_row = collections::require(connection, &name)?;
                blobs::lost(connection, collection_row.id, from, most)
            })
            .await
    }

    async fn blob_named_by(
        &self,
        digest: Digest,
    ) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
        self.readers.read(move |connection| blobs::named_by(connection, digest)).await
    }

    async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError> {
        self.writer
            .run_without_growth(move |connection| blobs::sweep(connection, stored_before))
            .await
    }

    async fn check_space(&self) -> Result<(), StoreError> {
        Self::check_space(self).await
    }

    fn subscribe(&self, collection: &CollectionName) -> Notices {
        self.notifier.subscribe(collection)
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.directory)
    }
}
