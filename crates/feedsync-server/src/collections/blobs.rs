//! `GET|PUT /blobs/{sha256}`: attachments, stored once by the digest of their content.
//!
//! An upload names its collection, and its content must have the digest in the address. Once users exist,
//! an upload needs the right to edit that collection. A blob can be read through an item that names it,
//! by readers of that collection; a draft's blob only by its editors. Until an item names it, only
//! administrators can read an upload. Editors of the named collection learn whether a blob is stored. A
//! `HEAD` request for a stored blob reserves it for a day, in which the client sends the item that names
//! it; `GET` changes nothing. Blobs are untrusted: they are never served as a type that a browser would
//! run (AP57).

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_core::ItemId;
use feedsync_store::{CollectionName, Digest, Role};
use http::{HeaderValue, Method, StatusCode, header};

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::access::{self, Principal, Right};
use crate::http::media_types::is_form;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::upload::Upload;
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

pub(crate) async fn read(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
) -> Result<Response, Problem> {
    let digest = digest(&call)?;
    let named = collection(&hub, &call, Right::Read).await?;
    check_reader(&hub, &call, &method, digest, named.as_ref()).await?;
    let endpoint = &hub.endpoint;
    if method == Method::HEAD && !endpoint.missing_blobs(&[digest]).await?.is_empty() {
        return Err(none(digest));
    }
    let permit = hub.response_budget.permit().await?;
    let bytes = endpoint.blob(digest).await?.ok_or_else(|| none(digest))?;
    let tag = EntityTag::named(digest.to_string());
    let headers = |tag| {
        let cached = HeaderValue::from_static("private, max-age=31536000, immutable");
        [
            (header::ETAG, tag),
            (header::CACHE_CONTROL, cached),
            (header::ACCEPT_RANGES, HeaderValue::from_static("none")),
        ]
    };
    match tag.evaluate(&call.headers) {
        Condition::Proceed => {}
        Condition::Failed => return Err(failed(&tag)),
        Condition::NotModified(held) => {
            return Ok((StatusCode::NOT_MODIFIED, headers(held), nothing()).into_response());
        }
    }
    let harmless = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
    ];
    let place = permit.end(bytes.len() > MAX_UNCOUNTED_BYTES)?;
    Ok((headers(tag.value()), harmless, place.hold(bytes)).into_response())
}

pub(crate) async fn write(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let digest = digest(&call)?;
    if collection(&hub, &call, Right::Edit).await?.is_none() {
        let detail = "an upload must name its collection: add ?collection=NAME to the address";
        return Err(Problem::parameter("collection", detail));
    }
    refuse_forms(&call)?;
    let upload = Upload::receive(&hub, &call, body).await?;
    let found = upload.digest();
    if found != digest {
        return Err(Problem::bad_request(format!(
            "the body has the SHA-256 digest {found}, but the address names {digest}; nothing was \
             stored"
        )));
    }
    let known = hub.endpoint.missing_blobs(&[digest]).await?.is_empty();
    upload.store(&hub).await?;
    let status = if known { StatusCode::NO_CONTENT } else { StatusCode::CREATED };
    Ok((status, nothing()).into_response())
}

fn none(digest: Digest) -> Problem {
    Problem::not_found(format!("there is no blob {digest}"))
}

fn digest(call: &Call) -> Result<Digest, Problem> {
    call.segment("sha256")
        .parse()
        .map_err(|error| Problem::not_found(format!("not the address of a blob: {error}")))
}

/// Checks that the caller may read a collection with an item that names the blob. Other callers do not
/// learn whether the blob is stored.
async fn check_reader(
    hub: &Hub,
    call: &Call,
    method: &Method,
    digest: Digest,
    named: Option<&CollectionName>,
) -> Result<(), Problem> {
    let principal = &call.principal;
    let role = named.and_then(|name| principal.role(name));
    let sends = method == Method::HEAD && role >= Some(Role::Editor);
    if principal.administers() || sends {
        return Ok(());
    }
    let mut refused = None;
    for (name, id) in hub.endpoint.blob_named_by(digest).await? {
        // Items of one collection are adjacent.
        if refused.as_ref() == Some(&name) {
            continue;
        }
        if access::require(&hub.endpoint, principal, Right::Read, Some(&name)).await.is_err() {
            refused = Some(name);
        } else if is_seen(hub, principal, &name, &id, digest).await? {
            return Ok(());
        }
    }
    Err(match principal {
        Principal::Anonymous => Problem::sign_in(),
        _ => none(digest),
    })
}

/// Whether a reader of a collection sees an item's reference to a blob: not in a draft (AP60).
async fn is_seen(
    hub: &Hub,
    principal: &Principal,
    name: &CollectionName,
    id: &ItemId,
    digest: Digest,
) -> Result<bool, Problem> {
    let audience = Audience::of(principal, &hub.endpoint.collection(name).await?)?;
    if audience == Audience::All {
        return Ok(true);
    }
    let digest = digest.to_string();
    let seen = hub.endpoint.find_item(name, id).await?.and_then(|stored| audience.sees(stored));
    let mut versions = seen.iter().flat_map(|stored| stored.item.versions());
    Ok(versions.any(|version| version.payload.text().contains(&digest)))
}

/// The existing collection that the request names, if it names one.
async fn collection(
    hub: &Hub,
    call: &Call,
    right: Right,
) -> Result<Option<CollectionName>, Problem> {
    let Some(text) = call.query.text("collection") else { return Ok(None) };
    let name = CollectionName::new(text)
        .map_err(|error| Problem::parameter("collection", error.to_string()))?;
    access::require(&hub.endpoint, &call.principal, right, Some(&name)).await?;
    hub.endpoint.collection(&name).await?;
    Ok(Some(name))
}

/// Refuses a request that a form on another site's page could send (AP64).
fn refuse_forms(call: &Call) -> Result<(), Problem> {
    let value = call.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if is_form(value.unwrap_or_default()) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            "send a blob as application/octet-stream or with its own media type, not as a form",
        ));
    }
    Ok(())
}
