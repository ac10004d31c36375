//! Limits on how often something is done, by keys such as an address or a user.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::recent::ExpiringCache;
use crate::http::bucket::Bucket;

/// Burst size, and the time until one more is allowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) most: f64,
    pub(super) each: Duration,
}

/// The remaining number for each key. At most 100,000 keys are stored; the keys idle longest are evicted, and then have all
/// again.
pub(super) struct RateLimits<K> {
    left: ExpiringCache<K, Bucket>,
    rate: fn(&K) -> Rate,
    /// Makes reading and writing one step.
    turn: Mutex<()>,
}

impl<K: Eq + Hash + Clone> RateLimits<K> {
    /// Keys have their rate; a key that was idle for a lifetime has all again.
    pub(super) fn new(rate: fn(&K) -> Rate, lifetime: Duration) -> Self {
        Self { left: ExpiringCache::new(100_000, lifetime), rate, turn: Mutex::new(()) }
    }

    /// Takes one of each key, or returns the time until that is possible.
    pub(super) fn take(&self, keys: &[K]) -> Result<(), Duration> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            let left = self.left(key).tokens;
            if left < 1.0 {
                return Err((self.rate)(key).each.mul_f64(1.0 - left));
            }
        }
        keys.iter().for_each(|key| self.add(key, -1.0));
        Ok(())
    }

    /// Gives back one of each key.
    pub(super) fn give_back(&self, keys: &[K]) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        keys.iter().for_each(|key| self.add(key, 1.0));
    }

    fn left(&self, key: &K) -> Bucket {
        let Rate { most, each } = (self.rate)(key);
        let mut left = self.left.get(key).unwrap_or_else(|| Bucket::full(most));
        left.fill(1.0 / each.as_secs_f64(), most);
        left
    }

    fn add(&self, key: &K, more: f64) {
        let mut left = self.left(key);
        left.tokens = (left.tokens + more).min((self.rate)(key).most);
        self.left.insert(key.clone(), left);
    }
}
