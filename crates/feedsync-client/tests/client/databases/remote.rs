//! Databases of servers, over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use feedsync_client::replicate::{
    RemoteDatabase, Replica, Replicated, Replication, ReplicationError, ReplicationFilter,
    ReplicationPace, RetryPolicy,
};
use feedsync_endpoint::documents::Edits;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_server::Config;
use feedsync_test::site::{Act, Site, answer};

use super::world::{Absent, Rough, selected};
use super::{NoProgress, Shelf, replicated};
use crate::crashes::{FAULTS, faulty};

pub(super) fn at(base: &str) -> Arc<dyn Replica> {
    let policy = Policy { idle: Duration::from_secs(5), ..Policy::new(Private::Allowed) };
    let retry_policy = RetryPolicy { pause: Duration::from_millis(1), ..RetryPolicy::BOUNDED };
    let url = format!("{base}/couch/notes/");
    Arc::new(RemoteDatabase::new(Fetcher::new(policy).unwrap(), &url, retry_policy).unwrap())
}

pub(super) fn served(address: SocketAddr) -> Arc<dyn Replica> {
    at(&format!("http://{address}"))
}

pub(super) async fn run(
    replication: &Replication,
    source: Arc<dyn Replica>,
    target: Arc<dyn Replica>,
    shelf: &Shelf,
) -> Result<Replicated, ReplicationError> {
    replicated(replication, source, target, shelf.environment()).await
}

/// Returns two databases, each with documents that the other one lacks, including conflicts, deletions and
/// attachments.
async fn apart(seed: u64) -> (Shelf, Shelf) {
    with_documents(seed, 700).await
}

/// Returns the same with a given number of documents each, and two more.
async fn with_documents(seed: u64, count: u64) -> (Shelf, Shelf) {
    let (one, other) = (Shelf::new(seed).await, Shelf::new(seed + 1).await);
    let shared =
        "{\"_id\":\"shared\",\"_rev\":\"1-a\",\"_revisions\":{\"start\":1,\"ids\":[\"a\"]}}";
    for shelf in [&one, &other] {
        shelf.write(shared, Edits::Replicated).await.unwrap();
    }
    for (shelf, name) in [(&one, "one"), (&other, "other")] {
        let edit = format!("{{\"_id\":\"shared\",\"_rev\":\"1-a\",\"by\":\"{name}\"}}");
        shelf.write(&edit, Edits::New).await.unwrap();
        for number in 0..count {
            let id = format!("{name}/{number} \u{fc}+%");
            let new = shelf.write(&format!("{{\"_id\":\"{id}\",\"n\":1.0}}"), Edits::New).await;
            if number % 3 == 0 {
                let base = new.unwrap();
                let gone = format!("{{\"_id\":\"{id}\",\"_rev\":\"{base}\",\"_deleted\":true}}");
                shelf.write(&gone, Edits::New).await.unwrap();
            }
        }
        let text = format!(
            "{{\"_id\":\"{name} with\",\"_attachments\":{{\"a/b c\":{{\"content_type\":\"text/plain\",\"data\":\"aGVsbG8=\"}}}}}}"
        );
        shelf.write(&text, Edits::New).await.unwrap();
    }
    (one, other)
}

#[tokio::test]
async fn two_hubs_come_to_the_same_state_in_either_direction() {
    let (one, other) = apart(1).await;
    let first = served(one.serve(Config::default()).await);
    let second = served(other.serve(Config::default()).await);
    let all = Replication::default();
    let there = run(&all, Arc::clone(&first), Arc::clone(&second), &one).await.unwrap();
    assert_eq!((there.stats.checked, there.stats.written, there.stats.refused), (702, 702, 0));
    let back = run(&all, Arc::clone(&second), Arc::clone(&first), &one).await.unwrap();
    // Documents that came from here are known here.
    assert_eq!((back.stats.checked, back.stats.written), (1_404, 702));
    assert_eq!(one.leaves().await, other.leaves().await);
    assert_eq!(one.leaves().await["shared"].len(), 2, "a conflict");
    let again = run(&all, Arc::clone(&first), second, &one).await.unwrap();
    assert_eq!((again.stats.checked, again.stats.written), (703, 0), "what came meanwhile");
    let rests = run(&all, first, other.replica(), &one).await.unwrap();
    assert_eq!(rests.stats.written, 0, "a server and its store are one");
}

