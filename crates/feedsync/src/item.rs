//! Items as an application sees them.

use std::ops::{Deref, DerefMut};

use feedsync_core::{By, Item as CoreItem, ItemId, Payload, Timestamp, Version as CoreVersion};
use serde_json::Value;

use crate::content::{Content, ContentError};
use crate::token::{VersionToken, versions};

/// An item of a [`Collection`](crate::Collection): its content, and the version that this is.
///
/// It dereferences to its content, so that `item["title"]` reads a member of a JSON item. A change of the content
/// changes nothing else until it is given to [`Collection::update`](crate::Collection::update).
#[derive(Debug, Clone)]
pub struct Item<T = Value> {
    id: ItemId,
    content: T,
    version: CoreVersion<Payload>,
    conflicts: usize,
    /// Digest of all versions of the item.
    versions: String,
}

impl<T: Content> Item<T> {
    /// An item as it is stored.
    pub(crate) fn read(item: CoreItem<Payload>) -> Result<Self, ContentError> {
        let content = T::read(&item.winner.payload)?;
        let versions = versions(&item);
        let CoreItem { id, winner, conflicts } = item;
        Ok(Self { id, content, version: winner, conflicts: conflicts.len(), versions })
    }
}

impl<T> Item<T> {
    /// Id of the item, the same on every replica.
    pub fn id(&self) -> &ItemId {
        &self.id
    }

    /// Content of the item.
    pub fn content(&self) -> &T {
        &self.content
    }

    /// Content of the item, without the rest.
    pub fn into_content(self) -> T {
        self.content
    }

    /// Whether the version is a deletion, as those of [`Collection::deleted_items`](crate::Collection::deleted_items)
    /// are. An item after an edit may be deleted, too.
    pub fn is_deleted(&self) -> bool {
        self.version.deleted
    }

    /// Number of versions that conflict with this one and wait for a [resolution](crate::Collection::conflicts).
    pub fn conflicts(&self) -> usize {
        self.conflicts
    }

    /// Time of the last edit, by the clock of its author, to the second.
    pub fn when(&self) -> Option<Timestamp> {
        self.version.dot().when()
    }

    /// Signature of the last edit: the name of the replica that made it, and random characters. It tells replicas of
    /// one name apart; [`author`](Self::author) is for people.
    pub fn by(&self) -> Option<&str> {
        self.version.dot().by().map(By::as_str)
    }

    /// [Name](crate::Replica::name) of the replica that made the last edit, as its application chose it. Anybody can
    /// choose any name, so that it proves nothing. A signature of another program, which has another form, is returned
    /// as it is.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// # let id = todo.add(json!({"title": "Milk"})).await?;
    /// let milk = todo.get(&id).await?.unwrap();
    /// assert_eq!(milk.author(), Some("replica")); // the default name
    /// # Ok(())
    /// # }
    /// ```
    pub fn author(&self) -> Option<&str> {
        self.by().map(author)
    }

    /// Token of this version, and of the conflicts that the item has: a text for a form or a command line, from which
    /// [`update_as_seen`](crate::Collection::update_as_seen) and the like continue in another process.
    pub fn token(&self) -> VersionToken {
        VersionToken::new(&self.id, &self.version, self.versions.clone())
    }

    /// The version that the application has seen.
    pub(crate) fn version(&self) -> &CoreVersion<Payload> {
        &self.version
    }
}

/// Name of the replica in a signature: the text before the last dot, after which twelve letters and digits, and perhaps
/// the number of a branch, tell replicas and lines of edits apart.
pub(crate) fn author(by: &str) -> &str {
    let Some((name, suffix)) = by.rsplit_once('.') else { return by };
    let (incarnation, branch) = suffix.split_once('-').unwrap_or((suffix, "1"));
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_ours = incarnation.len() == 12
        && incarnation.bytes().all(is_letter)
        && branch.bytes().all(|byte| byte.is_ascii_digit());
    if is_ours && !name.is_empty() { name } else { by }
}

impl<T> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Item<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

/// Items of a collection: the live ones, or the deleted ones.
#[derive(Debug)]
pub struct Items<T = Value> {
    pub(crate) items: Vec<Item<T>>,
    pub(crate) unreadable: Vec<(ItemId, ContentError)>,
}

impl<T> Items<T> {
    /// Items whose content is not of this type, such as those of a newer version of the application, with the
    /// reasons. They stay as they are.
    pub fn unreadable(&self) -> &[(ItemId, ContentError)] {
        &self.unreadable
    }
}

impl<T> Deref for Items<T> {
    type Target = [Item<T>];

    fn deref(&self) -> &[Item<T>] {
        &self.items
    }
}

impl<T> IntoIterator for Items<T> {
    type Item = Item<T>;
    type IntoIter = std::vec::IntoIter<Item<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Items<T> {
    type Item = &'a Item<T>;
    type IntoIter = std::slice::Iter<'a, Item<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::author;

    #[test]
    fn author_is_the_name_of_the_replica_in_a_signature() {
        for (by, name) in [
            ("phone.0123456789ab", "phone"),
            ("phone.0123456789ab-12", "phone"),
            ("anna.phone.0123456789ab", "anna.phone"),
            ("https://other.example/REO", "https://other.example/REO"),
            ("REO1750", "REO1750"),
            ("phone.short", "phone.short"),
            (".0123456789ab", ".0123456789ab"),
            ("couch.3-0123456789abcdef", "couch.3-0123456789abcdef"),
        ] {
            assert_eq!(author(by), name);
        }
    }
}
