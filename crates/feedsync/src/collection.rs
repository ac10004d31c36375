//! A collection of items: reading and editing.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use feedsync_core::{Base, Creation, Edit, Item as CoreItem, ItemId, Payload};
use feedsync_endpoint::{BaseStatus, Endpoint, Guard, MemberChange, MemberEdit};
use feedsync_store::{Collection as StoredCollection, CollectionName, StoredItem};
use serde_json::Value;

use crate::content::{Content, ContentError, Target, written};
use crate::edited::Edited;
use crate::error::Error;
use crate::item::Item;
use crate::replica::Replica;
use crate::token::VersionToken;

/// Maximum number of attempts of [`Collection::change`]. Each one that fails is an edit of somebody else that was made,
/// so that only a great number of writers of one item comes near it.
const MAX_ATTEMPTS: usize = 1_000;

/// A collection of items that syncs as a whole.
///
/// All edits are local and durable; none waits for a network. A collection is cheap to clone, and clones are the same
/// collection. Its methods fail with [`Error::NoCollection`] once it was removed, and with [`Error::Store`].
///
/// # Edits
///
/// An edit is made as the application has read the item ([`update`](Self::update), [`delete`](Self::delete)), as its
/// user has seen it some time ago ([`update_as_seen`](Self::update_as_seen), [`delete_as_seen`](Self::delete_as_seen)),
/// or of the latest version, whatever it is ([`change`](Self::change), [`delete_latest`](Self::delete_latest)). An edit
/// of a version that is no longer the latest loses nothing: both versions are kept, as a [conflict](Self::conflicts).
/// [`Edited::outcome`] tells whether that happened, and which of them is shown.
///
/// FeedSync's rule chooses the version that is shown, and not the time of the call: the one that was edited more often,
/// then the later one by the clocks of its authors. So a deletion may hide an edit of somebody else, and an edit may hide
/// a deletion, until the conflict is resolved. All replicas show the same version, and [`conflicts`](Self::conflicts)
/// has both.
///
/// # Limits
///
/// An item has at most 256 versions beside the one that is shown, 2<sup>30</sup> updates, and 16 MiB in all its versions.
/// An edit beyond fails with [`Error::Edit`], and changes nothing. The content is still the caller's: `update` and
/// `delete` borrow the item, so that the application can show it again, resolve the conflicts of the item, and repeat
/// the edit. An item that had all its updates can still be deleted, and [added](Self::add) again under a new id.
///
/// # Items without conflicts
///
/// FeedSync lets the creator of an item mark it `noconflicts`: of two concurrent edits, one is dropped. This crate
/// creates no such items, but other programs may. A stale edit of one fails with [`Error::Edit`] and changes nothing,
/// instead of dropping a version. In a synchronization, the version that the rule does not choose is dropped.
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

    /// The stored item of an id.
    pub(crate) async fn stored_item(&self, id: &ItemId) -> Result<CoreItem<Payload>, Error> {
        Ok(self.endpoint().item(&self.name, id).await?.item)
    }

    /// Number of items that are not deleted.
    pub async fn count(&self) -> Result<u64, Error> {
        Ok(self.stored().await?.live)
    }

    /// Deletes an item as the application has read it. The deletion travels to other replicas, where it conflicts with
    /// edits that did not know of it.
    ///
    /// If the item has changed since the application read it, the deletion and the newer version are both kept, as a
    /// conflict: nobody decided to delete what nobody had seen. Either of them may be
    /// [shown](Collection#edits) until the conflict is resolved, and [`Edited::outcome`] says which. Deleting a deleted
    /// item changes nothing, and neither does the same deletion once more. Other conflicts of the item stay open.
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
    /// [`Error::NoItem`], and [`Error::Edit`] for an item that has changed meanwhile and keeps no more conflicts: it has
    /// [as many as it may](Collection#limits), or [none at all](Collection#items-without-conflicts).
    pub async fn delete(&self, item: &Item<T>) -> Result<Edited<T>, Error> {
        let seen = item.version();
        // A deletion beside a newer version has the content that the application saw, and not the newer one.
        self.delete_from(item.id(), seen.into(), Some(seen.payload.clone())).await
    }

    /// [Deletes](Self::delete) an item as somebody has seen it, by its id and the token of the version. If the item has
    /// had another version since, and the store no longer has the content of that one, the deletion has the content that
    /// is shown now.
    ///
    /// # Errors
    ///
    /// Those of [`delete`](Self::delete), and [`Error::UnknownVersion`] for a token of another item.
    pub async fn delete_as_seen(
        &self,
        id: &ItemId,
        token: &VersionToken,
    ) -> Result<Edited<T>, Error> {
        let item = self.stored_item(id).await?;
        let (base, version) = token.base(&item).ok_or_else(|| unknown_version(id))?;
        self.delete_from(id, base, version.map(|version| version.payload.clone())).await
    }

    async fn delete_from(
        &self,
        id: &ItemId,
        base: Base,
        payload: Option<Payload>,
    ) -> Result<Edited<T>, Error> {
        self.edit(id, Some(base), Edit { payload, deleted: Some(true) }).await
    }

    /// Deletes an item by its id, whatever it has become. The deletion covers the latest version on this replica, also
    /// if the application has not seen it: an edit that arrived a moment ago is deleted, too. Prefer
    /// [`delete`](Self::delete), unless nothing of the item is to stay in any case. Conflicts of the item stay open.
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`].
    pub async fn delete_latest(&self, id: &ItemId) -> Result<Edited<T>, Error> {
        self.edit(id, None, Edit::delete()).await
    }

    /// Brings a [deleted](Self::deleted_items) item back, with the content that it had.
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`], and [`Error::Edit`] for an item that had [all its updates](Collection#limits).
    pub async fn undelete(&self, id: &ItemId) -> Result<Edited<T>, Error> {
        self.edit(id, None, Edit::undelete()).await
    }

    /// Makes an edit of a version, or of the latest one.
    async fn edit(
        &self,
        id: &ItemId,
        base: Option<Base>,
        edit: Edit<Payload>,
    ) -> Result<Edited<T>, Error> {
        let edited = self.endpoint().edit(&self.name, id, base, edit).await;
        edited.map(Edited::new).map_err(|error| Error::of_edit(id, error))
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
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use serde_json::json;
    /// use feedsync::ItemId;
    ///
    /// # let feeds = feedsync::Replica::in_memory().collection("feeds").await?;
    /// let id = ItemId::encoded("https://example.org/feed")?; // any text
    /// feeds.add_as(&id, json!({"title": "Example"})).await?;
    /// assert!(feeds.add_as(&id, json!({"title": "Example"})).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ItemExists`] if the collection has the id, even deleted; [`Error::Content`].
    pub async fn add_as(&self, id: &ItemId, content: T) -> Result<Item<T>, Error> {
        let payload = self.write(id, &content, None, &[]).await?;
        let creation = Creation::default();
        let added = self.endpoint().add(&self.name, id.clone(), creation, payload).await;
        read(id, added.map_err(|error| Error::of_edit(id, error))?.item)
    }

    /// An item; `None` if the collection does not have it, or if it is deleted.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] if its content is not of this type.
    pub async fn get(&self, id: &ItemId) -> Result<Option<Item<T>>, Error> {
        self.find(id, false).await
    }

    /// A deleted item with the content that it had; `None` if the collection does not have it, or if it is not deleted.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] if its content is not of this type.
    pub async fn get_deleted(&self, id: &ItemId) -> Result<Option<Item<T>>, Error> {
        self.find(id, true).await
    }

    async fn find(&self, id: &ItemId, deleted: bool) -> Result<Option<Item<T>>, Error> {
        let found = self.endpoint().find_item(&self.name, id).await?;
        let item = found.map(|stored| stored.item).filter(|item| item.winner.deleted == deleted);
        item.map(|item| read(id, item)).transpose()
    }

    /// Replaces the content of an item as the application has read it.
    ///
    /// If the item has changed since the application read it, both edits are kept, as a conflict, and
    /// [`Edited::outcome`] says which of them is [shown](Collection#edits). So continue with the returned item: a second
    /// update with the old one conflicts with your own edit. An edit changes the version that it was made of only, and an
    /// open conflict stays open. Content that is equal to what was read changes nothing; the returned item may have been
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
    /// let milk = todo.update(&milk).await?.into_item()?;
    /// assert_eq!(milk["done"], true);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`], [`Error::Content`], and [`Error::Edit`] for an item that had [all its
    /// updates](Collection#limits), or that has changed meanwhile and keeps no more conflicts: it has
    /// [as many as it may](Collection#limits), or [none at all](Collection#items-without-conflicts). The item is still
    /// the caller's, with what was to be stored.
    pub async fn update(&self, item: &Item<T>) -> Result<Edited<T>, Error> {
        let (id, seen) = (item.id(), item.version());
        let payload = self.write(id, item.content(), Some(&seen.payload), &[]).await?;
        if payload == seen.payload {
            return Ok(Edited::unchanged(self.stored_item(id).await?));
        }
        // An edit of a deleted item brings it back.
        let edit = Edit { payload: Some(payload), deleted: seen.deleted.then_some(false) };
        self.edit(id, Some(seen.into()), edit).await
    }

    /// Replaces the content of an item as somebody has seen it, by its id and the [token](Item::token) of the version:
    /// like [`update`](Self::update), for a command-line program or a web form, which does not have the [`Item`] any
    /// more.
    ///
    /// Members that the type of the content does not have come from the version of the token, or from the version that
    /// is shown now if the store no longer has the content of that one.
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update), and [`Error::UnknownVersion`] for a token of another item.
    pub async fn update_as_seen(
        &self,
        id: &ItemId,
        token: &VersionToken,
        content: T,
    ) -> Result<Edited<T>, Error> {
        let item = self.stored_item(id).await?;
        let (base, version) = token.base(&item).ok_or_else(|| unknown_version(id))?;
        let before = version.unwrap_or(&item.winner);
        let payload = self.write(id, &content, Some(&before.payload), &[]).await?;
        let is_unchanged = match version {
            Some(version) => payload == version.payload,
            None => {
                let plain = self.write(id, &content, None, &[]).await;
                plain.is_ok_and(|plain| token.has_content(&plain))
            }
        };
        if is_unchanged {
            return Ok(Edited::unchanged(item));
        }
        let deleted = version.is_some_and(|version| version.deleted).then_some(false);
        self.edit(id, Some(base), Edit { payload: Some(payload), deleted }).await
    }

    /// Reads an item, changes its content, and stores it, as one step: nobody edits the item in between, so that the
    /// result is never a conflict. `change` is called again, with the new content, each time that somebody was faster. It
    /// is to change the content and nothing else.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # let id = todo.add(json!({"title": "Milk", "litres": 1})).await?;
    /// let more = |item: &mut serde_json::Value| item["litres"] = json!(item["litres"].as_u64().unwrap_or(0) + 1);
    /// let (one, other) = tokio::join!(todo.change(&id, more), todo.change(&id, more));
    /// one?;
    /// other?;
    /// assert_eq!(todo.get(&id).await?.unwrap()["litres"], 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Replicas that change an item without knowing of each other have a conflict when they sync, as with any edit. So a
    /// counter that several replicas count up needs an item for each of them.
    ///
    /// # Errors
    ///
    /// [`Error::NoItem`] also for a deleted item; [`Error::Contended`] if somebody else was faster a thousand times;
    /// [`Error::Content`], and [`Error::Edit`] for an item that had [all its updates](Collection#limits).
    pub async fn change(
        &self,
        id: &ItemId,
        mut change: impl FnMut(&mut T) + Send,
    ) -> Result<Item<T>, Error> {
        let no_item = || Error::NoItem { collection: self.name.to_string(), id: id.clone() };
        for _ in 0..MAX_ATTEMPTS {
            let mut item = self.get(id).await?.ok_or_else(no_item)?;
            change(&mut item);
            let seen = item.version();
            let payload = self.write(id, item.content(), Some(&seen.payload), &[]).await?;
            if payload == seen.payload {
                return Ok(item);
            }
            let dot = seen.dot().clone();
            let judge = move |stored: &StoredItem| match stored.item.winner.dot().is_same(&dot) {
                true => BaseStatus::Current,
                false => BaseStatus::Unknown,
            };
            let guard = Guard { judge: Box::new(judge), keep_stale: false };
            let replace = move |_: &StoredItem, _| Ok::<_, Infallible>(Some(payload.clone()));
            let replace = MemberChange::Replace(Box::new(replace));
            let edited = self.endpoint().edit_member(&self.name, id, guard, replace).await;
            match edited.map_err(|error| Error::of_edit(id, error))? {
                MemberEdit::Done(member)
                | MemberEdit::Unchanged(member)
                | MemberEdit::Beside(member) => return read(id, member.stored.item),
                MemberEdit::Stale(_) => {}
                MemberEdit::Gone | MemberEdit::Missing => return Err(no_item()),
                MemberEdit::Refused(never) => match never {},
            }
        }
        Err(Error::Contended { id: id.clone(), attempts: MAX_ATTEMPTS })
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
        written(content, &target).map_err(|source| Error::Content { id: id.clone(), source })
    }
}

fn read<T: Content>(id: &ItemId, item: CoreItem<Payload>) -> Result<Item<T>, Error> {
    Item::read(item).map_err(|source: ContentError| Error::Content { id: id.clone(), source })
}

fn unknown_version(id: &ItemId) -> Error {
    Error::UnknownVersion { id: id.clone() }
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