#[tokio::test]
async fn replicated_documents_are_not_compared_again() {
    let (one, other) = apart(10).await;
    let address = one.serve(Config::default()).await;
    let site = Site::start(move |_| vec![Act::Pass { to: address, bytes: usize::MAX }]).await;
    let all = Replication::default();
    run(&all, at(&site.base), other.replica(), &one).await.unwrap();
    site.forget();
    let again = run(&all, at(&site.base), other.replica(), &one).await.unwrap();
    assert_eq!((again.stats.checked, again.has_checkpoints), (0, true));
    let asked: Vec<String> = site.asked().iter().map(|it| it.method.clone()).collect();
    assert_eq!(asked, ["GET", "GET", "GET"], "the database, the checkpoint, what changed");
    let whole = Replication { from_beginning: true, ..all };
    let whole = run(&whole, at(&site.base), other.replica(), &one).await.unwrap();
    assert_eq!((whole.stats.checked, whole.stats.missing), (702, 0));
}

#[tokio::test]
async fn replication_completes_after_a_failure_of_any_request() {
    for fault in FAULTS {
        for number in 0.. {
            let (one, other) = with_documents(number as u64 * 2, 30).await;
            let address = one.serve(Config::default()).await;
            let (site, asked) = faulty(address, number, fault).await;
            let pace =
                ReplicationPace { page: 12, batch: 5, batches: 2, ..ReplicationPace::default() };
            let all = Replication { pace, ..Replication::default() };
            let done = run(&all, at(&site.base), other.replica(), &one).await.unwrap();
            assert_eq!(done.stats.written, 32, "{fault:?} of request {number}");
            let back = run(&all, other.replica(), at(&site.base), &one).await.unwrap();
            assert!(back.stats.refused == 0 && back.has_checkpoints);
            assert_eq!(one.leaves().await, other.leaves().await, "{fault:?} of request {number}");
            if asked.load(Ordering::SeqCst) <= number {
                assert!(number > 15, "many requests were made");
                break;
            }
        }
    }
}

#[tokio::test]
async fn refused_documents_are_reported_and_stop_no_others() {
    let (one, other) = apart(1).await;
    let text = "x".repeat(3 << 20);
    one.write(&format!("{{\"_id\":\"large\",\"x\":\"{text}\"}}"), Edits::New).await.unwrap();
    let mut config = Config::default();
    config.limits.database_body_bytes = 2 << 20;
    let target = served(other.serve(config).await);
    let all = Replication::default();
    let done = run(&all, one.replica(), Arc::clone(&target), &one).await.unwrap();
    assert_eq!((done.stats.written, done.stats.refused), (702, 1));
    assert_eq!((&*done.refused[0].id, &*done.refused[0].error), ("large", "too_large"));
    let again = run(&all, one.replica(), target, &one).await.unwrap();
    assert_eq!(again.stats.checked, 0, "it is not tried for ever");
}

#[tokio::test]
async fn a_target_is_made_if_that_is_wanted() {
    let (one, other) = apart(1).await;
    let nowhere = |address| {
        let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
        let url = format!("http://{address}/couch/made");
        Arc::new(RemoteDatabase::new(fetcher, &url, RetryPolicy::BOUNDED).unwrap())
            as Arc<dyn Replica>
    };
    let address = other.serve(Config::default()).await;
    let all = Replication::default();
    let refused = run(&all, one.replica(), nowhere(address), &one).await;
    assert!(matches!(refused, Err(ReplicationError::NoDatabase { .. })), "{refused:?}");
    let made = Replication { creates_target: true, ..all };
    let done = run(&made, one.replica(), nowhere(address), &one).await.unwrap();
    assert_eq!(done.stats.written, 702);
    let refused =
        run(&made, nowhere(one.serve(Config::default()).await), one.replica(), &one).await;
    assert!(matches!(refused, Err(ReplicationError::NoDatabase { .. })), "a source is not made");
}

