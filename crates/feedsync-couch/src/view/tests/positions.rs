use feedsync_formats::json::Node;
use proptest::prelude::*;

use super::model::{Row, any_row, id, long_key, order};
use crate::view::{KEPT_ID_BYTES, MAX_LEVEL, level, position};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn positions_are_in_the_order_of_keys_ids_and_numbers(one in any_row(), other in any_row()) {
        for (one, other) in [(&one, &other), (&one, &one)] {
            let by_position = one.position().cmp(&other.position());
            prop_assert_eq!(by_position, one.compare(other), "{:?} {:?}", one, other);
        }
        // Equal keys and ids are rare.
        for row in [
            Row { key: one.key.clone(), ..other.clone() },
            Row { document: one.document.clone(), key: one.key.clone(), nth: other.nth },
        ] {
            let by_position = one.position().cmp(&row.position());
            prop_assert_eq!(by_position, one.compare(&row), "{:?} {:?}", one, row);
        }
    }

    #[test]
    fn no_position_begins_another_one(one in any_row(), other in any_row()) {
        let (one, other) = (one.position(), other.position());
        prop_assert!(one == other || !one.starts_with(&other));
    }

    #[test]
    fn long_keys_that_are_equal_are_adjacent(ends in proptest::collection::vec("[a-c]{0,2}", 2..20)) {
        let mut rows: Vec<(Vec<u8>, String)> = ends
            .iter()
            .enumerate()
            .map(|(nth, end)| {
                let key = long_key(end);
                (position(Node::root(&key), &id("a"), nth as u32), key)
            })
            .collect();
        rows.sort();
        let mut groups: Vec<&str> = rows.iter().map(|(_, key)| &**key).collect();
        groups.dedup();
        let mut different = groups.clone();
        different.sort_unstable();
        different.dedup();
        prop_assert_eq!(groups.len(), different.len());
    }
}

#[test]
fn long_keys_and_ids_are_cut_off_and_told_apart() {
    let of = |key: &str, document: &str| position(Node::root(key), &id(document), 0);
    let (one, other) = (of(&long_key("a"), "a"), of(&long_key("b"), "a"));
    assert_ne!(one, other);
    assert_eq!(one.len(), 992 + 32 + 3 + 4);
    // The same key in another spelling.
    assert_eq!(one, of(&format!(" {}", long_key("\u{61}")), "a"));
    assert_eq!(order(&long_key("e\u{301}"), &long_key("\u{e9}")), std::cmp::Ordering::Equal);
    assert_eq!(of(&long_key("e\u{301}"), "a"), of(&long_key("\u{e9}"), "a"));
    for length in [509, 510, 511, 512, 513, 7_000] {
        let (one, other) = ("x".repeat(length), "x".repeat(length - 1) + "y");
        assert!(of("1", &one) != of("1", &other), "{length}");
        assert!(of("1", &one).len() <= KEPT_ID_BYTES + 32 + 4 + of("1", "a").len());
    }
    assert!(of("1", &"x".repeat(510)) < of("1", &"y".repeat(900)));
}

#[test]
fn values_deeper_than_documents_have_positions() {
    let deep = |text: &str, levels: usize| {
        let key = "[".repeat(levels) + text + &"]".repeat(levels);
        position(Node::root(&key), &id("a"), 0)
    };
    assert_ne!(deep("1", 600), deep("2", 600));
    assert_ne!(deep("1", 600), deep("1", 601));
    assert!(!deep("1", 600).starts_with(&deep("", 400)[..500]));
    assert!(deep("", 400) < deep("1", 600));
}

#[test]
fn one_of_64_positions_reaches_the_next_level() {
    let mut counts = [0_u32; 5];
    for number in 0..400_000_u32 {
        counts[usize::from(level(&number.to_be_bytes()))] += 1;
    }
    let reached: Vec<u32> = (0..5).map(|from| counts[from..].iter().sum()).collect();
    for pair in reached.windows(2).take(2) {
        let part = f64::from(pair[0]) / f64::from(pair[1]);
        assert!((50.0..80.0).contains(&part), "{reached:?}");
    }
    assert!((10..=200).contains(&reached[2]), "{reached:?}");
    assert!(level(b"") <= MAX_LEVEL);
}

/// Stored rows depend on these bytes: change `VIEW_VERSION` together with them.
#[test]
fn positions_and_levels_never_change() {
    let position = position(Node::root("[1,null]"), &id("a\0b"), 258);
    let expected = [8, 6, 0x41, 1, 11, 0, 1, 0, b'a', 0, 0xff, b'b', 0, 0, 0, 0, 1, 2];
    assert_eq!(position, expected);
    let first = (0..u32::MAX).find(|number| level(&number.to_be_bytes()) == 2);
    assert_eq!(first, Some(4_692));
}
