//! Sorted maps and sets: those of the standard library or, with the feature `compact`, sorted vectors.
//!
//! Each kind of map of the standard library is about 9 kB of WebAssembly, and the states of this crate have fifty kinds.
//! A web page downloads them all, to keep a few thousand entries. The feature `compact` replaces them by sorted vectors
//! of the same behaviour, which are a sixth of that size. They move the entries behind the one that is inserted or
//! removed; hence a program with large collections does not enable the feature.

#[cfg(any(feature = "compact", test))]
mod compact;

#[cfg(feature = "compact")]
pub use compact::{SortedMap, SortedSet};

/// Map whose entries are sorted by their keys.
#[cfg(not(feature = "compact"))]
pub type SortedMap<K, V> = std::collections::BTreeMap<K, V>;

/// Set whose elements are sorted.
#[cfg(not(feature = "compact"))]
pub type SortedSet<T> = std::collections::BTreeSet<T>;
