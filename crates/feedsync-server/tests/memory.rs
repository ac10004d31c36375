//! A large collection is streamed without growing memory. It runs in a process of its own, since
//! memory of other tests would be measured too.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use feedsync_core::{By, Format, Item, ItemId, Payload, Stamp};
use feedsync_endpoint::{Endpoint, Source};
use feedsync_formats::{Entry, compose};
use feedsync_server::{Config, router};
use feedsync_store::{
    CollectionName, EndpointName, MemoryStore, NewCollection, SqliteStore, SystemEnvironment,
};
use futures_util::{StreamExt as _, stream};
use http::{Request, StatusCode};
use tokio::sync::{Barrier, Mutex};
use tower::ServiceExt as _;

/// Lock that each measurement holds, so that no other test uses memory meanwhile.
static MEASURING: Mutex<()> = Mutex::const_new(());

/// Resident memory of this process in kibibytes, where the system reports it.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A hub whose collection has so many items with this payload.
async fn filled(count: usize, payload: Payload) -> Router {
    let environment = Arc::new(SystemEnvironment);
    let store = MemoryStore::new(&EndpointName::new("hub").unwrap(), environment.clone());
    let endpoint = Endpoint::new(Arc::new(store), environment);
    let name = CollectionName::new("notes").unwrap();
    let (title, settings) = ("Notes".to_owned(), Default::default());
    let new = NewCollection { name: name.clone(), title, format: Format::Atom, settings };
    endpoint.store().create_collection(new).await.unwrap();
    let stamp = Stamp::new("2026-11-20T10:00:00Z".parse().unwrap(), By::new("client.1").unwrap());
    let mut items = (0..count).map(|number| {
        let id = ItemId::new(&format!("item{number:06}")).unwrap();
        Item::create(id, Default::default(), &stamp, payload.clone()).unwrap()
    });
    loop {
        let batch: Vec<_> = items.by_ref().take(10_000).collect();
        if batch.is_empty() {
            return router(endpoint, Config::default());
        }
        endpoint.incorporate(&name, Source::Offered, batch, None).await.unwrap();
    }
}

/// Reads a feed of at least so many bytes, which must arrive in small parts with constant memory use.
async fn streams(hub: &Router, feed: &str, bytes: usize) {
    let request = Request::get(feed).header("host", "localhost").body(Body::empty()).unwrap();
    let response = hub.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let before = resident();
    let (mut total, mut largest, mut peak) = (0, 0, before);
    let mut parts = response.into_body().into_data_stream();
    while let Some(part) = parts.next().await {
        let part = part.unwrap();
        total += part.len();
        largest = largest.max(part.len());
        peak = peak.max(resident());
    }
    assert!(total > bytes, "{feed}: {total}");
    assert!(largest < 1 << 20, "{feed}: a part of {largest} bytes");
    if let (Some(before), Some(peak)) = (before, peak) {
        let grown = peak - before;
        assert!(grown < 16 << 10, "{feed}: {grown} KiB for {total} bytes");
    }
}

#[tokio::test]
async fn a_hundred_thousand_items_stream_in_flat_memory() {
    let _measuring = MEASURING.lock().await;
    let content = Some("long ".repeat(120));
    let payload = compose(Format::Atom, &Entry { content, ..Entry::default() });
    let hub = filled(100_000, payload).await;
    for feed in ["/collections/notes/complete", "/collections/notes/changes"] {
        streams(&hub, feed, 80_000_000).await;
    }
}

#[tokio::test]
async fn nested_outlines_take_no_memory_for_what_they_hold() {
    let _measuring = MEASURING.lock().await;
    let text = "long ".repeat(13_000);
    let text =
        format!("<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"item000000\" text=\"{text}\"/>");
    let hub = filled(2_000, Payload::from_parsed(Format::Opml, text)).await;
    for feed in ["/collections/notes/complete.opml", "/collections/notes/changes.opml"] {
        streams(&hub, feed, 130_000_000).await;
    }
}

/// AP56: slow uploads are on the disk, and few are in memory when they are stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_that_come_slowly_take_no_memory() {
    const UPLOADS: usize = 12;
    const MEBIBYTES: usize = 30;
    let _measuring = MEASURING.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let environment = Arc::new(SystemEnvironment);
    let name = EndpointName::new("hub").unwrap();
    let store = SqliteStore::init(directory.path(), &name, environment.clone()).unwrap();
    let endpoint = Endpoint::new(Arc::new(store), environment);
    let mut settings = std::collections::BTreeMap::new();
    settings.insert("accept".to_owned(), r#"["video/*"]"#.to_owned());
    let name = CollectionName::new("notes").unwrap();
    let new = NewCollection { name, title: "Notes".to_owned(), format: Format::Atom, settings };
    endpoint.store().create_collection(new).await.unwrap();
    let hub = router(endpoint, Config::default());
    let before = resident();
    // Sends all of each upload except its end, then pauses while all of them are being received.
    let paused = Arc::new(Barrier::new(UPLOADS + 1));
    let uploads: Vec<_> = (0..UPLOADS)
        .map(|number| {
            let paused = Arc::clone(&paused);
            let parts = stream::unfold(0, move |part| {
                let paused = Arc::clone(&paused);
                async move {
                    if part == MEBIBYTES {
                        paused.wait().await;
                        paused.wait().await;
                        let end = Bytes::from(number.to_string());
                        return Some((Ok::<_, std::io::Error>(end), part + 1));
                    }
                    (part < MEBIBYTES).then(|| (Ok(Bytes::from(vec![7; 1 << 20])), part + 1))
                }
            });
            let request = Request::post("/collections/notes")
                .header("host", "localhost")
                .header("content-type", "video/mp4")
                .body(Body::from_stream(parts))
                .unwrap();
            tokio::spawn(hub.clone().oneshot(request))
        })
        .collect();
    paused.wait().await;
    let on_their_way = resident();
    paused.wait().await;
    let (mut peak, mut stored) = (on_their_way, 0);
    for upload in uploads {
        while !upload.is_finished() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            peak = peak.max(resident());
        }
        // On a slow disk the last uploads exceed the time that they may wait for a permit.
        match upload.await.unwrap().unwrap().status() {
            StatusCode::CREATED => stored += 1,
            status => assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE),
        }
    }
    assert!(stored > 1, "{stored}");
    if let (Some(before), Some(on_their_way), Some(peak)) = (before, on_their_way, peak) {
        let (waiting, storing) = (on_their_way.saturating_sub(before), peak.saturating_sub(before));
        println!("{waiting} KiB while {UPLOADS} uploads wait, {storing} KiB while they are stored");
        assert!(waiting < 48 << 10, "{waiting} KiB for {UPLOADS} uploads on their way");
        // Two at once, each of which SQLite copies; not all twelve.
        assert!(storing < 260 << 10, "{storing} KiB while they are stored");
    }
}
