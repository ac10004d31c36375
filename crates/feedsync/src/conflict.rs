//! Conflicts: versions of one item that were edited without knowing of each other.

use std::ops::Deref;

use feedsync_core::{
    By, Item as CoreItem, ItemId, Keep, Payload, Resolution as CoreResolution, Resolved, Timestamp,
    Version as CoreVersion,
};
use feedsync_endpoint::{EditFailure, EndpointError};
use feedsync_store::{PageLimit, Selection};
use serde_json::Value;

use crate::collection::Collection;
use crate::content::{Content, ContentError};
use crate::edited::Edited;
use crate::error::Error;
use crate::item::author;
use crate::listing::{MAX_BYTES, MAX_ITEMS};
use crate::memory::memory;
use crate::token::{VersionToken, versions};

/// Items of one page that is read from the store.
const PAGE: usize = 500;

/// An item with versions that were edited without knowing of each other. Each replica shows the same one of them, the
/// winner, and keeps the others until somebody resolves the conflict.
#[derive(Debug, Clone)]
pub struct Conflict<T = Value> {
    seen: CoreItem<Payload>,
    versions: Vec<Version<T>>,
    /// Positions of the versions behind the winner among the conflicts of the item.
    order: Vec<usize>,
}

/// The items of a collection that have conflicts, most recently changed first.
#[derive(Debug)]
pub struct Conflicts<T = Value> {
    conflicts: Vec<Conflict<T>>,
    unreadable: Vec<(ItemId, ContentError)>,
}

impl<T> Conflicts<T> {
    /// Items with conflicts of which at least one version is not of this type, such as that of a newer version of the
    /// application, with the reasons. They stay as they are. `collection.of::<Payload>()` reads and resolves them.
    pub fn unreadable(&self) -> &[(ItemId, ContentError)] {
        &self.unreadable
    }
}

impl<T> Deref for Conflicts<T> {
    type Target = [Conflict<T>];

    fn deref(&self) -> &[Conflict<T>] {
        &self.conflicts
    }
}

impl<T> IntoIterator for Conflicts<T> {
    type Item = Conflict<T>;
    type IntoIter = std::vec::IntoIter<Conflict<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.conflicts.into_iter()
    }
}

/// One version of an item in conflict.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Version<T = Value> {
    /// Content of the version. That of a deleted one is what it had before.
    pub content: T,
    /// Whether the version is a deletion.
    pub deleted: bool,
    /// Time of its last edit, by the clock of its author, to the second.
    pub when: Option<Timestamp>,
    /// Signature of its last edit: the name of the replica that made it, and random characters.
    pub by: Option<String>,
}

impl<T> Version<T> {
    /// Name of the replica that made the last edit, as [`Item::author`](crate::Item::author).
    pub fn author(&self) -> Option<&str> {
        self.by.as_deref().map(author)
    }
}

/// A decision on a [`Conflict`], for [`Collection::resolve`].
#[derive(Debug, Clone)]
#[must_use = "the conflict stays until the resolution is given to Collection::resolve"]
pub struct Resolution<T = Value> {
    seen: CoreItem<Payload>,
    choice: Choice<T>,
}

#[derive(Debug, Clone)]
enum Choice<T> {
    Winner,
    /// The conflict at this index of the item.
    Conflict(usize),
    /// A position at which there is no version.
    None(usize),
    Content(T),
}

impl<T: Content> Conflict<T> {
    fn read(item: CoreItem<Payload>) -> Result<Self, ContentError> {
        let ranked = item.ranked_conflicts();
        let order: Vec<usize> = ranked.iter().map(|(position, _)| *position).collect();
        let all = std::iter::once(&item.winner).chain(ranked.into_iter().map(|(_, it)| it));
        let versions = all.map(Version::read).collect::<Result<_, _>>()?;
        Ok(Self { seen: item, versions, order })
    }
}

impl<T: Content> Version<T> {
    fn read(version: &CoreVersion<Payload>) -> Result<Self, ContentError> {
        let dot = version.dot();
        Ok(Self {
            content: T::read(&version.payload)?,
            deleted: version.deleted,
            when: dot.when(),
            by: dot.by().map(By::to_string),
        })
    }
}

impl<T> Conflict<T> {
    /// Id of the item.
    pub fn id(&self) -> &ItemId {
        &self.seen.id
    }

    /// All versions, at least two: first the winner, then the others in an order that is the same on every replica.
    pub fn versions(&self) -> &[Version<T>] {
        &self.versions
    }

    /// Keeps the winner, and gives up the other versions.
    pub fn keep_winner(self) -> Resolution<T> {
        Resolution { seen: self.seen, choice: Choice::Winner }
    }

    /// Token of these versions: a text for a form or a command line. [`Collection::conflict_as_seen`] returns the
    /// conflict again, in another process too, as long as its versions are these.
    pub fn token(&self) -> VersionToken {
        VersionToken::new(&self.seen.id, &self.seen.winner, versions(&self.seen))
    }

