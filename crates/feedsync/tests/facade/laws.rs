//! Laws of the library: replicas that synced agree, and no edit is lost, in whatever order people edit and sync.

use std::collections::{BTreeMap, BTreeSet};

use feedsync::{Collection, Format, Item, ItemId, Payload};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scene::{Hub, todo, versions};

#[derive(Debug, Clone)]
enum Step {
    Add,
    Edit(usize),
    /// Keeps what the application has read, for a stale edit.
    Open(usize),
    EditOpened,
    DeleteOpened,
    Delete(usize),
    Undelete(usize),
    Resolve,
    Sync,
    /// A feed in a file reaches the other replica.
    Send,
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let item = 0..4_usize;
    let step = prop_oneof![
        3 => Just(Step::Add),
        5 => item.clone().prop_map(Step::Edit),
        2 => item.clone().prop_map(Step::Open),
        2 => Just(Step::EditOpened),
        1 => Just(Step::DeleteOpened),
        1 => item.clone().prop_map(Step::Delete),
        1 => item.prop_map(Step::Undelete),
        1 => Just(Step::Resolve),
        4 => Just(Step::Sync),
        1 => Just(Step::Send),
    ];
    (0..2_usize, step)
}

/// Two replicas, and the edits that were made of each item.
struct World {
    hub: Hub,
    replicas: [Collection; 2],
    opened: [Option<Item>; 2],
    made: BTreeMap<ItemId, BTreeSet<u64>>,
    next: u64,
}

impl World {
    async fn new() -> Self {
        let replicas = [todo().await, todo().await];
        let made = BTreeMap::new();
        Self { hub: Hub::new().await, replicas, opened: [None, None], made, next: 0 }
    }

    /// The number of a new edit.
    fn edit(&mut self, id: &ItemId) -> u64 {
        self.next += 1;
        self.made.entry(id.clone()).or_default().insert(self.next);
        self.next
    }

    fn item(&self, position: usize) -> Option<ItemId> {
        self.made.keys().nth(position).cloned()
    }

    async fn take(&mut self, who: usize, step: Step) {
        let todo = self.replicas[who].clone();
        match step {
            Step::Add => {
                let id = todo.replica().endpoint().new_id();
                let number = self.edit(&id);
                todo.add_as(&id, json!({"edits": [number]})).await.unwrap();
            }
            Step::Edit(position) => {
                let Some(id) = self.item(position) else { return };
                let Some(item) = todo.get(&id).await.unwrap() else { return };
                self.update(&todo, item).await;
            }
            Step::Open(position) => {
                let Some(id) = self.item(position) else { return };
                self.opened[who] = todo.get(&id).await.unwrap();
            }
            Step::EditOpened => {
                let Some(item) = self.opened[who].take() else { return };
                self.update(&todo, item).await;
            }
            Step::DeleteOpened => {
                let Some(item) = self.opened[who].take() else { return };
                todo.delete(&item).await.unwrap();
            }
            Step::Delete(position) | Step::Undelete(position) => {
                let Some(id) = self.item(position) else { return };
                let done = match step {
                    Step::Delete(_) => todo.delete_latest(&id).await,
                    _ => todo.undelete(&id).await,
                };
                let is_there = !matches!(done, Err(feedsync::Error::NoItem { .. }));
                assert!(done.is_ok() || !is_there, "{done:?}");
            }
            Step::Resolve => {
                for conflict in todo.conflicts().await.unwrap() {
                    let versions = conflict.versions().iter();
                    let all: BTreeSet<u64> =
                        versions.flat_map(|version| edits(&version.content)).collect();
                    todo.resolve(conflict.replace(json!({"edits": all}))).await.unwrap();
                }
            }
            Step::Sync => drop(todo.sync(&self.hub.url()).await.unwrap()),
            Step::Send => {
                let feed = todo.to_feed(Format::Atom).await.unwrap();
                self.replicas[1 - who].merge_feed(feed).await.unwrap();
            }
        }
    }

    async fn update(&mut self, todo: &Collection, mut item: Item) {
        let number = self.edit(&item.id().clone());
        item["edits"].as_array_mut().unwrap().push(json!(number));
        todo.update(&item).await.unwrap();
    }

    /// All edits that a version of the collection still has or covers.
    async fn known(&self, todo: &Collection) -> BTreeMap<ItemId, BTreeSet<u64>> {
        let mut known = BTreeMap::<_, BTreeSet<u64>>::new();
        for id in self.made.keys() {
            let item = todo.replica().endpoint().item(&"todo".parse().unwrap(), id).await.unwrap();
            for version in item.item.versions() {
                let content = serde_json::from_str(version.payload.text()).unwrap();
                known.entry(id.clone()).or_default().extend(edits(&content));
            }
        }
        known
    }
}

fn edits(content: &Value) -> Vec<u64> {
    content["edits"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn replicas_that_synced_agree_and_have_lost_no_edit(
        steps in prop::collection::vec(step(), 1..50)
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for (who, step) in steps {
                world.take(who, step).await;
            }
            for who in [0, 1, 0, 1] {
                world.replicas[who].sync(&world.hub.url()).await.unwrap();
            }
            let [one, other] = &world.replicas;
            assert_eq!(versions(one).await, versions(other).await);
            assert_eq!(versions(one).await, versions(&world.hub.todo).await);
            assert_eq!(world.known(one).await, world.made);
            for todo in [one, other] {
                assert_eq!(todo.sync(&world.hub.url()).await.unwrap().sent, 0, "all is sent");
            }
        });
    }
}

#[tokio::test]
async fn items_that_change_while_they_are_listed_are_listed_once() {
    let todo = todo().await;
    for number in 0..2_500 {
        todo.add(json!({"title": format!("{number:04}")})).await.unwrap();
    }
    let first = todo.page(None, 1).await.unwrap();
    let feedsync::Change::Put(first) = &first.changes[0] else { panic!() };
    let changing = async {
        for _ in 0..200 {
            todo.change(first.id(), |item| {
                item["count"] = json!(item["count"].as_u64().unwrap_or(0) + 1);
            })
            .await
            .unwrap();
            tokio::task::yield_now().await;
        }
    };
    let (items, ()) = tokio::join!(todo.items(), changing);
    let mut titles: Vec<_> = items.unwrap().into_iter().map(|it| it["title"].to_string()).collect();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), 2_500);
    let bytes = todo.of::<Payload>().items().await.unwrap();
    assert_eq!(bytes.len(), 2_500);
}
