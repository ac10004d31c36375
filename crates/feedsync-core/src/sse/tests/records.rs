//! Stored parts of losing versions (5.2).

use super::*;

fn all_orders(records: &[Conflict<&'static str>]) -> Vec<Vec<Conflict<&'static str>>> {
    if records.is_empty() {
        return vec![vec![]];
    }
    let mut orders = Vec::new();
    for index in 0..records.len() {
        let mut rest = records.to_vec();
        let first = rest.remove(index);
        for mut order in all_orders(&rest) {
            order.insert(0, first.clone());
            orders.push(order);
        }
    }
    orders
}

fn inserted(records: Vec<Conflict<&'static str>>) -> Vec<Conflict<&'static str>> {
    let mut list = Vec::new();
    for record in records {
        add_conflict(&mut list, record);
    }
    list.sort_by_key(|conflict| conflict.stamp.clone());
    list
}

#[test]
fn the_record_of_5_2_is_the_losers_history() {
    let base = item("a", at("A", 1));
    let b = updated(&base, "b", stamp("GPM7383", "Tue, 24 May 2005 08:00:11 GMT"));
    let c = updated(&base, "c", stamp("REO1750", "Tue, 24 May 2005 09:43:33 GMT"));
    let item = merged(&c, &b);
    assert_eq!(item.conflicts, [record(2, b.history.latest.clone(), "b")]);
}

#[test]
fn one_record_is_kept_for_each_by_and_one_without() {
    let records = [
        record(1, at("A", 9), "A1"),
        record(3, at("A", 1), "A3"),
        record(2, at("B", 5), "B2"),
        record(4, stamp("", "20 May 2005 01:00 GMT"), "early"),
        record(4, stamp("", "20 May 2005 02:00 GMT"), "late"),
        record(3, stamp("", "20 May 2005 03:00 GMT"), "low"),
    ];
    for order in all_orders(&records) {
        let kept: Vec<&str> =
            inserted(order).into_iter().filter_map(|conflict| conflict.payload).collect();
        assert_eq!(kept, ["A3", "B2", "late"]);
    }
}

#[test]
fn an_equal_version_leaves_the_record_that_is_there() {
    let mut list = vec![record(2, at("A", 1), "first")];
    assert!(!add_conflict(&mut list, record(2, at("A", 5), "second")));
    assert_eq!(list, [record(2, at("A", 1), "first")]);
    assert!(add_conflict(&mut list, record(3, at("A", 0), "third")));
    assert_eq!(list, [record(3, at("A", 0), "third")]);
}

#[test]
fn any_number_without_by_is_one_from_the_next_insertion_on() {
    let without = |version, hour: u8, name| {
        record(version, stamp("", &format!("20 May 2005 {hour:02}:00 GMT")), name)
    };
    let mut list = vec![
        without(2, 1, "a"),
        record(1, at("B", 1), "b"),
        without(3, 1, "c"),
        without(3, 0, "d"),
    ];
    assert!(add_conflict(&mut list, without(1, 5, "e")));
    assert_eq!(list, [record(1, at("B", 1), "b"), without(3, 1, "c")]);
    assert!(!add_conflict(&mut list, without(3, 1, "f")));
}
