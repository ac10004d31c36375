//! Users who read at a hub.
//!
//! The log of a user's reading collection ([`open_reading_collection`](Endpoint::reading_of)) contains the subscriptions and
//! marks of the user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::library::Library;
use feedsync_endpoint::{Endpoint, ReadingOwner};
use feedsync_store::{Collection, CollectionName};
use tokio::sync::Notify;

use crate::reading::person::{Person, ReadingError};

/// Maximum number of users in memory; the least recently used one is evicted.
const HELD: usize = 1_000;

/// Reading of all users of a hub.
pub struct Readers {
    library: Arc<dyn Library>,
    bell: Arc<Notify>,
    /// Maximum size of a log, in bytes.
    most: u64,
    held: Mutex<BTreeMap<CollectionName, Held>>,
}

struct Held {
    person: Arc<Person>,
    /// Sequence number of the last use; higher numbers are later.
    used: u64,
    /// Feed id of the collection, which is unique.
    feed_id: String,
}

impl Readers {
    /// Creates an empty registry. `bell` is notified when a user subscribes.
    pub fn new(library: Arc<dyn Library>, bell: Arc<Notify>, most: u64) -> Self {
        Self { library, bell, most, held: Mutex::default() }
    }

    /// Library of the articles.
    pub fn library(&self) -> &Arc<dyn Library> {
        &self.library
    }

    /// Returns a user's reading, and whether rights changed for that. Creates the collection if there is none.
    pub async fn person(
        &self,
        endpoint: &Endpoint,
        reader: Option<&ReadingOwner>,
    ) -> Result<(Arc<Person>, bool), ReadingError> {
        let (collection, is_changed) = endpoint.open_reading_collection(reader).await?;
        Ok((self.held(endpoint, &collection), is_changed))
    }

    /// Returns the reading in the log of a collection.
    pub(crate) fn held(&self, endpoint: &Endpoint, collection: &Collection) -> Arc<Person> {
        let Collection { name: collection, feed_id, .. } = collection;
        let mut held = self.lock();
        // A new collection of the same name must not use the state of the deleted one.
        held.retain(|name, held| name != collection || held.feed_id == *feed_id);
        let last = held.values().map(|held| held.used).max().unwrap_or(0);
        if !held.contains_key(collection) && held.len() >= HELD {
            let idle = held.iter().min_by_key(|(_, held)| held.used).map(|(name, _)| name.clone());
            idle.and_then(|name| held.remove(&name));
        }
        let held = held.entry(collection.clone()).or_insert_with(|| {
            let reader = collection.as_str().parse();
            let reader = reader.unwrap_or_else(|_| unreachable!("names of collections are short"));
            let (library, store) = (Arc::clone(&self.library), Arc::clone(endpoint.store()));
            let environment = Arc::clone(endpoint.environment());
            let (bell, collection) = (Arc::clone(&self.bell), collection.clone());
            let most = self.most;
            let person = Person::new(library, store, environment, bell, collection, reader, most);
            Held { person: Arc::new(person), used: 0, feed_id: feed_id.clone() }
        });
        held.used = last + 1;
        Arc::clone(&held.person)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CollectionName, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
