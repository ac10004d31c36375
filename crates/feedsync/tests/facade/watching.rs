//! Watching a collection.

use feedsync::{Change, Collection, Position, Replica, Watch};
use serde_json::json;

use crate::scene::{title, titled, todo};

async fn put(watch: &mut Watch) -> String {
    match watch.next().await.unwrap() {
        Change::Put(item) => title(&item).to_owned(),
        other => panic!("{other:?}"),
    }
}

async fn waits(watch: &mut Watch) -> bool {
    let mut next = std::pin::pin!(watch.next());
    std::future::poll_fn(|context| std::task::Poll::Ready(next.as_mut().poll(context).is_pending()))
        .await
}

#[tokio::test]
async fn watch_returns_what_changes_from_then_on() {
    let todo = todo().await;
    todo.add(titled("before")).await.unwrap();
    let mut watch = todo.watch().await.unwrap();
    assert!(waits(&mut watch).await);
    let id = todo.add(titled("Milk")).await.unwrap();
    assert_eq!(put(&mut watch).await, "Milk");
    todo.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    todo.change(&id, |item| item["done"] = json!(true)).await.unwrap();
    assert_eq!(put(&mut watch).await, "Oat milk");
    assert!(waits(&mut watch).await, "an item has its last change only");
    todo.delete(&id).await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Change::Deleted(gone) if gone == id));
}

#[tokio::test]
async fn watch_continues_at_the_position_of_an_earlier_one() {
    let todo = todo().await;
    let mut watch = todo.watch().await.unwrap();
    for number in 0..250 {
        todo.add(titled(&number.to_string())).await.unwrap();
    }
    for number in 0..120 {
        assert_eq!(put(&mut watch).await, number.to_string());
    }
    let position: Position = watch.position().to_string().parse().unwrap();
    drop(watch);
    let mut watch = todo.watch_from(position);
    for number in 120..250 {
        assert_eq!(put(&mut watch).await, number.to_string());
    }
    assert!(waits(&mut watch).await);
}

#[tokio::test]
async fn watch_restarts_where_its_position_counts_no_longer() {
    let replica = Replica::in_memory();
    let todo: Collection = replica.collection("todo").await.unwrap();
    todo.add(titled("old")).await.unwrap();
    let position = todo.watch().await.unwrap().position();
    replica.remove_collection("todo").await.unwrap();
    let todo: Collection = replica.collection("todo").await.unwrap();
    todo.add(titled("new")).await.unwrap();
    let mut watch = todo.watch_from(position);
    assert!(matches!(watch.next().await.unwrap(), Change::Restarted));
    assert_eq!(put(&mut watch).await, "new");
    assert!(waits(&mut watch).await);
}

#[tokio::test]
async fn pages_hold_what_was_asked_for_and_meet() {
    let todo = todo().await;
    for number in 0..25 {
        todo.add(titled(&number.to_string())).await.unwrap();
    }
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = todo.page(after, 10).await.unwrap();
        assert!(page.changes.len() <= 10);
        found.extend(page.changes.iter().map(|change| match change {
            Change::Put(item) => title(item).to_owned(),
            other => panic!("{other:?}"),
        }));
        after = Some(page.position);
        if !page.more {
            break;
        }
    }
    assert_eq!(found, (0..25).map(|number| number.to_string()).collect::<Vec<_>>());
}
