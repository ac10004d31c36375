//! A collection of items: reading and editing.

use std::fmt;
use std::marker::PhantomData;

use feedsync_core::{Base, Creation, Edit, Item as CoreItem, ItemId, Payload};
use feedsync_endpoint::{Edited, Endpoint};
use feedsync_store::{Collection as StoredCollection, CollectionName};
use serde_json::Value;

use crate::content::{Content, ContentError, Target, written};
use crate::error::Error;
use crate::item::Item;
use crate::replica::Replica;

/// A collection of items that syncs as a whole.
///
/// All edits are local and durable; none waits for a network. A collection is cheap to clone, and clones are the same
/// collection. Its methods fail with [`Error::NoCollection`] once it was removed, and with [`Error::Store`].
pub struct Collection<T = Value> {
    replica: Replica,
    name: CollectionName,
    content: PhantomData<fn() -> T>,
}

impl<T> Collection<T> {
    pub(crate) fn new(replica: Replica, name: CollectionName) -> Self {
        Self { replica, name, content: PhantomData }
    }

    /// Name of the collection on this replica.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The replica that has the collection.
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// The same collection with another type of content.
    pub fn of<U: Content>(&self) -> Collection<U> {
        Collection::new(self.replica.clone(), self.name.clone())
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        self.replica.endpoint()
    }

    pub(crate) fn stored_name(&self) -> &CollectionName {
        &self.name
    }

    /// The stored metadata of the collection.
    pub(crate) async fn stored(&self) -> Result<StoredCollection, Error> {
        Ok(self.endpoint().collection(&self.name).await?)
    }

    /// Number of items that are not deleted.
    pub async fn count(&self) -> Result<u64, Error> {
        Ok(self.stored().await?.live)
    }

    /// Deletes an item as the application has read it. The deletion travels to other replicas, where it conflicts with
    /// edits that did not know of it.
    ///
    /// If the item has changed since the application read it, the deletion and the newer version are both kept, as a
    /// conflict: nobody decided to delete what nobody had seen. Deleting a deleted item changes nothing. Conflicts of the
    /// item stay open.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # todo.add(json!({"title": "Milk", "done": true})).await?;
    /// for item in todo.items().await? {
    ///     if item["done"] == true {
    ///         todo.delete(&item).await?;
    ///     }
    /// }
    /// # assert_eq!(todo.count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`], and [`Error::Edit`] for an item that has changed meanwhile and is marked `noconflicts`.
    pub async fn delete(&self, item: &Item<T>) -> Result<(), Error> {
        let (id, seen) = (item.id(), item.version());
        if self.endpoint().item(&self.name, id).await?.item.winner.deleted {
            return Ok(());
        }
        // A deletion beside a newer version has the content that the application saw, and not the newer one.
        let edit = Edit { payload: Some(seen.payload.clone()), deleted: Some(true) };
        let edited = self.endpoint().edit(&self.name, id, Some(Base::from(seen)), edit).await;
        edited.map(drop).map_err(|error| Error::of_edit(id, error))
    }

    /// Deletes an item by its id, whatever it has become. The deletion covers the latest version on this replica, also
    /// if the application has not seen it: an edit that arrived a moment ago is deleted, too. Prefer
    /// [`delete`](Self::delete), unless nothing of the item is to stay in any case. Conflicts of the item stay open.
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`].
    pub async fn delete_latest(&self, id: &ItemId) -> Result<(), Error> {
        self.set_deleted(id, true).await
    }

    /// Brings a deleted item back, with the content that it had.
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`], and [`Error::Edit`] for an item that had all its updates, or for a
    /// stale edit of an item marked `noconflicts`.
    pub async fn undelete(&self, id: &ItemId) -> Result<(), Error> {
        self.set_deleted(id, false).await
    }

    async fn set_deleted(&self, id: &ItemId, deleted: bool) -> Result<(), Error> {
        if self.endpoint().item(&self.name, id).await?.item.winner.deleted == deleted {
            return Ok(());
        }
        let edit = Edit { payload: None, deleted: Some(deleted) };
        let edited = self.endpoint().edit(&self.name, id, None, edit).await;
        edited.map(drop).map_err(|error| Error::of_edit(id, error))
    }
}

