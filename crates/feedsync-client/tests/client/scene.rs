//! A publisher whose feeds are files on a web server, and a subscriber.

use feedsync_client::{Direction, SyncError, SyncReport};
use feedsync_core::{Item, Payload};

use crate::library::{Library, feed};
use crate::world::Peer;

/// A publisher's items, and a subscriber.
pub(crate) struct Scene {
    pub(crate) library: Library,
    pub(crate) publisher: Peer,
    pub(crate) reader: Peer,
}

pub(crate) const FEED: &str = "/feed.xml";
pub(crate) const ALL: &str = "/all.xml";

impl Scene {
    pub(crate) async fn new() -> Self {
        let library = Library::new().await;
        Self { library, publisher: Peer::new("publisher").await, reader: Peer::new("reader").await }
    }

    pub(crate) async fn item(&self, title: &str) -> Item<Payload> {
        self.publisher.item(&self.publisher.add(title).await).await
    }

    /// Publishes a feed with these items; `complete` is whether it names the complete feed.
    pub(crate) fn put(
        &self,
        path: &str,
        window: Option<(&str, &str)>,
        complete: bool,
        items: &[&Item<Payload>],
    ) {
        let link = self.library.url(ALL);
        let items: Vec<_> = items.iter().copied().cloned().collect();
        self.library.put(path, &feed(window, complete.then_some(&*link), &items));
    }

    pub(crate) async fn sync(&self) -> SyncReport {
        self.library.site.forget();
        self.reader.sync(&self.library.url(FEED)).await
    }

    pub(crate) async fn fail(&self) -> SyncError {
        self.library.site.forget();
        self.reader.try_sync(&self.library.url(FEED), Direction::BOTH).await.unwrap_err()
    }

    pub(crate) async fn until(&self) -> Option<String> {
        self.reader.remembered(&self.library.url(FEED)).await.until
    }

    pub(crate) async fn holds(&self, items: &[&Item<Payload>]) -> bool {
        let mut ids: Vec<_> = items.iter().map(|item| item.id.to_string()).collect();
        ids.sort();
        self.reader.ids().await == ids
    }

    pub(crate) fn read(&self) -> Vec<String> {
        self.library.site.targets()
    }
}
