//! One document (section 5).

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, DocumentId, Refusal, RefusalKind, Resource, Revision, SentForm, Submission,
    boolean, quoted,
};
use feedsync_endpoint::documents::leaves::{self, Leaves};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_endpoint::documents::{Edits, NewDocument, StoredAttachment};
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::{COPY, CouchRequest, Failure, copy, design, json, parts};
use crate::access::databases::Need;
use crate::access::quotas;
use crate::http::media_types;
use crate::http::response_budget::ResponseSlot;
use crate::http::validators::without_coding;

pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    id: DocumentId,
    body: Body,
) -> Result<Response, Failure> {
    let known = [Method::GET, Method::PUT, Method::DELETE, COPY.clone()];
    let method = asked.method_of(&known)?.clone();
    let database = asked.database(name, Need::Use).await?;
    match method {
        method if method == *COPY => copy::answer(asked, &database, id).await,
        Method::GET if asked.parameters.text("open_revs").is_some() => {
            open_revisions(asked, &database, id).await
        }
        Method::GET => read(asked, &database, id).await,
        Method::DELETE => {
            let revision = named_revision(asked, None)?;
            let sent = Submission { revision, is_deleted: true, ..Submission::default() };
            check_there(asked, name, &id).await?;
            let done = written(asked, &database, id, sent, BTreeMap::new(), Edits::New).await?;
            Ok(batched(asked, &done).unwrap_or_else(|| revision_response(StatusCode::OK, &done)))
        }
        _ => {
            let edits = edits(asked)?;
            let said = media_types::media_type(&asked.call.headers).unwrap_or_default();
            let is_in_parts = media_types::essence(said).eq_ignore_ascii_case("multipart/related");
            asked.check_user_document(is_in_parts).await?;
            let (_permit, sent, followed) = match is_in_parts {
                true => parts::read(asked, name, said, body).await?,
                false => {
                    let (permit, sent) = asked.any_json(body).await?;
                    (permit, Submission::read(sent.root())?, BTreeMap::new())
                }
            };
            let revision = named_revision(asked, sent.revision.clone())?;
            let sent = Submission { revision, ..sent };
            let database = asked.recheck(&database, Need::Use).await?;
            let notice = design::unenforced(asked, &id, sent.body.root());
            let done = written(asked, &database, id, sent, followed, edits).await?;
            Ok(created_with(asked, name, &done, notice))
        }
    }
}

/// Reads the parameter `new_edits`.
fn edits(asked: &CouchRequest) -> Result<Edits, Refusal> {
    Ok(match asked.parameters.text("new_edits") {
        Some(_) if !asked.parameters.flag("new_edits")? => Edits::Replicated,
        _ => Edits::New,
    })
}

/// Revision that a request names in the body, in the query or as `If-Match`. All of them must agree.
pub(super) fn named_revision(
    asked: &CouchRequest,
    of_body: Option<Revision>,
) -> Result<Option<Revision>, Refusal> {
    let if_match = asked.call.headers.get(header::IF_MATCH).and_then(|it| it.to_str().ok());
    let if_match = if_match.map(|tag| revision_of(tag).parse()).transpose()?;
    let all = [of_body, asked.parameters.revision("rev")?, if_match];
    let mut named = all.into_iter().flatten();
    let first = named.next();
    match named.all(|other| Some(&other) == first.as_ref()) {
        true => Ok(first),
        false => Err(RefusalKind::BadRequest
            .with_reason("Document rev from request body and query string have different values")),
    }
}

/// Revision in an entity tag, also in that of a compressed response.
fn revision_of(tag: &str) -> &str {
    without_coding(tag.trim().trim_start_matches("W/").trim_matches('"'))
}

/// Refuses to delete a document that never existed.
async fn check_there(
    asked: &CouchRequest,
    name: &DatabaseName,
    id: &DocumentId,
) -> Result<(), Failure> {
    let ids = std::slice::from_ref(id);
    let page = asked.databases.documents(name, ids, leaves::none(), u64::MAX).await?;
    let found = page.documents.into_iter().flatten().next().ok_or_else(Refusal::missing)?;
    match found.document.tree.winner() {
        Some(winner) if winner.content.is_deleted => Err(Refusal::deleted().into()),
        _ => Ok(()),
    }
}

