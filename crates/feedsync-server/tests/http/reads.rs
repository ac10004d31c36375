//! Number of store operations: data that many clients need is read once.

use std::time::Duration;

use feedsync_core::Format;
use feedsync_endpoint::NewUser;
use feedsync_server::configuration::Audience;
use feedsync_server::{Config, router};
use feedsync_store::{CollectionChange, UserName};
use http::StatusCode;
use tokio::time::timeout;

use crate::events::Follower;
use crate::hub::{TestHub, add, bytes, create, endpoint, feed, hub_with, notes};

/// A hub with a user and the public collection `notes`.
async fn public() -> TestHub {
    let config = || Config { metrics: Audience::Public, ..Config::default() };
    let mut hub = hub_with(config()).await;
    let name = UserName::new("anna").unwrap();
    hub.endpoint
        .add_user(NewUser { name, password: None, administrator: true, databases_only: false })
        .await
        .unwrap();
    let settings = [("public".to_owned(), "true".to_owned())].into();
    let public = CollectionChange { settings: Some(settings), ..Default::default() };
    hub.endpoint.change_collection(&notes(), public).await.unwrap();
    hub.router = router(hub.endpoint.clone(), config());
    hub
}

/// Number of operations of a kind that the hub requested from its store.
async fn asked(hub: &TestHub, operation: &str) -> u64 {
    let page = bytes(hub.get("/metrics").await).await;
    let begin = format!("feedsync_store_seconds_count{{operation=\"{operation}\"}} ");
    let lines = str::from_utf8(&page).unwrap().lines();
    lines
        .filter_map(|line| line.strip_prefix(&begin))
        .map(|count| count.parse::<u64>().unwrap())
        .sum()
}

#[tokio::test]
async fn a_listing_that_everybody_reads_costs_one_read_of_its_collection() {
    let hub = public().await;
    add(&hub.endpoint, "a").await;
    assert_eq!(hub.get("/collections/notes").await.status(), StatusCode::OK);
    let (collections, pages) = (asked(&hub, "collection").await, asked(&hub, "listing").await);
    for _ in 0..10 {
        assert_eq!(hub.get("/collections/notes").await.status(), StatusCode::OK);
    }
    assert_eq!(asked(&hub, "collection").await - collections, 10);
    assert_eq!(asked(&hub, "listing").await, pages, "what was sent lately is kept");
}

#[tokio::test]
async fn a_change_is_read_for_all_who_follow_and_for_none_of_them_alone() {
    let hub = public().await;
    let mut followers = Vec::new();
    for _ in 0..20 {
        followers.push(Follower::begin(&hub, "/collections/notes/events", &[]).await);
    }
    let mut tell = async |id: &str| {
        add(&hub.endpoint, id).await;
        for follower in &mut followers {
            assert_eq!(follower.event().await.unwrap().data["id"], id);
        }
        // All clients are up to date, and wait.
        for follower in &mut followers {
            assert!(timeout(Duration::from_millis(10), follower.event()).await.is_err());
        }
    };
    tell("first").await;
    let (collections, changes) = (asked(&hub, "collection").await, asked(&hub, "changes").await);
    for id in ["a", "b", "c", "d", "e"] {
        tell(id).await;
    }
    assert_eq!(asked(&hub, "collection").await, collections);
    // Each change is read once, followed by one read without changes. Where nodes share a database, both
    // happen again on their notification. If each client read for itself, it would be a hundred times.
    assert!(asked(&hub, "changes").await - changes < 5 * 20 / 2);
}

/// A posted feed costs one write, which also records that it was shown.
#[tokio::test]
async fn a_posted_feed_is_one_write() {
    let hub = hub_with(Config { metrics: Audience::Public, ..Config::default() }).await;
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    for (id, sent) in [("a", 1), ("b", 2)] {
        let before = asked(&hub, "update").await;
        let item = add(&client, id).await;
        let answer = hub.post("application/atom+xml", feed(Format::Atom, &[item])).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(asked(&hub, "update").await - before, 1);
        assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().sent.get(), sent);
    }
    assert_eq!(asked(&hub, "mark_sent").await, 0);
}