impl<T: Content> Collection<T> {
    /// Adds an item, and returns its new id, which no other item of anybody has.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] for content that cannot be written, such as JSON that is not an object.
    pub async fn add(&self, content: T) -> Result<ItemId, Error> {
        let id = self.endpoint().new_id();
        self.add_as(&id, content).await?;
        Ok(id)
    }

    /// Adds an item under an id of the application's own. Two replicas that add different items under one id have a
    /// conflict.
    ///
    /// # Errors
    ///
    /// [`Error::ItemExists`] if the collection has the id, even deleted; [`Error::Content`].
    pub async fn add_as(&self, id: &ItemId, content: T) -> Result<Item<T>, Error> {
        let payload = self.write(id, &content, None, &[]).await?;
        let creation = Creation::default();
        let added = self.endpoint().add(&self.name, id.clone(), creation, payload).await;
        edited(id, added)
    }

    /// An item; `None` if the collection does not have it, or if it is deleted.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] if its content is not of this type.
    pub async fn get(&self, id: &ItemId) -> Result<Option<Item<T>>, Error> {
        let found = self.endpoint().find_item(&self.name, id).await?;
        let live = found.map(|stored| stored.item).filter(|item| !item.winner.deleted);
        live.map(|item| read(id, item)).transpose()
    }

    /// Replaces the content of an item, and returns the item after it.
    ///
    /// If the item has changed since the application read it, both edits are kept, as a conflict. So continue with the
    /// returned item: a second update with the old one conflicts with your own edit. An edit changes the winner only, and
    /// an open conflict stays open. Content that is equal to what was read changes nothing; the returned item may have been
    /// [deleted](Item::is_deleted) meanwhile. An edit of a deleted item brings it back.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # let id = todo.add(json!({"title": "Milk", "done": false})).await?;
    /// let mut milk = todo.get(&id).await?.unwrap();
    /// milk["done"] = json!(true);
    /// let milk = todo.update(&milk).await?;
    /// assert_eq!(milk["done"], true);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`], [`Error::Content`], and [`Error::Edit`] for an item that had all its updates.
    pub async fn update(&self, item: &Item<T>) -> Result<Item<T>, Error> {
        let (id, seen) = (item.id(), item.version());
        let payload = self.write(id, item.content(), Some(&seen.payload), &[]).await?;
        if payload == seen.payload {
            let now = self.endpoint().item(&self.name, id).await?;
            return read(id, now.item);
        }
        // An edit of a deleted item brings it back.
        let edit = Edit { payload: Some(payload), deleted: seen.deleted.then_some(false) };
        edited(id, self.endpoint().edit(&self.name, id, Some(Base::from(seen)), edit).await)
    }

    /// Reads an item, changes its content, and [updates](Self::update) it.
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`] also for a deleted item; otherwise those of [`update`](Self::update).
    pub async fn change(
        &self,
        id: &ItemId,
        change: impl FnOnce(&mut T) + Send,
    ) -> Result<Item<T>, Error> {
        let no_item = || Error::NoItem { collection: self.name.to_string(), id: id.clone() };
        let mut item = self.get(id).await?.ok_or_else(no_item)?;
        change(&mut item);
        self.update(&item).await
    }

    /// Writes content for an item that replaces one version, and perhaps others.
    pub(crate) async fn write(
        &self,
        id: &ItemId,
        content: &T,
        before: Option<&Payload>,
        replaced: &[&Payload],
    ) -> Result<Payload, Error> {
        let format = self.stored().await?.format;
        let now = self.endpoint().environment().now().timestamp();
        let target = Target { id, format, now, before, replaced };
        written(content, &target).map_err(|source| content_error(id, source))
    }
}

/// The item after an edit.
pub(crate) fn edited<T: Content>(
    id: &ItemId,
    edited: Result<Edited, feedsync_endpoint::EndpointError>,
) -> Result<Item<T>, Error> {
    read(id, edited.map_err(|error| Error::of_edit(id, error))?.item)
}

fn read<T: Content>(id: &ItemId, item: CoreItem<Payload>) -> Result<Item<T>, Error> {
    Item::read(item).map_err(|source| content_error(id, source))
}

fn content_error(id: &ItemId, source: ContentError) -> Error {
    Error::Content { id: id.clone(), source }
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self::new(self.replica.clone(), self.name.clone())
    }
}

impl<T> fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collection").field(&self.name).finish()
    }
}
