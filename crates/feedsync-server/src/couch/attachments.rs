//! Attachments as resources (section 9.2).

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use feedsync_couch::{
    ANY_TYPE, Attachment, AttachmentDigest, DatabaseName, DocumentId, Json, Refusal, RefusalKind,
    Resource, Revision, SentAttachment, SentForm, Submission,
};
use feedsync_endpoint::documents::Edits;
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_http::{ListedTag, listed_tags, range};
use feedsync_store::Database;
use http::{HeaderValue, Method, StatusCode, header};

use super::document::{find, named_revision, revision_response, written};
use super::{CouchRequest, Failure, design};
use crate::access::databases::Need;
use crate::http::media_types;
use crate::http::problem::Problem;
use crate::http::validators::without_coding;

pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    id: DocumentId,
    attachment: &str,
    body: Body,
) -> Result<Response, Failure> {
    let database = asked.database(name, Need::Use).await?;
    let first = attachment.split('/').next().unwrap_or_default();
    if id.is_design() && first.starts_with('_') {
        return design::answer(asked, database, id, attachment, body).await;
    }
    match *asked.method_of(&[Method::GET, Method::PUT, Method::DELETE])? {
        Method::GET => read(asked, &database, id, attachment).await,
        Method::PUT => {
            SentAttachment::check_name(attachment)?;
            let (_permit, bytes) = asked.bytes(body).await?;
            asked.recheck(&database, Need::Use).await?;
            let said = media_types::media_type(&asked.call.headers).unwrap_or(ANY_TYPE).to_owned();
            SentAttachment::check_type(attachment, &said)?;
            if let Some(md5) = asked.call.headers.get("content-md5") {
                AttachmentDigest::of(&bytes).check_md5(md5.to_str().unwrap_or_default())?;
            }
            let sent = SentAttachment {
                name: attachment.to_owned(),
                content_type: Some(said),
                generation: None,
                digest: None,
                form: SentForm::Data(bytes),
            };
            let done = change(asked, &database, id, attachment, Some(sent)).await?;
            let path = Resource::path_of_attachment(name, &done.0, attachment);
            Ok(asked.located(revision_response(StatusCode::CREATED, &done), &path))
        }
        _ => {
            let done = change(asked, &database, id, attachment, None).await?;
            Ok(revision_response(StatusCode::OK, &done))
        }
    }
}

/// Adds or removes an attachment by an edit of its document.
async fn change(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
    attachment: &str,
    sent: Option<SentAttachment>,
) -> Result<(DocumentId, Revision), Failure> {
    let base = named_revision(asked, None)?;
    let asks = match &base {
        Some(base) => Leaves::Named { revisions: vec![base.clone()], latest: false },
        None => Leaves::Winner,
    };
    let found = match find(asked, database, id.clone(), asks).await {
        Ok(found) => Some(found),
        Err(Failure::Refused(refusal)) if refusal.kind == RefusalKind::NotFound => None,
        Err(failure) => return Err(failure),
    };
    let kept = base.as_ref().and_then(|base| found.as_ref()?.bodies.get(base));
    if sent.is_none() {
        let has_it =
            kept.is_some_and(|kept| kept.attachments.iter().any(|it| it.name == attachment));
        if found.is_none() {
            return Err(Refusal::missing().into());
        }
        if base.is_none() {
            return Err(Refusal::conflict().into());
        }
        if !has_it {
            return Err(no_attachment().into());
        }
    }
    let text = kept.map_or("{}", |kept| &*kept.text);
    let mut document = Submission::read(Json::read(text.as_bytes().to_vec())?.root())?;
    document.revision = base;
    let others = kept.into_iter().flat_map(|kept| kept.attachments.iter());
    let others = others.filter(|other| other.name != attachment);
    document.attachments = others.map(SentAttachment::stub_of).chain(sent).collect();
    SentAttachment::check_count(document.attachments.len())?;
    written(asked, database, id, document, BTreeMap::new(), Edits::New).await
}

fn no_attachment() -> Refusal {
    RefusalKind::NotFound.with_reason("Document is missing attachment")
}

async fn read(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
    attachment: &str,
) -> Result<Response, Failure> {
    let named = asked.parameters.revision("rev")?;
    let asks = match &named {
        Some(revision) => Leaves::Named { revisions: vec![revision.clone()], latest: false },
        None => Leaves::Winner,
    };
    let found = find(asked, database, id, asks).await?;
    let revision = match (named, found.document.tree.winner()) {
        (Some(named), _) => named,
        (None, Some(winner)) if !winner.content.is_deleted => winner.revision.clone(),
        _ => return Err(Refusal::deleted().into()),
    };
    let kept = found.bodies.get(&revision).ok_or_else(Refusal::missing)?;
    let attachment = kept.attachments.iter().find(|it| it.name == attachment);
    let attachment = attachment.ok_or_else(no_attachment)?;
    let tag = format!("\"{}\"", attachment.digest.as_str().trim_start_matches("md5-"));
    let digest = tag.trim_matches('"');
    let is_known = |tag: ListedTag| tag.opaque.as_deref().map(without_coding) == Some(digest);
    if listed_tags(&asked.call.headers, header::IF_NONE_MATCH).any(is_known) {
        return Ok(whole(StatusCode::NOT_MODIFIED, attachment, &tag, Bytes::new()));
    }
    let place = asked.place().await?;
    let place = asked.slot_for_attachments(place, attachment.length).await?;
    let bytes = asked.databases.attachment(&database.name, &attachment.digest).await?;
    let bytes = bytes.ok_or_else(no_attachment)?;
    let length = bytes.len() as u64;
    let own = HeaderValue::from_str(&tag).ok();
    let validators = range::Validators { tag: own.as_ref(), modified: None };
    match range::requested_range(&asked.call.headers, validators, length) {
        range::RequestedRange::Whole => {
            Ok(whole(StatusCode::OK, attachment, &tag, place.hold(bytes)))
        }
        range::RequestedRange::Nothing => Err(Problem::from(range::unsatisfiable(length)).into()),
        range::RequestedRange::Part(part) => {
            let told = range::content_range(&part, length);
            let bytes = bytes[part.start as usize..part.end as usize].to_vec();
            let mut response =
                whole(StatusCode::PARTIAL_CONTENT, attachment, &tag, place.hold(bytes));
            response.headers_mut().insert(header::CONTENT_RANGE, told);
            Ok(response)
        }
    }
}

fn whole(status: StatusCode, attachment: &Attachment, tag: &str, bytes: Bytes) -> Response {
    let mut response = (status, bytes).into_response();
    let headers = response.headers_mut();
    let any = HeaderValue::from_static(ANY_TYPE);
    let content_type = HeaderValue::from_str(&attachment.content_type).unwrap_or(any);
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("must-revalidate"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    response.extensions_mut().insert(crate::http::compression::NoTransform);
    response
}
