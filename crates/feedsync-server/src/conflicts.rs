//! `GET|POST /collections/{c}/items/{id}/conflicts`: the versions of an item side by side, and the
//! decision about them (FeedSync 3.4).
//!
//! The answer names each version by its place, `"winner"` or a number, shows it as an entry, and gives the
//! `base` of a decision: `{"base", "resolve": [n] | "all", "keep": "winner" | n | {"content": ENTRY}}`.
//! Content is held to what replaces a member by PUT ([`crate::revision`]). A decision on versions that
//! are no longer those is refused with 412, since its places would mean others.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync::{Format, Item, Keep, Payload, Resolution, Resolved, Version};
use feedsync_endpoint::Member;
use feedsync_formats::project;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::answers::SMALL;
use crate::audience::Audience;
use crate::caching::Caching;
use crate::call::Call;
use crate::document::nothing;
use crate::hub::Hub;
use crate::members::{id, none, whole};
use crate::preconditions::{settings, tag_of_all};
use crate::problem::Problem;
use crate::revision::Revision;
use crate::submissions;
use crate::validators::failed;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let id = id(&call)?;
    let stored = hub.endpoint.item(&collection.name, &id).await?;
    let audience = Audience::of(&call.principal, &collection)?;
    let stored = audience.sees(stored).ok_or_else(|| none(&id))?;
    let item = &stored.item;
    let turn = hub.answers.turn().await?;
    let conflicts = item.conflicts.iter().enumerate();
    let versions: Vec<_> = std::iter::once(shown(item, &item.winner, Value::from("winner")))
        .chain(conflicts.map(|(place, version)| shown(item, version, Value::from(place))))
        .collect();
    let tag = tag_of_all(item);
    let answer = json!({ "id": item.id.as_str(), "base": tag.text(), "versions": versions });
    let body = answer.to_string().into_bytes();
    let place = turn.end(body.len() > SMALL)?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ETAG, tag.value());
    Caching::of(&settings(&collection)?).tell(&mut headers, &["Accept-Encoding"]);
    Ok((headers, place.hold(body)).into_response())
}

/// A version at its place.
fn shown(item: &Item<Payload>, version: &Version<Payload>, place: Value) -> Value {
    let dot = version.dot();
    json!({
        "version": place,
        "deleted": version.deleted,
        "updates": version.updates.get(),
        "when": dot.when().map(|when| when.to_string()),
        "by": dot.by().map(|by| by.as_str()),
        "entry": &*project(&item.id, version, Format::Atom).text,
    })
}

pub(crate) async fn resolve(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let settings = settings(&collection)?;
    let (name, id) = (collection.name, id(&call)?);
    let limit = hub.config.limits.body_bytes;
    let (_turn, decision) = submissions::json(&hub, &call, body, limit).await?;
    let stored = hub.endpoint.item(&name, &id).await?;
    let tag = tag_of_all(&stored.item);
    if decision["base"] != tag.text() {
        return Err(failed(&tag));
    }
    let resolved = resolved(&decision["resolve"])?;
    let keep = match decision["keep"]["content"].as_str() {
        Some(content) => {
            let bytes = content.as_bytes().to_vec();
            let revision = Revision::read(&hub, &call, &name, &settings, &id, bytes).await?;
            match revision.of(&stored, hub.endpoint.environment().now())? {
                Some(payload) => Keep::Content { payload, deleted: Some(false) },
                None => Keep::Winner,
            }
        }
        None => keep(&decision["keep"])?,
    };
    let resolution = Resolution { resolved, keep };
    call.growing_endpoint(&hub).await?.resolve(&name, &stored.item, resolution).await?;
    let stored = hub.endpoint.item(&name, &id).await?;
    if stored.item.winner.deleted {
        return Ok((StatusCode::NO_CONTENT, nothing()).into_response());
    }
    let collection = hub.endpoint.collection(&name).await?;
    Ok(whole(StatusCode::OK, &call, &Member { collection, stored }))
}

fn resolved(value: &Value) -> Result<Resolved, Problem> {
    if value == "all" {
        return Ok(Resolved::All);
    }
    let places = value.as_array().and_then(|list| list.iter().map(place).collect());
    places.map(Resolved::Some).ok_or_else(|| {
        Problem::bad_request("\"resolve\" is \"all\" or a list of numbers of conflicts")
    })
}

/// Which of the versions that there are is kept.
fn keep(value: &Value) -> Result<Keep<Payload>, Problem> {
    if value == "winner" {
        return Ok(Keep::Winner);
    }
    place(value).map(Keep::Conflict).ok_or_else(|| {
        let detail = "\"keep\" is \"winner\", the number of a conflict or {\"content\": ENTRY}";
        Problem::bad_request(detail)
    })
}

fn place(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|place| usize::try_from(place).ok())
}
