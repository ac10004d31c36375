//! Local documents, which are not replicated: replicators store their checkpoints in them (section 8).

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, LocalId, Refusal, RefusalKind, SpecialMembers, Submission, members, quoted, text,
};
use feedsync_endpoint::bridge::PROGRESS_DOCUMENT;
use feedsync_formats::json::Node;
use feedsync_store::{Database, LocalDocument, StoreError};
use http::{Method, StatusCode};

use super::{CouchRequest, Failure, json};
use crate::access::databases::Need;
use crate::access::quotas;

/// Prefix of their ids.
pub(super) const LOCAL: &str = "_local/";

pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    id: &LocalId,
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::PUT, Method::DELETE])?.clone();
    let database = asked.database(name, Need::Use).await?;
    if id.as_str() == PROGRESS_DOCUMENT {
        return Err(reserved_document().into());
    }
    let (status, revision) = match method {
        Method::GET => {
            let found = asked.databases.local_document(name, id).await?;
            let text = shown(id, &found.ok_or_else(Refusal::missing)?);
            return Ok(json(StatusCode::OK, format!("{text}\n")));
        }
        Method::DELETE => {
            if !asked.databases.put_local_document(name, database.epoch, id, None).await? {
                return Err(Refusal::missing().into());
            }
            (StatusCode::OK, 0)
        }
        _ => {
            let (_permit, sent) = asked.any_json(body).await?;
            let given = asked.parameters.text("rev").map(str::to_owned);
            let sent = LocalSubmission::read(id.clone(), sent.root(), given)?;
            asked.recheck(&database, Need::Use).await?;
            (StatusCode::CREATED, sent.write_within_quota(asked, &database).await?)
        }
    };
    Ok(json(status, format!("{{{}}}\n", done(id, revision))))
}

/// A local document as JSON.
pub(super) fn shown(id: &LocalId, LocalDocument { revision, body }: &LocalDocument) -> String {
    let members = members(body);
    let comma = if members.is_empty() { "" } else { "," };
    let full = quoted(&format!("{LOCAL}{id}"));
    format!("{{\"_id\":{full},\"_rev\":\"0-{revision}\"{comma}{members}}}")
}

/// Response to the write of a local document.
pub(super) fn done(id: &LocalId, revision: u64) -> String {
    format!("\"ok\":true,\"id\":{},\"rev\":\"0-{revision}\"", quoted(&format!("{LOCAL}{id}")))
}

/// A local document to be written, or to be removed if it is deleted.
pub(super) struct LocalSubmission {
    pub(super) id: LocalId,
    document: Option<LocalDocument>,
}

impl LocalSubmission {
    /// The id of a local document, if a submitted document is one.
    pub(super) fn names(sent: Node<'_>) -> Result<Option<LocalId>, Refusal> {
        let id = sent.member("_id").and_then(|id| text(id.value));
        let id = id.as_deref().and_then(|id| id.strip_prefix(LOCAL));
        id.map(str::parse).transpose()
    }

    /// Reads a submitted local document. The last write wins, whatever revision it names.
    pub(super) fn read(
        id: LocalId,
        sent: Node<'_>,
        given: Option<String>,
    ) -> Result<Self, Refusal> {
        if id.as_str() == PROGRESS_DOCUMENT {
            return Err(reserved_document());
        }
        let said = || sent.member("_rev").map(|it| text(it.value).ok_or_else(invalid));
        let given = match given {
            Some(given) => given,
            None => said().transpose()?.unwrap_or_default().into_owned(),
        };
        // Attachments of local documents are ignored, as in CouchDB.
        let Submission { is_deleted, body, .. } =
            Submission::read_with(sent, SpecialMembers::Dropped)?;
        let document = match is_deleted {
            true => None,
            false => Some(LocalDocument { revision: next(&given)?, body: body.into_text() }),
        };
        Ok(Self { id, document })
    }

    /// Its size, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.document.as_ref().map_or(0, |document| document.body.len() as u64)
    }

    /// Number of bytes by which it is larger than the document that it replaces.
    pub(super) async fn growth(
        &self,
        asked: &CouchRequest,
        name: &DatabaseName,
    ) -> Result<u64, StoreError> {
        let replaced = asked.databases.local_document(name, &self.id).await?;
        Ok(self.length().saturating_sub(replaced.map_or(0, |replaced| replaced.body.len() as u64)))
    }

    /// Writes it as [`write`](Self::write) does, if the quota allows the bytes that it adds.
    pub(super) async fn write_within_quota(
        self,
        asked: &CouchRequest,
        database: &Database,
    ) -> Result<u64, Failure> {
        let more = self.growth(asked, &database.name).await?;
        quotas::documents(&asked.hub, &database.name, 0, more).await?;
        Ok(self.write(asked, database).await?)
    }

    /// Writes it if the database is still the same one. Returns the number of its revision.
    pub(super) async fn write(
        self,
        asked: &CouchRequest,
        database: &Database,
    ) -> Result<u64, StoreError> {
        let Database { name, epoch, .. } = database;
        let revision = self.document.as_ref().map_or(0, |document| document.revision);
        asked.databases.put_local_document(name, *epoch, &self.id, self.document).await?;
        Ok(revision)
    }
}

fn reserved_document() -> Refusal {
    RefusalKind::Forbidden.with_reason("this local document is reserved for the hub")
}

/// Returns the revision after a given one, or the first if none is given.
fn next(given: &str) -> Result<u64, Refusal> {
    if given.is_empty() {
        return Ok(1);
    }
    let number: Option<u64> = given.strip_prefix("0-").and_then(|number| number.parse().ok());
    number.and_then(|it| it.checked_add(1)).filter(|it| *it < 1 << 53).ok_or_else(invalid)
}

fn invalid() -> Refusal {
    RefusalKind::BadRequest.with_reason("Invalid rev format")
}
