//! One reading of each change for all who follow a collection.
//!
//! Whoever is up to date is handed the same bytes; whoever is not reads the change order on its own,
//! which is the truth (AD34). So a change costs one read, however many follow, and a follower costs a
//! place in a queue that it shares with the others, and at most once a second a look at what its person
//! may do. A follower that reads too slowly loses its place in the queue, never a change (AD31).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use feedsync_endpoint::{Endpoint, Settings};
use feedsync_store::{
    Collection, CollectionName, Epoch, Notices, Number, PageLimit, StoreError, StoredItem,
};
use serde_json::json;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep};

/// Events that are read and sent at once.
pub(crate) const PAGE: PageLimit = PageLimit { items: 200, bytes: 1 << 20 };

/// Batches that wait for the slowest of those who are up to date.
const WAITING: usize = 16;

/// How often a reader looks whether anybody still listens.
const LOOK: Duration = Duration::from_secs(10);

/// Consecutive changes as they are sent.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) epoch: Epoch,
    /// The change that they follow.
    pub(crate) after: Number,
    /// The last of them; `after` itself where the reader only says how far it is.
    pub(crate) through: Number,
    /// One event for each.
    pub(crate) events: Bytes,
    /// What the collection was set to when they were read, and when that was.
    pub(crate) settings: Option<Arc<Settings>>,
    pub(crate) read: Instant,
}

/// The collections that are followed now, each with its reader.
#[derive(Clone)]
pub(crate) struct Live {
    readers: Arc<Mutex<HashMap<CollectionName, broadcast::Sender<Batch>>>>,
    endpoint: Endpoint,
    stopping: watch::Receiver<bool>,
}

impl Live {
    pub(crate) fn new(endpoint: Endpoint, stopping: watch::Receiver<bool>) -> Self {
        Self { readers: Arc::default(), endpoint, stopping }
    }

    /// Listens to a collection. Every change that is not there when the store is read after this
    /// call is in a batch, or before a batch, that is still to come. Closed when the reader could
    /// not go on: the store then tells why.
    pub(crate) fn listen(&self, name: &CollectionName) -> broadcast::Receiver<Batch> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = readers.get(name) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(WAITING);
        readers.insert(name.clone(), sender.clone());
        let reader = Reader {
            notices: self.endpoint.store().subscribe(name),
            live: self.clone(),
            name: name.clone(),
            sender,
        };
        tokio::spawn(reader.run());
        receiver
    }

    /// Forgets a reader, unless somebody has begun to listen and it could still go on.
    fn leave(&self, reader: &Reader, can_go_on: bool) -> bool {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let leaves = !can_go_on || reader.sender.receiver_count() == 0;
        let is_same =
            readers.get(&reader.name).is_some_and(|sender| sender.same_channel(&reader.sender));
        if leaves && is_same {
            readers.remove(&reader.name);
        }
        leaves
    }
}

/// Reads a collection for all who follow it.
struct Reader {
    live: Live,
    name: CollectionName,
    notices: Notices,
    sender: broadcast::Sender<Batch>,
}

impl Reader {
    async fn run(mut self) {
        if let Err(error) = self.read_on().await
            && !matches!(error, StoreError::NoCollection(_))
        {
            tracing::error!(%error, collection = %self.name, "nobody reads for those who follow");
        }
        self.live.leave(&self, false);
    }

    /// Reads until nobody listens, the hub stops, or the store fails.
    async fn read_on(&mut self) -> Result<(), StoreError> {
        let store = Arc::clone(self.live.endpoint.store());
        let Some(collection) = store.collection(&self.name).await? else { return Ok(()) };
        let (mut epoch, mut after) = (collection.epoch, collection.last);
        // Who read the store before us learns where the batches begin.
        self.send(&collection, after, after, String::new());
        let mut stopping = self.live.stopping.clone();
        loop {
            let page = store.changes(&self.name, after, None, PAGE).await?;
            let collection = &page.collection;
            if collection.epoch != epoch || collection.horizon > after {
                (epoch, after) = (collection.epoch, collection.last);
                self.send(collection, after, after, String::new());
            } else if page.through > after {
                let mut events = String::new();
                page.items.iter().for_each(|stored| push_event(&mut events, collection, stored));
                self.send(collection, after, page.through, events);
                after = page.through;
                continue;
            }
            tokio::select! {
                open = self.notices.next() => if !open { return Ok(()) },
                () = sleep(LOOK) => if self.live.leave(self, true) { return Ok(()) },
                () = stopped(&mut stopping) => return Ok(()),
            }
        }
    }

    fn send(&self, collection: &Collection, after: Number, through: Number, events: String) {
        let (epoch, events) = (collection.epoch, Bytes::from(events));
        // Settings that cannot be read are not believed: each follower asks, and is told.
        let settings = Settings::read(&collection.settings).ok().map(Arc::new);
        let batch = Batch { epoch, after, through, events, settings, read: Instant::now() };
        // That nobody listens is found out in time.
        let _ = self.sender.send(batch);
    }
}

/// Ready when the hub stops; never, if nobody can say so.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending().await
    }
}

/// Ids are of the fixed alphabet of [`feedsync_store::Until`] and JSON has no line breaks: one line
/// each (AD25, AD26).
pub(crate) fn push_event(events: &mut String, collection: &Collection, stored: &StoredItem) {
    let until = collection.until(stored.number).to_string();
    let data = json!({
        "until": until,
        "id": stored.item.id.as_str(),
        "deleted": stored.item.winner.deleted,
    });
    events.push_str(&format!("id: {until}\ndata: {data}\n\n"));
}
