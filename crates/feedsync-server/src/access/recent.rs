//! A cache of recent values, in bounded memory.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::generations::GenerationalMap;

pub(super) struct ExpiringCache<K, V> {
    lifetime: Duration,
    values: Mutex<GenerationalMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash, V: Clone> ExpiringCache<K, V> {
    /// Creates a cache with a maximum number of values and a lifetime for each.
    pub(super) fn new(most: usize, lifetime: Duration) -> Self {
        Self { lifetime, values: Mutex::new(GenerationalMap::new(most)) }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.with(|all| {
            let (since, value) = all.get(key)?;
            (since.elapsed() < self.lifetime).then(|| value.clone())
        })
    }

    pub(super) fn insert(&self, key: K, value: V) {
        self.with(|all| all.insert(key, (Instant::now(), value)));
    }

    pub(super) fn remove(&self, key: &K) {
        self.with(|all| all.remove(key));
    }

    pub(super) fn clear(&self) {
        self.with(GenerationalMap::clear);
    }

    fn with<T>(&self, work: impl FnOnce(&mut GenerationalMap<K, (Instant, V)>) -> T) -> T {
        work(&mut self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_is_remembered_for_its_time_and_only_so_many_are() {
        let recent = ExpiringCache::new(4, Duration::from_secs(1));
        recent.insert("a", 1);
        assert_eq!(recent.get(&"a"), Some(1));
        advance(Duration::from_secs(1)).await;
        assert_eq!(recent.get(&"a"), None);
        recent.insert("a", 2);
        recent.remove(&"a");
        assert_eq!(recent.get(&"a"), None);
        let many = ExpiringCache::new(4, Duration::from_secs(1));
        (0..1_000).for_each(|number| many.insert(number, number));
        assert_eq!((0..1_000).filter(|number| many.get(number).is_some()).count(), 4);
        assert_eq!(many.get(&999), Some(999));
    }
}
