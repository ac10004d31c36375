//! `GET /metrics`: metrics of the hub for Prometheus (text format 0.0.4).
//!
//! Labels have fixed values only, never input of a client: route templates, known methods, status
//! classes, outcomes. So the number of series is bounded.

mod page;
mod store;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_endpoint::Counts;
use http::{HeaderValue, Method, StatusCode, header};

use crate::access::require;
use crate::call::Call;
use crate::configuration::Audience;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::routes::Right;

use page::Histogram;
pub(crate) use page::Page;
pub(crate) use store::{TimedStore, Timings};

/// Counters since the process began.
pub(crate) struct Metrics {
    began: Instant,
    /// Requests to databases, by status.
    databases: Mutex<DatabaseRequests>,
    requests: Mutex<BTreeMap<(String, &'static str), Requests>>,
    underway: AtomicU64,
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
            underway: AtomicU64::default(),
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
        self.underway.fetch_add(1, Ordering::Relaxed);
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
    pub(crate) fn of_databases(&self) -> DatabaseRequests {
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Time since the process began.
    pub(crate) fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// Counts the end of a request.
    pub(crate) fn end(&self) {
        self.underway.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts an incorporated feed, of which `unreadable` items were refused before.
    pub(crate) fn merged(&self, counts: &Counts, unreadable: usize) {
        let refused = counts.refused + unreadable as u64;
        let of = [counts.added, counts.unchanged, counts.updated, counts.conflict, refused];
        for (counter, count) in self.merged.iter().zip(of) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn render_requests(&self, page: &mut Page) {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        page.head("feedsync_requests_total", "counter", "Requests that were answered");
        for ((route, method), requests) in requests.iter() {
            for (class, count) in requests.statuses.iter().enumerate().filter(|(_, n)| **n > 0) {
                let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{class}xx\"");
                page.line("feedsync_requests_total", &labels, count);
            }
        }
        let name = "feedsync_request_seconds";
        page.head(name, "histogram", "Time from a request to the head of its answer");
        for ((route, method), requests) in requests.iter() {
            let labels = format!("route=\"{route}\",method=\"{method}\"");
            requests.latency.render(page, name, &labels);
        }
    }
}

/// Label of a method. Methods come from clients, so unknown ones share one label.
fn known(method: &Method) -> &'static str {
    let ours = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "COPY"];
    ours.into_iter().find(|ours| *ours == method.as_str()).unwrap_or("other")
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    if hub.config.metrics == Audience::Administrators {
        require(&hub, &call.principal, Right::Administer, None).await?;
    }
    let collections = hub.endpoint.store().collections().await?;
    let mut page = Page::default();
    page.head("feedsync_build_info", "gauge", "The version that runs");
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    page.line("feedsync_build_info", &version, 1);
    hub.metrics.render_requests(&mut page);
    let underway = hub.metrics.underway.load(Ordering::Relaxed);
    page.single("feedsync_requests_underway", "gauge", "Requests not yet over", underway);
    let name = "feedsync_merged_items_total";
    page.head(name, "counter", "Items that were offered, by what became of them");
    for (outcome, counter) in OUTCOMES.iter().zip(&hub.metrics.merged) {
        page.line(name, &format!("outcome=\"{outcome}\""), counter.load(Ordering::Relaxed));
    }
    let sum = |of: fn(&feedsync_store::Collection) -> u64| collections.iter().map(of).sum::<u64>();
    let gauges = [
        ("feedsync_collections", "Collections", collections.len() as u64),
        ("feedsync_items", "Items that are not deleted", sum(|one| one.live)),
        ("feedsync_conflicted_items", "Items with open conflicts", sum(|one| one.conflicted)),
        ("feedsync_changes", "Changes of the collections that exist", sum(|one| one.last.get())),
    ];
    for (name, help, value) in gauges {
        page.single(name, "gauge", help, value);
    }
    let limits = &hub.config.limits;
    let followers = limits.followers.saturating_sub(hub.followers.available_permits());
    page.single("feedsync_followers", "gauge", "Event streams that are open", followers);
    let uploads = limits.uploads.saturating_sub(hub.uploads.available_permits());
    page.single("feedsync_uploads", "gauge", "Bodies of requests held in memory", uploads);
    hub.timings.render(&mut page);
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, page.0).into_response())
}
