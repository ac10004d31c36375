//! Sorted vectors behave as the trees of the standard library.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{SortedMap, SortedSet};

/// A change of a map, or a question.
#[derive(Debug, Clone)]
enum Call {
    Insert(u8, u16),
    Remove(u8),
    OrInsert(u8, u16),
    Add(u8),
    Set(u8, u16),
    Retain(u8),
    Extend(Vec<(u8, u16)>),
    Append(Vec<(u8, u16)>),
    Clear,
}

fn call() -> impl Strategy<Value = Call> {
    let entries = proptest::collection::vec(any::<(u8, u16)>(), 0..8);
    prop_oneof![
        8 => any::<(u8, u16)>().prop_map(|(key, value)| Call::Insert(key, value)),
        4 => any::<u8>().prop_map(Call::Remove),
        2 => any::<(u8, u16)>().prop_map(|(key, value)| Call::OrInsert(key, value)),
        2 => any::<u8>().prop_map(Call::Add),
        2 => any::<(u8, u16)>().prop_map(|(key, value)| Call::Set(key, value)),
        1 => any::<u8>().prop_map(Call::Retain),
        1 => entries.clone().prop_map(Call::Extend),
        1 => entries.prop_map(Call::Append),
        1 => Just(Call::Clear),
    ]
}

/// Makes the same call of a vector and a tree, and returns what both answered.
macro_rules! answer {
    ($map:expr, $call:expr) => {
        match $call.clone() {
            Call::Insert(key, value) => $map.insert(key, value).map(u32::from),
            Call::Remove(key) => $map.remove(&key).map(u32::from),
            Call::OrInsert(key, value) => Some(u32::from(*$map.entry(key).or_insert(value))),
            Call::Add(key) => {
                let value = $map.entry(key).or_default();
                *value = value.wrapping_add(1);
                None
            }
            Call::Set(key, value) => {
                if let Some(own) = $map.get_mut(&key) {
                    *own = value;
                }
                $map.values_mut().next().map(|value| u32::from(*value))
            }
            Call::Retain(most) => {
                $map.retain(|key, value| *key <= most || *value % 2 == 0);
                None
            }
            Call::Extend(entries) => {
                $map.extend(entries);
                None
            }
            Call::Append(entries) => {
                let mut other = entries.into_iter().collect();
                $map.append(&mut other);
                assert!(other.is_empty());
                None
            }
            Call::Clear => {
                $map.clear();
                None
            }
        }
    };
}

proptest! {
    #[test]
    fn maps_answer_as_those_of_the_standard_library(
        calls in proptest::collection::vec(call(), 0..60),
        from in any::<u8>(),
        to in any::<u8>(),
    ) {
        let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
        for call in calls {
            prop_assert_eq!(answer!(map, call), answer!(tree, call));
            prop_assert_eq!(format!("{map:?}"), format!("{tree:?}"));
        }
        prop_assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
        prop_assert_eq!((map.get(&from), map.contains_key(&to)), (tree.get(&from), tree.contains_key(&to)));
        prop_assert_eq!(map.first_key_value(), tree.first_key_value());
        prop_assert_eq!(map.last_key_value(), tree.last_key_value());
        prop_assert!(map.iter().rev().eq(tree.iter().rev()) && (&map).into_iter().eq(&tree));
        prop_assert!(map.iter_mut().eq(tree.iter_mut()));
        prop_assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
        let (from, to) = (from.min(to), from.max(to));
        prop_assert!(map.range(from..=to).eq(tree.range(from..=to)));
        prop_assert!(map.range(from..to).rev().eq(tree.range(from..to).rev()));
        prop_assert!(map.range(..to).eq(tree.range(..to)) && map.range(from..).eq(tree.range(from..)));
        let behind = (std::ops::Bound::Excluded(from), std::ops::Bound::Unbounded);
        prop_assert!(map.range(behind).eq(tree.range(behind)));
        let again: SortedMap<_, _> = tree.clone().into_iter().rev().collect();
        prop_assert_eq!(&again, &map);
        prop_assert!(map.clone().into_keys().eq(tree.clone().into_keys()));
        prop_assert!(map.clone().into_values().eq(tree.clone().into_values()));
        prop_assert!(map.into_iter().eq(tree));
    }

    #[test]
    fn sets_answer_as_those_of_the_standard_library(
        elements in proptest::collection::vec(any::<u8>(), 0..60),
        removed in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let (mut set, mut tree) = (SortedSet::new(), BTreeSet::new());
        for element in &elements {
            prop_assert_eq!(set.insert(*element), tree.insert(*element));
        }
        let (others, of_tree): (SortedSet<u8>, BTreeSet<u8>) =
            (removed.iter().copied().collect(), removed.iter().copied().collect());
        prop_assert!(set.difference(&others).eq(tree.difference(&of_tree)));
        let of_one: SortedSet<_> = set.symmetric_difference(&others).collect();
        prop_assert!(of_one.into_iter().eq(tree.symmetric_difference(&of_tree)));
        prop_assert_eq!(set.is_subset(&others), tree.is_subset(&of_tree));
        for element in &removed {
            prop_assert_eq!(set.remove(element), tree.remove(element));
            prop_assert_eq!(set.contains(element), tree.contains(element));
        }
        set.retain(|element| element % 3 != 0);
        tree.retain(|element| element % 3 != 0);
        prop_assert_eq!((set.first(), set.last(), set.len()), (tree.first(), tree.last(), tree.len()));
        prop_assert_eq!((set.is_empty(), format!("{set:?}")), (tree.is_empty(), format!("{tree:?}")));
        prop_assert!((&set).into_iter().eq(&tree) && set.iter().rev().eq(tree.iter().rev()));
        let mut more = set.clone();
        more.extend(elements.iter().copied());
        prop_assert!(set.is_subset(&more));
        prop_assert!(set.into_iter().eq(tree));
    }
}
