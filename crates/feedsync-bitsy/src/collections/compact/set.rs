//! A set in a sorted vector.

use std::borrow::Borrow;
use std::fmt;

use super::map::SortedMap;

/// Set in a sorted vector. It behaves as `std::collections::BTreeSet`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T>(SortedMap<T, ()>);

impl<T> SortedSet<T> {
    /// An empty set.
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set has no element.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The elements, sorted.
    pub fn iter(&self) -> Iter<'_, T> {
        self.0.iter().map(key)
    }

    /// The least element.
    pub fn first(&self) -> Option<&T> {
        self.0.first_key_value().map(key)
    }

    /// The greatest element.
    pub fn last(&self) -> Option<&T> {
        self.0.last_key_value().map(key)
    }

    /// Keeps the elements for which the function is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.0.retain(|element, ()| keeps(element));
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether the set has an element.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(element)
    }

    /// Adds an element. Returns whether the set did not have it.
    pub fn insert(&mut self, element: T) -> bool {
        self.0.insert(element, ()).is_none()
    }

    /// Removes an element. Returns whether the set had it.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(element).is_some()
    }

    /// The elements that the other set does not have, sorted.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl DoubleEndedIterator<Item = &'a T> {
        self.iter().filter(|element| !other.contains(*element))
    }

    /// The elements that only one of both sets has. Unlike those of `BTreeSet`, they are sorted in each set alone.
    pub fn symmetric_difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.difference(other).chain(other.difference(self))
    }

    /// Whether the other set has all elements of this one.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|element| other.contains(element))
    }
}

/// Iterator over elements.
pub(super) type Iter<'a, T> =
    std::iter::Map<super::map::Iter<'a, T, ()>, for<'b> fn((&'b T, &'b ())) -> &'b T>;

fn key<'a, T>((key, ()): (&'a T, &'a ())) -> &'a T {
    key
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = Self::new();
        set.extend(elements);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(element, ())| element)
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
