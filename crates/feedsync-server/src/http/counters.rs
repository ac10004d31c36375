//! Counters of the process, and their rendering for Prometheus (text format 0.0.4).
//!
//! Labels have fixed values only, never input of a client: route templates, known methods, status
//! classes, outcomes. So the number of series is bounded.

mod page;
mod store;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use feedsync_endpoint::Counts;
use http::{Method, StatusCode};

use page::Histogram;
pub(crate) use page::Page;
pub(crate) use store::{TimedStore, Timings};

/// Counters since the process began.
pub(crate) struct Metrics {
    began: Instant,
    /// Requests to databases, by status.
    databases: Mutex<DatabaseRequests>,
    requests: Mutex<BTreeMap<(String, &'static str), Requests>>,
    in_progress: AtomicU64,
    merged: [AtomicU64; 5],
}

/// Counters of responses to database requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct DatabaseRequests {
    /// By method.
    pub(crate) methods: BTreeMap<&'static str, u64>,
    /// By status.
    pub(crate) statuses: BTreeMap<u16, u64>,
}

impl DatabaseRequests {
    /// Total number of requests.
    pub(crate) fn count(&self) -> u64 {
        self.methods.values().sum()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            databases: Mutex::default(),
            requests: Mutex::default(),
            in_progress: AtomicU64::default(),
            merged: Default::default(),
        }
    }
}

/// Requests of one route and method.
#[derive(Default)]
struct Requests {
    /// Counts by the first digit of the status.
    statuses: [u64; 6],
    latency: Histogram,
}

/// Outcomes of merges, in the order of [`Metrics::merged`].
const OUTCOMES: [&str; 5] = ["added", "unchanged", "updated", "conflict", "refused"];

impl Metrics {
    /// Counts the beginning of a request.
    pub(crate) fn begin(&self) {
        self.in_progress.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a response when its head is ready.
    pub(crate) fn answered(
        &self,
        route: &str,
        method: &Method,
        status: StatusCode,
        latency: Duration,
    ) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = requests.entry((route.to_owned(), known(method))).or_default();
        requests.statuses[usize::from(status.as_u16() / 100).min(5)] += 1;
        requests.latency.observe(latency);
    }

    /// Counts a request to a database.
    pub(crate) fn answered_by_database(&self, method: &Method, status: StatusCode) {
        let mut databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        *databases.methods.entry(known(method)).or_default() += 1;
        *databases.statuses.entry(status.as_u16()).or_default() += 1;
    }

    /// Requests to databases.
    pub(crate) fn database_requests(&self) -> DatabaseRequests {
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Time since the process began.
    pub(crate) fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// Counts the end of a request.
    pub(crate) fn end(&self) {
        self.in_progress.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts an incorporated feed, of which `unreadable` items were refused before.
    pub(crate) fn merged(&self, counts: &Counts, unreadable: usize) {
        let refused = counts.refused + unreadable as u64;
        let of = [counts.added, counts.unchanged, counts.updated, counts.conflict, refused];
        for (counter, count) in self.merged.iter().zip(of) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Appends the metrics of merges.
    pub(crate) fn render_merges(&self, page: &mut Page) {
        let name = "feedsync_merged_items_total";
        page.head(name, "counter", "Received items, by the outcome of merging");
        for (outcome, counter) in OUTCOMES.iter().zip(&self.merged) {
            page.line(name, &format!("outcome=\"{outcome}\""), counter.load(Ordering::Relaxed));
        }
    }

    /// Appends the metrics of requests.
    pub(crate) fn render_requests(&self, page: &mut Page) {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        page.head("feedsync_requests_total", "counter", "Completed requests");
        for ((route, method), requests) in requests.iter() {
            for (class, count) in requests.statuses.iter().enumerate().filter(|(_, n)| **n > 0) {
                let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{class}xx\"");
                page.line("feedsync_requests_total", &labels, count);
            }
        }
        let name = "feedsync_request_seconds";
        page.head(name, "histogram", "Time from a request to the head of its response");
        for ((route, method), requests) in requests.iter() {
            let labels = format!("route=\"{route}\",method=\"{method}\"");
            requests.latency.render(page, name, &labels);
        }
        let in_progress = self.in_progress.load(Ordering::Relaxed);
        page.single("feedsync_requests_underway", "gauge", "Requests in progress", in_progress);
    }
}

/// Label of a method. Methods come from clients, so unknown ones share one label.
fn known(method: &Method) -> &'static str {
    let ours = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "COPY"];
    ours.into_iter().find(|ours| *ours == method.as_str()).unwrap_or("other")
}
