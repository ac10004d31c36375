//! A map in bounded memory.
//!
//! It has two generations. The older one is discarded when the younger is full.

use std::collections::HashMap;
use std::hash::Hash;

pub(crate) struct GenerationalMap<K, V> {
    most: usize,
    younger: HashMap<K, V>,
    older: HashMap<K, V>,
}

impl<K: Eq + Hash, V> GenerationalMap<K, V> {
    /// Creates a map with a maximum number of values.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, younger: HashMap::new(), older: HashMap::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.younger.get(key).or_else(|| self.older.get(key))
    }

    /// Returns a value of the younger generation.
    pub(crate) fn fresh(&self, key: &K) -> Option<&V> {
        self.younger.get(key)
    }

    /// Inserts a value into the younger generation. A value that is already there evicts nothing.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if !self.younger.contains_key(&key) && self.younger.len() >= self.most.div_ceil(2) {
            self.older = std::mem::take(&mut self.younger);
        }
        self.older.remove(&key);
        self.younger.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.younger.remove(key);
        self.older.remove(key);
    }

    pub(crate) fn clear(&mut self) {
        self.younger.clear();
        self.older.clear();
    }

    /// Number of values, and capacity.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let generations = [&self.younger, &self.older];
        let capacity = generations.iter().map(|generation| generation.capacity()).sum();
        (generations.iter().map(|generation| generation.len()).sum(), capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_insert_keeps_the_value_and_evicts_nothing() {
        let mut remembered = GenerationalMap::new(4);
        for key in ["a", "b"] {
            remembered.insert(key, 1);
        }
        (0..100).for_each(|value| remembered.insert("b", value));
        assert_eq!((remembered.get(&"a"), remembered.get(&"b")), (Some(&1), Some(&99)));
        for key in ["c", "a", "d", "a", "e", "a", "f"] {
            remembered.insert(key, 2);
        }
        assert_eq!(remembered.get(&"a"), Some(&2));
        assert_eq!(remembered.get(&"b"), None);
        assert!(remembered.size().0 <= 4);
    }
}
