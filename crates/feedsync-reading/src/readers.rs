//! Everybody who reads at a hub.
//!
//! What somebody reads is in the log of the collection `reading-` with their name, and `reading` where the hub has no
//! users. It is made when it is first needed, and belongs to its person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use feedsync::Format;
use feedsync_endpoint::{Endpoint, EndpointError};
use feedsync_library::Library;
use feedsync_store::{CollectionName, NewCollection, StoreError, UserName};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::person::{Person, ReadingError};

/// So many are held in memory; who was not asked for longest goes first.
const HELD: usize = 1_000;

/// The reading of all people of a hub.
pub struct Readers {
    library: Arc<dyn Library>,
    bell: Arc<Notify>,
    /// The most bytes that a log may have.
    most: u64,
    held: Mutex<BTreeMap<CollectionName, (u64, Arc<Person>)>>,
}

impl Readers {
    /// Nobody yet. The bell is told when somebody subscribes.
    pub fn new(library: Arc<dyn Library>, bell: Arc<Notify>, most: u64) -> Self {
        Self { library, bell, most, held: Mutex::default() }
    }

    /// The articles.
    pub fn library(&self) -> &Arc<dyn Library> {
        &self.library
    }

    /// Where a person's reading is.
    pub fn collection(user: Option<&UserName>) -> CollectionName {
        let named = |text: &str| CollectionName::new(text).ok();
        let name = match user {
            None => named("reading"),
            Some(user) => named(&format!("reading-{}", user.as_str())).or_else(|| {
                // A name with a point, or a long one.
                let digest = Sha256::digest(user.as_str().as_bytes());
                named(&format!("reading-{:x}", u128::from_be_bytes(digest[..16].try_into().ok()?)))
            }),
        };
        name.unwrap_or_else(|| unreachable!("a letter, letters and digits"))
    }

    /// A person's reading, on whose behalf the endpoint acts; begun where there is none. Whether they may edit the
    /// [collection](Readers::collection) is for the caller to know; who made it just now is told so.
    pub async fn person(
        &self,
        endpoint: &Endpoint,
        user: Option<&UserName>,
    ) -> Result<(Arc<Person>, bool), ReadingError> {
        let collection = Self::collection(user);
        let is_new = self.begin(endpoint, user, &collection).await?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let last = held.values().map(|(used, _)| *used).max().unwrap_or(0);
        if !held.contains_key(&collection) && held.len() >= HELD {
            let idle = held.iter().min_by_key(|(_, (used, _))| *used).map(|(name, _)| name.clone());
            idle.and_then(|name| held.remove(&name));
        }
        let (used, person) = held.entry(collection.clone()).or_insert_with(|| {
            let reader = collection.as_str().parse();
            let reader = reader.unwrap_or_else(|_| unreachable!("names of collections are short"));
            let (library, store) = (Arc::clone(&self.library), Arc::clone(endpoint.store()));
            let environment = Arc::clone(endpoint.environment());
            let bell = Arc::clone(&self.bell);
            (
                0,
                Arc::new(Person::new(
                    library,
                    store,
                    environment,
                    bell,
                    collection,
                    reader,
                    self.most,
                )),
            )
        });
        *used = last + 1;
        Ok((Arc::clone(person), is_new))
    }

    /// Makes the collection where there is none; whether it did.
    async fn begin(
        &self,
        endpoint: &Endpoint,
        user: Option<&UserName>,
        name: &CollectionName,
    ) -> Result<bool, ReadingError> {
        if endpoint.store().collection(name).await?.is_some() {
            return Ok(false);
        }
        let title = user.map_or_else(|| "Reading".to_owned(), |user| format!("Reading of {user}"));
        let settings = BTreeMap::new();
        let new = NewCollection { name: name.clone(), title, format: Format::Opml, settings };
        match endpoint.create_collection(new).await {
            Ok(_) => Ok(true),
            Err(EndpointError::Store(StoreError::CollectionExists(_))) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
