//! An interrupted synchronisation continues from the interrupted step, and loses nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use feedsync_client::Direction;
use feedsync_test::site::{Act, Site, answer};

use crate::world::{Hub, Peer};

/// Failure of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The server is busy.
    Busy,
    /// The connection breaks before the request arrives.
    Before,
    /// The hub processes the request, and its response is lost.
    After,
    /// The response is interrupted.
    Halfway,
}

pub(crate) const FAULTS: [Fault; 4] = [Fault::Busy, Fault::Before, Fault::After, Fault::Halfway];

/// Starts a proxy to a hub in which request number `at` fails.
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

/// Returns a hub and an endpoint with changes for each other, which have synchronised once.
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
async fn pages_read_before_a_failure_are_not_read_again() {
    let hub = Hub::new("hub").await;
    for number in 0..2_500 {
        hub.peer.add(&format!("note {number}")).await;
    }
    let anna = Peer::new("anna").await;
    // After the listing and two pages, the next request fails.
    let (site, _) = faulty(hub.address, 3, Fault::Halfway).await;
    let url = site.url("/collections/notes");
    anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
    assert_eq!(anna.ids().await.len(), 2_000);
    let report = anna.sync(&url).await;
    assert_eq!((report.pulled.added, report.pulled.unchanged, report.requests), (500, 0, 1));
}

#[tokio::test]
async fn batches_pushed_before_a_failure_are_not_sent_again() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    for number in 0..2_500 {
        anna.add(&format!("note {number}")).await;
    }
    // After the listing, a page and two batches, the next request is refused temporarily.
    let (site, _) = faulty(hub.address, 4, Fault::Busy).await;
    let url = site.url("/collections/notes");
    anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
    assert_eq!(hub.peer.ids().await.len(), 2_000);
    let report = anna.sync(&url).await;
    assert_eq!((report.offered, report.pushed.added, report.requests), (500, 500, 2));
}

#[tokio::test]
async fn dropped_synchronisation_continues_where_it_was() {
    let (hub, anna) = apart().await;
    let url = hub.url();
    let mut dropped = 0;
    for retry_policy in 0.. {
        let sync = anna.try_sync(&url, Direction::BOTH);
        match tokio::time::timeout(Duration::from_millis(retry_policy * 3), sync).await {
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
