//! Shared readers: each change is read once for all clients that follow a collection.
//!
//! Clients that are up to date receive the same bytes. Other clients read the change order by
//! themselves, which is authoritative (AD34). So a change costs one read, however many clients follow.
//! Each client costs a position in a shared queue, and at most one access check per second. A client
//! that reads too slowly loses its position in the queue, never a change (AD31).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use feedsync_endpoint::{Endpoint, Settings};
use feedsync_store::{
    ChangeNumber, Collection, CollectionName, Epoch, Notices, PageLimit, StoreError, StoredItem,
};
use serde_json::json;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep};

use crate::http::stopping::stopped;

/// Events that are read and sent at once.
pub(crate) const PAGE: PageLimit = PageLimit { items: 200, bytes: 1 << 20 };

/// Maximum number of batches that wait for the slowest up-to-date client.
const MAX_WAITING_BATCHES: usize = 16;

/// Interval at which a reader checks whether it still has listeners.
const LISTENER_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Consecutive changes in the form in which they are sent.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) epoch: Epoch,
    /// The change before the first of them.
    pub(crate) after: ChangeNumber,
    /// The last of them; equal to `after` where the reader only reports its position.
    pub(crate) through: ChangeNumber,
    /// One event for each change.
    pub(crate) events: Bytes,
    /// Settings of the collection when they were read, and the time of that.
    pub(crate) settings: Option<Arc<Settings>>,
    pub(crate) read: Instant,
}

/// Followed collections, each with its reader.
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

    /// Subscribes to a collection. Every change that a later read of the store does not contain is in a
    /// batch, or before a batch, that is still to come. The channel closes when the reader failed;
    /// reading the store then gives the reason.
    pub(crate) fn listen(&self, name: &CollectionName) -> broadcast::Receiver<Batch> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = readers.get(name) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(MAX_WAITING_BATCHES);
        readers.insert(name.clone(), sender.clone());
        let reader = Reader {
            notices: self.endpoint.subscribe(name),
            live: self.clone(),
            name: name.clone(),
            sender,
        };
        tokio::spawn(reader.run());
        receiver
    }

    /// Removes a reader, unless a new listener has subscribed and the reader can continue.
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
            tracing::error!(%error, collection = %self.name, "event reader failed; followers will reconnect");
        }
        self.live.leave(&self, false);
    }

    /// Reads until there is no listener, the hub stops, or the store fails.
    async fn read_on(&mut self) -> Result<(), StoreError> {
        let endpoint = self.live.endpoint.clone();
        let Some(collection) = endpoint.find_collection(&self.name).await? else { return Ok(()) };
        let (mut epoch, mut after) = (collection.epoch, collection.last);
        // It reports the first position to listeners that read the store earlier.
        self.send(&collection, after, after, String::new());
        let mut stopping = self.live.stopping.clone();
        loop {
            let page = endpoint.changes(&self.name, after, None, PAGE).await?;
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
                () = sleep(LISTENER_CHECK_INTERVAL) => if self.live.leave(self, true) { return Ok(()) },
                () = stopped(&mut stopping) => return Ok(()),
            }
        }
    }

    fn send(
        &self,
        collection: &Collection,
        after: ChangeNumber,
        through: ChangeNumber,
        events: String,
    ) {
        let (epoch, events) = (collection.epoch, Bytes::from(events));
        // Settings that cannot be parsed are not cached: each client reads them, and gets the error.
        let settings = Settings::read(&collection.settings).ok().map(Arc::new);
        let batch = Batch { epoch, after, through, events, settings, read: Instant::now() };
        // The absence of listeners is noticed elsewhere in time.
        let _ = self.sender.send(batch);
    }
}

/// Appends the event of a change. Ids have the fixed alphabet of [`feedsync_store::Until`] and JSON
/// contains no line breaks, so each takes one line (AD25, AD26).
pub(crate) fn push_event(events: &mut String, collection: &Collection, stored: &StoredItem) {
    let until = collection.until(stored.number).to_string();
    let data = json!({
        "until": until,
        "id": stored.item.id.as_str(),
        "deleted": stored.item.winner.deleted,
    });
    events.push_str(&format!("id: {until}\ndata: {data}\n\n"));
}
