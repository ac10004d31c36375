//! Collections as feeds in files.

use feedsync::{Error, Format};

use crate::scene::{titled, titles, todo, versions};

#[tokio::test]
async fn feeds_in_every_format_bring_replicas_together() {
    for format in Format::ALL {
        let (one, other) = (todo().await, todo().await);
        let id = one.add(titled("Milk")).await.unwrap();
        let gone = one.add(titled("Bread")).await.unwrap();
        one.delete_latest(&gone).await.unwrap();
        let feed = one.to_feed(format).await.unwrap();
        assert_eq!(other.merge_feed(feed.clone()).await.unwrap().received, 2);
        assert_eq!(other.merge_feed(feed).await.unwrap().received, 0, "merged already");
        assert_eq!(versions(&one).await, versions(&other).await);

        one.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
        other.change(&id, |item| *item = titled("Two litres")).await.unwrap();
        let feed = other.to_feed(format).await.unwrap();
        assert_eq!(one.merge_feed(feed).await.unwrap().conflicts, 1);
        other.merge_feed(one.to_feed(format).await.unwrap()).await.unwrap();
        assert_eq!(versions(&one).await, versions(&other).await, "{format}");
    }
}

#[tokio::test]
async fn documents_that_are_no_feeds_are_refused_and_change_nothing() {
    let todo = todo().await;
    todo.add(titled("Milk")).await.unwrap();
    for wrong in ["", "text", "<feed", "{\"items\": ["] {
        assert!(matches!(todo.merge_feed(wrong).await, Err(Error::Feed(_))), "{wrong:?}");
    }
    assert_eq!(titles(&todo).await, ["Milk"]);
}
