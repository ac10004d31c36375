//! Starred and tagged articles of ended subscriptions: every dialect lists them, and can remove stars.

use http::Method;
use serde_json::{Value, json};

use super::{FEED, Hub, PASSWORD};
use crate::access::world::basic;

impl Hub {
    /// Numbers of the starred articles in each dialect.
    async fn starred(&self, google: &str) -> [Vec<i64>; 4] {
        let basic = basic("anna", PASSWORD);
        let list = |found: &Value| {
            let number = |one: &Value| match &one["id"] {
                Value::String(text) => text.parse().unwrap(),
                number => number.as_i64().unwrap(),
            };
            let mut numbers: Vec<i64> = found.as_array().unwrap().iter().map(number).collect();
            numbers.sort_unstable();
            numbers
        };
        let ids = "google/reader/api/0/stream/items/ids?s=starred&n=99";
        let items = "nextcloud/index.php/apps/news/api/v1-2/items?type=2&id=0&batchSize=-1";
        let headlines = self.ttrss(google, "getHeadlines", json!({"feed_id": -1})).await;
        [
            list(&self.get(ids, google).await["itemRefs"]),
            list(&self.get("miniflux/v1/entries?starred=1", &basic).await["entries"]),
            list(&self.get(items, &basic).await["items"]),
            list(&headlines),
        ]
    }

    async fn ttrss(&self, google: &str, op: &str, mut call: Value) -> Value {
        call["op"] = op.into();
        call["sid"] = google.rsplit_once('=').unwrap().1.into();
        let (_, text) = self.ask(Method::POST, "ttrss/api/", "", call.to_string()).await;
        serde_json::from_str::<Value>(&text).unwrap()["content"].clone()
    }
}

#[tokio::test]
async fn starred_articles_of_ended_subscriptions_are_listed_and_unstarred_in_every_dialect() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let (anna, bob) = (hub.google("anna").await, hub.google("bob").await);
    let basic = basic("anna", PASSWORD);
    for somebody in [&anna, &bob] {
        hub.subscribe(somebody, FEED).await;
    }
    hub.publish(FEED, 6).await;
    let star = "i=1&i=2&i=3&i=4&a=user/-/state/com.google/starred";
    let tag = "i=5&a=user/-/label/later";
    for edit in [star, tag] {
        hub.ask(Method::POST, "google/reader/api/0/edit-tag", &anna, edit).await;
    }
    let leave = "ac=unsubscribe&s=feed/1";
    hub.ask(Method::POST, "google/reader/api/0/subscription/edit", &anna, leave).await;

    for listed in hub.starred(&anna).await {
        assert_eq!(listed, [1, 2, 3, 4]);
    }
    assert_eq!(hub.starred(&bob).await[0], [0; 0], "stars are anna's");
    // Nothing else of the feed is visible, and there is no subscription.
    assert_eq!(hub.unread("anna", &anna).await, [0; 4]);
    assert_eq!(hub.get("miniflux/v1/feeds", &basic).await, json!([]));
    let feeds = hub.get("nextcloud/index.php/apps/news/api/v1-2/feeds", &basic).await;
    assert_eq!((&feeds["feeds"], &feeds["starredCount"]), (&json!([]), &json!(4)));
    let contents = "google/reader/api/0/stream/contents";
    assert_eq!(hub.get(contents, &anna).await["items"], json!([]));
    assert_eq!(hub.get(&format!("{contents}/feed/1"), &anna).await["items"], json!([]));
    let (status, _) = hub.ask(Method::GET, "miniflux/v1/entries/6", &basic, "").await;
    assert_eq!(status, 404);
    let starred = hub.get(&format!("{contents}/starred"), &anna).await;
    assert_eq!(starred["items"][0]["origin"]["title"], FEED);
    let tagged = "google/reader/api/0/stream/items/ids?s=label/later";
    assert_eq!(hub.get(tagged, &anna).await["itemRefs"][0]["id"], "5");
    let entry = hub.get("miniflux/v1/entries/4", &basic).await;
    assert_eq!((&entry["starred"], &entry["feed"]["feed_url"]), (&json!(true), &json!(FEED)));

    let unstar = "i=1&r=user/-/state/com.google/starred";
    hub.ask(Method::POST, "google/reader/api/0/edit-tag", &anna, unstar).await;
    for listed in hub.starred(&anna).await {
        assert_eq!(listed, [2, 3, 4]);
    }
    let done = hub.ask(Method::PUT, "miniflux/v1/entries/2/bookmark", &basic, "").await;
    assert_eq!(done.0, 204);
    for listed in hub.starred(&anna).await {
        assert_eq!(listed, [3, 4]);
    }
    let items = "nextcloud/index.php/apps/news/api/v1-2/items?type=2&id=0&batchSize=-1";
    let hash = hub.get(items, &basic).await["items"][1]["guidHash"].clone();
    let unstar =
        format!("nextcloud/index.php/apps/news/api/v1-2/items/1/{}/unstar", hash.as_str().unwrap());
    assert_eq!(hub.ask(Method::PUT, &unstar, &basic, "{}").await.0, 200);
    let left = hub.starred(&anna).await;
    assert_eq!(left[0].len(), 1);
    let call = json!({"article_ids": left[0][0], "mode": 0, "field": 0});
    hub.ttrss(&anna, "updateArticle", call).await;
    for listed in hub.starred(&anna).await {
        assert_eq!(listed, [0; 0]);
    }
    // After a new subscription the whole feed is visible again.
    hub.subscribe(&anna, FEED).await;
    assert_eq!(hub.unread("anna", &anna).await, [6; 4]);
}
