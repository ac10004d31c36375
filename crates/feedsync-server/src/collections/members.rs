//! `GET|PUT|DELETE /collections/{c}/items/{id}`: a member (RFC 5023 9, 11.1).
//!
//! A member is an Atom entry, whatever format the item has, with the hub's elements and the `sx:sync` of its
//! version. A PUT replaces it by the client's entry ([`crate::collections::revision`]). The response is the new entry with
//! its tag. RFC 9110 9.3.4 forbids a tag if the server changed the stored content, but clients that keep the
//! old tag fail at their next edit (AP37).

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_core::ItemId;
use feedsync_endpoint::{BaseStatus, Member, MemberChange, MemberEdit};
use feedsync_formats::entry_document;
use feedsync_store::{Collection, CollectionName, StoredItem};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::access::settings;
use crate::collections::member;
use crate::collections::preconditions::{self, Conditions, required, stale};
use crate::collections::revision::Revision;
use crate::http::caching::Caching;
use crate::http::media_types::ENTRY;
use crate::http::problem::Problem;
use crate::http::response::{append_link, insert, nothing};
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::submissions;
use crate::http::validators::{Condition, failed, last_modified, set_last_modified};
use crate::hub::Hub;

/// Relation of a link to an item's conflicts.
pub(crate) const CONFLICTS_RELATION: &str = "urn:feedsync:1:conflicts";

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let id = id(&call)?;
    let stored = found(&hub, &call, &collection, &id).await?;
    let tag = preconditions::tag(&call.base, &stored);
    let permit = hub.response_budget.permit().await?;
    let mut headers = headers(&call, &collection.name, &stored);
    Caching::of(&settings(&collection)?).set_headers(&mut headers, &["Accept-Encoding"]);
    let now = hub.endpoint.environment().now();
    let modified = last_modified(stored.edited, now);
    set_last_modified(&mut headers, modified);
    match tag.evaluate_dated(&call.headers, modified, now) {
        Condition::Proceed => {}
        Condition::Failed => return Err(failed(&tag)),
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            return Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response());
        }
    }
    let body = document(&call, &collection.name, &stored);
    let place = permit.end(body.len() > MAX_UNCOUNTED_BYTES)?;
    Ok((headers, [(header::CONTENT_TYPE, ENTRY)], place.hold(body)).into_response())
}

pub(crate) async fn replace(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let (id, name) = (id(&call)?, collection.name.clone());
    submissions::check_is_entry(&call.headers)?;
    let stored = found(&hub, &call, &collection, &id).await?;
    let settings = settings(&collection)?;
    let conditions = Conditions::of(&call.headers, hub.endpoint.environment().now());
    let limit = hub.config.limits.body_bytes;
    let (_permit, bytes) = submissions::read(&hub, &call, body, limit).await?;
    let revision = Revision::read(&hub, &call, &name, &settings, &id, bytes).await?;
    let claim = revision.claim.clone();
    if settings.preconditions && !conditions.name_a_version() && claim.is_none() {
        return Err(required(&preconditions::tag(&call.base, &stored)));
    }
    let change =
        MemberChange::Replace(Box::new(move |stored: &StoredItem, now| revision.of(stored, now)));
    let guard = conditions.clone().guard(claim.clone(), settings.keep_stale_edits);
    match call.growing_endpoint(&hub).await?.edit_member(&name, &id, guard, change).await? {
        MemberEdit::Done(member) | MemberEdit::Unchanged(member) => {
            Ok(whole(StatusCode::OK, &call, &member))
        }
        MemberEdit::Beside(member) => Ok(whole(StatusCode::OK, &call, &member)),
        MemberEdit::Stale(member) => {
            let unknown = conditions.judge(&member.stored, claim.as_ref()) == BaseStatus::Unknown;
            if unknown && claim.is_some() && conditions.is_empty() {
                return Err(Problem::conflict(
                    "the sx:sync of the entry names a version that this hub does not have; to \
                     merge the entry, send it in a feed",
                ));
            }
            Err(stale(&call.base, &member.stored))
        }
        MemberEdit::Refused(other) => Err(other.into()),
        MemberEdit::Gone => Err(gone()),
        MemberEdit::Missing => Err(Problem::no_item(&id)),
    }
}

