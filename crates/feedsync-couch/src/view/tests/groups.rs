use feedsync_formats::json::Node;
use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{Row, any_row, id, long_key, order};
use crate::view::{GroupLevel, PositionRange, position, push_group, push_row};

/// Groups as they are defined: consecutive rows whose group keys are equal.
fn naive(rows: &[Row], level: GroupLevel) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let key = level.group_key(&row.key);
        match groups.last_mut() {
            Some(group) if order(&key, &level.group_key(&rows[group[0]].key)).is_eq() => {
                group.push(at);
            }
            _ => groups.push(vec![at]),
        }
    }
    groups
}

fn any_level() -> impl Strategy<Value = GroupLevel> {
    prop_oneof![Just(GroupLevel::Exact), (1..4_u64).prop_map(GroupLevel::Elements)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn group_ranges_contain_the_rows_of_a_group(rows in vec(any_row(), 1..30), level in any_level()) {
        let mut rows = rows;
        rows.sort_by_key(Row::position);
        for group in naive(&rows, level) {
            for at in &group {
                let range = level.group_range(&rows[*at].key).unwrap();
                let inside: Vec<_> =
                    (0..rows.len()).filter(|at| range.contains(&rows[*at].position())).collect();
                prop_assert_eq!(&inside, &group);
            }
        }
    }
}

/// The example of "Reduce and Rereduce Functions".
#[test]
fn group_keys_are_the_first_elements() {
    for (level, key, group) in [
        (GroupLevel::Elements(1), "[2009, 1 ,30]", "[2009]"),
        (GroupLevel::Elements(2), "[2009, 1 ,30]", "[2009,1]"),
        (GroupLevel::Elements(3), "[2009,1,30]", "[2009,1,30]"),
        (GroupLevel::Elements(4), "[2009,1,30]", "[2009,1,30]"),
        (GroupLevel::Elements(1), "\"text\"", "\"text\""),
        (GroupLevel::Elements(1), "[]", "[]"),
        (GroupLevel::Exact, " [1, 2] ", "[1, 2]"),
    ] {
        assert_eq!(level.group_key(key), group);
    }
}

#[test]
fn long_keys_are_grouped_as_a_whole_or_refused() {
    let keys: Vec<String> = ["a", "b", "c"]
        .iter()
        .flat_map(|end| (0..40).map(move |at| format!("[{},{at}]", long_key(end))))
        .collect();
    for key in &keys {
        let position = position(Node::root(key), &id("a"), 0);
        for other in &keys {
            assert!(GroupLevel::Elements(1).group_range(other).is_err());
            let range = GroupLevel::Exact.group_range(other).unwrap();
            assert_eq!(range.contains(&position), key == other);
        }
    }
    // The key is cut off, but not its first element.
    let key = |at: u32| format!("[{at},{}]", long_key("a"));
    let range = GroupLevel::Elements(1).group_range(&key(1)).unwrap();
    assert!(range.contains(&position(Node::root(&key(1)), &id("a"), 0)));
    assert!(!range.contains(&position(Node::root(&key(2)), &id("a"), 0)));
}

#[test]
fn intersections_contain_what_both_ranges_contain() {
    let range = |from: u8, to: u8| PositionRange { from: vec![from], to: vec![to] };
    assert_eq!(range(1, 5).intersection(&range(3, 9)), range(3, 5));
    assert!(range(1, 2).intersection(&range(3, 4)).is_empty());
    assert_eq!(PositionRange::all().intersection(&range(3, 4)), range(3, 4));
}

#[test]
fn rows_are_written_as_couchdb_writes_them() {
    let mut out = String::new();
    push_row(&mut out, "a\"", "[1]", "null");
    push_group(&mut out, "null", "3");
    assert_eq!(out, r#"{"id":"a\"","key":[1],"value":null}{"key":null,"value":3}"#);
}
