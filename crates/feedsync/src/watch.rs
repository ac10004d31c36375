//! Watching a collection for changes.

use std::collections::VecDeque;

use feedsync_store::{Notices, StoreError};
use serde_json::Value;

use crate::collection::Collection;
use crate::content::Content;
use crate::error::Error;
use crate::listing::{Change, Position, Read, change};

/// Items that are read ahead at once.
const PAGE: usize = 100;

/// Changes of a collection as they happen, whoever makes them: this program, a synchronization, or another process
/// with the same replica.
#[derive(Debug)]
pub struct Watch<T = Value> {
    collection: Collection<T>,
    notices: Notices,
    /// Position after the last change that was returned.
    position: Position,
    /// Position after the last change that was read.
    read: Position,
    pending: VecDeque<(Change<T>, Position)>,
}

impl<T: Content> Collection<T> {
    /// Watches for changes from now on.
    ///
    /// A program that shows a list and keeps it up to date begins the watch before it reads the list. So it misses no change; one
    /// that was made meanwhile is in the list already, and comes once more:
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// let mut watch = todo.watch().await?;
    /// todo.add(json!({"title": "Milk"})).await?; // somebody is fast
    /// let mut list: std::collections::HashMap<_, _> =
    ///     todo.items().await?.into_iter().map(|item| (item.id().clone(), item)).collect();
    /// if let feedsync::Change::Put(item) = watch.next().await? {
    ///     list.insert(item.id().clone(), item); // replaces the same item
    /// }
    /// assert_eq!(list.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A collection that is too large for one list is read in [pages](Self::page); [`watch_from`](Self::watch_from) the
    /// position of the last page continues there.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// use feedsync::Change;
    ///
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// let mut watch = todo.watch().await?;
    /// let milk = todo.add(json!({"title": "Milk"})).await?;
    /// let bread = todo.add(json!({"title": "Bread"})).await?;
    /// todo.delete_latest(&bread).await?;
    ///
    /// assert!(matches!(watch.next().await?, Change::Put(item) if *item.id() == milk));
    /// assert!(matches!(watch.next().await?, Change::Deleted(_)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn watch(&self) -> Result<Watch<T>, Error> {
        let notices = self.endpoint().subscribe(self.stored_name());
        let stored = self.stored().await?;
        let now = Position::after(&stored, stored.last);
        Ok(Watch::new(self.clone(), notices, now))
    }

    /// Watches for changes after a position of an earlier [`Watch`] or [`Page`](crate::Page), also of an earlier run of
    /// the program.
    pub fn watch_from(&self, position: Position) -> Watch<T> {
        let notices = self.endpoint().subscribe(self.stored_name());
        Watch::new(self.clone(), notices, position)
    }
}

impl<T: Content> Watch<T> {
    fn new(collection: Collection<T>, notices: Notices, position: Position) -> Self {
        Self { collection, notices, position, read: position, pending: VecDeque::new() }
    }

    /// Waits for the next change. An item that changes several times before it is returned has its last change only.
    ///
    /// The future may be dropped at any moment, as in `tokio::select!`: no change is lost. At most 100 items and 8 MiB
    /// are read ahead.
    ///
    /// # Errors
    ///
    /// [`Error::NoCollection`] once the collection was removed, [`Error::Store`].
    pub async fn next(&mut self) -> Result<Change<T>, Error> {
        loop {
            if let Some((change, position)) = self.pending.pop_front() {
                self.position = position;
                return Ok(change);
            }
            let Read { page, restarted } = self.collection.read(Some(self.read), PAGE).await?;
            if restarted {
                self.pending.push_back((Change::Restarted, self.position));
            }
            let relists = restarted || self.read.relists();
            let after = Position::after(&page.collection, page.through);
            self.read = after.relisting(relists && page.more);
            for stored in page.items {
                let position = Position::after(&page.collection, stored.number);
                self.pending.push_back((change(stored), position.relisting(relists)));
            }
            if relists && !page.more {
                self.pending.push_back((Change::Complete, self.read));
            }
            if self.pending.is_empty() && !self.notices.next().await {
                return Err(StoreError::Unknown("the store was closed".to_owned()).into());
            }
        }
    }

    /// Position after the last change that [`next`](Self::next) returned, to continue there in a later run.
    pub fn position(&self) -> Position {
        self.position
    }
}
