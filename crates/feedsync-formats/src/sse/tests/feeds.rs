//! SSE documents that are read as feeds of FeedSync (S6, S7, U1 to U9).

use feedsync_core::sse::UpgradeLoss;
use feedsync_core::{Format, Related, RelatedKind, Sharing, Window};

use super::*;
use crate::Severity;
use crate::sse::{SseReading, read_as_feed};

fn read_feed(text: &str) -> SseReading {
    read_as_feed(text.as_bytes(), &ReadOptions::strict())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn window(attributes: &str) -> Option<Window> {
    let text = rss(&format!("<sx:sharing version='0.91' {attributes}/>"));
    let sharing = read_feed(&text).reading.feed.sharing.unwrap();
    assert_eq!((sharing.expires, sharing.related), (None, Vec::new()));
    sharing.window
}

#[test]
fn the_window_has_dates_in_the_order_of_time_and_blank_is_empty() {
    let since = "since='Mon, 1 Nov 2004 09:43:33 GMT'";
    let until = "until='Tue, 01 Mar 2005 09:43:33 GMT'";
    let (early, late) = ("2004-11-01T09:43:33Z", "2005-03-01T09:43:33Z");
    for (attributes, since, until) in [
        (format!("{since} {until}"), early, late),
        (since.to_owned(), early, ""),
        (until.to_owned(), "", late),
        (String::new(), "", ""),
    ] {
        let expected = Window { since: since.into(), until: until.into() };
        assert_eq!(window(&attributes), Some(expected), "{attributes}");
    }
    assert_eq!(read_feed(&rss("")).reading.feed.sharing, None);
}

#[test]
fn related_feeds_keep_their_link_title_and_kind() {
    let text = rss("<sx:sharing version='0.91'><sx:related link='http://a/' type='complete'/>\
         <sx:related link='http://b/' type='aggregated' title='B &amp; C'/></sx:sharing>");
    let related = |link: &str, title: Option<&str>, kind| Related {
        link: link.into(),
        title: title.map(Into::into),
        kind,
    };
    let expected = Sharing {
        window: Some(Window { since: "".into(), until: "".into() }),
        expires: None,
        related: vec![
            related("http://a/", None, RelatedKind::Complete),
            related("http://b/", Some("B & C"), RelatedKind::Aggregated),
        ],
    };
    assert_eq!(read_feed(&text).reading.feed.sharing, Some(expected));
}

#[test]
fn titles_items_refusals_and_remarks_are_those_of_the_document() {
    let text = rss(&format!(
        "<title>T &amp;amp; T</title><sx:sharing version='1.0'/><item><title>plain</title></item>\
         {}{}{}",
        item("a", "A", &["X", "Y"]),
        "<item><sx:sync id='broken' version='0'/></item>",
        item("b", "B", &["X"]),
    ));
    let document = read(&text);
    let SseReading { reading, losses } = read_feed(&text);
    assert_eq!((reading.format, reading.title.as_deref()), (Format::Rss, document.title()));
    assert!(reading.title.is_some());
    assert_eq!(reading.feed.plain_items, 1);
    assert_eq!(reading.diagnostics.len(), 1);
    assert_eq!(reading.diagnostics, document.diagnostics());
    assert_eq!(reading.refused.len(), 1);
    assert_eq!(reading.refused, document.refused());
    let items: Vec<_> = document.upgraded().map(|upgraded| upgraded.unwrap().item).collect();
    let updates: Vec<_> =
        items.iter().map(|item| (item.id.as_str(), item.winner.updates.get())).collect();
    assert_eq!(updates, [("a", 2), ("b", 1)]);
    assert_eq!((reading.feed.items, losses), (items, vec![]));
}

#[test]
fn losses_are_listed_for_the_items_that_have_them() {
    let flagged =
        format!("<item><title>F</title>{}</item>", sync("flagged", &["X"], " conflict=\"true\""));
    let text = rss(&format!("{}{flagged}{}", item("a", "A", &["X"]), item("b", "B", &["X"])));
    let SseReading { reading, losses } = read_feed(&text);
    assert_eq!(reading.feed.items.len(), 3);
    let lost: Vec<_> = losses.iter().map(|(id, losses)| (id.as_str(), &losses[..])).collect();
    assert_eq!(lost, [("flagged", &[UpgradeLoss::Flag][..])]);
}

#[test]
fn an_item_that_cannot_be_upgraded_is_refused_alone_with_the_reason() {
    let high = item("b", "B", &["X"]).replace("version=\"1\"", "version=\"2147483648\"");
    let text = rss(&format!("{}{high}{}", item("a", "A", &["X"]), item("c", "C", &["X"])));
    let reading = read_feed(&text).reading;
    let ids: Vec<_> = reading.feed.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["a", "c"]);
    let [refused] = &reading.refused[..] else { panic!("{:?}", reading.refused) };
    assert_eq!((refused.id.as_deref(), refused.index), (Some("b"), 1));
    let (severity, item) = (refused.reason.severity, refused.reason.item.as_deref());
    assert_eq!((severity, item), (Severity::Fault, Some("b")));
    let message = &refused.reason.message;
    assert!(message.starts_with("version 2147483648 is above"), "{message}");
}