    /// Keeps the version at a position of [`versions`](Self::versions), from 0, and gives up the others. A position
    /// behind the last one makes [`Collection::resolve`] fail with [`Error::NoVersion`].
    pub fn keep(self, position: usize) -> Resolution<T> {
        let choice = match position.checked_sub(1) {
            None => Choice::Winner,
            Some(behind) => {
                self.order.get(behind).map_or(Choice::None(position), |it| Choice::Conflict(*it))
            }
        };
        Resolution { seen: self.seen, choice }
    }

    /// Replaces all versions by a new content. Members that a type `T` does not know come from all of them.
    ///
    /// The content is often one of the versions with a change, such as what a person typed into a form that showed it:
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # let id = todo.add(json!({"title": "Milk"})).await?;
    /// # let mut stale = todo.get(&id).await?.unwrap();
    /// # todo.change(&id, |item| item["title"] = json!("Oat milk")).await?;
    /// # stale["title"] = json!("Two litres");
    /// # todo.update(&stale).await?;
    /// for conflict in todo.conflicts().await? {
    ///     let mut content = conflict.versions()[0].content.clone();
    ///     content["title"] = json!("Two litres of oat milk");
    ///     todo.resolve(conflict.replace(content)).await?;
    /// }
    /// # assert_eq!(todo.get(&id).await?.unwrap()["title"], "Two litres of oat milk");
    /// # Ok(())
    /// # }
    /// ```
    pub fn replace(self, content: T) -> Resolution<T> {
        Resolution { seen: self.seen, choice: Choice::Content(content) }
    }

    /// Merges the versions: `merge` gets the winner, or what it made so far, and the next version. Deletions add
    /// nothing. If one version is left it is kept as it is, and if all are deletions the winner is. The result holds
    /// what `merge` returns, and the members of all these versions that a type `T` does not know; where several versions
    /// have one, that of the first stays.
    pub fn keep_both(self, mut merge: impl FnMut(&T, &T) -> T) -> Resolution<T> {
        let live: Vec<_> = self.versions.iter().enumerate().filter(|(_, it)| !it.deleted).collect();
        let merged = match live[..] {
            [] => return self.keep_winner(),
            [(position, _)] => return self.keep(position),
            [(_, first), (_, second), ref others @ ..] => {
                others.iter().fold(merge(&first.content, &second.content), |merged, (_, next)| {
                    merge(&merged, &next.content)
                })
            }
        };
        self.replace(merged)
    }
}

impl<T: Content> Collection<T> {
    /// Items with conflicts, most recently changed first. An item that changes while they are read may be missing until
    /// the next call. Items that cannot be read as this type are [apart](Conflicts::unreadable).
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::{Value, json};
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # let id = todo.add(json!({"title": "Milk"})).await?;
    /// // Two windows of one application edit what they had read.
    /// let (mut one, mut other) = (todo.get(&id).await?.unwrap(), todo.get(&id).await?.unwrap());
    /// one["title"] = json!("Oat milk");
    /// other["title"] = json!("Milk, two litres");
    /// todo.update(&one).await?;
    /// todo.update(&other).await?;
    ///
    /// fn merge_titles(one: &Value, other: &Value) -> Value {
    ///     let title = |item: &Value| item["title"].as_str().unwrap_or_default().to_owned();
    ///     let mut merged = one.clone(); // keeps all other members
    ///     if title(one) != title(other) {
    ///         merged["title"] = json!(format!("{} / {}", title(one), title(other)));
    ///     }
    ///     merged
    /// }
    /// for conflict in todo.conflicts().await? {
    ///     todo.resolve(conflict.keep_both(merge_titles)).await?;
    /// }
    /// let title = todo.get(&id).await?.unwrap()["title"].to_string();
    /// assert!(title.contains("Oat milk") && title.contains("two litres"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than [`MAX_ITEMS`] items or [`MAX_BYTES`] bytes.
    pub async fn conflicts(&self) -> Result<Conflicts<T>, Error> {
        let mut selection = Selection { deleted: true, conflicted: true, ..Selection::default() };
        let mut found = Conflicts { conflicts: Vec::new(), unreadable: Vec::new() };
        let mut bytes = 0;
        loop {
            let (endpoint, limit) = (self.endpoint(), PageLimit::items(PAGE));
            let page = endpoint.listing(self.stored_name(), &selection, limit).await?;
            selection.before = page.items.last().map(|stored| stored.number);
            for stored in page.items {
                let contents = stored.item.versions().map(|version| &version.payload);
                bytes = memory(&stored, contents).saturating_add(bytes);
                let count = found.conflicts.len() + found.unreadable.len();
                if count >= MAX_ITEMS || bytes > MAX_BYTES {
                    let (items, bytes) = (MAX_ITEMS, MAX_BYTES);
                    let collection = self.name().to_owned();
                    return Err(Error::TooLarge { collection, items, bytes });
                }
                let id = stored.item.id.clone();
                match Conflict::read(stored.item) {
                    Ok(conflict) => found.conflicts.push(conflict),
                    Err(error) => found.unreadable.push((id, error)),
                }
            }
            if !page.more {
                return Ok(found);
            }
        }
    }

