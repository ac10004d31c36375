//! Synchronisation with a hub: only changes are transferred, in both directions.

use crate::scene::{ALL, FEED, Scene};
use crate::world::{Hub, Peer, entry, notes};
use feedsync_client::{Direction, SyncError};
use feedsync_core::{By, Creation, Format, Item, ItemId, MAX_CONFLICTS, Stamp, Timestamp};
use feedsync_endpoint::Source;
use feedsync_fetch::FetchError;
use feedsync_formats::compose;

#[tokio::test]
async fn two_endpoints_come_to_the_same_state_through_a_hub() {
    let hub = Hub::new("hub").await;
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    let milk = anna.add("milk").await;
    let bread = anna.add("bread").await;
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pushed.added, report.offered), (2, 2));
    let report = ben.sync(&hub.url()).await;
    assert_eq!((report.pulled.added, report.offered), (2, 0));
    // Both edit one item before they synchronise, and each edits another one.
    anna.edit(&milk, "oat milk").await;
    ben.edit(&milk, "soya milk").await;
    ben.delete(&bread).await;
    anna.sync(&hub.url()).await;
    let report = ben.sync(&hub.url()).await;
    assert_eq!((report.pulled.conflict, report.offered), (1, 2));
    anna.sync(&hub.url()).await;
    let state = anna.state().await;
    assert_eq!(state, ben.state().await);
    assert_eq!(state, hub.peer.state().await);
    assert_eq!(state[milk.as_str()].conflicts.len(), 1);
    assert!(state[bread.as_str()].winner.deleted);
}

#[tokio::test]
async fn a_second_synchronisation_transfers_no_item() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    hub.peer.add("from the hub").await;
    for number in 0..20 {
        anna.add(&format!("note {number}")).await;
    }
    let first = anna.sync(&hub.url()).await;
    assert_eq!((first.pulled.added, first.pushed.added), (1, 20));
    // The listing, one page, one push: pushed items are not read again.
    assert_eq!(first.requests, 3);
    let second = anna.sync(&hub.url()).await;
    assert_eq!((second.requests, second.offered, second.pulled.unchanged), (1, 0, 0));
    assert_eq!(second.sent, 0);
    assert!(second.received < 2_000, "{}", second.received);
    let third = anna.sync(&hub.url()).await;
    assert_eq!((third.requests, third.received), (1, 0), "304");
}

#[tokio::test]
async fn items_of_a_hub_are_sent_to_other_hubs_only() {
    let (first, second) = (Hub::new("first").await, Hub::new("second").await);
    let anna = Peer::new("anna").await;
    let id = first.peer.add("passed on").await;
    assert_eq!(anna.sync(&first.url()).await.offered, 0);
    assert_eq!(anna.sync(&second.url()).await.pushed.added, 1);
    assert_eq!(second.peer.item(&id).await, first.peer.item(&id).await);
    assert_eq!(anna.sync(&first.url()).await.offered, 0);
}

#[tokio::test]
async fn many_items_travel_in_pages_and_batches() {
    let hub = Hub::new("hub").await;
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    for number in 0..2_500 {
        anna.add(&format!("note {number}")).await;
    }
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pushed.added, report.requests), (2_500, 2 + 3));
    let report = ben.sync(&hub.url()).await;
    assert_eq!((report.pulled.added, report.requests), (2_500, 1 + 3));
    assert_eq!(anna.state().await, ben.state().await);
}

#[tokio::test]
async fn large_items_are_pushed_in_requests_that_the_hub_takes() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    for _ in 0..5 {
        anna.add(&"<&>".repeat(500_000)).await; // 1.5 MB, several times that once it is escaped
    }
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pushed.added, report.refused.len()), (5, 0));
    assert_eq!(anna.state().await, hub.peer.state().await);
    let ben = Peer::new("ben").await;
    ben.sync(&hub.url()).await;
    assert_eq!(ben.state().await, anna.state().await);
}

#[tokio::test]
async fn an_item_larger_than_the_hub_takes_is_reported_and_the_rest_goes() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let small = anna.add("small").await;
    let huge = anna.add(&"x".repeat(9 << 20)).await;
    let last = anna.add("last").await;
    let report = anna.sync(&hub.url()).await;
    assert_eq!(report.pushed.added, 2);
    assert_eq!(report.refused.len(), 1);
    assert_eq!(report.refused[0].id.as_deref(), Some(huge.as_str()));
    let mut expected = [small.to_string(), last.to_string()];
    expected.sort();
    assert_eq!(hub.peer.ids().await, expected);
    assert_eq!(anna.sync(&hub.url()).await.offered, 0);
}

