//! A large collection streams without growing the hub.

use std::sync::Arc;

use feedsync::{Format, Item, ItemId, Payload, Stamp};
use feedsync_endpoint::Source;
use futures_util::StreamExt as _;
use http::StatusCode;

use crate::hub::{hub, notes, payload};

const ITEMS: usize = 100_000;

/// Kibibytes of this process in memory, where the system tells.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn items() -> impl Iterator<Item = Item<Payload>> {
    let payload = payload(Format::Atom, &"long ".repeat(60));
    (0..ITEMS).map(move |number| {
        let id = ItemId::new(&format!("item{number:06}")).unwrap();
        let when = "2026-11-20T10:00:00Z".parse().unwrap();
        let stamp = Stamp::new(when, feedsync::By::new("client.1").unwrap());
        let payload = Payload { text: Arc::clone(&payload.text), ..payload.clone() };
        Item::create(id, Default::default(), &stamp, payload).unwrap()
    })
}

#[tokio::test]
async fn a_hundred_thousand_items_stream_in_flat_memory() {
    let hub = hub().await;
    let mut items = items();
    loop {
        let batch: Vec<_> = items.by_ref().take(10_000).collect();
        if batch.is_empty() {
            break;
        }
        hub.endpoint.incorporate(&notes(), Source::Offered, batch, None).await.unwrap();
    }
    for feed in ["/collections/notes/complete", "/collections/notes/changes"] {
        let response = hub.get(feed).await;
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
        assert!(total > ITEMS * 800, "{feed}: {total}");
        assert!(largest < 1 << 20, "{feed}: a part of {largest} bytes");
        if let (Some(before), Some(peak)) = (before, peak) {
            let grown = peak - before;
            assert!(grown < 16 << 10, "{feed}: {grown} KiB for {total} bytes");
        }
    }
}
