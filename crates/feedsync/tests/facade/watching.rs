//! Watching a collection.

use std::time::Duration;

use feedsync::{Change, Collection, Format, Position, Replica, Watch};
use feedsync_endpoint::Retention;
use feedsync_store::{CollectionName, Moment};
use serde_json::json;

use crate::scene::{title, titled, todo};

/// A time that no listing takes.
const LONG: Duration = Duration::from_secs(60);

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
    todo.delete_latest(&id).await.unwrap();
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
    assert!(matches!(watch.next().await.unwrap(), Change::Complete));
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

/// A collection of 1,500 items where a deletion was purged that is later than the first page, and a position before
/// the purge.
async fn purged() -> (Collection, Position) {
    let todo = todo().await;
    let position = todo.watch().await.unwrap().position();
    for number in 0..1_500 {
        todo.add(titled(&number.to_string())).await.unwrap();
    }
    todo.delete_latest(&todo.add(titled("gone")).await.unwrap()).await.unwrap();
    todo.to_feed(Format::Json).await.unwrap();
    let name = CollectionName::new("todo").unwrap();
    let retention = Retention { changed_before: Moment::MAX, live: false };
    assert_eq!(todo.replica().endpoint().purge(&name, retention).await.unwrap(), 1);
    (todo, position)
}

#[tokio::test]
async fn items_before_a_purged_deletion_are_listed_once() {
    let (todo, _) = purged().await;
    let items = tokio::time::timeout(LONG, todo.items()).await.expect("the listing ends");
    assert_eq!(items.unwrap().len(), 1_500);
    let (mut after, mut found): (Option<Position>, _) = (None, 0);
    for _ in 0..15 {
        let page = todo.page(after, 100).await.unwrap();
        assert!(page.changes.iter().all(|change| matches!(change, Change::Put(_))));
        found += page.changes.len();
        let text = page.position.to_string();
        after = Some(text.parse().unwrap());
        assert_eq!(after, Some(page.position), "{text}");
    }
    assert_eq!(found, 1_500);
}

#[tokio::test]
async fn watch_restarts_once_after_a_purge() {
    let (todo, position) = purged().await;
    let mut watch = todo.watch_from(position);
    assert!(matches!(watch.next().await.unwrap(), Change::Restarted));
    for number in 0..750 {
        assert_eq!(put(&mut watch).await, number.to_string());
    }
    let position: Position = watch.position().to_string().parse().unwrap();
    assert_eq!(position, watch.position());
    let mut watch = todo.watch_from(position);
    for number in 750..1_500 {
        assert_eq!(put(&mut watch).await, number.to_string());
    }
    assert!(matches!(watch.next().await.unwrap(), Change::Complete), "also in a later run");
    let mut watch = todo.watch_from(watch.position());
    assert!(waits(&mut watch).await);
    todo.add(titled("later")).await.unwrap();
    assert_eq!(put(&mut watch).await, "later");
    assert!(waits(&mut watch).await);
}

#[tokio::test]
async fn pages_after_a_purge_end_with_the_last_item() {
    let (todo, position) = purged().await;
    let (mut after, mut marks) = (position, Vec::new());
    loop {
        let page = todo.page(Some(after), 500).await.unwrap();
        let is_mark = |change: &&Change| !matches!(change, Change::Put(_));
        marks.extend(page.changes.iter().filter(is_mark).map(|change| format!("{change:?}")));
        after = page.position.to_string().parse().unwrap();
        if !page.more {
            break;
        }
    }
    assert_eq!(marks, ["Restarted", "Complete"]);
    assert!(todo.page(Some(after), 500).await.unwrap().changes.is_empty());
}

#[tokio::test]
async fn reading_restarts_where_another_purge_takes_what_it_passed() {
    let (todo, _) = purged().await;
    let page = todo.page(None, 100).await.unwrap();
    let Change::Put(first) = &page.changes[0] else { panic!("{:?}", page.changes[0]) };
    todo.delete_latest(first.id()).await.unwrap();
    todo.to_feed(Format::Json).await.unwrap();
    let name = CollectionName::new("todo").unwrap();
    let retention = Retention { changed_before: Moment::MAX, live: false };
    assert_eq!(todo.replica().endpoint().purge(&name, retention).await.unwrap(), 1);
    let page = todo.page(Some(page.position), 100).await.unwrap();
    assert!(matches!(page.changes[0], Change::Restarted));
}

#[test]
fn text_that_is_no_position_is_refused() {
    let until = "017636680001234561a2b3c4d-0000000000000000042";
    let plus = [format!("{until}+"), format!("{until}~43+")];
    for right in [until.to_owned(), format!("{until}~43")].into_iter().chain(plus) {
        assert_eq!(right.parse::<Position>().unwrap().to_string(), right);
    }
    for wrong in ["", "~", "~43", &until[1..]] {
        assert!(wrong.parse::<Position>().is_err(), "{wrong}");
    }
    for tail in ["++", "~", "~+", "~x", "~+43", "~43~43", "~99999999999999999999"] {
        assert!(format!("{until}{tail}").parse::<Position>().is_err(), "{tail}");
    }
}