pub(crate) async fn delete(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let (id, name) = (id(&call)?, collection.name.clone());
    let settings = settings(&collection)?;
    let conditions = Conditions::of(&call.headers, hub.endpoint.environment().now());
    if settings.preconditions && !conditions.name_a_version() {
        let stored = found(&hub, &call, &collection, &id).await?;
        return Err(required(&preconditions::tag(&call.base, &stored)));
    }
    let guard = conditions.guard(None, false);
    match call.endpoint(&hub).edit_member::<()>(&name, &id, guard, MemberChange::Delete).await? {
        MemberEdit::Stale(member) => Err(stale(&call.base, &member.stored)),
        MemberEdit::Gone => Err(gone()),
        MemberEdit::Missing => Err(Problem::no_item(&id)),
        _ => Ok((StatusCode::NO_CONTENT, nothing()).into_response()),
    }
}

/// `GET /collections/{c}/items/{id}/as/{name}`: a readable address that redirects to the member.
pub(crate) async fn named(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let id = id(&call)?;
    found(&hub, &call, &collection, &id).await?;
    let mut headers = HeaderMap::new();
    insert(&mut headers, header::LOCATION, &member::address(&call.base, &collection.name, &id));
    Ok((StatusCode::SEE_OTHER, headers, nothing()).into_response())
}

/// Response with the complete member, its address and its tag (AP24 to AP27).
pub(crate) fn whole(status: StatusCode, call: &Call, member: &Member) -> Response {
    let Member { collection, stored } = member;
    let mut headers = headers(call, &collection.name, stored);
    let address = member::address(&call.base, &collection.name, &stored.item.id);
    insert(&mut headers, header::CONTENT_LOCATION, &address);
    if status == StatusCode::CREATED {
        insert(&mut headers, header::LOCATION, &address);
    }
    let body = document(call, &collection.name, stored);
    (status, headers, [(header::CONTENT_TYPE, ENTRY)], body).into_response()
}

/// The id that the path names.
pub(crate) fn id(call: &Call) -> Result<ItemId, Problem> {
    ItemId::new(call.segment("id"))
        .map_err(|error| Problem::not_found(format!("not the address of an item: {error}")))
}

/// A live item that the principal may see.
pub(crate) async fn found(
    hub: &Hub,
    call: &Call,
    collection: &Collection,
    id: &ItemId,
) -> Result<StoredItem, Problem> {
    let found = hub.endpoint.find_item(&collection.name, id).await?;
    let audience = Audience::of(&call.principal, collection)?;
    let stored =
        found.and_then(|stored| audience.sees(stored)).ok_or_else(|| Problem::no_item(id))?;
    if stored.item.winner.deleted { Err(gone()) } else { Ok(stored) }
}

/// Author of an entry that names none: the sending user, else this hub.
pub(crate) async fn author(hub: &Hub, call: &Call) -> Result<String, Problem> {
    match call.principal.user() {
        Some(user) => Ok(user.to_string()),
        None => Ok(hub.name().await?.to_string()),
    }
}

/// Problem 410: a stored tombstone shows that the item existed (AP43).
pub(crate) fn gone() -> Problem {
    Problem::new(StatusCode::GONE, "gone", "Deleted", "the item was deleted")
}

fn document(call: &Call, collection: &CollectionName, stored: &StoredItem) -> Vec<u8> {
    entry_document(&member::shown(&call.base, collection, stored)).into_bytes()
}

fn headers(call: &Call, collection: &CollectionName, stored: &StoredItem) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, preconditions::tag(&call.base, stored).value());
    Caching::OnePerson.set_headers(&mut headers, &["Accept-Encoding"]);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
    let address = member::address(&call.base, collection, &stored.item.id);
    append_link(&mut headers, &address, "edit");
    if !stored.item.conflicts.is_empty() {
        append_link(&mut headers, &format!("{address}/conflicts"), CONFLICTS_RELATION);
    }
    headers
}
