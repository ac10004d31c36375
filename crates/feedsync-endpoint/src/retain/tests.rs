use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_core::{Base, Creation, Edit, Format};
use feedsync_formats::{Entry, compose};
use feedsync_store::{
    CollectionChange, EndpointName, Environment, MemoryStore, NewCollection, Selection,
};

use super::*;

const DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// A clock that tests set, and random numbers that never repeat.
#[derive(Default)]
struct Clock {
    now: AtomicU64,
    count: AtomicU64,
}

impl Environment for Clock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.now.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

struct World {
    endpoint: Endpoint,
    clock: Arc<Clock>,
    notes: CollectionName,
}

impl World {
    async fn new() -> Self {
        let clock = Arc::new(Clock::default());
        let store = MemoryStore::new(&EndpointName::new("hub").unwrap(), clock.clone());
        let endpoint = Endpoint::new(Arc::new(store), clock.clone());
        let notes = CollectionName::new("notes").unwrap();
        let (title, settings) = ("Notes".to_owned(), BTreeMap::new());
        let new = NewCollection { name: notes.clone(), title, format: Format::Atom, settings };
        endpoint.store().create_collection(new).await.unwrap();
        let world = Self { endpoint, clock, notes };
        world.day(1_000);
        world
    }

    fn day(&self, day: u64) {
        self.clock.now.store(day * DAY, Ordering::Relaxed);
    }

    async fn keep(&self, keep: &str) {
        self.set("keep", keep).await;
    }

    async fn set(&self, name: &str, value: &str) {
        let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let change = CollectionChange { settings: Some(settings), ..Default::default() };
        self.endpoint.store().change_collection(&self.notes, change).await.unwrap();
    }

    async fn add(&self, ids: &[&str]) {
        for id in ids {
            let entry = Entry { title: Some((*id).to_owned()), ..Entry::default() };
            let payload = compose(Format::Atom, &entry);
            let id = ItemId::new(id).unwrap();
            self.endpoint.add(&self.notes, id, Creation::default(), payload).await.unwrap();
        }
    }

    async fn delete(&self, ids: &[&str]) {
        for id in ids {
            let id = ItemId::new(id).unwrap();
            self.endpoint.edit(&self.notes, &id, None, Edit::delete()).await.unwrap();
        }
    }

    /// Edits one version of an item twice.
    async fn disagree(&self, id: &str) {
        let id = ItemId::new(id).unwrap();
        let winner = self.endpoint.item(&self.notes, &id).await.unwrap().item.winner;
        let base =
            || Base { updates: winner.updates, noconflicts: None, history: winner.history.clone() };
        for title in ["one", "other"] {
            let entry = Entry { title: Some(title.to_owned()), ..Entry::default() };
            let edit = Edit::from(compose(Format::Atom, &entry));
            self.endpoint.edit(&self.notes, &id, Some(base()), edit).await.unwrap();
        }
    }

    async fn show(&self) {
        let last = self.endpoint.collection(&self.notes).await.unwrap().last;
        self.endpoint.mark_sent(&self.notes, last).await.unwrap();
    }

    async fn retain(&self, retained: &mut RetentionProgress) -> u64 {
        self.endpoint.retain(&self.notes, retained).await.unwrap()
    }

    /// Returns the ids of all items, newest change first.
    async fn ids(&self) -> Vec<String> {
        let selection = Selection { deleted: true, ..Selection::default() };
        let store = self.endpoint.store();
        let page = store.listing(&self.notes, &selection, PageLimit::items(99)).await.unwrap();
        page.items.iter().map(|stored| stored.item.id.to_string()).collect()
    }
}