/// Whether it is a deletion without content. A deletion with members or attachments is stored like any
/// revision.
pub(super) fn is_plain_deletion(sent: &Submission) -> bool {
    sent.is_deleted && sent.attachments.is_empty() && sent.body.as_str() == "{}"
}

/// Writes a document, and returns its id and its new revision.
pub(super) async fn written(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
    sent: Submission,
    followed: BTreeMap<String, StoredAttachment>,
    edits: Edits,
) -> Result<(DocumentId, Revision), Failure> {
    if !is_plain_deletion(&sent) {
        let begins = |generation: u64| edits == Edits::Replicated && generation <= 1;
        let new = u64::from(sent.base().is_none_or(|base| begins(base.generation())));
        let inline = sent.attachments.iter().map(|it| match &it.form {
            SentForm::Data(bytes) => bytes.len() as u64,
            _ => 0,
        });
        let followed = followed.values().map(|it| it.length);
        let bytes = sent.body.as_str().len() as u64 + inline.chain(followed).sum::<u64>();
        quotas::documents(&asked.hub, &database.name, new, bytes).await?;
    }
    let document = NewDocument { id: id.clone(), sent, followed };
    let written = asked.write_documents(database, vec![document], edits).await?;
    match written.into_iter().next() {
        Some(Ok(revision)) => Ok((id, revision)),
        Some(Err(refusal)) => Err(refusal.into()),
        None => Err(Refusal::conflict().into()),
    }
}

/// Response to a write of a document, with its revision and its location.
pub(super) fn created(
    asked: &CouchRequest,
    name: &DatabaseName,
    done: &(DocumentId, Revision),
) -> Response {
    created_with(asked, name, done, "")
}

/// The same with a further member, which begins with a comma.
fn created_with(
    asked: &CouchRequest,
    name: &DatabaseName,
    done: &(DocumentId, Revision),
    member: &str,
) -> Response {
    batched(asked, done).unwrap_or_else(|| {
        asked.located(
            response_with(StatusCode::CREATED, done, member),
            &Resource::path_of_document(name, &done.0),
        )
    })
}

/// Response to a write with `batch=ok`: 202 without a revision, as in CouchDB. The document is stored
/// already.
fn batched(asked: &CouchRequest, (id, _): &(DocumentId, Revision)) -> Option<Response> {
    let is_batch = asked.parameters.text("batch") == Some("ok");
    let text = || format!("{{\"ok\":true,\"id\":{}}}\n", quoted(id.as_str()));
    is_batch.then(|| json(StatusCode::ACCEPTED, text()))
}

/// Response to a change of a document.
pub(super) fn revision_response(status: StatusCode, done: &(DocumentId, Revision)) -> Response {
    response_with(status, done, "")
}

