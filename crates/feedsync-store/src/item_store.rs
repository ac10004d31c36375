//! The contract of a store of items.

use std::num::NonZeroUsize;
use std::path::Path;

use async_trait::async_trait;
use feedsync_core::ItemId;

use crate::blob::Digest;
use crate::collection::{
    Alteration, AlterationDecision, Collection, CollectionChange, CreationContext,
    DecideCollection, NewCollection,
};
use crate::decision::Decide;
use crate::derived;
use crate::error::StoreError;
use crate::identity::{Identity, LedgerEntry};
use crate::name::CollectionName;
use crate::notifier::Notices;
use crate::order::{ChangeNumber, Moment};
use crate::remote::{NewRemote, Remote, RemoteId};
use crate::stored::{ChangePage, Discarded, ItemPage, PageLimit, Recent, Selection, StoredItem};

/// The items of one endpoint: its identity, its collections, their remotes and blobs, and the sequences it has
/// ever issued.
///
/// 22 methods are required. The others have default implementations, which read whole collections where
/// their documentation says so; a store of large collections implements these itself. "Implementing a store"
/// in the [documentation of this crate](crate#implementing-a-store) shows the way.
///
/// **Durability.** When a future that writes returns `Ok`, its writes survive a crash of the process and a
/// loss of power. An error means that nothing was written; only after [`StoreError::Unknown`] the outcome is
/// open.
///
/// **Atomicity.** [`update`](ItemStore::update) reads, decides and writes as one isolated step: updates of one
/// store are serial. If the future of an update is dropped, the update may still be applied, but only as a
/// whole.
///
/// **Order.** Each change of a collection takes its next number, and numbers become visible in their order. A
/// reader that has read all changes up to N never finds another one at or below N. A read sees everything
/// that was acknowledged before it began. Each page is read at one moment, and [`ChangePage::collection`] is
/// never newer than the page's items.
///
/// **Work.** The cost of reading changes after a number follows the changes, not the size of the collection.
/// Pages are short reads, so a slow reader never blocks others.
///
/// **Ledger.** The ledger of issued sequences is stored by item for the whole store. An item may be in
/// several collections, and one sequence must never sign two payloads. The ledger survives purging items and
/// dropping collections. Epochs never repeat.
///
/// **Users.** A store that has no [`People`](crate::People) has no users and no audit record: it refuses an
/// owner of a new collection with [`StoreError::NoUser`], and ignores entries for the audit record.
///
/// A method that names a collection which does not exist fails with [`StoreError::NoCollection`]. No method
/// blocks the thread that polls it.
#[async_trait]
pub trait ItemStore: Send + Sync + 'static {
    /// Identity of this endpoint.
    async fn identity(&self) -> Result<Identity, StoreError>;

    /// All collections by name.
    async fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.collections_after(None, usize::MAX).await
    }

    /// Collections by name, after one or from the first on, up to a maximum number.
    async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError>;

    /// A collection, if there is one of this name.
    async fn collection(&self, name: &CollectionName) -> Result<Option<Collection>, StoreError>;

    /// Creates an empty collection in a new epoch, with its owner and an entry of the audit record. Of
    /// several concurrent calls for one name, one succeeds.
    async fn create_collection_with(
        &self,
        new: NewCollection,
        context: CreationContext,
    ) -> Result<Collection, StoreError>;

    /// Renames, changes or removes a collection, as decided on its current state, and writes the audit
    /// record. Returns its new state, or its last one. Nothing else changes the collection between the
    /// decision and its application.
    async fn alter_collection(
        &self,
        name: &CollectionName,
        decide: DecideCollection,
    ) -> Result<Collection, StoreError>;

    /// Creates a collection without an owner.
    async fn create_collection(&self, new: NewCollection) -> Result<Collection, StoreError> {
        self.create_collection_with(new, CreationContext::default()).await
    }

    /// Changes the metadata of a collection unconditionally.
    async fn change_collection(
        &self,
        name: &CollectionName,
        change: CollectionChange,
    ) -> Result<Collection, StoreError> {
        let alteration = Alteration::Change(change);
        self.alter_collection(name, Box::new(|_| AlterationDecision { alteration, act: None }))
            .await
    }

    /// Removes a collection unconditionally.
    async fn drop_collection(&self, name: &CollectionName) -> Result<(), StoreError> {
        let alteration = Alteration::Drop;
        let dropped = Box::new(|_: &Collection| AlterationDecision { alteration, act: None });
        self.alter_collection(name, dropped).await.map(drop)
    }

    /// An item, if the collection has it.
    async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Option<StoredItem>, StoreError> {
        Ok(self.items(collection, std::slice::from_ref(id)).await?.pop())
    }

    /// Returns those of the items that the collection has, each once, by id.
    async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError>;

    /// Items whose last change is after a number, and at or before a bound if there is one, oldest change
    /// first.
    async fn changes(
        &self,
        collection: &CollectionName,
        after: ChangeNumber,
        up_to: Option<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError>;

    /// All items, tombstones included, ascending by id, after the last id of the previous page.
    async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError>;

    /// The id that precedes another one, which need not exist, by a given number of positions in ascending
    /// order of ids. Counts from the end if no id is given; `None` if there are fewer positions. The cost
    /// should follow the number of positions; the default implementation reads the collection.
    async fn id_before(
        &self,
        collection: &CollectionName,
        before: Option<&ItemId>,
        places: NonZeroUsize,
    ) -> Result<Option<ItemId>, StoreError> {
        derived::id_before(self, collection, before, places).await
    }

    /// Number of the last change that the bounds leave out; zero if they leave out none. The cost should grow
    /// with the number of changes within the bounds; the default implementation reads the collection.
    async fn last_before(
        &self,
        collection: &CollectionName,
        recent: Recent,
    ) -> Result<ChangeNumber, StoreError> {
        derived::last_before(self, collection, recent).await
    }

    /// Selected items, newest change first. The default implementation reads the collection.
    async fn listing(
        &self,
        collection: &CollectionName,
        selection: &Selection,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        derived::listing(self, collection, selection, limit).await
    }

    /// The only write of items: passes the stored values of the keys to a decision and applies its writes.
    /// Returns the resulting collection. The items that were put have the last numbers, in their order. A
    /// decision without writes changes nothing.
    async fn update(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        decide: Decide,
    ) -> Result<Collection, StoreError>;

    /// Records that changes up to a number have been shown to others; the mark never decreases.
    async fn mark_sent(
        &self,
        collection: &CollectionName,
        up_to: ChangeNumber,
    ) -> Result<(), StoreError>;

    /// The highest sequences that this endpoint has issued for an item, by authoring line.
    async fn issued(&self, item: &ItemId) -> Result<Vec<LedgerEntry>, StoreError>;

    /// The recoverable list of a collection, oldest first.
    async fn discarded(&self, collection: &CollectionName) -> Result<Vec<Discarded>, StoreError>;

    /// Remotes of one collection or of all, in the order in which they were added.
    async fn remotes(&self, collection: Option<&CollectionName>)
    -> Result<Vec<Remote>, StoreError>;

    /// Adds a remote.
    async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError>;

    /// Changes a remote's name, address, state and subscription; its id and collection stay.
    async fn change_remote(&self, remote: Remote) -> Result<(), StoreError>;

    /// Checks that the store accepts writes: [`StoreError::Full`] while its disk is full. Deletions may be
    /// possible then.
    async fn check_space(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Moves the moment at which a subscription is due, if it still has the expected value; returns whether
    /// it did. Of several concurrent callers with the same expected value, one succeeds.
    async fn reschedule(
        &self,
        id: RemoteId,
        seen: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError>;

    /// Removes a remote.
    async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError>;

    /// Stores a blob under its digest. A blob that no item names within a day may be swept; putting it again
    /// restarts the day.
    async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError>;

    /// A blob, if it is stored.
    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Those of the blobs that are not stored, ascending. For stored ones, the moment of storing becomes now
    /// if it is more than an hour ago. A client that need not send a blob therefore has a day to send the
    /// item that names it.
    async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError>;

    /// Blobs that items of a collection name and that are not stored, ascending from a digest on, up to a
    /// maximum number. The cost should follow the number of named blobs; the default implementation reads the
    /// collection.
    async fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        derived::lost_blobs(self, collection, from, most).await
    }

    /// Collections and items that name a blob, by name and id. The default implementation reads all
    /// collections.
    async fn blob_named_by(
        &self,
        digest: Digest,
    ) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
        derived::blob_named_by(self, digest).await
    }

    /// Removes blobs that were stored before a moment and that no item or discarded item names; returns their
    /// number.
    async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError>;

    /// Subscribes to notices of changes of a collection, by this or another process.
    fn subscribe(&self, collection: &CollectionName) -> Notices;

    /// Directory of the store, if it has one.
    fn directory(&self) -> Option<&Path> {
        None
    }
}
