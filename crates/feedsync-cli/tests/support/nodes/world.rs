//! A hub, its clients, and random failures from a seed: nodes are killed and restarted, and the database is
//! restarted once.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use feedsync_store::{CollectionName, Environment as _, SystemEnvironment, Transfer, Until};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::TIMEOUT;
use super::editor::Editor;
use super::endpoint::Merger;
use super::entry::{document, read};
use super::fleet::Fleet;
use super::follower::{Followed, follow};
use super::http::ask;
use super::said::ResponseRecord;
use super::verdict::Outcome;

const EDITORS: u64 = 4;
const MERGERS: u64 = 2;
const FOLLOWERS: usize = 3;
const SHARED: usize = 12;

/// Restarts the database halfway through the run, if there is one.
pub(crate) type Restart<'a> = &'a (dyn Fn(&mut SmallRng) + Sync);

/// Seed of the run: `FEEDSYNC_SEED`, or a random one.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("FEEDSYNC_SEED").ok();
    let seed =
        given.map_or_else(|| SystemEnvironment.random(), |text| text.parse().expect("a number"));
    eprintln!("FEEDSYNC_SEED={seed}");
    seed
}

/// Duration of the clients' work: 30 s, or 5 minutes with `FEEDSYNC_LONG`.
fn duration() -> Duration {
    let long = std::env::var_os("FEEDSYNC_LONG").is_some();
    Duration::from_secs(if long { 300 } else { 30 })
}

/// Runs the clients while nodes are killed. Returns the outcome after the last kill and the end of all
/// clients. `store` accesses the store directly.
pub(crate) fn run(
    fleet: &Fleet,
    seed: u64,
    store: Arc<dyn Transfer>,
    restart: Option<Restart<'_>>,
) -> Outcome {
    let address = fleet.balancer.address;
    let shared: Vec<String> = (0..SHARED).map(|number| share(address, number)).collect();
    let begin = until(&*store);
    let (working, end) = (AtomicBool::new(true), Mutex::new(None));
    let kills = AtomicUsize::new(0);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    thread::scope(|scope| {
        let followers: Vec<_> =
            (0..FOLLOWERS).map(|_| scope.spawn(|| follow(address, begin, &end))).collect();
        let editors: Vec<_> = (0..EDITORS)
            .map(|number| {
                let editor = Editor::new(number, seed, address, shared.clone());
                scope.spawn(|| editor.run(&working))
            })
            .collect();
        let mergers: Vec<_> = (0..MERGERS)
            .map(|number| {
                let shared = shared.clone();
                let (runtime, working) = (&runtime, &working);
                scope.spawn(move || {
                    runtime.block_on(async {
                        let mut merger = Merger::new(number, seed, address, shared).await;
                        merger.run(working).await;
                        merger
                    })
                })
            })
            .collect();
        // The clients are stopped even if this panics.
        let harmed = catch_unwind(AssertUnwindSafe(|| harm(fleet, seed, restart, &kills)));
        working.store(false, Ordering::SeqCst);
        // All clients are joined, so that a panic in one of them is reported instead of causing an endless
        // wait.
        let editors: Vec<thread::Result<ResponseRecord>> =
            editors.into_iter().map(|editor| editor.join()).collect();
        let mergers: Vec<thread::Result<Merger>> =
            mergers.into_iter().map(|merger| merger.join()).collect();
        let settled: Vec<_> = mergers
            .into_iter()
            .map(|merger| {
                merger.map(|mut merger| {
                    runtime.block_on(async {
                        merger.settle().await;
                        merger
                    })
                })
            })
            .collect();
        // In a second round, the first endpoint gets the changes of the last one.
        let mergers: Vec<_> = settled
            .into_iter()
            .map(|merger| {
                merger.map(|mut merger| {
                    runtime.block_on(async {
                        merger.settle().await;
                        merger.end().await
                    })
                })
            })
            .collect();
        let ended = catch_unwind(AssertUnwindSafe(|| until(&*store)));
        *end.lock().unwrap() = Some(*ended.as_ref().unwrap_or(&begin));
        let followed: Vec<thread::Result<Followed>> =
            followers.into_iter().map(|follower| follower.join()).collect();
        let whole = |what: &str, failed: bool| assert!(!failed, "a {what} panicked: see above");
        whole("killer", harmed.is_err());
        whole("look at the store", ended.is_err());
        whole("client that edits", editors.iter().any(Result::is_err));
        whole("client that merges", mergers.iter().any(Result::is_err));
        whole("follower", followed.iter().any(Result::is_err));
        Outcome {
            shared,
            editors: editors.into_iter().flatten().collect(),
            mergers: mergers.into_iter().flatten().collect(),
            followed: followed.into_iter().flatten().collect(),
            kills: kills.load(Ordering::SeqCst),
            store,
        }
    })
}

/// Kills and starts nodes at random; at the end all nodes run.
fn harm(fleet: &Fleet, seed: u64, restart: Option<Restart<'_>>, kills: &AtomicUsize) {
    let mut random = SmallRng::seed_from_u64(seed);
    let (begin, duration) = (Instant::now(), duration());
    let mut restart = restart;
    while begin.elapsed() < duration {
        thread::sleep(Duration::from_millis(random.random_range(200..2_000)));
        let node = random.random_range(0..fleet.count());
        fleet.kill(node);
        kills.fetch_add(1, Ordering::SeqCst);
        if begin.elapsed() > duration / 2
            && let Some(restart) = restart.take()
        {
            restart(&mut random);
        }
        thread::sleep(Duration::from_millis(random.random_range(0..700)));
        fleet.wake(node);
    }
    assert!(restart.is_none(), "the database was restarted");
    (0..fleet.count()).for_each(|node| fleet.wake(node));
}

/// Creates an item that all clients edit.
fn share(address: SocketAddr, number: usize) -> String {
    let headers = [("Content-Type", "application/atom+xml;type=entry")];
    let body = document(&format!("shared {number}"));
    let answer = ask(address, "POST", "/collections/notes", &headers, body.as_bytes()).unwrap();
    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    read(&answer.body).written.id
}

/// Current position of the collection.
fn until(store: &dyn Transfer) -> Until {
    let notes = CollectionName::new("notes").unwrap();
    let begin = Instant::now();
    loop {
        match feedsync_store::conformance::wait(store.collection(&notes)) {
            Ok(collection) => {
                let collection = collection.expect("a collection");
                return collection.until(collection.last);
            }
            Err(error) => assert!(begin.elapsed() < TIMEOUT, "{error}"),
        }
    }
}
