//! Large documents, and slow connections.

use std::sync::Arc;
use std::time::Duration;

use feedsync_client::replicate::{RemoteDatabase, Replication, ReplicationPace, RetryPolicy};
use feedsync_endpoint::documents::Edits;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_server::Config;
use feedsync_test::site::{Act, Site, answer};

use super::Shelf;
use super::remote::{at, run, served};
use super::world::Rough;

/// A slow response is read to its end, however long it takes.
#[tokio::test]
async fn documents_may_take_as_long_as_their_way_does() {
    let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
    let document = "{\"_id\":\"a\",\"_rev\":\"1-a\"}";
    one.write(document, Edits::Replicated).await.unwrap();
    let to = one.serve(Config::default()).await;
    let site = Site::start(move |asked| match asked.target.contains("_bulk_get") {
        true => {
            let body =
                format!("{{\"results\":[{{\"id\":\"a\",\"docs\":[{{\"ok\":{document}}}]}}]}}");
            let [Act::Send(bytes)] = &answer(200, &[], body)[..] else { unreachable!() };
            let pieces = bytes.chunks(bytes.len() / 8);
            pieces
                .flat_map(|it| [Act::Send(it.to_vec()), Act::Pause(Duration::from_millis(400))])
                .collect()
        }
        false => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await;
    let overall = Duration::from_secs(2);
    let fetcher = Fetcher::new(Policy { overall, ..Policy::new(Private::Allowed) }).unwrap();
    let retry_policy = RetryPolicy { tries: Some(1), ..RetryPolicy::BOUNDED };
    let source = RemoteDatabase::new(fetcher, &format!("{}/couch/notes", site.base), retry_policy);
    let source = Arc::new(source.unwrap());
    let done = run(&Replication::default(), source, other.replica(), &one).await.unwrap();
    assert_eq!(done.stats.written, 1);
}

#[tokio::test]
async fn large_documents_are_carried_in_parts() {
    let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
    for number in 0..40 {
        let text = "x".repeat(600_000);
        one.write(&format!("{{\"_id\":\"{number}\",\"x\":\"{text}\"}}"), Edits::New).await.unwrap();
    }
    let text = "x".repeat(12 << 20);
    one.write(&format!("{{\"_id\":\"large\",\"x\":\"{text}\"}}"), Edits::New).await.unwrap();
    let first = served(one.serve(Config::default()).await);
    let second = served(other.serve(Config::default()).await);
    let done = run(&Replication::default(), first, second, &one).await.unwrap();
    assert_eq!((done.stats.written, done.stats.refused), (41, 0));
    assert_eq!(one.leaves().await, other.leaves().await);
    let third = Shelf::new(3).await;
    assert_eq!(third.take(&one).await.stats.written, 41, "from store to store, too");
    assert_eq!(one.leaves().await, third.leaves().await);
}

/// Concurrent writes share one connection: those of small documents run together, those of large ones wait
/// for each other.
#[tokio::test]
async fn concurrent_writes_stay_within_the_byte_budget() {
    const MEBIBYTE: u64 = 1 << 20;
    for (kibibytes, expected) in [(1, 12 << 10..MEBIBYTE), (900, 3 * MEBIBYTE..8 * MEBIBYTE + 1)] {
        let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
        let text = "x".repeat(kibibytes << 10);
        for number in 0..48 {
            one.write(&format!("{{\"_id\":\"{number}\",\"x\":\"{text}\"}}"), Edits::New)
                .await
                .unwrap();
        }
        let pace = ReplicationPace { batch: 6, ..ReplicationPace::default() };
        let target = Rough::slow(other.replica(), 1);
        let all = Replication { pace, ..Replication::default() };
        let done = run(&all, one.replica(), Arc::clone(&target) as _, &one).await.unwrap();
        assert_eq!((done.stats.written, done.stats.refused), (48, 0));
        let most = target.most_written_at_once();
        assert!(expected.contains(&most), "{kibibytes}: {most}");
    }
}

/// Large documents with stubs of attachments that the target lacks wait for each other, and for no other
/// documents.
#[tokio::test]
async fn documents_are_sent_whole_if_their_stubs_cannot_be_resolved() {
    let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
    let (data, long) = ("AAAA".repeat(3 << 20), "x".repeat(9 << 20));
    let attached = |data: &str| format!(",\"_attachments\":{{\"f\":{{{data},\"revpos\":1}}}}");
    let revision = |id: &str, ids: &str, more: &str| {
        let start = ids.split(',').count();
        format!("{{\"_id\":\"{id}\",\"_revisions\":{{\"start\":{start},\"ids\":[{ids}]}}{more}}}")
    };
    for (id, data, long) in
        [("a", &*data, ""), ("b", &*data, &*long), ("c", "AAAA", &*long), ("d", "AAAA", "")]
    {
        let first = revision(id, "\"x\"", &attached(&format!("\"data\":\"{data}\"")));
        one.write(&first, Edits::Replicated).await.unwrap();
        // The same revision, with fewer known ancestors.
        other.write(&revision(id, "\"x\"", ""), Edits::Replicated).await.unwrap();
        let more = format!(",\"long\":\"{long}\"{}", attached("\"stub\":true"));
        one.write(&revision(id, "\"y\",\"x\"", &more), Edits::Replicated).await.unwrap();
    }
    let pace = ReplicationPace { batch: 1, ..ReplicationPace::default() };
    let all = Replication { pace, ..Replication::default() };
    let run = run(&all, one.replica(), other.replica(), &one);
    let done = tokio::time::timeout(Duration::from_secs(60), run).await.expect("it ends").unwrap();
    assert_eq!((done.stats.written, done.stats.refused), (4, 0));
    assert_eq!(one.leaves().await, other.leaves().await);
}

/// After a response that was too large, fewer documents are requested at once.
#[tokio::test]
async fn as_many_documents_are_read_at_once_as_fitted_before() {
    let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
    let text = "x".repeat(800_000);
    for number in 0..48 {
        one.write(&format!("{{\"_id\":\"{number}\",\"x\":\"{text}\"}}"), Edits::New).await.unwrap();
    }
    for number in 0..96 {
        one.write(&format!("{{\"_id\":\"small {number}\"}}"), Edits::New).await.unwrap();
    }
    let to = one.serve(Config::default()).await;
    let site = Site::start(move |_| vec![Act::Pass { to, bytes: usize::MAX }]).await;
    let pace = ReplicationPace { batch: 12, batches: 1, ..ReplicationPace::default() };
    let all = Replication { pace, ..Replication::default() };
    let done = run(&all, at(&site.base), other.replica(), &one).await.unwrap();
    assert_eq!((done.stats.written, done.stats.refused), (144, 0));
    let asked = site.targets().iter().filter(|it| it.contains("_bulk_get")).count();
    // Of the large ones, 12 do not fit, once, and 6 do; of the small ones 6, and then all 12.
    assert_eq!(asked, 1 + 4 * 2 + 2 + 7);
}
