//! Everybody who reads at a hub.
//!
//! What somebody reads is in the log of the collection `reading-` with their name, and `reading` where the hub has no
//! users. It is made when it is first needed, and belongs to its person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync::Format;
use feedsync_endpoint::{Endpoint, EndpointError};
use feedsync_library::Library;
use feedsync_store::{CollectionName, GrantsOf, NewCollection, Role, StoreError, UserName};
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
    held: Mutex<BTreeMap<CollectionName, Held>>,
}

struct Held {
    person: Arc<Person>,
    /// The higher, the later it was asked for.
    used: u64,
    /// Whether the collection was found to be owned by its person.
    is_owned: bool,
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
    /// [collection](Readers::collection) is for the caller to know; who made it just now is told so. What somebody
    /// else owns is nobody's reading, whatever it is called.
    pub async fn person(
        &self,
        endpoint: &Endpoint,
        user: Option<&UserName>,
    ) -> Result<(Arc<Person>, bool), ReadingError> {
        let collection = Self::collection(user);
        let is_new = self.begin(endpoint, user, &collection).await?;
        if let Some(user) = user
            && !self.lock().get(&collection).is_some_and(|held| held.is_owned)
            && !is_owner(endpoint, user, &collection).await?
        {
            return Err(ReadingError::OfAnother(collection));
        }
        let person = self.held(endpoint, &collection);
        self.lock().entry(collection).and_modify(|held| held.is_owned = true);
        Ok((person, is_new))
    }

    /// The reading in the log of a collection.
    pub(crate) fn held(&self, endpoint: &Endpoint, collection: &CollectionName) -> Arc<Person> {
        let mut held = self.lock();
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
            Held { person: Arc::new(person), used: 0, is_owned: false }
        });
        held.used = last + 1;
        Arc::clone(&held.person)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CollectionName, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
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

async fn is_owner(
    endpoint: &Endpoint,
    user: &UserName,
    collection: &CollectionName,
) -> Result<bool, StoreError> {
    let grants = endpoint.store().grants(GrantsOf::Collection(collection)).await?;
    Ok(grants.iter().any(|grant| grant.user == *user && grant.role == Role::Owner))
}
