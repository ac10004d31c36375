//! Merging known updates allocates no memory: polling an unchanged feed is free.

use std::sync::Arc;

use feedsync_core::{
    By, Creation, Incorporation, Item, ItemId, Outcome, Stamp, Timestamp, incorporate, merge,
};

type Text = Arc<str>;

fn item(edits: &[&str]) -> Item<Text> {
    let when = Timestamp::from_unix_seconds(1_700_000_000).unwrap();
    let stamp = |by: &str| Stamp::new(when, By::new(by).unwrap());
    let id = ItemId::new("item").unwrap();
    let mut item =
        Item::create(id, Creation::default(), &stamp("ann"), Text::from("milk")).unwrap();
    for by in edits {
        item.update(&stamp(by), Text::from("more milk").into()).unwrap();
    }
    item
}

fn conflicted() -> Item<Text> {
    merge(Some(item(&["ann"])), item(&["bob"])).unwrap().0
}

#[test]
fn a_merge_that_changes_nothing_allocates_nothing() {
    for (local, incoming) in [
        (item(&["ann", "bob"]), item(&["ann", "bob"])),
        (item(&["ann", "bob"]), item(&["ann"])),
        (conflicted(), conflicted()),
        (conflicted(), item(&["bob"])),
    ] {
        let allocations = allocation_counter::measure(|| {
            let (_, outcome) = merge(Some(local), incoming).unwrap();
            assert_eq!(outcome, Outcome::Unchanged);
        });
        assert_eq!(allocations.count_total, 0);
    }
}

#[test]
fn incorporating_what_is_known_allocates_nothing() {
    for (local, incoming) in [
        (item(&["ann", "bob"]), item(&["ann"])),
        (conflicted(), conflicted()),
        (conflicted(), item(&["ann"])),
    ] {
        let allocations = allocation_counter::measure(|| {
            assert_eq!(incorporate(Some(&local), None, incoming), Incorporation::Unchanged);
        });
        assert_eq!(allocations.count_total, 0);
    }
}
