//! Collections that incorporate the feeds of others.

use std::time::Duration;

use feedsync_client::{Direction, NoProgress, Schedule, SubscriptionOptions, SyncError};
use feedsync_core::{
    By, Creation, Format, Item, ItemId, Keep, MAX_CONFLICTS, Related, RelatedKind, Resolution,
    Resolved, Sharing, Stamp, Timestamp, Window,
};
use feedsync_endpoint::Source;
use feedsync_fetch::{Fetcher, Login, LoginOrigin, Logins, Policy, Private, address};
use feedsync_formats::compose;
use feedsync_store::{Moment, Remote};
use feedsync_test::site::answer;

use crate::library::{Library, shared};
use crate::world::{Hub, Peer, entry, notes};

const EVERY: Duration = Duration::from_secs(900);

fn terms() -> SubscriptionOptions {
    SubscriptionOptions {
        every: EVERY,
        plain: false,
        announced: true,
        title: Some("Others".to_owned()),
    }
}

async fn subscribe(peer: &Peer, url: &str) -> Remote {
    peer.session.subscribe(&notes(), url, terms(), None).await.unwrap()
}

fn seconds_until(peer: &Peer, remote: &Remote) -> u64 {
    let due = remote.subscription.as_ref().unwrap().due.unwrap();
    let now: Moment = peer.endpoint().environment().now();
    due.micros().saturating_sub(now.micros()) / 1_000_000
}

#[tokio::test]
async fn a_subscription_is_an_ordinary_merge_and_gives_nothing_back() {
    let (source, aggregator) = (Hub::new("source").await, Hub::new("aggregator").await);
    let id = source.peer.add("theirs").await;
    aggregator.peer.add("mine").await;
    let remote = subscribe(&aggregator.peer, &source.url()).await;
    let schedule = Schedule::new(aggregator.peer.session.clone());
    assert_eq!(schedule.due().await.unwrap(), std::slice::from_ref(&remote));
    let report = schedule.read(&remote).await.unwrap().unwrap();
    assert_eq!((report.pulled.added, report.offered), (1, 0));
    assert_eq!(aggregator.peer.item(&id).await, source.peer.item(&id).await);
    assert_eq!(source.peer.ids().await.len(), 1);
    assert_eq!(schedule.due().await.unwrap(), []);
    // Both sides edit the item: a conflict at the subscriber, and nothing at the publisher.
    source.peer.edit(&id, "theirs, edited").await;
    aggregator.peer.edit(&id, "edited here").await;
    let remote = aggregator.peer.remote(&source.url()).await;
    assert!((890..=900).contains(&seconds_until(&aggregator.peer, &remote)));
    let report = schedule.read(&remote).await.unwrap().unwrap();
    assert_eq!(report.pulled.conflict, 1);
    // A synchronisation by hand only reads, too.
    let both = aggregator.peer.try_sync(&source.url(), Direction::BOTH).await.unwrap();
    assert_eq!(both.offered, 0);
    let push = Direction { pull: false, push: true };
    let refused = aggregator.peer.try_sync(&source.url(), push).await;
    assert!(matches!(refused, Err(SyncError::ReadOnly { .. })));
    assert_eq!(source.peer.item(&id).await.conflicts.len(), 0);
}

#[tokio::test]
async fn aggregator_states_its_sources_and_repeats_nothing_else_of_them() {
    let (source, aggregator) = (Hub::new("source").await, Hub::new("aggregator").await);
    source.peer.add("theirs").await;
    let remote = subscribe(&aggregator.peer, &source.url().replace("//", "//me:secret@")).await;
    let text = async |path: &str| {
        let url = address(&format!("{}{path}", aggregator.url())).unwrap();
        let response = aggregator.peer.session.fetcher().document(url, "*/*").await.unwrap();
        String::from_utf8(response.bytes().to_vec()).unwrap()
    };
    for view in ["/changes.atom", "/complete.atom", ".atom", "/changes.rss", "/changes.xml"] {
        let feed = text(view).await;
        let related: Vec<_> =
            feed.split("<sx:related ").filter(|part| part.contains("aggregated")).collect();
        assert_eq!(related.len(), 1, "{view}: {feed}");
        assert!(related[0].contains(&format!("link=\"{}\"", source.url())), "{feed}");
        assert!(related[0].contains("title=\"Others\""), "{feed}");
        assert!(!feed.contains("secret"), "{feed}");
        assert!(feed.matches("<sx:sharing").count() == 1, "{feed}");
    }
    let named = Peer::new("reader").await;
    let publisher = named.remote(&aggregator.url()).await;
    let related = named.session.aggregated_by(&publisher).await.unwrap();
    let link = source.url();
    let title = Some("Others".to_owned());
    assert_eq!(related, [Related { link, title, kind: RelatedKind::Aggregated }]);
    aggregator.peer.session.unsubscribe(&remote).await.unwrap();
    assert!(!text("/changes.atom").await.contains("aggregated"));
    assert_eq!(named.session.aggregated_by(&publisher).await.unwrap(), []);
}

