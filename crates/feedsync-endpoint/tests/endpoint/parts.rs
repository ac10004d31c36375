//! Special parts of a payload: blobs, which are reported to the store, and parts that a server owns, which
//! are never stored.

use crate::support::{endpoint, notes};
use feedsync_core::{
    Creation, Edit, Format, History, Item, ItemId, Keep, Payload, Resolution, Resolved, Sequence,
    Update, Updates, Version,
};
use feedsync_endpoint::{Endpoint, ItemOutcome, PlainItem, Source};
use feedsync_store::Digest;

const ENTRY: &str = "<entry xmlns=\"http://www.w3.org/2005/Atom\"";

fn id() -> ItemId {
    ItemId::new("item").unwrap()
}

/// Returns an entry as a server writes it for editors, and without the parts that the server owns.
fn entries(title: &str) -> [Payload; 2] {
    let served = format!(
        "{ENTRY} xmlns:app=\"http://www.w3.org/2007/app\">\n <title>{title}</title>\n \
         <app:edited>2026-01-02T03:04:05Z</app:edited>\n <link rel=\"edit\" href=\"http://hub/1\"/>\n \
         <link rel=\"alternate\" href=\"http://h/\"/>\n</entry>"
    );
    let plain = format!(
        "{ENTRY}>\n <title>{title}</title>\n <link rel=\"alternate\" href=\"http://h/\"/>\n</entry>"
    );
    [served, plain].map(|text| Payload::from_parsed(Format::Atom, text))
}

fn version(by: &str, payload: Payload) -> Version<Payload> {
    let when = "2026-01-02T03:04:05Z".parse().unwrap();
    let update = Update::signed(Sequence::FIRST, when, by.parse().unwrap());
    let history = History::new(update);
    Version { updates: Updates::FIRST, deleted: false, noconflicts: None, history, payload }
}

async fn offer(endpoint: &Endpoint, winner: Version<Payload>, conflicts: Vec<Version<Payload>>) {
    let items = vec![Item { id: id(), winner, conflicts }];
    let report = endpoint.incorporate(&notes(), Source::Offered, items, None).await.unwrap();
    assert_eq!(report.items.len(), 1);
    assert!(!matches!(report.items[0].outcome, ItemOutcome::Refused(_)), "{report:?}");
}

async fn held(endpoint: &Endpoint) -> Item<Payload> {
    endpoint.item(&notes(), &id()).await.unwrap().item
}

#[tokio::test]
async fn endpoints_that_got_an_entry_with_and_without_what_a_server_owns_hold_equal_bytes() {
    let (first, second) = (endpoint("first").await, endpoint("second").await);
    let ([served, plain], [served_conflict, plain_conflict]) = (entries("one"), entries("two"));
    offer(&first, version("b", served), vec![version("a", served_conflict)]).await;
    offer(&second, version("b", plain.clone()), vec![version("a", plain_conflict.clone())]).await;
    let item = held(&first).await;
    assert_eq!(item, held(&second).await);
    assert_eq!((item.winner.payload, &item.conflicts[0].payload), (plain, &plain_conflict));
}

#[tokio::test]
async fn importers_of_an_entry_with_and_without_what_a_server_owns_agree() {
    let (first, second) = (endpoint("first").await, endpoint("second").await);
    for (endpoint, payload) in [&first, &second].into_iter().zip(entries("one")) {
        let entry = PlainItem { id: id(), payload, when: None };
        endpoint.import(&notes(), vec![entry], false).await.unwrap();
    }
    let item = held(&first).await;
    assert_eq!(item, held(&second).await);
    assert_eq!(item.winner.payload, entries("one")[1]);
}

#[tokio::test]
async fn parts_that_a_server_owns_are_never_signed() {
    let endpoint = endpoint("desk").await;
    let [served, plain] = entries("one");
    endpoint.add(&notes(), id(), Creation::default(), served).await.unwrap();
    assert_eq!(held(&endpoint).await.winner.payload, plain);
    let [served, plain] = entries("two");
    let edit = Edit { payload: Some(served), deleted: None };
    endpoint.edit(&notes(), &id(), None, edit).await.unwrap();
    assert_eq!(held(&endpoint).await.winner.payload, plain);
    offer(&endpoint, version("a", entries("other")[1].clone()), Vec::new()).await;
    let seen = held(&endpoint).await;
    assert_eq!(seen.conflicts.len(), 1);
    let [served, plain] = entries("three");
    let keep = Keep::Content { payload: served, deleted: None };
    let resolution = Resolution { resolved: Resolved::All, keep };
    endpoint.resolve(&notes(), &seen, resolution).await.unwrap();
    assert_eq!(held(&endpoint).await.winner.payload, plain);
}

#[tokio::test]
async fn an_item_names_the_blobs_of_all_its_versions_each_once() {
    let endpoint = endpoint("desk").await;
    let (cat, dog) = (Digest::of(b"cat"), Digest::of(b"dog"));
    let holding = |digests: &[Digest]| {
        let blobs: String = digests
            .iter()
            .map(|digest| {
                format!(
                    "<fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"n\" type=\"image/png\" \
                     length=\"3\" sha-256=\"{digest}\"/>"
                )
            })
            .collect();
        Payload::from_parsed(Format::Atom, format!("{ENTRY}><title>t</title>{blobs}</entry>"))
    };
    let names = async |digest| endpoint.store().blob_named_by(digest).await.unwrap();
    let payload = holding(&[cat, cat]);
    endpoint.add(&notes(), id(), Creation::default(), payload).await.unwrap();
    assert_eq!(names(cat).await, [(notes(), id())]);
    assert_eq!(names(dog).await, []);
    // As a conflict, in another format, in an offered item.
    let text = format!(
        "{{\"fs:blobs\":[{{\"name\":\"n\",\"type\":\"image/png\",\"length\":3,\"sha-256\":\"{dog}\"}}]}}"
    );
    offer(&endpoint, version("a", Payload::from_parsed(Format::Json, text)), Vec::new()).await;
    let stored = endpoint.item(&notes(), &id()).await.unwrap();
    assert_eq!(stored.item.conflicts.len(), 1);
    let mut both = vec![cat, dog];
    both.sort();
    assert_eq!(stored.blobs, both);
    assert_eq!(names(dog).await, [(notes(), id())]);
    // The blobs are unreferenced once no version names them.
    let seen = stored.item;
    let keep = Keep::Content { payload: holding(&[]), deleted: None };
    let resolution = Resolution { resolved: Resolved::All, keep };
    endpoint.resolve(&notes(), &seen, resolution).await.unwrap();
    assert_eq!((names(cat).await, names(dog).await), (vec![], vec![]));
}
