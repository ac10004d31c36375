//! Blobs are transferred before the items that name them.

use std::time::Duration;

use feedsync_client::{SyncReport, Warning};
use feedsync_core::{Format, Payload};
use feedsync_store::Digest;
use feedsync_test::site::{Act, Site, answer, document};

use crate::world::{Hub, Peer};

pub(crate) fn naming(digest: Digest) -> Payload {
    let text = format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>with a picture</title>\
         <fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"a.png\" type=\"image/png\" length=\"7\" \
         sha-256=\"{digest}\"/></entry>"
    );
    Payload::from_parsed(Format::Atom, text)
}

async fn has(peer: &Peer, digest: Digest) -> bool {
    peer.endpoint().store().blob(digest).await.unwrap().is_some()
}

fn warned(report: &SyncReport) -> bool {
    matches!(report.warnings[..], [Warning::Blob { .. }])
}

#[tokio::test]
async fn blobs_travel_with_the_items_that_name_them_and_once_only() {
    let hub = Hub::new("hub").await;
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    let digest = anna.endpoint().store().put_blob(b"picture".to_vec()).await.unwrap();
    anna.add_payload(naming(digest)).await;
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pushed.added, report.warnings.len()), (1, 0));
    assert!(has(&hub.peer, digest).await);
    let report = ben.sync(&hub.url()).await;
    assert_eq!((report.pulled.added, report.warnings.len()), (1, 0));
    assert!(has(&ben, digest).await);
    // The blob is named again and not transferred again: there are requests for the page, for the blob's
    // existence, and for the push.
    anna.add_payload(naming(digest)).await;
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pushed.added, report.requests), (1, 3));
}

#[tokio::test]
async fn missing_blob_does_not_delay_its_item() {
    let hub = Hub::new("hub").await;
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    anna.add_payload(naming(Digest::of(b"lost"))).await;
    let report = anna.sync(&hub.url()).await;
    assert_eq!(report.pushed.added, 1);
    assert!(warned(&report));
    let report = ben.sync(&hub.url()).await;
    assert_eq!(report.pulled.added, 1);
    assert!(warned(&report));
}

#[tokio::test]
async fn blob_that_reaches_the_hub_later_is_fetched_by_the_next_synchronisation() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    hub.peer.add_payload(naming(Digest::of(b"picture"))).await;
    for _ in 0..2 {
        assert!(warned(&anna.sync(&hub.url()).await));
    }
    let digest = hub.peer.endpoint().store().put_blob(b"picture".to_vec()).await.unwrap();
    let report = anna.sync(&hub.url()).await;
    // One request for the unchanged page, and one for the blob.
    assert_eq!((report.requests, report.pulled.changed(), report.warnings.len()), (2, 0, 0));
    assert!(has(&anna, digest).await);
    assert_eq!(anna.sync(&hub.url()).await.requests, 1);
}

#[tokio::test]
async fn blobs_that_stay_lost_are_asked_for_a_few_at_a_time() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    for number in 0..20 {
        hub.peer.add_payload(naming(Digest::of(format!("lost {number}").as_bytes()))).await;
    }
    assert_eq!(anna.sync(&hub.url()).await.warnings.len(), 20);
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.requests, report.warnings.len()), (1 + 16, 16));
}

#[tokio::test]
async fn blob_with_a_wrong_digest_is_not_stored() {
    let hub = Hub::new("hub").await;
    let digest = hub.peer.endpoint().store().put_blob(b"picture".to_vec()).await.unwrap();
    hub.peer.add_payload(naming(digest)).await;
    let to = hub.address;
    let site = Site::start(move |asked| {
        if asked.target.starts_with("/blobs/") {
            document("application/octet-stream", "another")
        } else {
            vec![Act::Pass { to, bytes: usize::MAX }]
        }
    })
    .await;
    let anna = Peer::new("anna").await;
    let report = anna.sync(&site.url("/collections/notes")).await;
    assert_eq!(report.pulled.added, 1);
    assert!(warned(&report));
    assert!(!has(&anna, digest).await && !has(&anna, Digest::of(b"another")).await);
}

#[tokio::test]
async fn temporary_failure_of_a_blob_does_not_delay_its_item() {
    let hub = Hub::new("hub").await;
    let digest = hub.peer.endpoint().store().put_blob(b"picture".to_vec()).await.unwrap();
    hub.peer.add_payload(naming(digest)).await;
    let to = hub.address;
    let site = Site::start(move |asked| {
        if asked.target.starts_with("/blobs/") {
            answer(503, &[], "")
        } else {
            vec![Act::Pass { to, bytes: usize::MAX }]
        }
    })
    .await;
    let anna = Peer::new("anna").await;
    anna.add_payload(naming(Digest::of(b"another"))).await;
    let report = anna.sync(&site.url("/collections/notes")).await;
    assert_eq!((report.pulled.added, report.pushed.added), (1, 1));
    assert!(matches!(report.warnings[..], [Warning::Blob { .. }, Warning::Blob { .. }]));
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_page_is_read_while_one_is_stored_and_none_further_ahead() {
    let hub = Hub::new("hub").await;
    hub.peer.add_payload(naming(Digest::of(b"lost"))).await;
    for number in 0..3_500 {
        hub.peer.add(&format!("note {number}")).await;
    }
    let to = hub.address;
    // The first page is not stored before this response arrives.
    let site = Site::start(move |asked| {
        if asked.target.starts_with("/blobs/") {
            let mut slow = vec![Act::Pause(Duration::from_secs(3))];
            slow.extend(answer(404, &[], ""));
            slow
        } else {
            vec![Act::Pass { to, bytes: usize::MAX }]
        }
    })
    .await;
    let anna = Peer::new("anna").await;
    let url = site.url("/collections/notes");
    let watched = async {
        let pages = || site.targets().iter().filter(|target| target.contains("limit=")).count();
        while pages() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        (pages(), anna.ids().await.len())
    };
    let (report, (pages, stored)) = tokio::join!(anna.sync(&url), watched);
    assert_eq!((pages, stored), (2, 0));
    assert_eq!((report.pulled.added, anna.ids().await.len()), (3_501, 3_501));
}
