//! Property tests: after arbitrary steps the store equals the model, also after a restart.

use std::collections::{BTreeSet, HashSet};

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::headers::RegisteredHeaders;
use feedsync_bitsy::interceptor::{
    Change, Content, Step, Stored as _, StoredSubscription, SubscriptionId,
};
use feedsync_bitsy::subscription::builder::SubscriptionRequest;
use feedsync_bitsy::subscription::{Holder, Subscription};
use feedsync_gateway::store::{PinnedContent, Store, StoreError};
use http::{HeaderMap, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::model::Model;
use crate::samples::{at, open, sweep_once};
use crate::steps::{CONTENTS, change, sample};

#[derive(Debug, Clone)]
enum Act {
    Steps(Vec<Step>),
    Sweep,
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let step = (vec(change(), 0..5), any::<bool>());
    let step = step.prop_map(|(changes, is_durable)| Step { changes, is_durable, events: vec![] });
    prop_oneof![
        6 => vec(step, 0..3).prop_map(Act::Steps),
        1 => Just(Act::Sweep),
        1 => Just(Act::Reopen),
    ]
}

fn held(store: &Store) -> Vec<PinnedContent> {
    (0..CONTENTS).map(|number| store.pin(&sample(number)).unwrap()).collect()
}

fn check(store: &Store, model: &Model) {
    assert_eq!(store.rows().unwrap(), model.rows());
    let reader = store.reader();
    for number in 0..5u8 {
        let location = at(&format!("{number}?a=%20%C3%A4"));
        let mut resources = reader.resources(&location).unwrap();
        resources.sort_by_key(|resource| (resource.partition, resource.feed.clone()));
        assert_eq!(resources, model.resources(&location));
        for partition in [Partition::public(), Partition::of_bytes([7; 32])] {
            let expected = model.representations.get(&(partition, location.clone()));
            let found = reader.representation(partition, &location).unwrap();
            assert_eq!(found.as_ref(), expected);
        }
    }
}

/// Checks which contents are readable: the needed ones, and after a sweep no others.
fn check_contents(store: &Store, model: &Model, is_swept: bool) {
    let reader = store.reader();
    let addresses = model.representations.values().map(|stored| stored.content.digest);
    let needed: BTreeSet<_> = model.needed().into_iter().chain(addresses).collect();
    for number in 0..CONTENTS {
        let content = Content::of(&sample(number));
        match reader.content(&content) {
            Ok(bytes) => {
                assert_eq!(bytes, sample(number));
                assert!(!is_swept || needed.contains(&content.digest), "{number} is left over");
            }
            Err(StoreError::NoContent(digest)) => assert!(!needed.contains(&digest), "{number}"),
            Err(error) => panic!("{error}"),
        }
    }
}

fn sweep(store: &Store, model: &Model) {
    let needed: HashSet<_> = model.needed().into_iter().collect();
    while sweep_once(store, &needed) {}
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn stored_rows_equal_the_model(acts in vec(act(), 1..12)) {
        let directory = TempDir::new().unwrap();
        let mut store = open(&directory).0;
        let mut model = Model::default();
        for act in acts {
            match act {
                Act::Steps(steps) => {
                    let held = held(&store);
                    store.apply(&steps).unwrap();
                    drop(held);
                    for change in steps.iter().flat_map(|step| &step.changes) {
                        model.make(change);
                    }
                }
                Act::Sweep => {
                    sweep(&store, &model);
                    check_contents(&store, &model, true);
                }
                Act::Reopen => {
                    drop(store);
                    let (again, rows) = open(&directory);
                    prop_assert_eq!(rows, model.rows());
                    store = again;
                }
            }
            check(&store, &model);
            check_contents(&store, &model, false);
        }
        drop(store);
        store = open(&directory).0;
        sweep(&store, &model);
        check(&store, &model);
        check_contents(&store, &model, true);
    }
}

#[test]
fn headers_of_one_name_and_secrets_come_back_as_they_were() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let mut headers = HeaderMap::new();
    headers.append("link", HeaderValue::from_static("<a>"));
    headers.append("x-token", HeaderValue::from_static("b"));
    headers.append("link", HeaderValue::from_static("<c>"));
    let content = Content::of(b"");
    let mut stored = crate::samples::representation(content, 1);
    stored.headers = headers.clone();
    let wanted = SubscriptionRequest {
        feed: at("feed"),
        registered: RegisteredHeaders::default(),
        interval: 1,
        follows: BTreeSet::new(),
        proxy: None,
    };
    let mut registered = RegisteredHeaders::default();
    registered.set("Authorization", "Bearer secret").unwrap();
    let wanted = SubscriptionRequest { registered, ..wanted };
    let stored_subscription = StoredSubscription {
        id: SubscriptionId(1),
        subscription: Subscription::new(wanted, Holder(1)),
        collection: None,
        moved: None,
        followed: None,
    };
    let changes = vec![
        Change::Representation {
            partition: Partition::public(),
            location: at("a"),
            representation: Some(Box::new(stored)),
        },
        Change::StoredSubscription(Box::new(stored_subscription)),
    ];
    store.apply(&[crate::samples::durable(changes)]).unwrap();
    drop(store);
    let (store, rows) = open(&directory);
    let again = store.reader().representation(Partition::public(), &at("a")).unwrap();
    let links: Vec<_> = again.as_ref().unwrap().headers.get_all("link").iter().collect();
    assert_eq!(links, ["<a>", "<c>"]);
    let registered = rows.stored_subscriptions[0].subscription.registered();
    assert!(registered.get(&http::header::AUTHORIZATION).unwrap().is_sensitive());
    assert!(!format!("{rows:?}").contains("Bearer secret"));
}