#[tokio::test]
async fn collections_of_different_formats_are_kept_in_step_without_loss() {
    let hub = Hub::over(Peer::of_format("hub", Format::Json).await).await;
    let anna = Peer::new("anna").await;
    let ben = Peer::of_format("ben", Format::Rss).await;
    anna.add("an Atom entry").await;
    ben.add("an RSS item").await;
    hub.peer.add("an object").await;
    for peer in [&anna, &ben, &anna] {
        peer.sync(&hub.url()).await;
    }
    assert_eq!(anna.state().await.len(), 3);
    assert_eq!(anna.state().await, hub.peer.state().await);
    assert_eq!(ben.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn changes_of_others_during_a_push_are_read_in_the_same_synchronisation() {
    let hub = Hub::new("hub").await;
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    anna.sync(&hub.url()).await;
    ben.add("meanwhile").await;
    ben.sync(&hub.url()).await;
    anna.add("mine").await;
    // After a push alone the hub has moved on, and no position is stored that was not read.
    let before = anna.remembered(&hub.url()).await.until;
    anna.try_sync(&hub.url(), Direction { pull: false, push: true }).await.unwrap();
    assert_eq!(anna.remembered(&hub.url()).await.until, before);
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pulled.added, report.pulled.unchanged), (1, 1));
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn either_address_will_do_and_any_suffix() {
    for path in ["", ".json", ".rss", "/changes", "/changes.json", "/changes.opml", "/complete"] {
        let hub = Hub::new("hub").await;
        hub.peer.add("note").await;
        let peer = Peer::new("anna").await;
        let report = peer.sync(&format!("{}{path}", hub.url())).await;
        assert_eq!(report.pulled.added, 1, "{path}");
        peer.add("another").await;
        assert_eq!(peer.sync(&format!("{}{path}", hub.url())).await.pushed.added, 1, "{path}");
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing_on_either_side() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    hub.peer.add("theirs").await;
    anna.add("mine").await;
    let (here, there) = (anna.state().await, hub.peer.state().await);
    let remote = anna.remote(&hub.url()).await;
    let silent = feedsync_client::NoProgress;
    let report = anna.session.sync(&remote, Direction::BOTH, &silent, true).await.unwrap();
    assert_eq!((report.pulled.added, report.offered), (1, 1));
    assert_eq!((anna.state().await, hub.peer.state().await), (here, there));
    assert_eq!(anna.remote(&hub.url()).await, remote);
}

#[tokio::test]
async fn a_push_marks_what_was_shown() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    anna.add("note").await;
    anna.sync(&hub.url()).await;
    let collection = anna.endpoint().collection(&notes()).await.unwrap();
    assert_eq!(collection.sent, collection.last);
}

#[tokio::test]
async fn repetitive_item_does_not_block_later_ones() {
    let hub = Hub::new("hub").await;
    hub.peer.add(&"=".repeat(2 << 20)).await;
    hub.peer.add("after it").await;
    let anna = Peer::new("anna").await;
    assert_eq!(anna.sync(&hub.url()).await.pulled.added, 2);
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn an_item_whose_versions_are_more_than_a_page_holds_comes_alone_and_the_rest_after_it() {
    // Atom entries in an RSS feed are sent twice: as they are and as converted.
    let hub = Hub::over(Peer::of_format("hub", Format::Rss).await).await;
    hub.peer.add("before it").await;
    let id = ItemId::new("heavy").unwrap();
    for by in ["a", "b", "c"] {
        let payload = compose(Format::Atom, &entry(&by.repeat(5 << 20)));
        let when = Timestamp::from_unix_seconds(1).unwrap();
        let stamp = Stamp::new(when, By::new(by).unwrap());
        let item = Item::create(id.clone(), Creation::default(), &stamp, payload).unwrap();
        let (endpoint, items) = (hub.peer.endpoint(), vec![item]);
        endpoint.incorporate(&notes(), Source::Offered, items, None).await.unwrap();
    }
    hub.peer.add("after it").await;
    let anna = Peer::new("anna").await;
    assert_eq!(anna.sync(&hub.url()).await.pulled.changed(), 3);
    assert_eq!(anna.item(&id).await.conflicts.len(), 2);
    assert!(anna.state().await == hub.peer.state().await);
}

#[tokio::test]
async fn a_remote_at_a_public_address_leads_to_no_private_hub() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let url = "http://8.8.8.8/collections/notes";
    let mut remote = anna.remote(url).await;
    remote.state.changes = Some(format!("{}/changes", hub.url()));
    anna.endpoint().store().change_remote(remote).await.unwrap();
    anna.add("for a public hub only").await;
    for pull in [true, false] {
        let error = anna.try_sync(url, Direction { pull, push: true }).await.unwrap_err();
        assert!(matches!(error, SyncError::Fetch(FetchError::Private { .. })), "{error}");
    }
    assert_eq!(hub.peer.ids().await, [""; 0]);
}

#[tokio::test]
async fn an_item_with_too_many_conflicts_here_is_read_again_at_the_next_synchronisation_only() {
    let scene = Scene::new().await;
    let one = scene.item("one").await;
    scene.put(FEED, Some(("0", "5")), false, &[&one]);
    scene.sync().await;
    let id = ItemId::new("contested").unwrap();
    let version = |by: &str| {
        let when = Timestamp::from_unix_seconds(1).unwrap();
        let stamp = Stamp::new(when, By::new(by).unwrap());
        let payload = compose(Format::Atom, &entry(by));
        Item::create(id.clone(), Creation::default(), &stamp, payload).unwrap()
    };
    let endpoint = scene.reader.endpoint();
    for number in 0..=MAX_CONFLICTS {
        let items = vec![version(&format!("b{number}"))];
        endpoint.incorporate(&notes(), Source::Offered, items, None).await.unwrap();
    }
    let theirs = version("theirs");
    scene.put(FEED, Some(("5", "7")), true, &[&theirs]);
    scene.put(ALL, None, false, &[&one, &theirs]);
    let report = scene.sync().await;
    assert_eq!((scene.read(), report.pulled.refused), (vec![FEED.to_owned()], 1));
    assert!(report.state.needs_complete);
    // While it is refused, it is read once each time.
    assert!(scene.sync().await.state.needs_complete);
    assert_eq!(scene.read(), [FEED, ALL]);
    assert!(scene.reader.remembered(&scene.library.url(FEED)).await.needs_complete);
}