fn response_with(
    status: StatusCode,
    (id, revision): &(DocumentId, Revision),
    member: &str,
) -> Response {
    let (id, revision) = (quoted(id.as_str()), quoted(&revision.to_string()));
    let text = format!("{{\"ok\":true,\"id\":{id},\"rev\":{revision}{member}}}\n");
    let mut response = json(status, text);
    if let Ok(tag) = HeaderValue::from_str(&revision) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

async fn read(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
) -> Result<Response, Failure> {
    let mut show = DocumentOptions::of(&asked.parameters)?;
    let since = asked.parameters.revisions("atts_since")?;
    // A client that lists known revisions requests the attachments of newer ones.
    show.attachments |= since.is_some();
    let since = since.unwrap_or_default();
    let place = match show.attachments {
        true => asked.place().await?,
        false => ResponseSlot::default(),
    };
    let named = asked.parameters.revision("rev")?;
    let latest = asked.parameters.flag("latest")?;
    let asks = match &named {
        Some(revision) => Leaves::Named { revisions: vec![revision.clone()], latest },
        None => Leaves::Winner,
    };
    let found = find(asked, database, id, Leaves::clone(&asks)).await?;
    let tree = &found.document.tree;
    let revision = match (&named, tree.winner()) {
        (Some(_), _) => match asks.of(tree).into_iter().next() {
            Some(Ok(revision)) => revision,
            _ => return Err(Refusal::missing().into()),
        },
        (None, Some(winner)) if winner.content.is_deleted => return Err(Refusal::deleted().into()),
        (None, Some(winner)) => winner.revision.clone(),
        (None, None) => return Err(Refusal::missing().into()),
    };
    let tag = format!("\"{revision}\"");
    let is_known = |headers: &HeaderMap| {
        let tags = headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
        let revision = revision.to_string();
        tags.is_some_and(|tags| tags.split(',').any(|known| revision_of(known) == revision))
    };
    let show = show.since(&since, tree, &revision);
    // The other properties of a document change without its revision.
    let is_plain = !(show.conflicts || show.deleted_conflicts || show.local_seq || show.revs_info);
    // A tag belongs to one representation.
    let is_plain = is_plain && !show.attachments;
    let mut response = if is_plain && is_known(&asked.call.headers) {
        json(StatusCode::NOT_MODIFIED, "")
    } else {
        parts::document(asked, place, database, (&found, &revision), &show).await?
    };
    if let Ok(tag) = HeaderValue::from_str(&tag)
        && is_plain
    {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// Reads a document with the requested properties.
pub(super) async fn find(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
    asks: Leaves,
) -> Result<LoadedDocument, Failure> {
    let choose = leaves::chosen(asks);
    let page = asked.databases.documents(&database.name, &[id], choose, u64::MAX).await?;
    let found = page.documents.into_iter().flatten().next();
    Ok(found.ok_or_else(Refusal::missing)?)
}

/// `open_revs`: several revisions, as an array or as `multipart/mixed`, which is what CouchDB understands.
async fn open_revisions(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
) -> Result<Response, Failure> {
    let is_all = asked.parameters.text("open_revs") == Some("all");
    let latest = asked.parameters.flag("latest")?;
    let asks = match is_all {
        true => Leaves::All,
        false => {
            let revisions = asked.parameters.revisions("open_revs")?.unwrap_or_default();
            Leaves::Named { revisions, latest }
        }
    };
    let mut show = DocumentOptions::of(&asked.parameters)?;
    let since = asked.parameters.revisions("atts_since")?;
    show.attachments |= since.is_some();
    let since = since.unwrap_or_default();
    let place = asked.place().await?;
    let most = asked.hub.config.limits.database_body_bytes as u64;
    let choose = leaves::chosen_within(asks.clone(), most);
    let page = asked.databases.documents(&database.name, &[id], choose, u64::MAX).await?;
    let found = page.documents.into_iter().flatten().next();
    let meant = match &found {
        Some(found) => {
            let meant = asks.of(&found.document.tree);
            leaves::check_size(&found.document.tree, &meant, most)?;
            meant
        }
        None if is_all => return Err(Refusal::missing().into()),
        None => asks.of(&feedsync_couch::Tree::default()),
    };
    let accepted = asked.call.headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("application/json")) {
        return parts::mixed(asked, place, database, (found.as_ref(), &meant), &show);
    }
    let held = match (&found, show.attachments) {
        (Some(found), true) => asked.held(&database.name, found).await?,
        _ => AttachmentContents::new(),
    };
    let mut text = String::from("[");
    for (at, one) in meant.iter().enumerate() {
        text.push_str(if at > 0 { "," } else { "" });
        match (one, &found) {
            (Ok(revision), Some(found)) => {
                text.push_str("{\"ok\":");
                let show = show.since(&since, &found.document.tree, revision);
                let shown = show.push(&mut text, found, revision, &held, database);
                shown.ok_or_else(Refusal::missing)?;
                text.push('}');
            }
            (Ok(revision) | Err(revision), _) => {
                text.push_str(&format!("{{\"missing\":{}}}", quoted(&revision.to_string())));
            }
        }
    }
    text.push_str("]\n");
    Ok(json(StatusCode::OK, place.hold(text.into_bytes())))
}

/// Whether a member of the body is `true`; an absent one counts as `false`.
pub(super) fn says(body: Node<'_>, name: &str) -> bool {
    body.member(name).and_then(|member| boolean(member.value)) == Some(true)
}
