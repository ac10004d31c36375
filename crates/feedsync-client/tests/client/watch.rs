//! Watching for the time to synchronise.

use std::time::{Duration, Instant};

use feedsync_client::{Direction, Pace, SyncTrigger, Watch};
use feedsync_test::site::{Act, Site, answer};
use tokio::time::timeout;

use crate::library::shared;
use crate::world::{Hub, Peer};

const SOON: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(3_600);

/// Returns intervals so long that nothing is due by time alone.
fn patient() -> Pace {
    Pace { poll: LONG, reassure: LONG, pause: Duration::from_millis(100), longest: LONG }
}

async fn watch(peer: &Peer, url: &str, pace: Pace) -> Watch {
    let remote = peer.remote(url).await;
    let mut watch = Watch::new(peer.session.clone(), remote, Direction::BOTH, pace);
    assert_eq!(watch.next().await.unwrap(), Some(SyncTrigger::Begin));
    watch
}

async fn due(watch: &mut Watch) -> SyncTrigger {
    timeout(SOON, watch.next()).await.expect("nothing was due").unwrap().unwrap()
}

async fn is_quiet(watch: &mut Watch) -> bool {
    timeout(Duration::from_millis(300), watch.next()).await.is_err()
}

#[tokio::test]
async fn a_change_on_either_side_makes_a_synchronisation_due_and_its_own_changes_do_not() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let mut watch = watch(&anna, &hub.url(), patient()).await;
    anna.sync(&hub.url()).await;
    assert!(is_quiet(&mut watch).await);
    hub.peer.add("there").await;
    assert_eq!(due(&mut watch).await, SyncTrigger::There);
    anna.sync(&hub.url()).await;
    assert!(is_quiet(&mut watch).await);
    anna.add("here").await;
    assert_eq!(due(&mut watch).await, SyncTrigger::Here);
    anna.sync(&hub.url()).await;
    assert!(is_quiet(&mut watch).await);
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn new_changes_are_due_after_a_refusal_and_the_refused_ones_are_not() {
    let hub = Hub::new("hub").await;
    let to = hub.address;
    let site = Site::start(move |asked| match asked.method.as_str() {
        "POST" => answer(405, &[], ""),
        _ => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await;
    let anna = Peer::new("anna").await;
    let url = site.url("/collections/notes");
    anna.add("refused").await;
    let mut watch = watch(&anna, &url, patient()).await;
    anna.sync(&url).await;
    assert!(is_quiet(&mut watch).await);
    anna.add("new").await;
    assert_eq!(due(&mut watch).await, SyncTrigger::Here);
    anna.sync(&url).await;
    assert!(is_quiet(&mut watch).await);
}

#[tokio::test]
async fn changes_before_the_watch_are_due_at_once() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let mut watch = watch(&anna, &hub.url(), patient()).await;
    anna.sync(&hub.url()).await;
    hub.peer.add("before it listens").await;
    assert_eq!(due(&mut watch).await, SyncTrigger::There);
    anna.sync(&hub.url()).await;
    anna.add("while it does not wait").await;
    assert_eq!(due(&mut watch).await, SyncTrigger::Here);
}

#[tokio::test]
async fn a_broken_stream_is_resumed_where_it_was() {
    let hub = Hub::new("hub").await;
    let to = hub.address;
    let site = Site::start(move |asked| {
        if !asked.target.ends_with("/events") {
            return vec![Act::Pass { to, bytes: usize::MAX }];
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let rest = match asked.headers.get("last-event-id").map(String::as_str) {
            Some("9-b") => "event: reset\nid: 9-c\ndata: {}\n\n",
            // An id alone, and half an event that is lost.
            _ => "id: 9-b\n\nid: 9-x\ndata: {",
        };
        vec![Act::Send([head, rest].concat().into_bytes())]
    })
    .await;
    let anna = Peer::new("anna").await;
    let url = site.url("/collections/notes");
    let mut watch = watch(&anna, &url, patient()).await;
    anna.sync(&url).await;
    assert_eq!(due(&mut watch).await, SyncTrigger::There);
    let asked: Vec<_> =
        site.asked().into_iter().filter(|asked| asked.target.ends_with("/events")).collect();
    let ids: Vec<_> = asked.iter().map(|asked| asked.headers["last-event-id"].clone()).collect();
    assert_eq!(ids[0], anna.remembered(&url).await.until.unwrap());
    assert_eq!(ids[1], "9-b");
}

#[tokio::test]
async fn without_events_it_looks_every_so_often() {
    let hub = Hub::new("hub").await;
    let to = hub.address;
    let site = Site::start(move |asked| {
        if asked.target.ends_with("/events") {
            return answer(404, &[], "");
        }
        vec![Act::Pass { to, bytes: usize::MAX }]
    })
    .await;
    let anna = Peer::new("anna").await;
    let url = site.url("/collections/notes");
    let pace = Pace { poll: Duration::from_millis(400), ..patient() };
    let mut watch = watch(&anna, &url, pace).await;
    for _ in 0..2 {
        anna.sync(&url).await;
        let started = Instant::now();
        assert_eq!(due(&mut watch).await, SyncTrigger::Poll);
        assert!(started.elapsed() >= Duration::from_millis(390));
    }
}

#[tokio::test]
async fn a_feed_is_looked_at_before_it_expires() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let expires = feedsync_core::Timestamp::from_unix_seconds(now.as_secs() as i64 + 4);
    let sharing = feedsync_core::Sharing { expires, ..feedsync_core::Sharing::default() };
    let site = Site::start(move |_| answer(200, &[], shared(Some(&sharing), &[]))).await;
    let anna = Peer::new("anna").await;
    let url = site.url("/feed.xml");
    let mut watch = watch(&anna, &url, patient()).await;
    let started = Instant::now();
    anna.sync(&url).await;
    assert_eq!(due(&mut watch).await, SyncTrigger::Poll);
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn after_failures_it_waits_longer_and_as_long_as_the_server_wants() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/busy" => answer(503, &[("Retry-After", "2")], ""),
        _ => answer(500, &[], ""),
    })
    .await;
    let anna = Peer::new("anna").await;
    let mut waits = Vec::new();
    let url = site.url("/broken");
    let mut broken = watch(&anna, &url, patient()).await;
    for _ in 0..3 {
        anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
        let started = Instant::now();
        assert_eq!(due(&mut broken).await, SyncTrigger::Poll);
        waits.push(started.elapsed().as_millis());
    }
    assert!(waits[0] >= 95 && waits[1] >= 195 && waits[2] >= 395, "{waits:?}");
    let url = site.url("/busy");
    let mut busy = watch(&anna, &url, patient()).await;
    anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
    let started = Instant::now();
    assert_eq!(due(&mut busy).await, SyncTrigger::Poll);
    assert!(started.elapsed() >= Duration::from_millis(1_900));
}

#[tokio::test]
async fn a_remote_at_a_public_address_leads_to_no_private_events() {
    let site = Site::start(|_| answer(404, &[], "")).await;
    let anna = Peer::new("anna").await;
    let mut remote = anna.remote("http://8.8.8.8/collections/notes").await;
    remote.state.changes = Some(site.url("/collections/notes/changes"));
    anna.endpoint().store().change_remote(remote.clone()).await.unwrap();
    let mut watch = watch(&anna, &remote.url, patient()).await;
    assert!(is_quiet(&mut watch).await);
    assert_eq!(site.targets(), [""; 0]);
}
