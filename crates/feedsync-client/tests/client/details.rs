//! Details of the feeds that a collection incorporates (FeedSync 2.1 rule 7).

use std::time::Duration;

use feedsync_client::{Direction, Schedule, SubscriptionOptions};
use feedsync_core::Format;
use feedsync_formats::{FeedDetails, HeadMarkup};
use feedsync_store::CollectionChange;

use crate::library::{Library, feed};
use crate::scene::FEED;
use crate::world::{Hub, Peer, notes};

const PIECE: &str = "<m:x xmlns:m=\"urn:m\"/>";

fn details(subtitle: &str) -> FeedDetails {
    FeedDetails {
        subtitle: Some(subtitle.to_owned()),
        rights: Some("R & S".to_owned()),
        author: Some("Ann".to_owned()),
        markup: Some(HeadMarkup::new(Format::Atom, [PIECE]).unwrap()),
        left_out: 0,
    }
}

/// A feed whose publisher names these details.
fn put(library: &Library, subtitle: &str, until: Option<&str>) {
    let body = feed(until.map(|until| ("0", until)), None, &[]);
    let (begin, rest) = body.split_once("<author").unwrap();
    let (_, rest) = rest.split_once("</author>").unwrap();
    let head = format!(
        "<subtitle>{subtitle}</subtitle><rights>R &amp; S</rights><author><name>Ann</name></author>{PIECE}"
    );
    library.put(FEED, &format!("{begin}{head}{rest}"));
}

async fn published(peer: &Peer) -> FeedDetails {
    let mut details = peer.endpoint().publish(&notes(), None).await.unwrap().details;
    // A feed declares namespaces around its markup; each piece is then stored with the declarations it needs.
    if let Some(markup) = &details.markup {
        assert_eq!(markup.pieces().len(), 1);
        assert!(markup.pieces()[0].contains("xmlns:m=\"urn:m\""), "{markup:?}");
        details.markup = Some(HeadMarkup::new(Format::Atom, [PIECE]).unwrap());
    }
    details
}

async fn take_back(peer: &Peer) {
    let settings = Some(Default::default());
    let change = CollectionChange { settings, ..CollectionChange::default() };
    peer.endpoint().change_collection(&notes(), change).await.unwrap();
}

#[tokio::test]
async fn details_are_taken_up_when_a_feed_is_first_read_and_not_again() {
    for window in [true, false] {
        let (library, reader) = (Library::new().await, Peer::new("reader").await);
        let url = library.url(FEED);
        put(&library, "one", window.then_some("1"));
        reader.sync(&url).await;
        assert_eq!(published(&reader).await, details("one"));
        put(&library, "second", window.then_some("2"));
        reader.sync(&url).await;
        assert_eq!(published(&reader).await, details("one"));
        take_back(&reader).await;
        put(&library, "the third", window.then_some("3"));
        reader.sync(&url).await;
        assert!(published(&reader).await.is_empty(), "a person took them back");
    }
}

#[tokio::test]
async fn details_of_a_plain_feed_that_is_subscribed_to_are_taken_up_once() {
    let (library, reader) = (Library::new().await, Peer::new("reader").await);
    let text = |subtitle: &str| {
        format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>T</title><subtitle>{subtitle}</subtitle>\
             <entry><id>urn:x:1</id><title>One</title></entry></feed>"
        )
    };
    library.put(FEED, &text("one"));
    let url = library.url(FEED);
    let terms = SubscriptionOptions {
        every: Duration::from_secs(900),
        plain: true,
        announced: false,
        title: None,
    };
    let remote = reader.session.subscribe(&notes(), &url, terms, None).await.unwrap();
    Schedule::new(reader.session.clone()).read(&remote).await.unwrap().unwrap();
    assert_eq!(published(&reader).await.subtitle.as_deref(), Some("one"));
    take_back(&reader).await;
    library.put(FEED, &text("second"));
    reader.try_sync(&url, Direction { pull: true, push: false }).await.unwrap();
    assert!(published(&reader).await.is_empty());
    assert_eq!(reader.ids().await.len(), 1);
}

#[tokio::test]
async fn details_go_from_hub_to_hub_and_a_name_that_stands_in_does_not() {
    let (source, nameless) = (Hub::new("source").await, Hub::new("nameless").await);
    source.peer.add("an item").await;
    nameless.peer.add("an item").await;
    assert!(source.peer.endpoint().adopt_details(&notes(), &details("hub")).await.unwrap());
    for format in [Format::Atom, Format::Rss, Format::Opml, Format::Pox] {
        let reader = Peer::of_format("reader", format).await;
        reader.sync(&nameless.url()).await;
        assert!(published(&reader).await.is_empty());
        reader.sync(&source.url()).await;
        assert_eq!(published(&reader).await, details("hub"));
    }
    assert!(published(&nameless.peer).await.is_empty());
}