#[tokio::test]
async fn read_only_user_replicates_without_checkpoints() {
    let (one, other) = apart(1).await;
    let to = one.serve(Config::default()).await;
    let site = Site::start(move |asked| match &*asked.method {
        "PUT" => {
            let json = [("Content-Type", "application/json")];
            answer(403, &json, "{\"error\":\"forbidden\",\"reason\":\"read only\"}")
        }
        _ => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await;
    for written in [702, 0] {
        let all = Replication::default();
        let done = run(&all, at(&site.base), other.replica(), &one).await.unwrap();
        assert_eq!((done.stats.checked, done.stats.written), (702, written));
        assert!(!done.has_checkpoints);
    }
}

#[tokio::test]
async fn documents_are_chosen_alike_by_servers_and_stores() {
    let one = Shelf::new(1).await;
    for number in 0..50 {
        let kind = ["note", "leaf"][number % 2];
        let text = format!("{{\"_id\":\"{kind}{number}\",\"type\":\"{kind}\",\"n\":{number}}}");
        one.write(&text, Edits::New).await.unwrap();
    }
    let address = one.serve(Config::default()).await;
    let ids = ["note0", "leaf1", "none"].map(str::to_owned).to_vec();
    for (filter, count) in [
        (selected("{\"type\":\"note\"}"), 25),
        (selected("{\"n\":{\"$lt\":10}}"), 10),
        (ReplicationFilter::Ids(ids), 2),
    ] {
        let chosen = Replication { filter, ..Replication::default() };
        let mut all = Vec::new();
        for source in [served(address), one.replica()] {
            let target = Shelf::new(9).await;
            let done = run(&chosen, source, target.replica(), &one).await.unwrap();
            assert_eq!(done.stats.written, count);
            all.push(target.leaves().await);
        }
        assert_eq!(all[0], all[1]);
    }
}

#[tokio::test]
async fn changes_arrive_as_they_are_made_until_it_is_stopped() {
    for over_http in [true, false] {
        let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
        let source = match over_http {
            true => served(one.serve(Config::default()).await),
            false => one.replica(),
        };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (target, environment) = (other.replica(), one.environment());
        let again = (Arc::clone(&source), Arc::clone(&target));
        let task = tokio::spawn(async move {
            let live = Replication { is_continuous: true, ..Replication::default() };
            let stopped = async { drop(stopped.await) };
            live.run(source, target, environment, &NoProgress, stopped).await
        });
        let databases = other.endpoint.databases();
        let mut notices = databases.subscribe_to_database(&super::notes());
        for number in 0..20 {
            one.write(&format!("{{\"_id\":\"{number}\"}}"), Edits::New).await.unwrap();
            while other.documents().await.len() < number + 1 {
                assert!(notices.next().await);
            }
        }
        stop.send(()).unwrap();
        let done = task.await.unwrap().unwrap();
        assert_eq!((done.stats.written, done.has_checkpoints), (20, true));
        let all = Replication::default();
        let rest = run(&all, again.0, again.1, &one).await.unwrap();
        assert_eq!(rest.stats.checked, 0, "it goes on where it was stopped");
    }
}

/// Starts a proxy to a hub that answers requests of one kind itself.
async fn answering(to: SocketAddr, part: &'static str, status: u16, body: &'static str) -> Site {
    Site::start(move |asked| match asked.target.contains(part) {
        true => answer(status, &[("Content-Type", "application/json")], body),
        false => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await
}

#[tokio::test]
async fn unanswered_documents_do_not_count_as_replicated() {
    for (part, body) in [
        ("_bulk_get", "{\"results\":[]}"),
        ("_bulk_get", "{\"results\":[{\"id\":\"shared\",\"docs\":[]}]}"),
        (
            "_bulk_get",
            "{\"results\":[{\"id\":\"x\",\"docs\":[{\"ok\":{\"_id\":\"x\",\"_rev\":\"1-a\"}}]}]}",
        ),
        ("_bulk_get", "<html>"),
    ] {
        let (one, other) = with_documents(1, 3).await;
        let to = one.serve(Config::default()).await;
        let site = answering(to, part, 200, body).await;
        let done = run(&Replication::default(), at(&site.base), other.replica(), &one).await;
        // Each document is reported, or the whole replication ends.
        assert!(done.is_err() || done.unwrap().stats.refused > 0, "{body}");
    }
    for body in ["{\"error\":\"x\",\"reason\":\"y\"}", "{\"x\":{\"missing\":[\"1-a\"]}}", "[]"] {
        let (one, other) = with_documents(1, 3).await;
        let site = answering(other.serve(Config::default()).await, "_revs_diff", 200, body).await;
        let done = run(&Replication::default(), one.replica(), at(&site.base), &one).await;
        assert!(done.is_err() || done.unwrap().stats.refused > 0, "{body}");
    }
}

/// A source of several machines may list documents that not all of them have yet. They are requested again,
/// and reported if they do not arrive. Only documents that the source itself reports as missing were purged.
#[tokio::test(start_paused = true)]
async fn documents_that_a_source_lacks_are_requested_again() {
    for (times, is_purged, written, refused) in
        [(0, false, 5, 0), (3, false, 5, 0), (4, false, 4, 1), (9, true, 4, 0)]
    {
        let (one, other) = with_documents(1, 3).await;
        let absent = Absent { id: "shared", times: times.into(), is_purged };
        let source = Rough::without(one.replica(), absent);
        let done = run(&Replication::default(), source, other.replica(), &one).await.unwrap();
        assert_eq!((done.stats.written, done.stats.refused), (written, refused), "{times}");
        for it in &done.refused {
            assert_eq!((&*it.id, &*it.error), ("shared", "not_found"));
        }
    }
}

/// The same with a large document.
#[tokio::test(start_paused = true)]
async fn late_document_may_be_large() {
    let (one, other) = (Shelf::new(1).await, Shelf::new(2).await);
    let text = "x".repeat(9 << 20);
    for id in ["large", "small"] {
        one.write(&format!("{{\"_id\":\"{id}\"}}"), Edits::New).await.unwrap();
    }
    let first = one.leaves().await["large"].first().unwrap().0.clone();
    let edit = format!("{{\"_id\":\"large\",\"_rev\":\"{first}\",\"x\":\"{text}\"}}");
    one.write(&edit, Edits::New).await.unwrap();
    let absent = Absent { id: "large", times: 2.into(), is_purged: false };
    let source = Rough::without(one.replica(), absent);
    let done = run(&Replication::default(), source, other.replica(), &one).await.unwrap();
    assert_eq!((done.stats.written, done.stats.refused), (2, 0));
    assert_eq!(one.leaves().await, other.leaves().await);
}

/// A refusal without a reason in the form of databases comes from a proxy, and concerns no document.
#[tokio::test]
async fn refusal_by_a_proxy_refuses_no_document() {
    for part in ["_bulk_get", "_bulk_docs", "_revs_diff"] {
        for status in [400, 403, 422] {
            let (one, other) = with_documents(1, 3).await;
            let html =
                move |asked: &feedsync_test::site::Asked, to| match asked.target.contains(part) {
                    true => answer(status, &[("Content-Type", "text/html")], "<html>"),
                    false => vec![Act::Pass { to, bytes: usize::MAX }],
                };
            let (to, from) = match part {
                "_bulk_get" => (one.serve(Config::default()).await, true),
                _ => (other.serve(Config::default()).await, false),
            };
            let site = Site::start(move |asked| html(asked, to)).await;
            let there = at(&site.base);
            let (source, target) =
                if from { (there, other.replica()) } else { (one.replica(), there) };
            let failure = run(&Replication::default(), source, target, &one).await.unwrap_err();
            assert!(failure.to_string().contains(&status.to_string()), "{failure}");
        }
    }
}

/// A document that changes while a page is read occurs in the page twice.
#[tokio::test]
async fn rows_of_one_document_are_one() {
    let rows = "{\"results\":[{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"},{\"rev\":\"1-b\"}]},\
                {\"seq\":2,\"id\":\"b\",\"changes\":[{\"rev\":\"1-a\"}]},\
                {\"seq\":3,\"id\":\"a\",\"changes\":[{\"rev\":\"2-c\"},{\"rev\":\"1-b\"}]}],\"last_seq\":3,\"pending\":0}";
    let (one, other, third) = (Shelf::new(1).await, Shelf::new(2).await, Shelf::new(3).await);
    for document in [
        "{\"_id\":\"b\",\"_rev\":\"1-a\"}",
        "{\"_id\":\"a\",\"_rev\":\"1-b\"}",
        "{\"_id\":\"a\",\"_revisions\":{\"start\":2,\"ids\":[\"c\",\"a\"]}}",
    ] {
        one.write(document, Edits::Replicated).await.unwrap();
    }
    let site = answering(one.serve(Config::default()).await, "_changes", 200, rows).await;
    let targets = [other.replica(), served(third.serve(Config::default()).await)];
    for (target, shelf) in targets.into_iter().zip([&other, &third]) {
        let done = run(&Replication::default(), at(&site.base), target, &one).await.unwrap();
        assert_eq!((done.stats.checked, done.stats.written, done.stats.refused), (4, 3, 0));
        assert_eq!(one.leaves().await, shelf.leaves().await);
    }
}

#[tokio::test]
async fn one_unreadable_document_does_not_stop_others() {
    let (one, other) = with_documents(1, 30).await;
    let to = one.serve(Config::default()).await;
    let site = Site::start(move |asked| {
        let is_bad = asked.target.contains("_bulk_get")
            && String::from_utf8_lossy(&asked.body).contains("shared");
        match is_bad {
            true => answer(400, &[("Content-Type", "application/json")], "{\"error\":\"odd\"}"),
            false => vec![Act::Pass { to, bytes: usize::MAX }],
        }
    })
    .await;
    let done = run(&Replication::default(), at(&site.base), other.replica(), &one).await.unwrap();
    assert_eq!((done.stats.written, done.stats.refused), (31, 1));
    assert_eq!((&*done.refused[0].id, &*done.refused[0].error), ("shared", "odd"));
}

#[tokio::test]
async fn stop_ends_retries_of_an_absent_server() {
    // Retries have no limit: from the first request on, or when a checkpoint is to be written.
    for number in 0..2 {
        let (one, other) = with_documents(1, 3).await;
        let to = other.serve(Config::default()).await;
        let asked = AtomicUsize::new(0);
        let site = Site::start(move |request| {
            let is_commit = request.target.contains("_ensure_full_commit");
            match is_commit && asked.fetch_add(1, Ordering::SeqCst) >= number {
                true => answer(503, &[("Content-Type", "application/json")], "{}"),
                false => vec![Act::Pass { to, bytes: usize::MAX }],
            }
        })
        .await;
        let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
        let url = format!("{}/couch/notes", site.base);
        let retry_policy =
            RetryPolicy { pause: Duration::from_millis(1), ..RetryPolicy::UNBOUNDED };
        let target = RemoteDatabase::new(fetcher, &url, retry_policy).unwrap();
        let pace = ReplicationPace { checkpoint: Duration::ZERO, ..ReplicationPace::default() };
        let live = Replication { is_continuous: true, pace, ..Replication::default() };
        let stop = tokio::time::sleep(Duration::from_millis(500));
        let run = live.run(one.replica(), Arc::new(target), one.environment(), &NoProgress, stop);
        let ended = tokio::time::timeout(Duration::from_secs(20), run).await;
        let done = ended.expect("it ends").unwrap();
        assert_eq!(done.stats.written, if number == 0 { 0 } else { 5 });
        assert!(done.has_checkpoints, "nobody has refused them");
    }
}
