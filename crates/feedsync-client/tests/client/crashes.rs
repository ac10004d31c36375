//! Broken off at any step, a synchronisation goes on from there and nothing is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use feedsync_client::Direction;

use crate::site::{Act, Site, answer};
use crate::world::{Hub, Peer};

/// How a request fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The server is busy.
    Busy,
    /// The connection breaks before the request arrives.
    Before,
    /// The hub does its work, and nobody hears of it.
    After,
    /// The answer breaks off.
    Halfway,
}

pub(crate) const FAULTS: [Fault; 4] = [Fault::Busy, Fault::Before, Fault::After, Fault::Halfway];

/// A way to a hub on which request number `at` fails.
pub(crate) async fn faulty(to: SocketAddr, at: usize, fault: Fault) -> (Site, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let site = Site::start(move |_| {
        let pass = |bytes| vec![Act::Pass { to, bytes }];
        if counter.fetch_add(1, Ordering::SeqCst) != at {
            return pass(usize::MAX);
        }
        match fault {
            Fault::Busy => answer(503, &[], ""),
            Fault::Before => Vec::new(),
            Fault::After => pass(0),
            Fault::Halfway => pass(300),
        }
    })
    .await;
    (site, asked)
}

/// Two endpoints with changes for each other, one of which has synchronised once.
async fn apart() -> (Hub, Peer) {
    let (hub, anna) = (Hub::new("hub").await, Peer::new("anna").await);
    let shared = anna.add("shared").await;
    anna.sync(&hub.url()).await;
    for number in 0..1_200 {
        anna.add(&format!("anna {number}")).await;
        hub.peer.add(&format!("hub {number}")).await;
    }
    anna.edit(&shared, "edited by anna").await;
    hub.peer.edit(&shared, "edited at the hub").await;
    (hub, anna)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failure_of_any_request_the_next_synchronisation_converges() {
    let mut broken = 0;
    for fault in FAULTS {
        for at in 0..12 {
            let (hub, anna) = apart().await;
            let (site, asked) = faulty(hub.address, at, fault).await;
            let url = site.url("/collections/notes");
            let first = anna.try_sync(&url, Direction::BOTH).await;
            if asked.load(Ordering::SeqCst) <= at {
                first.unwrap();
                break;
            }
            assert!(first.is_err(), "{fault:?} at {at}");
            broken += 1;
            anna.sync(&url).await;
            assert_eq!(anna.state().await, hub.peer.state().await, "{fault:?} at {at}");
            assert_eq!(anna.state().await.len(), 2_401, "{fault:?} at {at}");
            let last = anna.sync(&url).await;
            assert_eq!((last.offered, last.pulled.unchanged), (0, 0), "{fault:?} at {at}");
        }
    }
    assert!(broken >= 4 * 5, "{broken}");
}

#[tokio::test]
async fn what_was_pulled_before_a_failure_is_not_read_again() {
    let hub = Hub::new("hub").await;
    for number in 0..2_500 {
        hub.peer.add(&format!("note {number}")).await;
    }
    let anna = Peer::new("anna").await;
    // The listing, two pages, and then nothing.
    let (site, _) = faulty(hub.address, 3, Fault::Halfway).await;
    let url = site.url("/collections/notes");
    anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
    assert_eq!(anna.ids().await.len(), 2_000);
    let report = anna.sync(&url).await;
    assert_eq!((report.pulled.added, report.pulled.unchanged, report.requests), (500, 0, 1));
}

#[tokio::test]
async fn what_was_pushed_before_a_failure_is_not_sent_again() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    for number in 0..2_500 {
        anna.add(&format!("note {number}")).await;
    }
    // The listing, a page, two batches, and then a refusal for now.
    let (site, _) = faulty(hub.address, 4, Fault::Busy).await;
    let url = site.url("/collections/notes");
    anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
    assert_eq!(hub.peer.ids().await.len(), 2_000);
    let report = anna.sync(&url).await;
    assert_eq!((report.offered, report.pushed.added, report.requests), (500, 500, 2));
}

#[tokio::test]
async fn dropped_at_any_moment_it_goes_on_from_there() {
    let (hub, anna) = apart().await;
    let url = hub.url();
    let mut dropped = 0;
    for patience in 0.. {
        let sync = anna.try_sync(&url, Direction::BOTH);
        match tokio::time::timeout(Duration::from_millis(patience * 3), sync).await {
            Ok(done) => {
                done.unwrap();
                break;
            }
            Err(_) => dropped += 1,
        }
    }
    assert!(dropped > 3, "{dropped}");
    anna.sync(&url).await;
    assert_eq!(anna.state().await, hub.peer.state().await);
    assert_eq!(anna.state().await.len(), 2_401);
}
