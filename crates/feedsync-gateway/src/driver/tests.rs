//! Tests that decided and stored state agree through all kinds of failures.

use std::collections::BTreeSet;

use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::headers::RegisteredHeaders;
use feedsync_bitsy::interceptor::{EventKind, SubscriptionId};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::subscription::Holder;
use feedsync_bitsy::subscription::builder::SubscriptionRequest;
use feedsync_bitsy::subscription::state::State;
use tempfile::TempDir;

use super::*;
use crate::store::Quota;
use crate::target::Authority;

fn at(path: &str) -> Location {
    format!("http://example.org/{path}").parse().unwrap()
}

fn wanted(feed: &str) -> SubscriptionRequest {
    SubscriptionRequest {
        feed: at(feed),
        registered: RegisteredHeaders::default(),
        interval: 0,
        follows: BTreeSet::new(),
        proxy: None,
    }
}

fn driver(directory: &TempDir, reachable: &Reachable) -> Arc<Driver> {
    let (store, _) = Store::open(directory.path(), Quota::default()).unwrap();
    let (settings, environment) = (Settings::default(), Environment::default());
    Driver::new(Arc::new(store), settings, environment, reachable.clone()).unwrap()
}

async fn subscribe(driver: &Driver, feed: &str) -> Result<(SubscriptionId, Holder), DriverError> {
    let wanted = wanted(feed);
    driver
        .change(move |state, cx| {
            let (id, holder, step) = state.subscribe(wanted, cx.now);
            Ok(((id, holder), step))
        })
        .await
}

fn feeds(driver: &Driver) -> Vec<String> {
    let feeds = driver.read(|state, _| {
        let feeds = state.stored_subscriptions().map(|it| it.subscription.feed().to_string());
        Ok(feeds.collect())
    });
    feeds.unwrap()
}

#[tokio::test]
async fn acknowledged_changes_survive_a_restart() {
    let directory = TempDir::new().unwrap();
    let reachable = Reachable::default();
    let authority: Authority = "example.org:80".parse().unwrap();
    let agent_ = driver(&directory, &reachable);
    assert_eq!(reachable.access(&authority), None);
    let (id, holder) = subscribe(&agent_, "a").await.unwrap();
    assert!(reachable.access(&authority).is_some(), "what is subscribed to is reached");
    let others = (0..20).map(|number| {
        let driver = agent_.clone();
        tokio::spawn(async move { subscribe(&driver, &format!("{number}")).await.unwrap() })
    });
    for other in others.collect::<Vec<_>>() {
        let (id, holder) = other.await.unwrap();
        let closed = agent_.change(move |state, cx| {
            let step = state.unsubscribe(id, holder, cx.now);
            Ok(((), step.unwrap()))
        });
        closed.await.unwrap();
    }
    drop(agent_);
    let reachable = Reachable::default();
    let driver = driver(&directory, &reachable);
    assert_eq!(feeds(&driver), ["http://example.org/a"]);
    assert!(reachable.access(&authority).is_some());
    let ended =
        driver.change(move |state, cx| Ok(((), state.unsubscribe(id, holder, cx.now).unwrap())));
    ended.await.unwrap();
    assert_eq!(reachable.access(&authority), None);
}

#[tokio::test]
async fn events_are_sent_in_the_order_of_the_changes() {
    let directory = TempDir::new().unwrap();
    let driver = driver(&directory, &Reachable::default());
    let mut events = driver.events();
    let (id, _) = subscribe(&driver, "a").await.unwrap();
    for _ in 0..10 {
        let pause = driver.change(move |state, cx| Ok(((), state.pause(id, cx.now).unwrap())));
        pause.await.unwrap();
        let resume = driver.change(move |state, cx| {
            let mut step = state.resume(id, cx.now).unwrap();
            // As if the step did not have to survive a power failure.
            step.is_durable = false;
            Ok(((), step))
        });
        resume.await.unwrap();
    }
    for _ in 0..10 {
        for expected in [State::Paused, State::Ready] {
            let event = events.recv().await.unwrap();
            let EventKind::State(change) = &event.kind else { panic!("{event:?}") };
            assert_eq!(change.state, expected);
        }
    }
}

#[tokio::test]
async fn change_is_undone_if_it_cannot_be_stored() {
    let directory = TempDir::new().unwrap();
    let reachable = Reachable::default();
    let driver = driver(&directory, &reachable);
    subscribe(&driver, "a").await.unwrap();
    let store = &driver.store;
    store.bound(1);
    let mut refused = 0;
    for number in 0..2_000 {
        if let Err(error) = subscribe(&driver, &format!("b{number}")).await {
            let DriverError::Store(error) = error else { panic!("{error}") };
            assert!(error.is_full(), "{error}");
            refused += 1;
            break;
        }
    }
    assert_eq!(refused, 1);
    let stored = store.rows().unwrap().stored_subscriptions.len();
    assert_eq!(feeds(&driver).len(), stored);
    store.bound(u32::MAX);
    subscribe(&driver, "c").await.unwrap();
    assert_eq!(feeds(&driver).len(), stored + 1);
    drop(driver);
    let driver = self::driver(&directory, &reachable);
    assert_eq!(feeds(&driver).len(), stored + 1);
}

#[tokio::test]
async fn after_an_error_or_a_fault_in_the_middle_nothing_has_changed() {
    let directory = TempDir::new().unwrap();
    let driver = driver(&directory, &Reachable::default());
    subscribe(&driver, "a").await.unwrap();
    let failed = driver.change(|state, cx| {
        let (_, _, step) = state.subscribe(wanted("half"), cx.now);
        let nowhere = Content::of(b"nowhere");
        cx.stored.content(&nowhere)?;
        Ok(((), step))
    });
    assert!(matches!(failed.await, Err(DriverError::Store(StoreError::NoContent(_)))));
    assert_eq!(feeds(&driver), ["http://example.org/a"]);
    let faulty = Arc::clone(&driver);
    let fault = tokio::spawn(async move {
        let fault = faulty.change(|state, cx| -> Result<((), Step), StoreError> {
            let _ = state.subscribe(wanted("half"), cx.now);
            panic!("a fault")
        });
        fault.await
    });
    assert!(fault.await.unwrap_err().is_panic());
    assert_eq!(feeds(&driver), ["http://example.org/a"]);
    subscribe(&driver, "b").await.unwrap();
    assert_eq!(feeds(&driver).len(), 2);
    assert_eq!(driver.inspect(|state| state.errors().next()), ErrorId(1));
}

#[tokio::test]
async fn held_bytes_are_readable_at_once_and_swept_when_unused() {
    let directory = TempDir::new().unwrap();
    let driver = driver(&directory, &Reachable::default());
    let bytes = Body::from(bytes::Bytes::from_static(b"bytes"));
    let held = driver.pin(bytes, 5).await.unwrap();
    let content = held.content();
    driver.sweep();
    assert_eq!(driver.content(&content).unwrap(), b"bytes");
    drop(held);
    driver.sweep();
    assert!(matches!(driver.content(&content), Err(StoreError::NoContent(_))));
    let bytes = Body::from(bytes::Bytes::from_static(b"bytes"));
    assert!(matches!(driver.pin(bytes, 4).await, Err(DriverError::TooLarge { limit: 4 })));
}