    /// The conflict of an item; `None` if the item has none, or if the collection does not have the item.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] if one of the versions is not of this type. `collection.of::<Payload>()` reads and resolves it.
    pub async fn conflicts_of(&self, id: &ItemId) -> Result<Option<Conflict<T>>, Error> {
        let found = self.endpoint().find_item(self.stored_name(), id).await?;
        let item = found.map(|stored| stored.item).filter(|item| !item.conflicts.is_empty());
        let conflict = item.map(Conflict::read).transpose();
        conflict.map_err(|source| Error::Content { id: id.clone(), source })
    }

    /// The conflict of an item as somebody has seen it, by the id and the [token](Conflict::token) of its versions: for a
    /// command-line program or a web form, which does not have the [`Conflict`] any more.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # let id = todo.add(json!({"title": "Milk"})).await?;
    /// # let mut stale = todo.get(&id).await?.unwrap();
    /// # todo.change(&id, |item| item["title"] = json!("Oat milk")).await?;
    /// # stale["title"] = json!("Two litres");
    /// # todo.update(&stale).await?;
    /// // A program shows the versions and the token,
    /// let shown = todo.conflicts_of(&id).await?.unwrap().token().to_string();
    /// // and another run of it gets the token and the number of a version.
    /// let conflict = todo.conflict_as_seen(&id, &shown.parse()?).await?;
    /// todo.resolve(conflict.keep(1)).await?;
    /// # assert!(todo.conflicts_of(&id).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if the item has other versions now, or no conflict any more; [`Error::UnknownVersion`] for a token
    /// of another item. Those of [`conflicts_of`](Self::conflicts_of), and [`Error::NoItem`].
    pub async fn conflict_as_seen(
        &self,
        id: &ItemId,
        token: &VersionToken,
    ) -> Result<Conflict<T>, Error> {
        let item = self.stored_item(id).await?;
        if !token.is_of(id) {
            return Err(Error::UnknownVersion { id: id.clone() });
        }
        if item.conflicts.is_empty() || !token.names_all_of(&item) {
            return Err(Error::Stale { id: id.clone() });
        }
        Conflict::read(item).map_err(|source| Error::Content { id: id.clone(), source })
    }

    /// Resolves a conflict. The resolution is an edit that covers all versions of the conflict, and travels as any
    /// other: nobody who receives it is asked again about these versions.
    ///
    /// If two replicas resolve one conflict before they sync, their resolutions conflict, also if both kept the same
    /// version or wrote the same content: each of them is an edit of its own, and an edit after one of them must not be
    /// lost. The versions of such a conflict are equal, so that an application can keep either without asking anybody.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if the item has changed since the conflict was read; nothing is resolved then, so that the
    /// outcome of a resolution is always [`EditOutcome::Applied`](crate::EditOutcome::Applied). [`Error::NoVersion`] if
    /// there is no version at the position. [`Error::Content`] for content that cannot be written.
    pub async fn resolve(&self, resolution: Resolution<T>) -> Result<Edited<T>, Error> {
        let Resolution { seen, choice } = resolution;
        let keep = match choice {
            Choice::None(position) => {
                let versions = seen.versions().count();
                return Err(Error::NoVersion { id: seen.id, position, versions });
            }
            Choice::Winner => Keep::Winner,
            Choice::Conflict(position) => Keep::Conflict(position),
            Choice::Content(content) => {
                let others: Vec<_> =
                    seen.ranked_conflicts().into_iter().map(|(_, it)| it).collect();
                let others = others.iter().filter(|it| !it.deleted);
                let others: Vec<_> = others.map(|it| &it.payload).collect();
                let winner = Some(&seen.winner.payload);
                let payload = self.write(&seen.id, &content, winner, &others).await?;
                Keep::Content { payload, deleted: Some(false) }
            }
        };
        let resolution = CoreResolution { resolved: Resolved::All, keep };
        match self.endpoint().resolve(self.stored_name(), &seen, resolution).await {
            Ok(edited) => Ok(Edited::new(edited)),
            Err(error @ EndpointError::Edit(EditFailure::Nothing(_))) => {
                let now = self.stored_item(&seen.id).await?;
                match is_same(&now, &seen) {
                    true => Err(Error::of_edit(&seen.id, error)),
                    false => Err(Error::Stale { id: seen.id }),
                }
            }
            Err(error) => Err(Error::of_edit(&seen.id, error)),
        }
    }
}

/// Whether both have the same versions in the same order.
fn is_same(one: &CoreItem<Payload>, other: &CoreItem<Payload>) -> bool {
    one.versions().map(CoreVersion::dot).eq(other.versions().map(CoreVersion::dot))
}
