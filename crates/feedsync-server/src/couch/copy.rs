//! `COPY`: copies a document to another id.

use std::collections::BTreeMap;

use axum::response::Response;
use feedsync_couch::{
    Destination, DocumentId, Json, Refusal, RefusalKind, SentAttachment, Submission,
};
use feedsync_endpoint::documents::Edits;
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_store::Database;

use super::document::{created, find, written};
use super::{CouchRequest, Failure};

/// Writes the body and the attachments of a document as an edit of the document that `Destination` names.
pub(super) async fn answer(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
) -> Result<Response, Failure> {
    let mut given = asked.call.headers.get_all("destination").iter();
    let (destination, None) = (given.next(), given.next()) else {
        return Err(RefusalKind::BadRequest.with_reason("more than one Destination").into());
    };
    let destination = destination.and_then(|given| given.to_str().ok());
    let destination = Destination::read(destination)?;
    let named = asked.parameters.revision("rev")?;
    let asks = match &named {
        Some(revision) => Leaves::Named { revisions: vec![revision.clone()], latest: false },
        None => Leaves::Winner,
    };
    let found = find(asked, database, id, asks).await?;
    let revision = match (named, found.document.tree.winner()) {
        (Some(named), _) => named,
        (None, Some(winner)) if winner.content.is_deleted => return Err(Refusal::deleted().into()),
        (None, Some(winner)) => winner.revision.clone(),
        (None, None) => return Err(Refusal::missing().into()),
    };
    let kept = found.bodies.get(&revision).ok_or_else(Refusal::missing)?;
    let mut copy = Submission::read(Json::read(kept.text.as_bytes().to_vec())?.root())?;
    copy.revision = destination.revision;
    copy.attachments = kept.attachments.iter().map(SentAttachment::stub_of).collect();
    let done = written(asked, database, destination.id, copy, BTreeMap::new(), Edits::New).await?;
    Ok(created(asked, &database.name, &done))
}
