//! The contract of a store.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use feedsync::ItemId;

use crate::bell::Notices;
use crate::blob::Digest;
use crate::collection::{
    Alteration, Altered, Collection, CollectionChange, DecideCollection, Founding, NewCollection,
};
use crate::database::Databases;
use crate::decision::{Decide, Snapshot, Write};
use crate::error::StoreError;
use crate::identity::{Identity, Issued};
use crate::log::Logs;
use crate::name::CollectionName;
use crate::order::{Moment, Number};
use crate::people::People;
use crate::remote::{NewRemote, Remote, RemoteId};
use crate::stored::{ChangePage, Discarded, ItemPage, PageLimit, Recent, Selection, StoredItem};

/// The one life of an endpoint: its identity, its collections, and what it has ever signed.
///
/// **Durability.** When a future that writes is ready with `Ok`, what it wrote survives the process
/// and the power. With an error nothing was written; only [`StoreError::Unknown`] leaves it open.
///
/// **Atomicity.** [`update`](Store::update) reads, decides and writes as if nothing else happened
/// between: updates of one store are serial. A dropped future of an update may still be carried
/// out, all of it.
///
/// **Order.** Each change of a collection takes its next number, and numbers become visible in
/// their order: who has read all changes up to N will never find another one at or below N. A read
/// sees everything that was acknowledged before it began, and one page is read at one moment;
/// [`ChangePage::collection`] is never newer than the page's items.
///
/// **Work.** Changes after a number cost what they hold, not what the collection holds. Pages are
/// short reads: nobody who reads slowly holds anybody up.
///
/// **Memory of what is gone.** The ledger of what this endpoint has signed is kept by item over the
/// whole store, since an item may live in several collections and one sequence must never sign two
/// payloads; it survives purging items and dropping collections. Epochs never repeat.
///
/// No method blocks the thread that polls it.
#[async_trait]
pub trait Store: People + Logs {
    /// Who this endpoint is.
    async fn identity(&self) -> Result<Identity, StoreError>;

    /// All collections by name.
    async fn collections(&self) -> Result<Vec<Collection>, StoreError>;

    /// The next collections by name, after one or from the first on: at most so many.
    async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError>;

    /// A collection, if there is one of this name.
    async fn collection(&self, name: &CollectionName) -> Result<Option<Collection>, StoreError>;

    /// Creates a collection, empty, in a new epoch, with its owner and what is recorded of it. Of
    /// several who create one name at once, one does.
    async fn found_collection(
        &self,
        new: NewCollection,
        founding: Founding,
    ) -> Result<Collection, StoreError>;

    /// Changes what a collection is called or set to, or removes it, as is decided on what it is then;
    /// with what is recorded of that. Returns it as it then stands, or last stood. Nobody else alters it
    /// between the decision and what comes of it.
    async fn alter_collection(
        &self,
        name: &CollectionName,
        decide: DecideCollection,
    ) -> Result<Collection, StoreError>;

    /// Creates a collection that nobody owns.
    async fn create_collection(&self, new: NewCollection) -> Result<Collection, StoreError> {
        self.found_collection(new, Founding::default()).await
    }

    /// Changes what a collection is called or set to, whatever it is now.
    async fn change_collection(
        &self,
        name: &CollectionName,
        change: CollectionChange,
    ) -> Result<Collection, StoreError> {
        let alteration = Alteration::Change(change);
        self.alter_collection(name, Box::new(|_| Altered { alteration, act: None })).await
    }

    /// Removes a collection, whatever it is now.
    async fn drop_collection(&self, name: &CollectionName) -> Result<(), StoreError> {
        let alteration = Alteration::Drop;
        let dropped = Box::new(|_: &Collection| Altered { alteration, act: None });
        self.alter_collection(name, dropped).await.map(drop)
    }

    /// An item, if the collection has it.
    async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Option<StoredItem>, StoreError>;

    /// Those of the items that the collection has, each once, by id.
    async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError>;

