//! The listing: what people's readers see.

use feedsync::Base;
use feedsync_formats::CHANGES_RELATION;

use crate::hub::{add, bytes, delete, edit, hub, ids, link, notes, path, payload, reading};

const LISTING: &str = "/collections/notes";

#[tokio::test]
async fn a_listing_has_live_items_newest_change_first_without_conflicts() {
    let hub = hub().await;
    let first = add(&hub.endpoint, "a").await;
    add(&hub.endpoint, "b").await;
    add(&hub.endpoint, "c").await;
    edit(&hub.endpoint, "a", "one editor").await;
    let winner = &first.winner;
    let base = Base { updates: winner.updates, noconflicts: None, history: winner.history.clone() };
    let other = feedsync::Edit::from(payload(feedsync::Format::Atom, "another editor"));
    let item = hub.endpoint.edit(&notes(), &first.id, Some(base), other).await.unwrap().item;
    assert_eq!(item.conflicts.len(), 1);
    delete(&hub.endpoint, "b").await;
    let response = hub.get(LISTING).await;
    let changes = "http://localhost:4287/collections/notes/changes";
    assert_eq!(link(&response, CHANGES_RELATION).unwrap(), changes);
    let body = bytes(response).await;
    assert!(String::from_utf8_lossy(&body).contains(&format!("rel=\"{CHANGES_RELATION}\"")));
    let reading = reading(&body);
    assert_eq!(ids(&reading), ["a", "c"]);
    assert!(reading.feed.items.iter().all(|item| item.conflicts.is_empty()));
    let sharing = reading.feed.sharing.unwrap();
    assert_eq!(sharing.window, None);
    assert_eq!(sharing.complete().unwrap(), "http://localhost:4287/collections/notes/complete");
}

#[tokio::test]
async fn pages_of_a_listing_lose_and_double_nothing_that_did_not_change() {
    let hub = hub().await;
    for number in 0..7 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let response = hub.get(&format!("{LISTING}?limit=3")).await;
    let next = link(&response, "next").unwrap();
    assert_eq!(ids(&reading(&bytes(response).await)), ["item6", "item5", "item4"]);
    add(&hub.endpoint, "new").await;
    edit(&hub.endpoint, "item2", "moved to the front").await;
    let response = hub.get(path(&next)).await;
    assert_eq!(link(&response, "next"), None);
    assert_eq!(ids(&reading(&bytes(response).await)), ["item3", "item1", "item0"]);
}

#[tokio::test]
async fn the_last_page_of_a_listing_has_no_next() {
    let hub = hub().await;
    for number in 0..4 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let mut seen = Vec::new();
    let mut next = Some(format!("{LISTING}.json?limit=2"));
    while let Some(address) = next {
        let response = hub.get(&address).await;
        next = link(&response, "next").map(|address| path(&address).to_owned());
        if let Some(address) = &next {
            assert!(address.starts_with("/collections/notes.json?before="), "{address}");
        }
        seen.extend(ids(&reading(&bytes(response).await)).into_iter().map(str::to_owned));
    }
    assert_eq!(seen, ["item3", "item2", "item1", "item0"]);
}