#[tokio::test]
async fn due_subscription_is_read_by_one_process() {
    let library = Library::new().await;
    let peer = Peer::new("desk").await;
    library.put("/feed", &shared(None, &[]));
    let remote = subscribe(&peer, &library.url("/feed")).await;
    let mut reads = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (schedule, remote) = (Schedule::new(peer.session.clone()), remote.clone());
        reads.spawn(async move { schedule.read(&remote).await.unwrap().is_some() });
    }
    let done = reads.join_all().await.into_iter().filter(|done| *done).count();
    assert_eq!((done, library.site.asked().len()), (1, 1));
}

#[tokio::test]
async fn failed_subscription_is_retried_later_or_when_its_server_asks() {
    let library = Library::new().await;
    let peer = Peer::new("desk").await;
    let url = library.url("/feed");
    subscribe(&peer, &url).await;
    let schedule = Schedule::new(peer.session.clone());
    for (failures, least, most) in [(1, 29, 60), (2, 59, 120), (3, 119, 240)] {
        assert!(schedule.read(&peer.remote(&url).await).await.is_err());
        let remote = peer.remote(&url).await;
        assert_eq!(remote.state.failures, failures);
        let pause = seconds_until(&peer, &remote);
        assert!((least..=most).contains(&pause), "{pause} s after {failures} failures");
    }
    library.answer("/feed", answer(503, &[("Retry-After", "5000")], ""));
    assert!(schedule.read(&peer.remote(&url).await).await.is_err());
    let pause = seconds_until(&peer, &peer.remote(&url).await);
    assert!((4_990..=5_000).contains(&pause), "{pause}");
    // The server gets no request before that time.
    library.site.forget();
    let early = schedule.read(&peer.remote(&url).await).await;
    assert!(matches!(early, Err(SyncError::NotYet { .. })));
    assert_eq!(library.site.asked().len(), 0);
}

#[tokio::test]
async fn a_feed_is_read_again_before_it_expires() {
    let library = Library::new().await;
    let peer = Peer::new("desk").await;
    let soon = peer.endpoint().environment().now().micros() / 1_000_000 + 200;
    let sharing = Sharing {
        window: Some(Window { since: "1".into(), until: "2".into() }),
        expires: Timestamp::from_unix_seconds(soon as i64),
        related: Vec::new(),
    };
    library.put("/feed", &shared(Some(&sharing), &[]));
    let remote = subscribe(&peer, &library.url("/feed")).await;
    Schedule::new(peer.session.clone()).read(&remote).await.unwrap();
    let pause = seconds_until(&peer, &peer.remote(&remote.url).await);
    assert!((160..=180).contains(&pause), "{pause}");
}

#[tokio::test]
async fn entries_without_sync_information_are_imported_where_that_was_asked() {
    const FEED: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
        <entry><id>tag:x,2005:1</id><title>One</title><updated>2005-05-21T11:43:33Z</updated>
        <source><id>urn:x:elsewhere</id><title>Elsewhere</title>
        <updated>2005-05-21T11:43:33Z</updated></source></entry></feed>"#;
    let library = Library::new().await;
    library.put("/feed", FEED);
    let url = library.url("/feed");
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    let plain = SubscriptionOptions { plain: true, ..terms() };
    for peer in [&anna, &ben] {
        let remote = peer.session.subscribe(&notes(), &url, plain.clone(), None).await.unwrap();
        let schedule = Schedule::new(peer.session.clone());
        assert_eq!(schedule.read(&remote).await.unwrap().unwrap().pulled.added, 1);
    }
    assert_eq!(anna.state().await, ben.state().await);
    let item = &anna.stored().await[0].item;
    assert!(item.winner.payload.text().contains("<id>urn:x:elsewhere</id>"), "{item:?}");
    // Without a request for import, the entries take no part.
    let other = Peer::new("other").await;
    let remote = subscribe(&other, &url).await;
    let refused = other.session.sync(&remote, Direction::BOTH, &NoProgress, false).await;
    assert!(matches!(refused, Err(SyncError::NotFeedSync { .. })));
    // A second reading finds nothing new, and a changed entry is an update.
    let report = anna.sync(&url).await;
    assert_eq!((report.requests, report.pulled.changed()), (1, 0));
    library.put("/feed", &FEED.replace(">One<", ">One more<"));
    assert_eq!(anna.sync(&url).await.pulled.updated, 1);
}

