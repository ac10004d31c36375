//! Tests of the quota and of the order of deletions.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interception::Role;
use feedsync_bitsy::interceptor::{Content, Stored as _};
use feedsync_gateway::store::{Quota, Store};
use tempfile::TempDir;

use crate::samples::{at, durable, edit, generation, pin, step, stored};

fn there(store: &Store, paths: &[&str]) -> Vec<bool> {
    let reader = store.reader();
    let is_there =
        |path: &&str| reader.representation(Partition::public(), &at(path)).unwrap().is_some();
    paths.iter().map(is_there).collect()
}

#[test]
fn oldest_links_are_deleted_first_then_members_then_feeds_but_never_edits() {
    let directory = TempDir::new().unwrap();
    let (store, _) = Store::open(directory.path(), Quota(10_000)).unwrap();
    let held: Vec<_> = (0..8).map(|number| pin(&store, number, 1_000)).collect();
    let content = |number: usize| -> Content { held[number].content() };
    let paths = ["feed", "member", "edited", "old", "new", "orphan"];
    let roles = [
        ("feed", Role::Feed),
        ("member", Role::Synchronizable),
        ("edited", Role::Synchronizable),
        ("old", Role::Subscribable),
        ("new", Role::Subscribable),
    ];
    let mut changes = vec![generation("feed", &roles), edit(1, "edited", content(7))];
    // The feed was fetched first, and the pages linked from it last.
    for (number, path) in paths.iter().enumerate() {
        let fetched = if *path == "orphan" { 4 } else { number as u64 * 2 };
        changes.push(stored(path, content(number), fetched));
    }
    store.apply(&[durable(changes)]).unwrap();
    assert_eq!(there(&store, &paths), [true; 6]);
    let mut fetched = 100;
    let mut add = |path: &str, length: usize| {
        fetched += 1;
        let more = pin(&store, fetched, length);
        store.apply(&[step(vec![stored(path, more.content(), fetched)])]).unwrap();
        there(&store, &["feed", "member", "edited", "old", "new", "orphan", path])
    };
    // Of 10 500 bytes, the excess and a sixteenth are deleted.
    assert_eq!(add("more", 4_500), [true, true, true, false, true, false, true]);
    assert_eq!(add("again", 5_000), [true, true, true, false, false, false, true]);
    assert_eq!(add("too large", 9_500), [true, true, true, false, false, false, false]);
    assert_eq!(add("feed", 8_200), [true, false, true, false, false, false, true]);
    assert_eq!(add("feed", 9_500), [false, false, true, false, false, false, false]);
    drop(held);
    drop(store);
    let (store, rows) = Store::open(directory.path(), Quota(10_000)).unwrap();
    let body = rows.edits[0].requested.body.clone().unwrap().content;
    assert_eq!(store.reader().content(&body).unwrap().len(), 1_000);
}

#[test]
fn quota_includes_representations_of_earlier_processes() {
    let directory = TempDir::new().unwrap();
    let put = |path: &str, number: u64| {
        let (store, _) = Store::open(directory.path(), Quota(1_600)).unwrap();
        let held = pin(&store, number, 600);
        store.apply(&[step(vec![stored(path, held.content(), number)])]).unwrap();
        there(&store, &["a", "b", "c"])
    };
    assert_eq!(put("a", 1), [true, false, false]);
    assert_eq!(put("b", 2), [true, true, false]);
    assert_eq!(put("b", 3), [true, true, false], "it took the place of itself");
    assert_eq!(put("c", 4), [false, true, true]);
}
