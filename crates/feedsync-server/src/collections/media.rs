//! Media (RFC 5023 9.6): `POST` of a body that is no entry, and `GET|PUT|DELETE` of
//! `/collections/{c}/items/{id}/media/{name}`.
//!
//! A media resource and its media link entry are one item: an Atom entry that names one blob. So they
//! have one history, and each edit of either is one update (AP55). The tag of the media is their digest,
//! so that a new title does not change it. The name in the address is for people.
//!
//! Uploads are untrusted. They are served with the declared type, which is never guessed, and in a
//! sandbox. Types that a browser would run are offered for download only (AP57).

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_core::Format;
use feedsync_endpoint::{Guard, MemberChange, MemberEdit};
use feedsync_formats::{Blob, Completion, Fill, complete, empty_payload, media, with_blob};
use feedsync_http::range::{self, RequestedRange, Validators, requested_range, unsatisfiable};
use feedsync_store::{Collection, Digest, StoredItem};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::access::settings;
use crate::collections::create::CandidateIds;
use crate::collections::members::{author, found, gone, id, whole};
use crate::collections::preconditions::{Conditions, required};
use crate::collections::{member, slug};
use crate::http::caching::Caching;
use crate::http::compression::NoTransform;
use crate::http::media_types::{atom_type, essence, media_type};
use crate::http::prefer::prefers_minimal;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::http::response::{insert, nothing};
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::submissions::not_accepted;
use crate::http::upload::Upload;
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

/// Creates a media resource with its media link entry.
pub(crate) async fn create(
    hub: &Hub,
    call: &Call,
    collection: &Collection,
    kind: &str,
    body: Body,
) -> Result<Response, Problem> {
    let name = slug::requested(&call.headers).unwrap_or_else(|| "media".to_owned());
    let blob = upload(hub, call, body, &name, kind).await?;
    let content = [&blob.sha256[..], kind.as_bytes(), name.as_bytes()].concat();
    let named = CandidateIds::of(hub, call, collection, None, &content)?;
    let author = author(hub, call).await?;
    let new = named.member(move |iri, now, _| {
        let now = member::edited(now);
        let completion = Completion {
            id: Fill::Always(iri),
            updated: Fill::Always(&now),
            published: Some(Fill::Always(&now)),
            author: &author,
            slug: None,
            title: &blob.name,
            summary: Some(&blob.name),
        };
        let entry = empty_payload(Format::Atom);
        with_blob(&complete(&entry, &completion), &blob)
    });
    let member = call.growing_endpoint(hub).await?.create_member(&collection.name, new).await?;
    Ok(whole(StatusCode::CREATED, call, &member))
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let stored = found(&hub, &call, &collection, &id(&call)?).await?;
    let blob = blob_of(&stored)?;
    let digest = Digest::from_bytes(blob.sha256);
    let tag = EntityTag::named(digest.to_string());
    let permit = hub.response_budget.permit().await?;
    let mut headers = headers(&blob, &tag, Caching::of(&settings(&collection)?));
    match tag.evaluate(&call.headers) {
        Condition::Proceed => {}
        Condition::Failed => return Err(failed(&tag)),
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            return Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response());
        }
    }
    let bytes = hub.endpoint.blob(digest).await?;
    let bytes = bytes.ok_or_else(|| {
        Problem::not_found(
            "this hub does not have the media file yet; it is fetched at the next sync",
        )
    })?;
    let length = bytes.len() as u64;
    let (status, bytes) =
        match requested_range(&call.headers, Validators::tag(&tag.value()), length) {
            RequestedRange::Whole => (StatusCode::OK, bytes),
            RequestedRange::Part(part) => {
                headers.insert(header::CONTENT_RANGE, range::content_range(&part, length));
                // The range is within the content, so that it fits.
                (
                    StatusCode::PARTIAL_CONTENT,
                    bytes[part.start as usize..part.end as usize].to_vec(),
                )
            }
            RequestedRange::Nothing => return Err(unsatisfiable(length).into()),
        };
    let place = permit.end(bytes.len() > MAX_UNCOUNTED_BYTES)?;
    Ok((status, headers, Extension(NoTransform), place.hold(bytes)).into_response())
}

