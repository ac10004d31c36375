//! Writes the outcome of a replication into its document.

use std::collections::BTreeMap;

use feedsync_couch::{Body, DocumentId, RefusalKind, Revision, SentAttachment, Submission, quoted};
use feedsync_endpoint::documents::replicator::{COMPLETED, FAILED, STATE};
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{DocumentsError, Edits, NewDocument};
use feedsync_formats::json::Node;
use serde_json::Value;

use super::super::shown_replications::time;
use super::plan::FinalOutcome;
use super::start::read;
use crate::hub::Hub;

/// Prefix of the members that describe a state.
const PREFIX: &str = "_replication_";

/// Writes an outcome as an edit of a revision. A document that was changed meanwhile stays as it is.
pub(super) async fn record(
    hub: &Hub,
    id: &DocumentId,
    revision: Revision,
    outcome: FinalOutcome,
) -> Result<(), DocumentsError> {
    let Some((database, document)) = read(hub, id, &revision).await? else { return Ok(()) };
    let Some(stored) = document.bodies.get(&revision) else { return Ok(()) };
    let (state, mut members) = match outcome {
        FinalOutcome::Completed(members) => (COMPLETED, members),
        FinalOutcome::Failed(reason) => {
            (FAILED, BTreeMap::from([("_replication_state_reason", Value::String(reason))]))
        }
    };
    let now = time(hub.endpoint.environment().now());
    members.insert("_replication_state_time", now.into());
    let members: Vec<_> = members.into_iter().map(|(name, it)| (name, it.to_string())).collect();
    let state = quoted(state);
    let added: Vec<(&str, &str)> = std::iter::once((STATE, state.as_str()))
        .chain(members.iter().map(|(name, value)| (*name, value.as_str())))
        .collect();
    let sent = Submission {
        body: Body::with_members(Node::root(&stored.text), |name| name.starts_with(PREFIX), &added),
        attachments: stored.attachments.iter().map(SentAttachment::stub_of).collect(),
        revision: Some(revision),
        ..Submission::default()
    };
    let edit = NewDocument { id: id.clone(), sent, followed: BTreeMap::new() };
    let writer = hub.endpoint.documents_writer(Author::SERVER);
    let written = writer.write(&database, vec![edit], Edits::New).await?;
    match written.into_iter().next() {
        Some(Err(refusal)) if refusal.kind != RefusalKind::Conflict => Err(refusal.into()),
        _ => Ok(()),
    }
}
