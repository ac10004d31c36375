//! Starts the replication that a document describes, and tells how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::replicate::ReplicateRequest;
use feedsync_couch::{DocumentId, Refusal, RefusalKind, Revision, text};
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::replication::ReplicationOutcome;
use feedsync_endpoint::documents::replicator::OWNER;
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument, StoreError, UserName};
use serde_json::{Value, json as value};

use super::super::Failure;
use super::super::replicate::{self, describe, open_sides};
use super::super::replications::{Description, RunningReplication};
use super::super::shown_replications::{sequence, time};
use super::plan::{FinalOutcome, RunOutcome};
use super::wanted::name;
use crate::access::Principal;
use crate::hub::Hub;

/// Reads a document if this revision is its winner.
pub(super) async fn read(
    hub: &Hub,
    id: &DocumentId,
    revision: &Revision,
) -> Result<Option<(Database, LoadedDocument)>, StoreError> {
    let (databases, ids) = (hub.endpoint.databases(), std::slice::from_ref(id));
    let page = match databases.documents(&name(), ids, leaves::winner(), u64::MAX).await {
        Err(StoreError::NoDatabase(_)) => return Ok(None),
        page => page?,
    };
    let found = page.documents.into_iter().flatten().next();
    let found = found.filter(|it| it.bodies.contains_key(revision));
    Ok(found.map(|found| (page.database, found)))
}

/// Starts the replication that a revision of a document describes.
pub(super) async fn start(
    hub: &Hub,
    id: &DocumentId,
    revision: &Revision,
) -> Result<RunningReplication, RunOutcome> {
    let failed = |reason: String| RunOutcome::Final(FinalOutcome::Failed(reason));
    let found = read(hub, id, revision).await.map_err(|error| crashed(&error.into()))?;
    let Some((_, document)) = found else { return Err(RunOutcome::Postponed) };
    let body = document.bodies.get(revision).ok_or(RunOutcome::Postponed)?;
    let body = Node::root(&body.text);
    let request = ReplicateRequest::of_document(body).map_err(|it| failed(it.reason));
    let owner = body.member(OWNER).and_then(|owner| text(owner.value));
    let (mut request, owner) = (request?, owner.map(|owner| owner.into_owned()));
    let principal = match principal(hub, owner.as_deref()).await.map_err(|it| crashed(&it))? {
        Some(principal) => principal,
        None => {
            let owner = owner.unwrap_or_else(|| "null".to_owned());
            return Err(failed(format!(
                "the owner of the document, {owner}, is not a server admin"
            )));
        }
    };
    let Some(replicator) = hub.replicator.clone() else { return Err(RunOutcome::Postponed) };
    let description = describe(hub, &principal, &*replicator, &request);
    let description = description.map_err(|refusal| failed(refusal.reason))?;
    let description = Description { document: Some(id.clone()), ..description };
    open_sides(hub, &principal, &mut request).await.map_err(|failure| crashed(&failure))?;
    match replicate::start(hub, &principal, replicator, request, description) {
        Ok((true, running)) => Ok(running),
        Ok((false, _)) => Err(RunOutcome::Crashed("the same replication is running".to_owned())),
        // Others have the last slots.
        Err(_) => Err(RunOutcome::Postponed),
    }
}

/// The owner of a document with current rights; none if it does not administer the hub. Without a name it is any program
/// on this machine, while the hub has no users.
async fn principal(hub: &Hub, owner: Option<&str>) -> Result<Option<Principal>, Failure> {
    let principal = match owner {
        None => Some(Principal::Local),
        Some(owner) => match UserName::new(owner) {
            Ok(owner) => {
                let person = hub.endpoint.person(&owner).await?;
                person.map(|person| Principal::Person(Arc::new(person)))
            }
            Err(_) => None,
        },
    };
    let Some(principal) = principal else { return Ok(None) };
    Ok(hub.access.now(&principal).await?.filter(Principal::administers))
}

fn crashed(failure: &Failure) -> RunOutcome {
    RunOutcome::Crashed(failure.reason())
}

/// The outcome of a replication that has ended.
pub(super) fn outcome(
    running: &RunningReplication,
    ended: Result<ReplicationOutcome, Refusal>,
) -> RunOutcome {
    match ended {
        Ok(_) if running.description.is_continuous => {
            RunOutcome::Crashed("the replication ended early".to_owned())
        }
        Ok(outcome) => RunOutcome::Final(FinalOutcome::Completed(completed(running, &outcome))),
        Err(Refusal {
            kind: RefusalKind::Forbidden | RefusalKind::BadRequest | RefusalKind::NotImplemented,
            reason,
        }) => RunOutcome::Final(FinalOutcome::Failed(reason)),
        Err(refusal) => RunOutcome::Crashed(refusal.reason),
    }
}

/// Members of the document of a completed replication.
fn completed(
    running: &RunningReplication,
    outcome: &ReplicationOutcome,
) -> BTreeMap<&'static str, Value> {
    let stats = outcome.stats;
    let stats = value!({
        "revisions_checked": stats.checked,
        "missing_revisions_found": stats.missing,
        "docs_read": stats.read,
        "docs_written": stats.written,
        "doc_write_failures": stats.refused,
        "changes_pending": running.progress.now().pending,
        "checkpointed_source_seq": sequence(&outcome.reached),
        "start_time": time(running.description.started),
    });
    let id = Value::from(running.description.id.as_str());
    BTreeMap::from([("_replication_id", id), ("_replication_stats", stats)])
}
