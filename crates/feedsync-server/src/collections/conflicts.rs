//! `GET|POST /collections/{c}/items/{id}/conflicts`: the versions of an item side by side, and the
//! resolution of its conflicts (FeedSync 3.4).
//!
//! The response names each version: `"winner"`, or the number of a conflict, counted from 1 as
//! everywhere ([`Item::ranked_conflicts`]). It shows each as an entry, with the `base` of a resolution:
//! `{"base", "resolve": [n] | "all", "keep": "winner" | n | {"content": ENTRY}}`. New content must
//! satisfy the rules for replacing a member by PUT ([`crate::collections::revision`]). If the versions have changed
//! since, the resolution is refused with 412, because its numbers would mean other versions.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_core::{Format, Item, Keep, Payload, Resolution, Resolved, Version};
use feedsync_endpoint::Member;
use feedsync_formats::project;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::access::settings;
use crate::collections::members::{id, whole};
use crate::collections::preconditions::tag_of_all;
use crate::collections::revision::Revision;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::submissions;
use crate::http::validators::failed;
use crate::hub::Hub;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let id = id(&call)?;
    let stored = hub.endpoint.item(&collection.name, &id).await?;
    let audience = Audience::of(&call.principal, &collection)?;
    let stored = audience.sees(stored).ok_or_else(|| Problem::no_item(&id))?;
    let item = &stored.item;
    let permit = hub.response_budget.permit().await?;
    let conflicts = item.ranked_conflicts().into_iter().zip(1_u64..);
    let versions: Vec<_> = std::iter::once(shown(item, &item.winner, Value::from("winner")))
        .chain(conflicts.map(|((_, version), number)| shown(item, version, Value::from(number))))
        .collect();
    let tag = tag_of_all(item);
    let answer = json!({ "id": item.id.as_str(), "base": tag.text(), "versions": versions });
    let body = answer.to_string().into_bytes();
    let place = permit.end(body.len() > MAX_UNCOUNTED_BYTES)?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ETAG, tag.value());
    Caching::of(&settings(&collection)?).set_headers(&mut headers, &["Accept-Encoding"]);
    Ok((headers, place.hold(body)).into_response())
}

/// Shows a version under its name.
fn shown(item: &Item<Payload>, version: &Version<Payload>, name: Value) -> Value {
    let dot = version.dot();
    json!({
        "version": name,
        "deleted": version.deleted,
        "updates": version.updates.get(),
        "when": dot.when().map(|when| when.to_string()),
        "by": dot.by().map(|by| by.as_str()),
        "entry": project(&item.id, version, Format::Atom).text(),
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
    let (_permit, decision) = submissions::json(&hub, &call, body, limit).await?;
    let stored = hub.endpoint.item(&name, &id).await?;
    let tag = tag_of_all(&stored.item);
    if decision["base"] != tag.text() {
        return Err(failed(&tag));
    }
    let resolved = resolved(&stored.item, &decision["resolve"])?;
    let keep = match decision["keep"]["content"].as_str() {
        Some(content) => {
            let bytes = content.as_bytes().to_vec();
            let revision = Revision::read(&hub, &call, &name, &settings, &id, bytes).await?;
            match revision.of(&stored, hub.endpoint.environment().now())? {
                Some(payload) => Keep::Content { payload, deleted: Some(false) },
                None => Keep::Winner,
            }
        }
        None => keep(&stored.item, &decision["keep"])?,
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

fn resolved(item: &Item<Payload>, value: &Value) -> Result<Resolved, Problem> {
    if value == "all" {
        return Ok(Resolved::All);
    }
    let numbers: Option<Vec<u64>> =
        value.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
    let numbers = numbers.ok_or_else(|| {
        Problem::bad_request("\"resolve\" must be \"all\" or a list of conflict numbers")
    })?;
    let places = numbers.into_iter().map(|number| place(item, number));
    Ok(Resolved::Some(places.collect::<Result<_, _>>()?))
}

/// Version that the resolution keeps.
fn keep(item: &Item<Payload>, value: &Value) -> Result<Keep<Payload>, Problem> {
    if value == "winner" {
        return Ok(Keep::Winner);
    }
    let number = value.as_u64().ok_or_else(|| {
        let detail = "\"keep\" must be \"winner\", a conflict number or {\"content\": ENTRY}";
        Problem::bad_request(detail)
    })?;
    place(item, number).map(Keep::Conflict)
}

/// Index in the item of the conflict with this number.
fn place(item: &Item<Payload>, number: u64) -> Result<usize, Problem> {
    let index = number.checked_sub(1).and_then(|index| usize::try_from(index).ok());
    let ranked = item.ranked_conflicts();
    let found = index.and_then(|index| ranked.get(index)).map(|(place, _)| *place);
    found.ok_or_else(|| {
        let detail =
            format!("there is no conflict {number}: they are numbered 1 to {}", ranked.len());
        Problem::new(StatusCode::CONFLICT, "no-conflict", "No such conflict", detail)
    })
}
