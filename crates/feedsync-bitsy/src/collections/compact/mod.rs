//! Sorted vectors with the interface of the sorted maps and sets of the standard library.

mod map;
mod set;
#[cfg(test)]
mod tests;

pub use map::SortedMap;
pub use set::SortedSet;