#[tokio::test]
async fn an_entry_that_found_too_many_conflicts_is_imported_again_where_the_feed_is_unchanged() {
    const FEED: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
        <entry><id>contested</id><title>One</title><updated>2005-05-21T11:43:33Z</updated></entry>
        </feed>"#;
    let library = Library::new().await;
    library.put("/feed", FEED);
    let url = library.url("/feed");
    let peer = Peer::new("desk").await;
    let id = ItemId::new("contested").unwrap();
    for number in 0..=MAX_CONFLICTS {
        let by = By::new(&format!("b{number}")).unwrap();
        let stamp = Stamp::new(Timestamp::from_unix_seconds(1).unwrap(), by);
        let payload = compose(Format::Atom, &entry(&number.to_string()));
        let item = Item::create(id.clone(), Creation::default(), &stamp, payload).unwrap();
        let endpoint = peer.endpoint();
        endpoint.incorporate(&notes(), Source::Offered, vec![item], None).await.unwrap();
    }
    let plain = SubscriptionOptions { plain: true, ..terms() };
    peer.session.subscribe(&notes(), &url, plain, None).await.unwrap();
    let refused = peer.sync(&url).await;
    assert_eq!((refused.pulled.refused, refused.refused.len()), (1, 1));
    assert_eq!((&refused.state.etag, refused.state.needs_complete), (&None, true));
    // The feed has not changed, and now there is room for the entry.
    let seen = peer.item(&id).await;
    let resolution = Resolution { resolved: Resolved::All, keep: Keep::Winner };
    peer.endpoint().resolve(&notes(), &seen, resolution).await.unwrap();
    let taken = peer.sync(&url).await;
    assert_eq!((taken.pulled.refused, taken.pulled.changed()), (0, 1));
    assert!(taken.state.etag.is_some() && !taken.state.needs_complete);
    assert_eq!(peer.sync(&url).await.pulled.unchanged, 0);
}

#[tokio::test]
async fn a_secret_in_the_query_of_an_address_is_told_to_nobody() {
    const PLAIN: &str =
        "<rss version=\"2.0\"><channel><item><title>x</title></item></channel></rss>";
    let (source, aggregator) = (Hub::new("source").await, Hub::new("aggregator").await);
    source.peer.add("theirs").await;
    let url = format!("{}?token=geheim", source.url());
    let remote = subscribe(&aggregator.peer, &url).await;
    let schedule = Schedule::new(aggregator.peer.session.clone());
    assert_eq!(schedule.read(&remote).await.unwrap().unwrap().pulled.added, 1);
    let known = aggregator.peer.remote(&url).await;
    assert_eq!(known.url, url, "it is asked with");
    let settings = aggregator.peer.endpoint().collection(&notes()).await.unwrap().settings;
    assert!(!format!("{settings:?}").contains("geheim"), "{settings:?}");
    // Failures are shown to all users who may edit the collection.
    let library = Library::new().await;
    let peer = Peer::new("desk").await;
    for (path, answer) in [
        ("/none", answer(404, &[], "")),
        ("/broken", answer(200, &[("Content-Type", "application/xml")], "<feed><entry>")),
        ("/plain", answer(200, &[("Content-Type", "application/xml")], PLAIN)),
        ("/loop", answer(302, &[("Location", "/loop?token=geheim")], "")),
        ("/away", answer(302, &[("Location", "http://[")], "")),
    ] {
        let path = format!("{path}?token=geheim");
        library.answer(&path, answer);
        let url = library.url(&path);
        peer.try_sync(&url, Direction::BOTH).await.unwrap_err();
        let failure = peer.remembered(&url).await.failure.unwrap();
        assert!(!failure.contains("geheim") && failure.contains("127.0.0.1"), "{failure}");
    }
}

#[tokio::test]
async fn a_login_that_was_made_since_counts_when_a_subscription_is_due() {
    let library = Library::new().await;
    let peer = Peer::new("desk").await;
    let url = library.url("/feed");
    library.put("/feed", &shared(None, &[]));
    subscribe(&peer, &url).await;
    let origin = LoginOrigin::of(&address(&url).unwrap()).unwrap();
    let way = move || {
        let mut logins = Logins::default();
        logins.keep(origin.clone(), Login::token("made-since").unwrap());
        Fetcher::new(Policy::new(Private::Allowed))?.with_logins(logins)
    };
    let schedule = Schedule::new(peer.session.clone()).renewing(way);
    let running = tokio::spawn(schedule.run());
    let retry_policy = tokio::time::Instant::now() + Duration::from_secs(20);
    while peer.remembered(&url).await.succeeded.is_none() {
        assert!(tokio::time::Instant::now() < retry_policy, "it is not read");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    running.abort();
    let asked = library.site.asked();
    let sent: Vec<_> = asked.iter().map(|asked| asked.headers.get("authorization")).collect();
    assert_eq!(sent, [Some(&"Bearer made-since".to_owned())]);
}