pub(crate) async fn replace(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let id = id(&call)?;
    let settings = settings(&collection)?;
    let stored = found(&hub, &call, &collection, &id).await?;
    let old = blob_of(&stored)?;
    let kind = media_type(&call.headers).unwrap_or_default();
    let taken = |range: &feedsync_endpoint::MediaRange| !range.is_entry() && range.takes(kind);
    if atom_type(kind).is_some() || !settings.accept.iter().any(taken) {
        return Err(not_accepted(&settings, kind));
    }
    let conditions = Conditions::of(&call.headers, hub.endpoint.environment().now());
    if settings.preconditions && !conditions.name_a_version() {
        return Err(required(&tag_of(&old)));
    }
    let blob = upload(&hub, &call, body, &old.name, kind).await?;
    let new = blob.clone();
    let change = MemberChange::Replace(Box::new(move |stored: &StoredItem, _| {
        let payload = &stored.item.winner.payload;
        match media(payload) {
            None => Err(()),
            Some(old) if Blob { name: old.name.clone(), ..new.clone() } == old => Ok(None),
            Some(old) => Ok(Some(with_blob(payload, &Blob { name: old.name, ..new.clone() }))),
        }
    }));
    match call
        .growing_endpoint(&hub)
        .await?
        .edit_member(&collection.name, &id, guard(conditions), change)
        .await?
    {
        MemberEdit::Done(_) | MemberEdit::Unchanged(_) | MemberEdit::Beside(_) => {}
        MemberEdit::Stale(member) => return Err(failed(&tag_of(&blob_of(&member.stored)?))),
        MemberEdit::Refused(()) => return Err(no_media()),
        MemberEdit::Gone => return Err(gone()),
        MemberEdit::Missing => return Err(Problem::no_item(&id)),
    }
    let mut headers = headers(&blob, &tag_of(&blob), Caching::OnePerson);
    if prefers_minimal(&call.headers) {
        headers.insert("preference-applied", HeaderValue::from_static("return=minimal"));
        return Ok((StatusCode::NO_CONTENT, headers, nothing()).into_response());
    }
    // The media are stored; a lack of memory to send them back is no failure.
    match held(&hub, &blob).await {
        Ok(bytes) => Ok((headers, Extension(NoTransform), bytes).into_response()),
        Err(_) => Ok((StatusCode::NO_CONTENT, headers, nothing()).into_response()),
    }
}

/// Bytes of the media, holding a slot of the response budget.
async fn held(hub: &Hub, blob: &Blob) -> Result<Bytes, Problem> {
    let permit = hub.response_budget.permit().await?;
    let bytes = hub.endpoint.blob(Digest::from_bytes(blob.sha256)).await?;
    let bytes = bytes.ok_or_else(Problem::internal)?;
    Ok(permit.end(bytes.len() > MAX_UNCOUNTED_BYTES)?.hold(bytes))
}

/// Removes the media with their entry, as one tombstone (AP54).
pub(crate) async fn delete(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let id = id(&call)?;
    let blob = blob_of(&found(&hub, &call, &collection, &id).await?)?;
    let conditions = Conditions::of(&call.headers, hub.endpoint.environment().now());
    if settings(&collection)?.preconditions && !conditions.name_a_version() {
        return Err(required(&tag_of(&blob)));
    }
    let guard = guard(conditions);
    match call
        .endpoint(&hub)
        .edit_member::<()>(&collection.name, &id, guard, MemberChange::Delete)
        .await?
    {
        MemberEdit::Stale(member) => Err(failed(&tag_of(&blob_of(&member.stored)?))),
        MemberEdit::Gone => Err(gone()),
        MemberEdit::Missing => Err(Problem::no_item(&id)),
        _ => Ok((StatusCode::NO_CONTENT, nothing()).into_response()),
    }
}

/// Guard of an edit of media: the tag covers the media only and names no version of the entry.
fn guard(conditions: Conditions) -> Guard {
    let judge = move |stored: &StoredItem| {
        let digest = media(&stored.item.winner.payload);
        let digest = digest.map(|blob| Digest::from_bytes(blob.sha256).to_string());
        conditions.judge_media(stored, &digest.unwrap_or_default())
    };
    Guard { judge: Box::new(judge), keep_stale: false }
}

/// Receives media and stores them under their digest.
async fn upload(
    hub: &Hub,
    call: &Call,
    body: Body,
    name: &str,
    kind: &str,
) -> Result<Blob, Problem> {
    let upload = Upload::receive(hub, call, body).await?;
    let (length, sha256) = (upload.length(), *upload.digest().as_bytes());
    upload.store(hub).await?;
    let (name, media_type) = (name.to_owned(), kind.to_owned());
    Ok(Blob { name, media_type, length, sha256 })
}

fn blob_of(stored: &StoredItem) -> Result<Blob, Problem> {
    media(&stored.item.winner.payload).ok_or_else(no_media)
}

fn no_media() -> Problem {
    Problem::not_found("the item has no media file")
}

fn tag_of(blob: &Blob) -> EntityTag {
    EntityTag::named(Digest::from_bytes(blob.sha256).to_string())
}

fn headers(blob: &Blob, tag: &EntityTag, caching: Caching) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag.value());
    caching.set_headers(&mut headers, &[]);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let shown = if is_passive(&blob.media_type) { "inline" } else { "attachment" };
    let name = encoded(&blob.name).replace(['\'', '(', ')', '*', '@', ':', ',', ';'], "_");
    let disposition = format!("{shown}; filename*=UTF-8''{name}");
    insert(&mut headers, header::CONTENT_DISPOSITION, &disposition);
    insert(&mut headers, header::CONTENT_TYPE, &blob.media_type);
    headers
}

/// Whether browsers only display or play the type.
fn is_passive(media_type: &str) -> bool {
    let essence = essence(media_type).to_ascii_lowercase();
    match essence.split_once('/') {
        Some(("image", kind)) => !kind.ends_with("xml"),
        Some(("audio" | "video", _)) => true,
        _ => essence == "text/plain",
    }
}