    /// The items whose last change is after a number, and at or before a bound if there is one,
    /// oldest change first.
    async fn changes(
        &self,
        collection: &CollectionName,
        after: Number,
        up_to: Option<Number>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError>;

    /// All items, tombstones too, ascending by id, after the last id of the page before.
    async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError>;

    /// Id so many places before another one, which need not be there, among all ids in ascending order; before
    /// the end, if no other one is given. `None` if there are not so many. Work follows the places.
    async fn id_before(
        &self,
        collection: &CollectionName,
        before: Option<&ItemId>,
        places: NonZeroUsize,
    ) -> Result<Option<ItemId>, StoreError>;

    /// Number of the last change that the bounds leave out; zero if they leave out none. The time taken grows with the
    /// number of changes within the bounds.
    async fn last_before(
        &self,
        collection: &CollectionName,
        recent: Recent,
    ) -> Result<Number, StoreError>;

    /// Selected items, newest change first.
    async fn listing(
        &self,
        collection: &CollectionName,
        selection: &Selection,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError>;

    /// The one write: hands what the keys hold to a decision and carries it out; returns the
    /// collection as it then stands. The items that were put have the last numbers, in their order.
    /// A decision without writes changes nothing.
    async fn update(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        decide: Decide,
    ) -> Result<Collection, StoreError>;

    /// Remembers that changes up to a number have been shown to others; never goes back.
    async fn mark_sent(&self, collection: &CollectionName, up_to: Number)
    -> Result<(), StoreError>;

    /// What this endpoint has signed of an item, by line of edits.
    async fn issued(&self, item: &ItemId) -> Result<Vec<Issued>, StoreError>;

    /// The recoverable list of a collection, oldest first.
    async fn discarded(&self, collection: &CollectionName) -> Result<Vec<Discarded>, StoreError>;

    /// Remotes in the order they were added; of one collection or of all.
    async fn remotes(&self, collection: Option<&CollectionName>)
    -> Result<Vec<Remote>, StoreError>;

    /// Remembers a remote.
    async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError>;

    /// Changes a remote's name, address, state and subscription; its id and collection stay.
    async fn change_remote(&self, remote: Remote) -> Result<(), StoreError>;

    /// Checks that the store takes writes: [`StoreError::Full`] while there is no room on its disk. Deletions may be possible
    /// then.
    async fn check_room(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Moves the moment at which a subscription is due, if it still is the one that was seen; whether
    /// it was. Of several who saw the same, one is told so.
    async fn reschedule(
        &self,
        id: RemoteId,
        seen: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError>;

    /// Forgets a remote.
    async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError>;

    /// Stores a blob under its digest. One that no item names within a day may be swept; the day
    /// begins again when it is put again.
    async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError>;

    /// A blob, if it is here.
    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Those of the blobs that are not here, ascending. For those that are, the moment at which they
    /// were stored becomes now if it is more than an hour ago: who is told that a blob need not be
    /// sent has a day to send the item that names it.
    async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError>;

    /// Blobs that items of a collection name and that are not here: at most so many, ascending, from
    /// a digest on. Work follows the blobs that are named.
    async fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError>;

    /// Who names a blob: collections and items, by name and id.
    async fn blob_named_by(
        &self,
        digest: Digest,
    ) -> Result<Vec<(CollectionName, ItemId)>, StoreError>;

    /// Removes blobs stored before a moment that no item and no discarded item names; how many.
    async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError>;

    /// Notices when a collection changes, also when another process changes it.
    fn subscribe(&self, collection: &CollectionName) -> Notices;

    /// The databases of documents that it keeps beside the collections.
    fn databases(self: Arc<Self>) -> Arc<dyn Databases>;

    /// Where the store lives, if it is a directory.
    fn directory(&self) -> Option<&Path>;
}

/// What follows from the contract.
#[async_trait]
pub trait StoreExt: Store {
    /// [`Store::update`] with a value out of the decision: what the call that counts returned, and
    /// the collection as it then stands.
    async fn decide<T, F>(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        mut decide: F,
    ) -> Result<(Collection, T), StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Snapshot) -> (Vec<Write>, T) + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let value = Arc::clone(&slot);
        let decide = move |snapshot: &Snapshot| {
            let (writes, outcome) = decide(snapshot);
            *value.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            writes
        };
        let collection = self.update(collection, keys, Box::new(decide)).await?;
        let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        outcome
            .map(|outcome| (collection, outcome))
            .ok_or_else(|| StoreError::Unknown("the decision was never asked".to_owned()))
    }

    /// [`Store::alter_collection`] with a decision that may refuse.
    async fn decide_collection<E, F>(
        &self,
        name: &CollectionName,
        decide: F,
    ) -> Result<Result<Collection, E>, StoreError>
    where
        E: Send + 'static,
        F: FnOnce(&Collection) -> Result<Altered, E> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let refusal = Arc::clone(&slot);
        let decide = move |collection: &Collection| {
            decide(collection).unwrap_or_else(|refused| {
                *refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
                Altered { alteration: Alteration::Keep, act: None }
            })
        };
        let collection = self.alter_collection(name, Box::new(decide)).await?;
        let refused = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(refused.map_or(Ok(collection), Err))
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
