//! Both sides of a bridge, over a store in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_core::{Creation, Edit, Format, Item, ItemId, Keep, Payload, Resolution, Resolved};
use feedsync_couch::mapping::{document_id, revision_of};
use feedsync_couch::{DocumentId, Json, Revision, Submission};
use feedsync_formats::Blob;
use feedsync_store::{
    ChangeNumber, CollectionChange, CollectionName, EndpointName, Environment, MemoryStore, Moment,
    NewCollection, SystemEnvironment,
};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::*;
use crate::documents::leaves::{Leaves, chosen};
use crate::documents::validation::Author;
use crate::documents::{Edits, NewDocument};

struct House {
    endpoint: Endpoint,
    bridge: CollectionBridge,
    clock: Arc<Clock>,
}

/// A clock that tests set.
struct Clock(AtomicU64);

impl Clock {
    fn set(&self, now: Moment) {
        self.0.store(now.micros(), Ordering::Relaxed);
    }
}

impl Environment for Clock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        SystemEnvironment.random()
    }
}

impl House {
    async fn new() -> Self {
        let name = EndpointName::new("tester").unwrap();
        let clock = Arc::new(Clock(SystemEnvironment.now().micros().into()));
        let store = Arc::new(MemoryStore::new(&name, Arc::clone(&clock) as _));
        let endpoint = Endpoint::new(store, Arc::clone(&clock) as _);
        let name = CollectionName::new("notes").unwrap();
        make(&endpoint, &name).await;
        let bridge = endpoint.open_as_database(&name).await.unwrap();
        Self { endpoint, bridge, clock }
    }

    async fn carry(&self) -> BridgeReport {
        self.endpoint.synchronize_bridge(&self.bridge).await.unwrap()
    }

    /// Writes a document as a client does; returns its revision.
    async fn put(&self, text: &str, edits: Edits) -> Revision {
        let json = Json::read(text.as_bytes().to_vec()).unwrap();
        let sent = Submission::read(json.root()).unwrap();
        let id = sent.id.clone().unwrap();
        let databases = self.endpoint.databases();
        let database = databases.database(&self.bridge.database).await.unwrap().unwrap();
        let document = NewDocument { id, sent, followed: BTreeMap::new() };
        let writer = self.endpoint.documents_writer(Author::SERVER);
        let written = writer.write(&database, vec![document], edits).await;
        written.unwrap().remove(0).unwrap()
    }

    async fn add(&self, id: &str, text: &str) {
        let payload = Payload::from_parsed(Format::Json, text);
        let id = ItemId::new(id).unwrap();
        self.endpoint.add(&self.bridge.collection, id, Creation::default(), payload).await.unwrap();
    }

    async fn edit(&self, id: &str, text: &str) {
        let payload = Payload::from_parsed(Format::Json, text);
        let id = ItemId::new(id).unwrap();
        let edit = Edit::from(payload);
        self.endpoint.edit(&self.bridge.collection, &id, None, edit).await.unwrap();
    }

    async fn item(&self, id: &str) -> Option<Item<Payload>> {
        let id = ItemId::new(id).unwrap();
        let found = self.endpoint.store().item(&self.bridge.collection, &id).await.unwrap();
        found.map(|stored| stored.item)
    }

    /// Returns the leaves of a document, the winner first: revision, whether it is deleted, and body.
    async fn leaves(&self, id: &str) -> Vec<(Revision, bool, String)> {
        let id: DocumentId = id.parse().unwrap();
        let databases = self.endpoint.databases();
        let all = chosen(Leaves::All);
        let page = databases.documents(&self.bridge.database, &[id], all, u64::MAX).await.unwrap();
        let Some(read) = page.documents.into_iter().flatten().next() else { return Vec::new() };
        let leaves = read.document.tree.leaves().into_iter().map(|leaf| {
            let body = read.bodies[leaf.revision].text.to_string();
            (leaf.revision.clone(), leaf.content.is_deleted, body)
        });
        leaves.collect()
    }
}

async fn make(endpoint: &Endpoint, name: &CollectionName) {
    let (title, format, settings) = (String::new(), Format::Json, BTreeMap::new());
    let new = NewCollection { name: name.clone(), title, format, settings };
    endpoint.store().create_collection(new).await.unwrap();
}

