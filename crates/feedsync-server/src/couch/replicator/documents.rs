//! `_scheduler/docs`: the documents of `_replicator` with the states of their replications, without credentials.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use axum::response::Response;
use feedsync_couch::replicate::{ReplicateRequest, ReplicationSide};
use feedsync_couch::{DocumentId, RefusalKind};
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::replicator::{COMPLETED, FAILED, final_state};
use feedsync_formats::json::Node;
use feedsync_store::{DocumentRange, LoadedDocument, Moment, StoreError};
use serde_json::{Value, json as value};

use super::super::replications::RunningReplication;
use super::super::shown_replications::{Page, figures, shown, time};
use super::super::{CouchRequest, Failure, node};
use super::plan::{FinalOutcome, Job, JobState};
use super::wanted::name;

/// Maximum number of rows of a response.
const MAX_ROWS: u64 = 1_000;

/// Maximum number of documents that are read at once, and of bytes of their bodies.
const PAGE: usize = 100;
const PAGE_BYTES: u64 = 8 << 20;

/// Answers a request for all documents, or for one.
pub(in crate::couch) async fn answer(
    asked: &CouchRequest,
    id: Option<&str>,
) -> Result<Response, Failure> {
    let listing = Listing::new(asked);
    match id {
        Some(id) => listing.one(id).await,
        None => listing.all().await,
    }
}

/// Running replications, and the time, when a response begins.
struct Listing<'a> {
    asked: &'a CouchRequest,
    running: BTreeMap<DocumentId, RunningReplication>,
    now: (Moment, Duration),
}

/// State of the replication of a document.
struct DocumentState {
    name: &'static str,
    info: Value,
    errors: u32,
    updated: Value,
}

impl<'a> Listing<'a> {
    fn new(asked: &'a CouchRequest) -> Self {
        let running = asked.hub.replications.all().into_iter();
        let running = running.filter_map(|it| Some((it.description.document.clone()?, it)));
        let now = (asked.hub.endpoint.environment().now(), asked.hub.document_jobs.now());
        Self { asked, running: running.collect(), now }
    }

    async fn one(&self, id: &str) -> Result<Response, Failure> {
        let missing = || RefusalKind::NotFound.with_reason("missing");
        let id: DocumentId = id.parse().map_err(|_| missing())?;
        let (databases, ids) = (&self.asked.databases, [id]);
        let read = databases.documents(&name(), &ids, leaves::winner(), u64::MAX).await;
        let found = read?.documents.into_iter().flatten().next();
        let row = found.and_then(|found| self.row(&found)).ok_or_else(missing)?;
        Ok(node::shown(&row))
    }

    async fn all(&self) -> Result<Response, Failure> {
        let Page { skip, limit } = Page::read(&self.asked.parameters)?;
        let limit = limit.min(MAX_ROWS);
        let states = self.asked.parameters.text("states").filter(|states| !states.is_empty());
        let states: Option<Vec<&str>> = states.map(|states| states.split(',').collect());
        let (mut total, mut skipped, mut rows) = (0_u64, 0, Vec::new());
        let mut from = Bound::Unbounded;
        loop {
            let range = DocumentRange {
                from,
                to: Bound::Unbounded,
                is_descending: false,
                live_only: true,
                skip: 0,
                most: PAGE,
            };
            let (databases, name) = (&self.asked.databases, name());
            let read = databases.documents_by_id(&name, range, leaves::winner(), PAGE_BYTES);
            let page = match read.await {
                Err(StoreError::NoDatabase(_)) => break,
                page => page?,
            };
            let Some(last) = page.documents.iter().flatten().last() else { break };
            from = Bound::Excluded(last.document.id.as_str().to_owned());
            for row in page.documents.iter().flatten().filter_map(|it| self.row(it)) {
                total += 1;
                let is_in = |states: &Vec<&str>| states.iter().any(|it| row["state"] == *it);
                if !states.as_ref().is_none_or(is_in) {
                    continue;
                }
                if skipped < skip {
                    skipped += 1;
                } else if (rows.len() as u64) < limit {
                    rows.push(row);
                }
            }
        }
        Ok(node::shown(&value!({ "total_rows": total, "offset": skip, "docs": rows })))
    }

    /// The row of a document; none for a design document or a deleted one.
    fn row(&self, document: &LoadedDocument) -> Option<Value> {
        let id = &document.document.id;
        let winner = document.document.tree.winner();
        let winner = winner.filter(|it| !it.content.is_deleted && !id.is_design())?;
        let body = Node::root(&document.bodies.get(winner.revision)?.text);
        let running = self.running.get(id).filter(|_| final_state(body).is_none());
        let state = match final_state(body) {
            Some(state) => final_row(state, body),
            None => {
                let jobs = self.asked.hub.document_jobs.jobs();
                let job = jobs.get(id).filter(|job| job.revision == *winner.revision);
                self.state(job, running)
            }
        };
        let request = ReplicateRequest::of_document(body).ok();
        let side = |side: Option<&ReplicationSide>| {
            let replicator = self.asked.hub.replicator.as_deref()?;
            shown(replicator, side?).ok()
        };
        Some(value!({
            "database": name().as_str(),
            "doc_id": id.as_str(),
            "id": running.map(|running| running.description.id.as_str()),
            "node": node::NAME,
            "source": side(request.as_ref().map(|it| &it.source)),
            "target": side(request.as_ref().map(|it| &it.target)),
            "source_proxy": null,
            "target_proxy": null,
            "state": state.name,
            "info": state.info,
            "error_count": state.errors,
            "last_updated": state.updated,
            "start_time": running.map(|running| time(running.description.started)),
        }))
    }

    /// State of a replication that has not ended, or whose document does not show that yet.
    fn state(&self, job: Option<&Job>, running: Option<&RunningReplication>) -> DocumentState {
        let Some(job) = job else {
            // Another process carries it out, or this one has not read the document yet.
            return DocumentState {
                name: "initializing",
                info: Value::Null,
                errors: 0,
                updated: Value::Null,
            };
        };
        let reason = || job.reason.as_ref().map_or(Value::Null, |it| value!({ "error": it }));
        let (name, info) = match &job.state {
            JobState::Waiting { .. } if job.errors == 0 => ("pending", Value::Null),
            JobState::Waiting { .. } => ("crashing", reason()),
            JobState::Running | JobState::Stopping => {
                ("running", running.map_or(Value::Null, figures))
            }
            JobState::Ended { outcome: FinalOutcome::Completed(_), .. } => (COMPLETED, Value::Null),
            JobState::Ended { outcome: FinalOutcome::Failed(reason), .. } => {
                (FAILED, value!({ "error": reason }))
            }
        };
        let ago = u64::try_from(self.now.1.saturating_sub(job.since).as_micros());
        let updated = self.now.0.micros().saturating_sub(ago.unwrap_or_default());
        let updated = time(Moment::from_micros(updated)).into();
        DocumentState { name, info, errors: job.errors, updated }
    }
}

/// State of a replication that has ended, as its document shows it.
fn final_row(state: &'static str, body: Node<'_>) -> DocumentState {
    let member = |name: &str| {
        let found = body.member(name).map(|member| member.value.raw());
        found.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Value::Null)
    };
    let (info, errors) = match state {
        FAILED => (value!({ "error": member("_replication_state_reason") }), 1),
        _ => (member("_replication_stats"), 0),
    };
    DocumentState { name: state, info, errors, updated: member("_replication_state_time") }
}
