//! Implementation of [`ItemStore`] on the connections of a [`PostgresStore`].

use std::num::NonZeroUsize;

use async_trait::async_trait;
use feedsync_core::ItemId;
use futures_util::FutureExt as _;

use super::queue::Work;
use super::{PostgresStore, acts, batch, blobs, collections, people, read, remotes, schema};
use crate::blob::{self, Digest};
use crate::collection::{
    AlterationDecision, Collection, CreationContext, DecideCollection, NewCollection,
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
impl ItemStore for PostgresStore {
    async fn identity(&self) -> Result<Identity, StoreError> {
        self.run(|node| async move {
            let client = node.connection().await?;
            if let Some((_, oldest_compatible)) = schema::STORE.version(&client).await? {
                schema::STORE.check(&node.address, oldest_compatible)?;
            }
            collections::identity(&client).await
        })
        .await
    }

    async fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.run(|node| async move { collections::all(&node.connection().await?).await }).await
    }

    async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError> {
        let after = after.map(|name| name.as_str().to_owned()).unwrap_or_default();
        self.run(move |node| async move {
            collections::after(&node.connection().await?, &after, most).await
        })
        .await
    }

    async fn collection(&self, name: &CollectionName) -> Result<Option<Collection>, StoreError> {
        let name = name.clone();
        self.run(|node| async move {
            let collection_row = collections::find(&node.connection().await?, &name).await?;
            Ok(collection_row.map(|collection_row| collection_row.collection))
        })
        .await
    }

    async fn create_collection_with(
        &self,
        new: NewCollection,
        context: CreationContext,
    ) -> Result<Collection, StoreError> {
        self.write(|transaction, node| {
            async move {
                // Concurrent creations wait for each other, because an epoch must be later than all others of
                // the store.
                transaction.query("SELECT 1 FROM endpoint FOR UPDATE", &[]).await?;
                if collections::find(transaction, &new.name).await?.is_some() {
                    return Err(StoreError::CollectionExists(new.name));
                }
                let epoch = collections::begin_epoch(transaction, &*node.environment).await?;
                let collection = Collection::created(new, epoch, &*node.environment);
                collections::insert(transaction, &collection)
                    .await
                    .map_err(|error| collections::name_conflict(error, &collection.name))?;
                if let Some(user) = context.owner {
                    people::found(transaction, user, &collection.name).await?;
                }
                acts::record(transaction, node.environment.now(), context.act).await?;
                Ok(collection)
            }
            .boxed()
        })
        .await
    }

    async fn alter_collection(
        &self,
        name: &CollectionName,
        decide: DecideCollection,
    ) -> Result<Collection, StoreError> {
        let (name, former) = (name.clone(), name.clone());
        self.run(|node| async move {
            let altered = node.write(|transaction, node| {
                async move {
                    let collection_row = collections::lock(transaction, &former).await?;
                    let AlterationDecision { alteration, act } = decide(&collection_row.collection);
                    let has_visible_changes =
                        alteration.has_visible_change(&collection_row.collection);
                    let now = node.environment.now();
                    let after =
                        collections::alter(transaction, collection_row, alteration, now).await?;
                    acts::record(transaction, node.environment.now(), act).await?;
                    Ok((has_visible_changes, after))
                }
                .boxed()
            });
            let (has_visible_changes, after) = altered.await?;
            if has_visible_changes {
                node.changed(&name);
            }
            Ok(after)
        })
        .await
    }

    async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Option<StoredItem>, StoreError> {
        Ok(self.items(collection, std::slice::from_ref(id)).await?.pop())
    }

    async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError> {
        let (name, ids) = (collection.clone(), ids.to_vec());
        self.run(
            |node| async move { read::items(&mut node.connection().await?, &name, &ids).await },
        )
        .await
    }

    async fn changes(
        &self,
        collection: &CollectionName,
        after: ChangeNumber,
        up_to: Option<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError> {
        let name = collection.clone();
        self.run(move |node| async move {
            read::changes(&mut node.connection().await?, &name, after, up_to, limit).await
        })
        .await
    }

    async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let (name, after) = (collection.clone(), after.cloned());
        self.run(move |node| async move {
            read::items_by_id(&mut node.connection().await?, &name, after.as_ref(), limit).await
        })
        .await
    }

    async fn id_before(
        &self,
        collection: &CollectionName,
        before: Option<&ItemId>,
        places: NonZeroUsize,
    ) -> Result<Option<ItemId>, StoreError> {
        let (name, before) = (collection.clone(), before.cloned());
        self.run(move |node| async move {
            read::id_before(&mut node.connection().await?, &name, before.as_ref(), places).await
        })
        .await
    }

    async fn last_before(
        &self,
        collection: &CollectionName,
        recent: Recent,
    ) -> Result<ChangeNumber, StoreError> {
        let name = collection.clone();
        self.run(move |node| async move {
            read::last_before(&mut node.connection().await?, &name, recent).await
        })
        .await
    }

    async fn listing(
        &self,
        collection: &CollectionName,
        selection: &Selection,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let (name, selection) = (collection.clone(), selection.clone());
        self.run(move |node| async move {
            read::listing(&mut node.connection().await?, &name, &selection, limit).await
        })
        .await
    }

    async fn update(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        decide: Decide,
    ) -> Result<Collection, StoreError> {
        let name = collection.clone();
        self.run(|node| batch::submit(node, name, Work::Update { keys, decide })).await
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
        self.run(move |node| batch::submit(node, name, Work::Sent(up_to))).await.map(drop)
    }

    async fn issued(&self, item: &ItemId) -> Result<Vec<LedgerEntry>, StoreError> {
        let item = item.clone();
        self.run(|node| async move {
            let client = node.connection().await?;
            let statement = client.prepare_cached(read::ISSUED).await?;
            let rows = client.query(&statement, &[&vec![item.as_str()]]).await?;
            rows.iter().map(read::issued).collect()
        })
        .await
    }

    async fn discarded(&self, collection: &CollectionName) -> Result<Vec<Discarded>, StoreError> {
        let name = collection.clone();
        self.run(|node| async move { read::discarded(&mut node.connection().await?, &name).await })
            .await
    }

    async fn remotes(
        &self,
        collection: Option<&CollectionName>,
    ) -> Result<Vec<Remote>, StoreError> {
        let name = collection.cloned();
        self.run(
            |node| async move { remotes::all(&mut node.connection().await?, name.as_ref()).await },
        )
        .await
    }

    async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError> {
        self.write(|transaction, _| remotes::add(transaction, new).boxed()).await
    }

    async fn change_remote(&self, remote: Remote) -> Result<(), StoreError> {
        self.write(|transaction, _| {
            async move { remotes::change(transaction, &remote).await }.boxed()
        })
        .await
    }

    async fn reschedule(
        &self,
        id: RemoteId,
        seen: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError> {
        self.write(move |transaction, _| remotes::reschedule(transaction, id, seen, due).boxed())
            .await
    }

    async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError> {
        self.write(move |transaction, _| remotes::remove(transaction, id).boxed()).await
    }

    async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        self.run(|node| async move {
            let hash = tokio::task::spawn_blocking(move || (Digest::of(&bytes), bytes));
            let (digest, bytes) =
                hash.await.map_err(|error| StoreError::Database(Box::new(error)))?;
            node.write(move |transaction, node| {
                let now = node.environment.now();
                async move { blobs::put(transaction, digest, &bytes, now).await }.boxed()
            })
            .await?;
            Ok(digest)
        })
        .await
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.run(move |node| async move { blobs::content(&node.connection().await?, digest).await })
            .await
    }

    async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        let digests = digests.to_vec();
        self.run(|node| async move {
            let now = node.environment.now();
            let before = blob::stale_before(now);
            let stale = blobs::stored_before(&node.connection().await?, &digests, before).await?;
            if !stale.is_empty() {
                node.write(move |transaction, _| {
                    async move { blobs::touch(transaction, &stale, now).await }.boxed()
                })
                .await?;
            }
            // The order matters: blobs that are found after touching are recent, and are not swept.
            blobs::missing(&node.connection().await?, &digests).await
        })
        .await
    }

    async fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        let name = collection.clone();
        self.run(move |node| async move {
            let client = node.connection().await?;
            let collection_row = collections::require(&client, &name).await?;
            blobs::lost(&client, collection_row.id, from, most).await
        })
        .await
    }

    async fn blob_named_by(
        &self,
        digest: Digest,
    ) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
        self.run(
            move |node| async move { blobs::named_by(&node.connection().await?, digest).await },
        )
        .await
    }

    async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError> {
        self.run(move |node| async move {
            let (mut swept, mut after) = (0, Some(Vec::new()));
            while let Some(last) = after {
                let round = node.write(move |transaction, _| {
                    async move { blobs::sweep(transaction, stored_before, &last).await }.boxed()
                });
                let count;
                (count, after) = round.await?;
                swept += count;
            }
            Ok(swept)
        })
        .await
    }

    fn subscribe(&self, collection: &CollectionName) -> Notices {
        self.node.notifier.subscribe(collection)
    }
}