#[tokio::test]
async fn tombstones_go_when_they_are_old_enough_and_others_know_of_them() {
    let world = World::new().await;
    world.keep(r#"{"tombstones": "90d"}"#).await;
    world.add(&["a", "b", "c", "d"]).await;
    world.delete(&["a", "c"]).await;
    let mut retained = RetentionProgress::default();
    world.day(1_091);
    assert_eq!(world.retain(&mut retained).await, 0, "nobody was shown the deletions");
    world.show().await;
    world.delete(&["d"]).await;
    world.show().await;
    world.day(1_090);
    assert_eq!(world.retain(&mut retained).await, 0, "they are not older than 90 days");
    world.day(1_091);
    assert_eq!(world.retain(&mut retained).await, 2);
    assert_eq!(world.ids().await, ["d", "b"]);
    let collection = world.endpoint.collection(&world.notes).await.unwrap();
    assert_eq!(collection.horizon, ChangeNumber::new(6), "those who have seen less learn it");
    world.day(1_200);
    assert_eq!(world.retain(&mut retained).await, 1);
    assert_eq!(world.ids().await, ["b"]);
}

#[tokio::test]
async fn live_items_go_by_age_and_by_number_and_those_with_conflicts_stay() {
    let world = World::new().await;
    world.add(&["a", "b", "c", "d"]).await;
    world.disagree("b").await;
    world.day(1_010);
    world.add(&["e", "f", "g"]).await;
    world.delete(&["g"]).await;
    world.show().await;
    let mut retained = RetentionProgress::default();
    assert_eq!(world.retain(&mut retained).await, 0, "nothing was set");
    world.keep(r#"{"age": "20d"}"#).await;
    world.day(1_021);
    assert_eq!(world.retain(&mut retained).await, 3);
    assert_eq!(world.ids().await, ["g", "f", "e", "b"]);
    world.keep(r#"{"count": 1}"#).await;
    assert_eq!(world.retain(&mut retained).await, 1);
    assert_eq!(world.ids().await, ["g", "f", "b"]);
    world.add(&["h", "i"]).await;
    assert_eq!(world.retain(&mut retained).await, 1, "f was shown, h was not");
    world.show().await;
    assert_eq!(world.retain(&mut retained).await, 1);
    assert_eq!(world.ids().await, ["i", "g", "b"]);
    assert_eq!(world.retain(&mut retained).await, 0);
}

/// Walks for one kind skip items of the other kind once.
#[tokio::test]
async fn retained_items_are_not_read_again() {
    let world = World::new().await;
    let ids: Vec<String> = (0..1_200).map(|number| format!("item{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    world.add(&ids).await;
    world.delete(&ids[..2]).await;
    world.day(1_001);
    world.delete(&ids[2..3]).await;
    world.show().await;
    world.keep(r#"{"tombstones": "1d", "count": 1198}"#).await;
    world.day(1_002);
    let mut retained = RetentionProgress::default();
    assert_eq!(world.retain(&mut retained).await, 2);
    let (live, tombstones) = (ChangeNumber::ZERO, ChangeNumber::new(1_202));
    assert_eq!((retained.live, retained.tombstones), (live, tombstones));
    world.keep(r#"{"tombstones": "1d", "count": 600}"#).await;
    assert_eq!(world.retain(&mut retained).await, 597);
    // The first 600 changes are gone: those of three tombstones and of the purged items.
    assert_eq!((retained.live, retained.tombstones), (ChangeNumber::new(600), tombstones));
    world.endpoint.store().drop_collection(&world.notes).await.unwrap();
    let (title, settings) = ("Notes".to_owned(), BTreeMap::new());
    let new = NewCollection { name: world.notes.clone(), title, format: Format::Atom, settings };
    world.endpoint.store().create_collection(new).await.unwrap();
    world.keep(r#"{"count": 1}"#).await;
    world.add(&["a", "b"]).await;
    world.show().await;
    assert_eq!(world.retain(&mut retained).await, 1, "another life of the collection");
    assert_eq!(world.ids().await, ["b"]);
}

#[tokio::test]
async fn a_setting_that_cannot_be_read_purges_nothing() {
    let world = World::new().await;
    world.add(&["a"]).await;
    world.show().await;
    world.keep(r#"{"moons": 1}"#).await;
    world.day(9_000);
    let refused = world.endpoint.retain(&world.notes, &mut RetentionProgress::default()).await;
    assert!(matches!(refused, Err(EndpointError::Setting(_))), "{refused:?}");
    assert_eq!(world.ids().await, ["a"]);
}

#[tokio::test]
async fn partial_feed_begins_where_its_age_and_count_say() {
    let world = World::new().await;
    for (day, id) in [(1_000, "a"), (1_010, "b"), (1_020, "c")] {
        world.day(day);
        world.add(&[id]).await;
    }
    for (partial, first) in [
        ("{}", 0),
        (r#"{"age":"20d"}"#, 0),
        (r#"{"age":"19d"}"#, 1),
        (r#"{"age":"9d","count":3}"#, 2),
        (r#"{"age":"20d","count":1}"#, 2),
        (r#"{"count":0}"#, 3),
    ] {
        world.set("partial", partial).await;
        let publication = world.endpoint.publish(&world.notes, None).await.unwrap();
        let collection = &publication.collection;
        let since = collection.until(ChangeNumber::new(first)).to_string();
        assert_eq!(
            (publication.after.get(), &publication.window.since),
            (first, &since),
            "{partial}"
        );
        assert_eq!(publication.window.until, collection.until(collection.last).to_string());
        let all = world.endpoint.publish_complete(&world.notes).await.unwrap();
        assert_eq!(all.after, ChangeNumber::ZERO, "{partial}");
    }
    world.day(1_040);
    world.set("partial", r#"{"age":"19d"}"#).await;
    let publication = world.endpoint.publish(&world.notes, None).await.unwrap();
    assert_eq!(publication.after.get(), 3, "all are too old");
}