#[tokio::test]
async fn changes_reach_the_other_side_and_then_passes_do_nothing() {
    let house = House::new().await;
    house.add("milk", "{\"title\":\"milk\"}").await;
    house.put(r#"{"_id":"a b","title":"bread"}"#, Edits::New).await;
    house.put(r#"{"_id":"_design/app","views":{}}"#, Edits::New).await;
    let carried = house.carry().await;
    assert_eq!((carried.items, carried.documents, carried.refused), (1, 1, 0));
    assert_eq!(house.item("a%20b").await.unwrap().winner.payload.text(), "{\"title\":\"bread\"}");
    let leaves = house.leaves("milk").await;
    assert_eq!((leaves.len(), &*leaves[0].2), (1, "{\"title\":\"milk\"}"));
    assert_eq!(house.carry().await, BridgeReport::default());
    // Each is edited on the other side.
    let (revision, ..) = &leaves[0];
    let edit = format!(r#"{{"_id":"milk","_rev":"{revision}","title":"oat milk"}}"#);
    let edited = house.put(&edit, Edits::New).await;
    house.edit("a%20b", "{\"title\":\"rye\"}").await;
    let carried = house.carry().await;
    assert_eq!((carried.items, carried.documents), (1, 1));
    let milk = house.item("milk").await.unwrap();
    assert_eq!((milk.winner.payload.text(), milk.conflicts.len()), ("{\"title\":\"oat milk\"}", 0));
    assert_eq!(milk.winner.dot().by().unwrap().as_str(), format!("couch.{edited}"));
    let bread = house.leaves("a b").await;
    assert_eq!((bread.len(), bread[0].0.generation(), &*bread[0].2), (1, 2, "{\"title\":\"rye\"}"));
    assert_eq!(house.carry().await, BridgeReport::default());
}

#[tokio::test]
async fn concurrent_edits_conflict_on_both_sides_and_resolve_on_either() {
    let house = House::new().await;
    house.add("a", "{\"n\":1}").await;
    house.add("b", "{\"n\":1}").await;
    house.carry().await;
    for id in ["a", "b"] {
        let (revision, ..) = house.leaves(id).await.remove(0);
        let edit = format!(r#"{{"_id":"{id}","_rev":"{revision}","n":2}}"#);
        house.put(&edit, Edits::New).await;
        house.edit(id, "{\"n\":3}").await;
    }
    house.carry().await;
    for id in ["a", "b"] {
        assert_eq!(house.item(id).await.unwrap().conflicts.len(), 1);
        let leaves = house.leaves(id).await;
        assert_eq!(leaves.iter().filter(|leaf| !leaf.1).count(), 2, "{leaves:?}");
    }
    // An item is resolved as FeedSync defines,
    let seen = house.item("a").await.unwrap();
    let resolution = Resolution {
        resolved: Resolved::All,
        keep: Keep::Content {
            payload: Payload::from_parsed(Format::Json, "{\"n\":4}"),
            deleted: None,
        },
    };
    house.endpoint.resolve(&house.bridge.collection, &seen, resolution).await.unwrap();
    // and a document as clients of CouchDB do.
    let leaves = house.leaves("b").await;
    let gone = format!(r#"{{"_id":"b","_rev":"{}","_deleted":true}}"#, leaves[1].0);
    house.put(&gone, Edits::New).await;
    house.carry().await;
    let a = house.leaves("a").await;
    let live: Vec<&str> = a.iter().filter(|leaf| !leaf.1).map(|leaf| &*leaf.2).collect();
    assert_eq!(live.len(), 1, "{a:?}");
    assert!(live[0].starts_with("{\"n\":4"), "{live:?}");
    let b = house.item("b").await.unwrap();
    assert_eq!((b.conflicts.len(), b.winner.payload.text()), (0, &*leaves[0].2));
    assert_eq!(house.carry().await, BridgeReport::default());
}

#[tokio::test]
async fn attachments_are_blobs_and_wait_for_those_that_are_not_here() {
    let house = House::new().await;
    let text =
        r#"{"_id":"a","_attachments":{"b.txt":{"content_type":"text/plain","data":"aGk="}}}"#;
    house.put(text, Edits::New).await;
    house.carry().await;
    let payload = house.item("a").await.unwrap().winner.payload;
    let [blob] = &feedsync_formats::blobs(&payload)[..] else { panic!("{payload:?}") };
    assert_eq!((&*blob.name, &*blob.media_type, blob.length), ("b.txt", "text/plain", 2));
    let store = house.endpoint.store();
    let bytes = store.blob(feedsync_store::Digest::from_bytes(blob.sha256)).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"hi"[..]));
    // In the other direction the bytes arrive later.
    let digest = feedsync_store::Digest::of(b"later");
    let later = Blob::new("c", "text/plain", 5, *digest.as_bytes()).unwrap();
    let member = feedsync_formats::blobs_member(&[later]);
    house.add("b", &format!("{{{member}}}")).await;
    assert_eq!(house.carry().await.waiting, 1);
    assert_eq!(house.leaves("b").await, []);
    store.put_blob(b"later".to_vec()).await.unwrap();
    let carried = house.carry().await;
    assert_eq!((carried.waiting, carried.documents), (0, 1));
    let databases = house.endpoint.databases();
    let id = ["b".parse().unwrap()];
    let all = chosen(Leaves::All);
    let page = databases.documents(&house.bridge.database, &id, all, u64::MAX).await.unwrap();
    let read = page.documents[0].as_ref().unwrap();
    let kept = read.bodies.values().next().unwrap();
    assert_eq!((&*kept.text, &*kept.attachments[0].name), ("{}", "c"));
    let digest = &kept.attachments[0].digest;
    let bytes = databases.attachment(&house.bridge.database, digest).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"later"[..]));
    assert_eq!(house.carry().await, BridgeReport::default());
}

#[tokio::test]
async fn refused_items_and_documents_stay_and_are_reported() {
    let house = House::new().await;
    let long = "x".repeat(2_000);
    house.put(&format!(r#"{{"_id":"{long}"}}"#), Edits::New).await;
    house.put(&format!(r#"{{"_id":"large","text":"{}"}}"#, "x".repeat(17 << 20)), Edits::New).await;
    house.put(r#"{"_id":"small"}"#, Edits::New).await;
    house.add("odd", "{\"fs:blobs\":7}").await;
    let carried = house.carry().await;
    assert_eq!((carried.items, carried.documents, carried.refused), (1, 0, 3));
    let left: Vec<_> = carried.left.iter().map(|left| (&*left.id, &*left.why)).collect();
    let larger =
        "the versions of the item have 17825803 bytes together, more than the limit of 16777216";
    let unsaid = "the item odd has members whose names are reserved in documents";
    assert_eq!(
        left,
        [
            (&*long, "the id of the document is not allowed for an item"),
            ("large", larger),
            ("odd", unsaid)
        ]
    );
    assert!(house.item("small").await.is_some() && house.item("large").await.is_none());
    assert_eq!(house.leaves("large").await.len(), 1);
}

/// Documents that did not fit are transferred once the collection has room, without another edit.
#[tokio::test]
async fn documents_above_the_limit_wait_for_room() {
    let mut house = House::new().await;
    house.endpoint = house.endpoint.with_item_limit(2);
    for id in ["a", "b", "c", "d"] {
        house.put(&format!(r#"{{"_id":"{id}"}}"#), Edits::New).await;
    }
    let carried = house.carry().await;
    assert_eq!((carried.items, carried.refused), (2, 2));
    assert_eq!(house.carry().await, BridgeReport::default());
    let later = || house.clock.set(Moment::from_micros(house.clock.now().micros() + 61_000_000));
    later();
    assert_eq!(
        house.carry().await,
        BridgeReport::default(),
        "nothing is read again while it is full"
    );
    let name = &house.bridge.collection;
    house.endpoint.edit(name, &ItemId::new("a").unwrap(), None, Edit::delete()).await.unwrap();
    later();
    let carried = house.carry().await;
    assert_eq!((carried.items, carried.refused), (1, 1));
    assert!(house.item("c").await.is_some() && house.item("d").await.is_none());
}

#[tokio::test]
async fn a_database_of_somebody_else_is_not_taken() {
    let house = House::new().await;
    let databases = house.endpoint.databases();
    databases.create_database(&"others".parse().unwrap(), Default::default()).await.unwrap();
    let others = CollectionName::new("others").unwrap();
    make(&house.endpoint, &others).await;
    let taken = house.endpoint.open_as_database(&others).await;
    let is_taken = matches!(&taken, Err(BridgeError::Endpoint(EndpointError::DatabaseTaken(of))) if *of == others);
    assert!(is_taken, "{taken:?}");
    // The next collection of that name has another database, which is empty.
    house.endpoint.drop_collection(&house.bridge.collection).await.unwrap();
    make(&house.endpoint, &house.bridge.collection).await;
    let bridge = house.endpoint.open_as_database(&house.bridge.collection).await.unwrap();
    let database = databases.database(&bridge.database).await.unwrap().unwrap();
    assert_eq!((database.documents, database.deleted), (0, 0));
}

/// A collection with `documents` cannot be created, changed or renamed where another database has its name.
#[tokio::test]
async fn a_collection_is_not_opened_where_another_database_has_its_name() {
    let house = House::new().await;
    let (endpoint, databases) = (&house.endpoint, house.endpoint.databases());
    let [others, plans] = ["others", "plans"].map(|name| CollectionName::new(name).unwrap());
    let made = databases
        .create_database(&"others".parse().unwrap(), Default::default())
        .await
        .unwrap()
        .unwrap();
    let settings = BTreeMap::from([("documents".to_owned(), "true".to_owned())]);
    let new = |name: &CollectionName, settings: &BTreeMap<String, String>| NewCollection {
        name: name.clone(),
        title: String::new(),
        format: Format::Atom,
        settings: settings.clone(),
    };
    let is_taken = |done: Result<Collection, EndpointError>| matches!(done, Err(EndpointError::DatabaseTaken(of)) if of == others);
    assert!(is_taken(endpoint.create_collection(new(&others, &settings)).await));
    endpoint.create_collection(new(&others, &BTreeMap::new())).await.unwrap();
    let open = || CollectionChange { settings: Some(settings.clone()), ..Default::default() };
    assert!(is_taken(endpoint.change_collection(&others, open()).await));
    assert_eq!(endpoint.collection(&others).await.unwrap().settings, BTreeMap::new());
    endpoint.drop_collection(&others).await.unwrap();

    endpoint.create_collection(new(&plans, &settings)).await.unwrap();
    endpoint.open_as_database(&plans).await.unwrap();
    let rename = || CollectionChange { name: Some(others.clone()), ..Default::default() };
    assert!(is_taken(endpoint.change_collection(&plans, rename()).await));
    let closed = CollectionChange { settings: Some(BTreeMap::new()), ..rename() };
    endpoint.change_collection(&plans, closed).await.unwrap();
    // Other settings can be changed at any time. The collection is bridged once the name is free.
    let titled = CollectionChange { title: Some("T".to_owned()), ..Default::default() };
    endpoint.change_collection(&others, titled).await.unwrap();
    databases.drop_database(&"others".parse().unwrap(), made.epoch).await.unwrap();
    endpoint.change_collection(&others, open()).await.unwrap();
    endpoint.open_as_database(&others).await.unwrap();
    endpoint.change_collection(&others, open()).await.unwrap();
}

/// A collection that is dropped and created again during a pass is empty: nothing comes back, and nothing
/// goes into the database of the first one.
#[tokio::test]
async fn a_collection_that_was_made_again_is_another_one() {
    let house = House::new().await;
    let name = &house.bridge.collection;
    let text =
        r#"{"_id":"written","_attachments":{"b":{"content_type":"text/plain","data":"aGk="}}}"#;
    house.put(text, Edits::New).await;
    house.add("old", "{}").await;
    house.endpoint.drop_collection(name).await.unwrap();
    let gone = house.endpoint.synchronize_bridge(&house.bridge).await;
    assert!(matches!(gone, Err(BridgeError::Endpoint(_))), "{gone:?}");
    make(&house.endpoint, name).await;
    house.add("new", "{}").await;
    // The database was removed with the first collection.
    let gone = house.endpoint.synchronize_bridge(&house.bridge).await;
    assert!(matches!(gone, Err(BridgeError::Endpoint(_))), "{gone:?}");
    assert_eq!((house.item("old").await, house.item("written").await), (None, None));
    let blob = house.endpoint.store().blob(feedsync_store::Digest::of(b"hi")).await.unwrap();
    assert_eq!(blob, None, "not even an attachment");
}

/// After any edits on either side, both end with the same versions, and another pass does nothing.
#[tokio::test]
async fn both_sides_converge_after_any_edits() {
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let house = House::new().await;
        let ids = ["a", "b", "c"];
        for step in 0..40 {
            let id = *ids.choose(&mut random).unwrap();
            let leaves = house.leaves(id).await;
            let live: Vec<&Revision> =
                leaves.iter().filter(|leaf| !leaf.1).map(|leaf| &leaf.0).collect();
            match random.random_range(0..8) {
                0..=2 => {
                    let base = live.choose(&mut random);
                    let base = base.map(|it| format!(",\"_rev\":\"{it}\"")).unwrap_or_default();
                    let gone = if random.random_bool(0.2) && !base.is_empty() {
                        ",\"_deleted\":true"
                    } else {
                        ""
                    };
                    let text = format!("{{\"_id\":\"{id}\"{base}{gone},\"step\":{step}}}");
                    house.put(&text, Edits::New).await;
                }
                3 => {
                    let text =
                        format!("{{\"_id\":\"{id}\",\"_rev\":\"2-{step}\",\"step\":{step}}}");
                    house.put(&text, Edits::Replicated).await;
                }
                4 | 5 => match house.item(id).await {
                    None => house.add(id, &format!("{{\"step\":{step}}}")).await,
                    Some(seen) if random.random_bool(0.3) && !seen.conflicts.is_empty() => {
                        let resolution = Resolution { resolved: Resolved::All, keep: Keep::Winner };
                        let name = &house.bridge.collection;
                        house.endpoint.resolve(name, &seen, resolution).await.unwrap();
                    }
                    Some(_) => house.edit(id, &format!("{{\"step\":{step}}}")).await,
                },
                _ => drop(house.carry().await),
            }
        }
        house.carry().await;
        assert_eq!(house.carry().await, BridgeReport::default(), "seed {seed}");
        let name = &house.bridge.collection;
        let page = feedsync_store::PageLimit::items(9);
        let changes =
            house.endpoint.store().changes(name, ChangeNumber::ZERO, None, page).await.unwrap();
        for stored in changes.items {
            let item = stored.item;
            let mut versions: Vec<Revision> = item
                .versions()
                .filter(|version| !version.deleted)
                .map(|version| revision_of(&item.id, version).unwrap().path.newest())
                .collect();
            versions.sort();
            let leaves = house.leaves(document_id(&item.id).unwrap().as_str()).await;
            let mut live: Vec<Revision> =
                leaves.into_iter().filter(|leaf| !leaf.1).map(|leaf| leaf.0).collect();
            live.sort();
            assert_eq!(versions, live, "seed {seed}");
        }
    }
}

/// A version for which a document has no room is reported, and removes nothing that is stored.
#[tokio::test]
async fn version_without_room_in_a_document_is_reported() {
    let house = House::new().await;
    let databases = house.endpoint.databases();
    let database = databases.database(&house.bridge.database).await.unwrap().unwrap();
    let leaf = |number: u32| {
        let text = format!("{{\"_id\":\"x\",\"_rev\":\"1-{number:032x}\",\"n\":{number}}}");
        let json = Json::read(text.into_bytes()).unwrap();
        let sent = Submission::read(json.root()).unwrap();
        NewDocument { id: "x".parse().unwrap(), sent, followed: BTreeMap::new() }
    };
    let leaves = (0..10_000).map(leaf).collect();
    let writer = house.endpoint.documents_writer(Author::SERVER);
    writer.write(&database, leaves, Edits::Replicated).await.unwrap();
    house.add("x", "{\"title\":\"x\"}").await;
    let writer = house.endpoint.documents_writer(Author::SERVER);
    let pass = BridgePass { endpoint: &house.endpoint, bridge: &house.bridge, databases, writer };
    let (mut progress, mut carried) = (pass.progress().await.unwrap(), BridgeReport::default());
    assert!(!pass.apply_items(&mut progress, &mut carried).await.unwrap());
    let told = carried.left.iter().map(|left| left.why.as_str()).collect::<Vec<_>>().join("; ");
    assert!(told.contains("at most 10000 leaf revisions"), "{told}");
    let leaves = house.leaves("x").await;
    assert_eq!(
        (leaves.len(), leaves.iter().filter(|(_, is_deleted, _)| *is_deleted).count()),
        (10_000, 0)
    );
}
