//! Reading a hundred changes from a small and from a large collection: the cost depends on the changes.
//!
//! In each round, a hundred random items of each collection are edited, one transaction each, and the store is
//! closed. A new process then opens the store and reads the changes.

use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::body::Body;
use feedsync_core::{Format, ItemId};
use feedsync_endpoint::Endpoint;
use feedsync_formats::{FeedHead, FeedWriter};
use feedsync_server::{Config, router};
use feedsync_store::{ChangePage, PageLimit};
use http::Request;
use http_body_util::BodyExt as _;
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::measure::{Amounts, ROUNDS, Times};
use crate::process::{bytes_read, numbers};
use crate::sample::{self, Random, name, payload};

const SMALL: usize = 1_000;
const CHANGES: usize = 100;

/// Number of reads after the first one in a process, of which the median is taken.
const READS: usize = 51;

/// Size of a database page, in bytes.
const PAGE: u64 = 4_096;

struct Store {
    directory: TempDir,
    ids: Vec<ItemId>,
    random: Random,
    figures: Vec<Figures>,
}

/// Measurements of one process.
struct Figures {
    pages: u64,
    first: Duration,
    page: Duration,
    answer: Duration,
    answer_bytes: u64,
    packed_bytes: u64,
    items_bytes: u64,
    payloads_bytes: u64,
}

pub(crate) fn run() {
    let mut stores = [SMALL, sample::max_items()].map(Store::new);
    for _ in 0..ROUNDS {
        stores.iter_mut().for_each(Store::round);
    }
    println!(
        "## {CHANGES} changes out of {} items and out of {}\n",
        stores[0].ids.len(),
        stores[1].ids.len()
    );
    println!("| | out of {} | out of {} | ratio |", stores[0].ids.len(), stores[1].ids.len());
    println!("|---|---|---|---|");
    let time = |what: &str, figure: fn(&Figures) -> Duration| {
        let [small, large] = [&stores[0], &stores[1]]
            .map(|store| Times::new(store.figures.iter().map(figure).collect()));
        row(what, &small, &large, crate::measure::ratio(&large, &small));
    };
    let amount = |what: &str, figure: fn(&Figures) -> u64| {
        let [small, large] = [&stores[0], &stores[1]]
            .map(|store| Amounts::new(store.figures.iter().map(figure).collect()));
        row(what, &small, &large, large.median() as f64 / small.median() as f64);
    };
    time("read by a process that has just opened the store", |figures| figures.first);
    time("read again", |figures| figures.page);
    time("answered by the hub", |figures| figures.answer);
    amount("database pages read by a new process", |figures| figures.pages);
    println!("\n| bytes | out of {} | out of {} |", stores[0].ids.len(), stores[1].ids.len());
    println!("|---|---|---|");
    let bytes = |what: &str, figure: fn(&Figures) -> u64| {
        let [small, large] = [&stores[0], &stores[1]]
            .map(|store| Amounts::new(store.figures.iter().map(figure).collect()));
        println!("| {what} | {small} | {large} |");
    };
    let over = |what: &str, figure: fn(&Figures) -> f64| {
        let [small, large] = [&stores[0], &stores[1]].map(|store| {
            let mut ratios: Vec<f64> = store.figures.iter().map(figure).collect();
            ratios.sort_by(f64::total_cmp);
            ratios[ratios.len() / 2]
        });
        println!("| {what} | {small:.2} | {large:.2} |");
    };
    bytes("the answer, Atom", |figures| figures.answer_bytes);
    bytes("the answer, packed with gzip", |figures| figures.packed_bytes);
    bytes("the changed items as written, their `sx:sync` included", |figures| figures.items_bytes);
    bytes("their payloads alone", |figures| figures.payloads_bytes);
    over("the answer against the items", |figures| {
        figures.answer_bytes as f64 / figures.items_bytes as f64
    });
    over("the answer against the payloads", |figures| {
        figures.answer_bytes as f64 / figures.payloads_bytes as f64
    });
    over("the packed answer against the payloads", |figures| {
        figures.packed_bytes as f64 / figures.payloads_bytes as f64
    });
    println!();
}

fn row(what: &str, small: &dyn Display, large: &dyn Display, ratio: f64) {
    println!("| {what} | {small} | {large} | {ratio:.2} |");
}

