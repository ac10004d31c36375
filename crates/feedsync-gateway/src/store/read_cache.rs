//! Cache of recently read data that agrees with the store.
//!
//! Entries of changed addresses are invalidated with the commit that changes them, before the commit is reported.
//! Data that was read before a commit is not cached after it. Contents never change under their digest.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Change, Digest, Representation, Resource, Step};
use feedsync_bitsy::location::Location;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::error::StoreError;

/// Maximum sizes of the caches of resources, representations and contents, in bytes.
const MAX_CACHE_BYTES: [u64; 3] = [2 << 20, 4 << 20, 8 << 20];

/// Estimated overhead of a cache entry, in bytes.
const OVERHEAD: u64 = 256;

/// Caches of recently read data.
#[derive(Debug)]
pub(super) struct ReadCache {
    resources: Cache<Location, Vec<Resource>, Weight>,
    representations: Cache<(Partition, Location), Option<Representation>, Weight>,
    contents: Cache<Digest, Bytes, Weight>,
    /// Number of invalidations.
    changes: Mutex<u64>,
}

impl ReadCache {
    pub(super) fn new() -> Self {
        let [resources, representations, contents] = MAX_CACHE_BYTES;
        Self {
            resources: cache(resources),
            representations: cache(representations),
            contents: cache(contents),
            changes: Mutex::default(),
        }
    }

    /// Returns the roles of an address.
    pub(super) fn resources(
        &self,
        location: &Location,
        read: impl FnOnce() -> Result<Vec<Resource>, StoreError>,
    ) -> Result<Vec<Resource>, StoreError> {
        if let Some(known) = self.resources.get(location) {
            return Ok(known);
        }
        let before = *self.changes();
        let found = read()?;
        let changes = self.changes();
        if *changes == before {
            self.resources.insert(location.clone(), found.clone());
        }
        Ok(found)
    }

    /// Returns the stored representation of an address.
    pub(super) fn representation(
        &self,
        partition: Partition,
        location: &Location,
        read: impl FnOnce() -> Result<Option<Representation>, StoreError>,
    ) -> Result<Option<Representation>, StoreError> {
        let key = (partition, location.clone());
        if let Some(known) = self.representations.get(&key) {
            return Ok(known);
        }
        let before = *self.changes();
        let found = read()?;
        let changes = self.changes();
        if *changes == before {
            self.representations.insert(key, found.clone());
        }
        Ok(found)
    }

    /// Returns cached contents.
    pub(super) fn content(&self, digest: &Digest) -> Option<Bytes> {
        self.contents.get(digest)
    }

    /// Caches contents.
    pub(super) fn keep(&self, digest: Digest, bytes: Bytes) {
        self.contents.insert(digest, bytes);
    }

    /// Invalidates the data that committed steps change.
    pub(super) fn follow(&self, steps: &[Step]) {
        let mut changes = self.changes();
        *changes += 1;
        for change in steps.iter().flat_map(|step| &step.changes) {
            match change {
                Change::Representation { partition, location, .. } => {
                    self.representations.remove(&(*partition, location.clone()));
                }
                Change::Generation { .. } => {
                    self.resources.clear();
                    self.representations.clear();
                }
                Change::PartitionRemoved(_) => {
                    self.resources.clear();
                    self.representations.clear();
                    self.contents.clear();
                }
                _ => {}
            }
        }
    }

    /// Invalidates all representations.
    pub(super) fn forget_representations(&self) {
        *self.changes() += 1;
        self.representations.clear();
    }

    /// Invalidates all contents.
    pub(super) fn forget_contents(&self) {
        self.contents.clear();
    }

    fn changes(&self) -> MutexGuard<'_, u64> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cache<K: Eq + std::hash::Hash, V: Clone>(room: u64) -> Cache<K, V, Weight>
where
    Weight: Weighter<K, V>,
{
    let items = usize::try_from(room / OVERHEAD / 8).unwrap_or(usize::MAX);
    Cache::with_weighter(items, room, Weight)
}

/// Estimates the size of cache entries.
#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Location, Vec<Resource>> for Weight {
    fn weight(&self, location: &Location, resources: &Vec<Resource>) -> u64 {
        OVERHEAD * (1 + resources.len() as u64) + location.as_str().len() as u64
    }
}

impl Weighter<(Partition, Location), Option<Representation>> for Weight {
    fn weight(&self, key: &(Partition, Location), stored: &Option<Representation>) -> u64 {
        let headers = stored.iter().flat_map(|stored| &stored.headers);
        let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + 64);
        OVERHEAD + (key.1.as_str().len() + headers.sum::<usize>()) as u64
    }
}

impl Weighter<Digest, Bytes> for Weight {
    fn weight(&self, _: &Digest, bytes: &Bytes) -> u64 {
        OVERHEAD + bytes.len() as u64
    }
}
