//! `_active_tasks` and `_scheduler`: replications, for administrators of the hub.

use axum::response::Response;
use feedsync_couch::{DatabaseName, DocumentId, RefusalKind};
use http::Method;
use serde_json::{Value, json as value};

use super::replications::{Description, RunningReplication};
use super::replicator::documents;
use super::shown_replications::{Page, SECOND, figures, time};
use super::{CouchRequest, Failure, node};

/// `GET _active_tasks`.
pub(super) fn active_tasks(asked: &CouchRequest) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    asked.check_administers_server()?;
    let now = asked.hub.endpoint.environment().now().micros() / SECOND;
    let tasks = asked.hub.replications.all().into_iter().map(|it| task(&it, now));
    Ok(node::shown(&Value::Array(tasks.collect())))
}

/// `GET _scheduler/jobs`, `_scheduler/jobs/{id}`, and `_scheduler/docs` with the documents below it.
pub(super) async fn answer(asked: &CouchRequest, rest: &[String]) -> Result<Response, Failure> {
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
            let Page { skip, limit } = Page::read(&asked.parameters)?;
            let length = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            let jobs: Vec<Value> =
                all.iter().skip(length(skip)).take(length(limit)).map(job).collect();
            let page = value!({ "total_rows": all.len(), "offset": skip, "jobs": jobs });
            Ok(node::shown(&page))
        }
        ["docs"] | ["docs", DatabaseName::REPLICATOR] => documents::answer(asked, None).await,
        ["docs", DatabaseName::REPLICATOR, id] => documents::answer(asked, Some(id)).await,
        _ => Err(RefusalKind::NotFound.with_reason("missing").into()),
    }
}

fn task(running: &RunningReplication, now: u64) -> Value {
    let it = &running.description;
    let mut task = value!({
        "type": "replication",
        "node": node::NAME,
        "replication_id": it.id,
        "database": database(it),
        "doc_id": it.document.as_ref().map(DocumentId::as_str),
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

/// Database of the document that describes a replication.
fn database(it: &Description) -> Option<&'static str> {
    it.document.as_ref().map(|_| DatabaseName::REPLICATOR)
}

fn job(running: &RunningReplication) -> Value {
    let it = &running.description;
    let started = time(it.started);
    value!({
        "id": it.id,
        "database": database(it),
        "doc_id": it.document.as_ref().map(DocumentId::as_str),
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