impl Store {
    fn new(count: usize) -> Self {
        let directory = TempDir::new().expect("a directory");
        let ids = sample::runtime().block_on(async {
            let endpoint = sample::create(directory.path(), "hub").await;
            let mut ids = sample::ids(&endpoint, count);
            ids.sort_unstable();
            sample::fill(&endpoint, &ids).await;
            ids
        });
        Self { directory, ids, random: Random(7), figures: Vec::new() }
    }

    fn round(&mut self) {
        let since = sample::runtime().block_on(self.edit());
        let directory = self.directory.path().to_str().expect("a path in UTF-8");
        let found = numbers(&["changes", directory, &since]);
        let [pages, first, page, answer, answer_bytes, packed_bytes, items_bytes, payloads_bytes] =
            found[..]
        else {
            panic!("not what was asked: {found:?}");
        };
        self.figures.push(Figures {
            pages,
            first: Duration::from_nanos(first),
            page: Duration::from_nanos(page),
            answer: Duration::from_nanos(answer),
            answer_bytes,
            packed_bytes,
            items_bytes,
            payloads_bytes,
        });
    }

    /// Edits a hundred different items in random order; returns the cursor before the edits.
    async fn edit(&mut self) -> String {
        let endpoint = sample::open(self.directory.path());
        let collection = endpoint.collection(&name()).await.expect("a collection");
        for place in 0..CHANGES {
            let other = place + self.random.below(self.ids.len() - place);
            self.ids.swap(place, other);
            let text = payload(&mut self.random);
            let edited = endpoint.edit(&name(), &self.ids[place], None, text.into()).await;
            edited.expect("an edit");
        }
        collection.until(collection.last).to_string()
    }
}

/// Reads the changes: first to count the pages, then again, also over HTTP, to measure the time.
pub(crate) fn read_changes(directory: &Path, since: &str) {
    sample::runtime().block_on(async {
        let endpoint = sample::open(directory);
        let before = bytes_read();
        let (first, page) = timed(changes(&endpoint, since)).await;
        let pages = (bytes_read() - before) / PAGE;
        assert_eq!(page.items.len(), CHANGES);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..READS {
            times[0].push(timed(changes(&endpoint, since)).await.0);
            times[1].push(timed(answer(&endpoint, since, "identity")).await.0);
        }
        let [again, answered] = times.map(|times| Times::new(times).median());
        println!(
            "{pages} {} {} {} {} {} {} {}",
            first.as_nanos(),
            again.as_nanos(),
            answered.as_nanos(),
            answer(&endpoint, since, "identity").await,
            answer(&endpoint, since, "gzip").await,
            written(&page),
            page.items.iter().map(|stored| stored.item.winner.payload.text().len()).sum::<usize>(),
        );
    });
}

async fn timed<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let began = Instant::now();
    let outcome = work.await;
    (began.elapsed(), outcome)
}

async fn changes(endpoint: &Endpoint, since: &str) -> ChangePage {
    let publication = endpoint.publish(&name(), Some(since)).await.expect("a window");
    let after = publication.after;
    endpoint.page(&publication, after, PageLimit::items(1_000)).await.expect("a page")
}

/// Size of the response of the hub, in bytes.
async fn answer(endpoint: &Endpoint, since: &str, coding: &str) -> usize {
    let request = Request::get(format!("/collections/notes/changes.atom?since={since}"))
        .header("Host", "localhost:4287")
        .header("Accept-Encoding", coding)
        .body(Body::empty())
        .expect("a request");
    let hub = router(endpoint.clone(), Config::default());
    let response = hub.oneshot(request).await.expect("an answer");
    assert!(response.status().is_success(), "{}", response.status());
    response.into_body().collect().await.expect("a body").to_bytes().len()
}

/// Size of the items as a feed, in bytes.
fn written(page: &ChangePage) -> usize {
    let mut writer = FeedWriter::new(Format::Atom);
    let mut out = String::new();
    let head = FeedHead {
        id: "urn:example:feed",
        title: "",
        updated: page.collection.edited.timestamp().expect("a date"),
        author: "",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    writer.begin(&mut out, &head);
    let before = out.len();
    page.items.iter().for_each(|stored| writer.item(&mut out, &stored.item));
    out.len() - before
}
