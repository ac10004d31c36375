//! `_active_tasks` and `_scheduler`: the running replications, for administrators of the hub.

use axum::response::Response;
use feedsync_core::Timestamp;
use feedsync_couch::RefusalKind;
use http::Method;
use serde_json::{Value, json as value};

use super::replicate::sequence;
use super::replications::RunningReplication;
use super::{CouchRequest, Failure, node};

/// One second in microseconds.
const SECOND: u64 = 1_000_000;

/// Default number of jobs in a page.
const DEFAULT_LIMIT: u64 = 25;

/// `GET _active_tasks`.
pub(super) fn active_tasks(asked: &CouchRequest) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    asked.check_administers_server()?;
    let now = asked.hub.endpoint.environment().now().micros() / SECOND;
    let tasks = asked.hub.replications.all().into_iter().map(|it| task(&it, now));
    Ok(node::shown(&Value::Array(tasks.collect())))
}

/// `GET _scheduler/jobs`, `_scheduler/jobs/{id}` and `_scheduler/docs`.
pub(super) fn answer(asked: &CouchRequest, rest: &[String]) -> Result<Response, Failure> {
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    if !matches!(rest[..], ["jobs"] | ["jobs", _] | ["docs", ..]) {
        return Err(RefusalKind::NotFound.with_reason("There is nothing at this address.").into());
    }
    asked.method_of(&[Method::GET])?;
    asked.check_administers_server()?;
    match rest[..] {
        ["jobs", id] => {
            let missing = || RefusalKind::NotFound.with_reason("missing");
            let found = asked.hub.replications.find(id).ok_or_else(missing)?;
            Ok(node::shown(&job(&found)))
        }
        ["jobs"] => {
            let all = asked.hub.replications.all();
            let count = |name: &str| asked.parameters.count(name);
            let (skip, limit) =
                (count("skip")?.unwrap_or(0), count("limit")?.unwrap_or(DEFAULT_LIMIT));
            let length = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            let jobs: Vec<Value> =
                all.iter().skip(length(skip)).take(length(limit)).map(job).collect();
            let page = value!({ "total_rows": all.len(), "offset": skip, "jobs": jobs });
            Ok(node::shown(&page))
        }
        // Replications have no documents here.
        ["docs"] => Ok(node::shown(&value!({ "total_rows": 0, "offset": 0, "docs": [] }))),
        _ => Err(RefusalKind::NotFound.with_reason("missing").into()),
    }
}

fn task(running: &RunningReplication, now: u64) -> Value {
    let it = &running.description;
    let mut task = value!({
        "type": "replication",
        "node": node::NAME,
        "replication_id": it.id,
        "database": null,
        "doc_id": null,
        "user": it.user,
        "source": it.source,
        "target": it.target,
        "continuous": it.is_continuous,
        "started_on": it.started.micros() / SECOND,
        "updated_on": now,
    });
    if let (Value::Object(task), Value::Object(figures)) = (&mut task, figures(running)) {
        task.extend(figures);
    }
    task
}

/// The progress of a replication.
fn figures(running: &RunningReplication) -> Value {
    let progress = running.progress.now();
    let stats = progress.stats;
    value!({
        "docs_read": stats.read,
        "docs_written": stats.written,
        "doc_write_failures": stats.refused,
        "revisions_checked": stats.checked,
        "missing_revisions_found": stats.missing,
        "changes_pending": progress.pending,
        "through_seq": progress.reached.as_ref().map(sequence),
    })
}

fn job(running: &RunningReplication) -> Value {
    let it = &running.description;
    let seconds = i64::try_from(it.started.micros() / SECOND).unwrap_or_default();
    let started = Timestamp::from_unix_seconds(seconds).map(|started| started.to_string());
    value!({
        "id": it.id,
        "database": null,
        "doc_id": null,
        "node": node::NAME,
        "user": it.user,
        "source": it.source,
        "target": it.target,
        "start_time": started,
        "info": figures(running),
        "history": [
            { "timestamp": started, "type": "started" },
            { "timestamp": started, "type": "added" },
        ],
    })
}
