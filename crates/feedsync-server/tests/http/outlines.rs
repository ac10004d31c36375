//! Outlines nest, also those of a collection that changes while they are sent.

use axum::body::Bytes;
use feedsync_core::{Creation, Edit, Format, ItemId, Payload};
use feedsync_endpoint::Retention;
use feedsync_formats::FeedWriter;
use feedsync_store::Moment;
use futures_util::StreamExt as _;

use crate::hub::{TestHub, bytes, create, delete, hub, ids, notes, reading};

const COMPLETE: &str = "/collections/notes/complete.opml";

fn outline(parent: &str, position: usize, text: &str) -> Payload {
    let text = format!(
        "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"{parent}\" fs:position=\"{position}\" \
         text=\"{text}\"/>"
    );
    Payload::from_parsed(Format::Opml, text)
}

async fn add(hub: &TestHub, id: &str, parent: &str, position: usize) {
    let (id, payload) = (ItemId::new(id).unwrap(), outline(parent, position, id));
    hub.endpoint.add(&notes(), id, Creation::default(), payload).await.unwrap();
}

/// Nesting depth of the outline with this text.
fn depth(document: &str, text: &str) -> usize {
    let before = &document[..document.find(&format!(" text=\"{text}\"")).unwrap()];
    before.matches("<outline").count() - 1 - before.matches("</outline>").count()
}

/// A root `r` with a thousand children, the last of which, `p`, has a child of its own, `q`; and after
/// them another root, `z`.
async fn tree() -> TestHub {
    let hub = hub().await;
    add(&hub, "r", "", 0).await;
    for number in 0..999 {
        add(&hub, &format!("c{number:03}"), "r", number).await;
    }
    add(&hub, "p", "r", 999).await;
    add(&hub, "q", "p", 0).await;
    add(&hub, "z", "", 1).await;
    hub
}

/// The outlines of a collection, with an action after the first of them were sent.
async fn meanwhile(hub: &TestHub, act: impl AsyncFnOnce()) -> Result<String, axum::Error> {
    let mut parts = hub.get(COMPLETE).await.into_body().into_data_stream();
    let mut document = Vec::new();
    while !document.windows(8).any(|bytes| bytes == b"<outline") {
        document.extend(parts.next().await.unwrap()?);
    }
    act().await;
    let rest: Vec<Result<Bytes, _>> = parts.collect().await;
    for part in rest {
        document.extend(part?);
    }
    Ok(String::from_utf8(document).unwrap())
}

#[tokio::test]
async fn outlines_that_stream_are_those_that_are_held_until_the_end() {
    let hub = tree().await;
    let streamed = String::from_utf8(bytes(hub.get(COMPLETE).await).await.to_vec()).unwrap();
    let start = streamed.find("<body>").unwrap() + "<body>".len();
    let mut items = reading(streamed.as_bytes()).feed.items;
    items.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(items.len(), 1_003);
    let mut writer = FeedWriter::new(Format::Opml);
    let mut held = String::new();
    for item in &items {
        writer.item(&mut held, item);
    }
    assert!(held.is_empty());
    writer.end(&mut held);
    assert_eq!(streamed[start..], held);
    assert_eq!(
        ["r", "c000", "c998", "p", "q", "z"].map(|id| depth(&streamed, id)),
        [0, 1, 1, 1, 2, 0]
    );
}

#[tokio::test]
async fn changed_outlines_keep_their_position_and_removed_ones_are_left_out() {
    let hub = tree().await;
    let document = meanwhile(&hub, async || {
        delete(&hub.endpoint, "p").await;
        hub.feed("/collections/notes/changes").await; // only changes that were shown are purged
        let retention = Retention { changed_before: Moment::MAX, live: false };
        assert_eq!(hub.endpoint.purge(&notes(), retention).await.unwrap(), 1);
        let moved = Edit::from(outline("", 7, "moved"));
        let id = ItemId::new("c998").unwrap();
        hub.endpoint.edit(&notes(), &id, None, moved).await.unwrap();
        add(&hub, "late", "r", 1_000).await;
    })
    .await
    .unwrap();
    let reading = reading(document.as_bytes());
    let ids = ids(&reading);
    assert_eq!(ids.len(), 1_002);
    assert!(!ids.contains(&"p") && !ids.contains(&"late"));
    assert_eq!(["c997", "moved", "q", "z"].map(|text| depth(&document, text)), [1, 1, 1, 0]);
}

#[tokio::test]
async fn outlines_break_off_when_the_collection_begins_anew() {
    let hub = tree().await;
    let broken = meanwhile(&hub, async || {
        hub.endpoint.store().drop_collection(&notes()).await.unwrap();
        create(&hub.endpoint, "notes", Format::Opml).await;
        add(&hub, "z", "", 1).await;
    })
    .await;
    assert!(broken.is_err());
}
