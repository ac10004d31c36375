//! Sample collections and items for tests.

use std::sync::Arc;

use feedsync_core::{
    By, Format, History, Item, ItemId, Payload, Sequence, Timestamp, Update, Updates, Version,
};

use super::{Constructor, Fixture, TestEnvironment, wait};
use crate::{
    AuditAction, ChangeNumber, Collection, CollectionName, ItemStore, NewCollection, Origin,
    PageLimit, Put, StoreError, StoredItem, Write,
};

/// A limit that no test reaches.
pub const ALL: PageLimit = PageLimit { items: 1_000_000, bytes: usize::MAX };

/// A collection's name.
pub fn named(name: &str) -> CollectionName {
    CollectionName::new(name).expect("a legal name")
}

/// An audit entry without a user, for the collection `notes`.
pub fn act(action: &str) -> AuditAction {
    AuditAction {
        user: None,
        address: None,
        action: action.to_owned(),
        collection: Some(named("notes")),
        item: None,
        detail: String::new(),
    }
}

/// An item's id.
pub fn id(text: &str) -> ItemId {
    ItemId::new(text).expect("a legal id")
}

/// An authoring line.
pub fn by(text: &str) -> By {
    By::new(text).expect("a legal by")
}

/// A sequence.
pub fn sequence(number: u32) -> Sequence {
    Sequence::new(number).expect("a legal sequence")
}

/// A version whose history has the updates 1 to `updates` of one authoring line.
pub fn version(line: &str, updates: u32, text: &str) -> Version<Payload> {
    let when = Timestamp::parse("2005-05-21T11:43:33Z").expect("a legal time");
    let history = (1..=updates).rev().map(|n| Update::signed(sequence(n), when, by(line)));
    Version {
        updates: Updates::new(updates).expect("a legal number of updates"),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(history.collect()).expect("at least one update"),
        payload: Payload::from_parsed(Format::Atom, text),
    }
}

/// An item without conflicts.
pub fn item(name: &str, line: &str, updates: u32) -> Item<Payload> {
    let text = format!("<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>{name}</id></entry>");
    Item { id: id(name), winner: version(line, updates, &text), conflicts: Vec::new() }
}

/// The same item as a tombstone.
pub fn deleted(mut item: Item<Payload>) -> Item<Payload> {
    item.winner.deleted = true;
    item
}

/// A write of an item that was created in this store.
pub fn put(item: Item<Payload>) -> Write {
    Write::Put(Put { item, created_here: true, origin: Origin::Here, blobs: Vec::new() })
}

/// A new store with its own environment.
pub fn open<S: ?Sized>(constructor: Constructor<S>) -> (Fixture<S>, Arc<TestEnvironment>) {
    let environment = Arc::new(TestEnvironment::new(1));
    (constructor(environment.clone()), environment)
}

/// Creates a collection of Atom entries.
pub fn create(store: &(impl ItemStore + ?Sized), name: &str) -> Collection {
    let new = NewCollection {
        name: named(name),
        title: format!("The {name}"),
        format: Format::Atom,
        settings: [("purge".to_owned(), "90d".to_owned())].into(),
    };
    wait(store.create_collection(new)).expect("created")
}

/// Applies writes to the items with these ids.
pub fn write(
    store: &(impl ItemStore + ?Sized),
    collection: &CollectionName,
    keys: &[&str],
    writes: Vec<Write>,
) -> Result<Collection, StoreError> {
    let keys = keys.iter().map(|key| id(key)).collect();
    wait(store.update(collection, keys, Box::new(move |_| writes.clone())))
}

/// Stores items, each in its own update.
pub fn store_each(store: &(impl ItemStore + ?Sized), collection: &CollectionName, names: &[&str]) {
    for name in names {
        let writes = vec![put(item(name, "A", 1))];
        write(store, collection, &[name], writes).expect("stored");
    }
}

/// All items in change order.
pub fn all(store: &(impl ItemStore + ?Sized), collection: &CollectionName) -> Vec<StoredItem> {
    wait(store.changes(collection, ChangeNumber::ZERO, None, ALL)).expect("read").items
}

/// The ids of items, in order.
pub fn ids(items: &[StoredItem]) -> Vec<&str> {
    items.iter().map(|stored| stored.item.id.as_str()).collect()
}
