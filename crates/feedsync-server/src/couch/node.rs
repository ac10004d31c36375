//! `_node/_local/_stats`, `_system` and `_prometheus`: metrics of this process, for administrators.
//!
//! It contains only metrics that the hub measures, under CouchDB's names. CouchDB's metrics of Erlang (memory
//! by allocator, run queue, processes) and of its own components have no counterpart here and are left out.

use axum::response::{IntoResponse as _, Response};
use feedsync_couch::RefusalKind;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json as value};

use super::{CouchRequest, Failure, json};
use crate::http::counters::{DatabaseRequests, Page};

/// Name of the node, as in `_membership`.
pub(super) const NAME: &str = "nonode@nohost";

/// Refuses the name of another node.
pub(super) fn check(node: &str) -> Result<(), Failure> {
    let refuse = || RefusalKind::NotFound.with_reason(format!("no such node: {node}"));
    ["_local", NAME].contains(&node).then_some(()).ok_or_else(|| refuse().into())
}

pub(super) async fn answer(
    asked: &CouchRequest,
    node: &str,
    part: &str,
    rest: &[String],
) -> Result<Response, Failure> {
    if !["_stats", "_system", "_prometheus"].contains(&part) {
        return Err(RefusalKind::NotFound.with_reason("There is nothing at this address.").into());
    }
    asked.method_of(&[Method::GET])?;
    asked.check_administers_server()?;
    check(node)?;
    let uptime = asked.hub.metrics.uptime().as_secs();
    match (part, rest) {
        ("_system", []) => Ok(shown(&value!({ "uptime": uptime }))),
        ("_stats", path) => {
            let all = stats(&asked.hub.metrics.database_requests());
            let found = path.iter().try_fold(&all, |found, key| found.get(key));
            let found =
                found.ok_or_else(|| RefusalKind::NotFound.with_reason("unknown statistic"))?;
            Ok(shown(found))
        }
        ("_prometheus", []) => {
            let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            let headers = [
                (header::CONTENT_TYPE, kind),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            let text = prometheus(&asked.hub.metrics.database_requests(), uptime);
            Ok((headers, text).into_response())
        }
        _ => Err(RefusalKind::NotFound.with_reason("There is nothing at this address.").into()),
    }
}

/// Returns a value that must not be cached.
pub(super) fn shown(value: &Value) -> Response {
    let mut response = json(StatusCode::OK, format!("{value}\n"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn counter(count: u64, desc: &str) -> Value {
    value!({ "value": count, "type": "counter", "desc": desc })
}

/// Requests to databases, as CouchDB counts them.
fn stats(requests: &DatabaseRequests) -> Value {
    let methods: Map<String, Value> = requests
        .methods
        .iter()
        .map(|(method, count)| {
            ((*method).to_owned(), counter(*count, &format!("number of HTTP {method} requests")))
        })
        .collect();
    let statuses: Map<String, Value> = requests
        .statuses
        .iter()
        .map(|(status, count)| {
            (status.to_string(), counter(*count, &format!("number of HTTP {status} responses")))
        })
        .collect();
    value!({ "couchdb": {
        "httpd": { "requests": counter(requests.count(), "number of HTTP requests") },
        "httpd_request_methods": methods,
        "httpd_status_codes": statuses,
    } })
}

fn prometheus(requests: &DatabaseRequests, uptime: u64) -> String {
    let mut page = Page::default();
    page.single("couchdb_uptime_seconds", "counter", "seconds since the process began", uptime);
    let count = requests.count();
    page.single("couchdb_httpd_requests_total", "counter", "number of HTTP requests", count);
    let name = "couchdb_httpd_request_methods";
    page.head(name, "counter", "number of HTTP requests by method");
    for (method, count) in &requests.methods {
        page.line(name, &format!("method=\"{method}\""), count);
    }
    let name = "couchdb_httpd_status_codes";
    page.head(name, "counter", "number of HTTP responses by status");
    for (status, count) in &requests.statuses {
        page.line(name, &format!("code=\"{status}\""), count);
    }
    page.into_text()
}
