//! Sorted maps and sets: those of the standard library or, in WebAssembly, sorted vectors.
//!
//! Each kind of map of the standard library is about 9 kB of WebAssembly, and the states of this crate have fifty kinds.
//! A web page downloads them all, to keep a few thousand entries. There they are sorted vectors of the same behaviour,
//! which are a sixth of that size. They move the entries behind the one that is inserted or removed; hence programs
//! with large collections have those of the standard library.

#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(
    not(target_arch = "wasm32"),
    expect(unreachable_pub, reason = "tests alone use it here")
)]
mod compact;

#[cfg(target_arch = "wasm32")]
pub use compact::{SortedMap, SortedSet};

/// Map whose entries are sorted by their keys.
#[cfg(not(target_arch = "wasm32"))]
pub type SortedMap<K, V> = std::collections::BTreeMap<K, V>;

/// Set whose elements are sorted.
#[cfg(not(target_arch = "wasm32"))]
pub type SortedSet<T> = std::collections::BTreeSet<T>;
