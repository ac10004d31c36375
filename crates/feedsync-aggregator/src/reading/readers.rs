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
const MAX_CACHED_USERS: usize = 1_000;

/// Reading of all users of a hub.
pub struct Readers {
    library: Arc<dyn Library>,
    notifier: Arc<Notify>,
    /// Maximum size of a log, in bytes.
    most: u64,
    cached: Mutex<BTreeMap<CollectionName, CachedReading>>,
}

struct CachedReading {
    person: Arc<Person>,
    /// Sequence number of the last use; higher numbers are later.
    used: u64,
    /// Feed id of the collection, which is unique.
    feed_id: String,
}

impl Readers {
    /// Creates an empty registry. `notifier` is notified when a user subscribes.
    pub fn new(library: Arc<dyn Library>, notifier: Arc<Notify>, most: u64) -> Self {
        Self { library, notifier, most, cached: Mutex::default() }
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
        Ok((self.cached(endpoint, &collection), is_changed))
    }

    /// Returns the reading in the log of a collection.
    pub(crate) fn cached(&self, endpoint: &Endpoint, collection: &Collection) -> Arc<Person> {
        let Collection { name: collection, feed_id, .. } = collection;
        let mut cached = self.lock();
        // A new collection of the same name must not use the state of the deleted one.
        cached.retain(|name, cached| name != collection || cached.feed_id == *feed_id);
        let last = cached.values().map(|cached| cached.used).max().unwrap_or(0);
        if !cached.contains_key(collection) && cached.len() >= MAX_CACHED_USERS {
            let idle =
                cached.iter().min_by_key(|(_, cached)| cached.used).map(|(name, _)| name.clone());
            idle.and_then(|name| cached.remove(&name));
        }
        let cached = cached.entry(collection.clone()).or_insert_with(|| {
            let reader = collection.as_str().parse();
            let reader = reader.unwrap_or_else(|_| unreachable!("names of collections are short"));
            let (library, endpoint) = (Arc::clone(&self.library), endpoint.without_actor());
            let (notifier, collection) = (Arc::clone(&self.notifier), collection.clone());
            let most = self.most;
            let person = Person::new(library, endpoint, notifier, collection, reader, most);
            CachedReading { person: Arc::new(person), used: 0, feed_id: feed_id.clone() }
        });
        cached.used = last + 1;
        Arc::clone(&cached.person)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CollectionName, CachedReading>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
