//! Collections as resources: `PUT /collections/{c}` creates or changes one, `DELETE` removes it with its
//! content, and `GET /collections/{c}/settings` returns its settings.
//!
//! A description is a JSON object with `title`, `format` (of new items), and every setting by its name.
//! It is complete: an absent setting takes its default. The entity tag of `settings` is that of the
//! description, and `If-Match` and `If-None-Match` of a `PUT` or `DELETE` refer to it.
//!
//! Every reader of a collection may read its settings. The service document lists what it accepts (RFC
//! 5023 8.3), and its feed shows how long its window holds (FeedSync 2.2, 4.2). The other settings
//! explain how it treats readers' requests. A setting that readers must not see would need a right of
//! its own.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_core::Format;
use feedsync_endpoint::{Endpoint, EndpointError, Settings};
use feedsync_store::{
    Alteration, Collection, CollectionChange, CollectionName, NewCollection, StoreError,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use crate::access;
use crate::access::call::Call;
use crate::access::creation;
use crate::http::address::View;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::submissions;
use crate::http::text_response::{conditional, tag};
use crate::http::validators::{Condition, failed};
use crate::hub::Hub;

const JSON: &str = "application/json";

/// Maximum size of a description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 256 << 10;

/// Maximum size of a title, in bytes.
const MAX_TITLE_BYTES: usize = 1_024;

pub(crate) async fn settings(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let caching = Caching::of(&access::settings(&collection)?);
    conditional(&hub, &call, JSON, caching, described(&collection)?).await
}

pub(crate) async fn write(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let name = call.bare_collection_name()?;
    let description = read(&hub, &call, body).await?.validated(&name)?;
    let (status, collection) = put(&hub, &call, name, description).await?;
    let text = described(&collection)?;
    let place = call.base.url(&View::Listing.path(&collection.name, None));
    let mut headers = HeaderMap::new();
    let mut insert = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    insert(header::CONTENT_TYPE, JSON);
    insert(header::CACHE_CONTROL, "no-store");
    insert(header::CONTENT_LOCATION, &format!("{place}/settings"));
    if status == StatusCode::CREATED {
        insert(header::LOCATION, &place);
    }
    headers.insert(header::ETAG, tag(&text).value());
    Ok((status, headers, text).into_response())
}

pub(crate) async fn remove(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let name = call.bare_collection_name()?;
    let headers = call.headers.clone();
    let drop = move |found: &Collection| {
        check(&headers, Some(found))?;
        Ok::<_, Problem>(Alteration::Drop)
    };
    call.endpoint(&hub).alter_collection(&name, drop).await??;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Requested properties of a collection.
#[derive(Clone)]
struct Description {
    title: String,
    format: Format,
    settings: Settings,
}

impl Description {
    fn new_collection(self, name: CollectionName) -> NewCollection {
        let Self { title, format, settings } = self;
        let mut stored = Default::default();
        settings.write(&mut stored);
        NewCollection { name, title, format, settings: stored }
    }
}

/// Changes or creates a collection. Concurrent changes on this node or another are detected: each
/// attempt checks the right again, and changes only the collection that was checked.
async fn put(
    hub: &Hub,
    call: &Call,
    name: CollectionName,
    description: Description,
) -> Result<(StatusCode, Collection), Problem> {
    let endpoint = call.endpoint(hub);
    loop {
        let found = endpoint.find_collection(&name).await?;
        call.recheck(hub).await?;
        let Some(found) = found else {
            check(&call.headers, None)?;
            match creation::create(hub, call, description.clone().new_collection(name.clone()))
                .await?
            {
                Some(created) => return Ok((StatusCode::CREATED, created)),
                None => continue,
            }
        };
        match change(&endpoint, &found, call.headers.clone(), description.clone()).await {
            // Another request removed it, and perhaps created another of that name.
            Err(EndpointError::Store(StoreError::NoCollection(_)))
            | Ok(Err(ChangeError::Replaced)) => {}
            Ok(Err(ChangeError::Problem(problem))) => return Err(problem),
            Ok(Ok(changed)) => return Ok((StatusCode::OK, changed)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reason for not changing a collection.
enum ChangeError {
    /// The collection of that name is a different one by now.
    Replaced,
    Problem(Problem),
}

/// Changes the collection that was read, and not a later one of the same name.
async fn change(
    endpoint: &Endpoint,
    found: &Collection,
    headers: HeaderMap,
    description: Description,
) -> Result<Result<Collection, ChangeError>, EndpointError> {
    let epoch = found.epoch;
    let change = move |current: &Collection| {
        if current.epoch != epoch {
            return Err(ChangeError::Replaced);
        }
        check(&headers, Some(current)).map_err(ChangeError::Problem)?;
        let Description { title, format, settings } = description;
        let mut stored = current.settings.clone();
        settings.write(&mut stored);
        Ok(Alteration::Change(CollectionChange {
            name: None,
            title: Some(title),
            format: Some(format),
            settings: Some(stored),
        }))
    };
    endpoint.alter_collection(&found.name, change).await
}

/// Checks the preconditions of the request against the collection. A collection that does not exist has
/// no tag.
fn check(headers: &HeaderMap, found: Option<&Collection>) -> Result<(), Problem> {
    match found {
        Some(found) => {
            let tag = tag(&described(found)?);
            match tag.evaluate(headers) {
                Condition::Proceed => Ok(()),
                Condition::NotModified(_) | Condition::Failed => Err(failed(&tag)),
            }
        }
        None if headers.contains_key(header::IF_MATCH) => Err(Problem::new(
            StatusCode::PRECONDITION_FAILED,
            "precondition-failed",
            "Precondition failed",
            "If-Match requires an existing collection, but there is no collection of this name",
        )),
        None => Ok(()),
    }
}

/// Current description of a collection.
fn described(collection: &Collection) -> Result<String, Problem> {
    let settings = access::settings(collection)?;
    let mut members = Map::new();
    members.insert("name".to_owned(), collection.name.as_str().into());
    members.insert("title".to_owned(), collection.title.as_str().into());
    members.insert("format".to_owned(), collection.format.name().into());
    members.append(&mut settings.members());
    Ok(format!("{}\n", Value::Object(members)))
}

/// A description as received.
struct RawDescription(Map<String, Value>);

async fn read(hub: &Hub, call: &Call, body: Body) -> Result<RawDescription, Problem> {
    let (_turn, value) = submissions::json(hub, call, body, MAX_DESCRIPTION_BYTES).await?;
    match value {
        Value::Object(members) => Ok(RawDescription(members)),
        _ => Err(Problem::bad_request("the description must be a JSON object")),
    }
}

impl RawDescription {
    /// Returns the requested properties, or an error for the first invalid member (422).
    fn validated(mut self, name: &CollectionName) -> Result<Description, Problem> {
        for (member, value) in &self.0 {
            // Markup has lines, and is checked as a document.
            if member != "markup" && has_unrepresentable_text(value) {
                return Err(refused(member, "contains a character that XML does not allow"));
            }
        }
        if self.text("name")?.is_some_and(|given| given != name.as_str()) {
            return Err(refused("name", "differs from the name in the address"));
        }
        let title = self.text("title")?.unwrap_or_else(|| name.to_string());
        if title.len() > MAX_TITLE_BYTES {
            return Err(refused("title", &format!("has more than {MAX_TITLE_BYTES} bytes")));
        }
        let format = match self.text("format")? {
            Some(text) => text.parse().map_err(|_| {
                let formats = Format::ALL.map(Format::name).join(", ");
                refused("format", &format!("unknown format {text:?}: use {formats}"))
            })?,
            None => Format::Atom,
        };
        let mut settings = Settings::default();
        for (setting, value) in &self.0 {
            settings
                .set(setting, &value.to_string())
                .map_err(|error| refused(setting, &error.to_string()))?;
        }
        Ok(Description { title, format, settings })
    }

    /// Removes and returns a text member.
    fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(refused(name, "must be a string")),
        }
    }
}

fn refused(member: &str, detail: &str) -> Problem {
    let pointer = format!("/{}", member.replace('~', "~0").replace('/', "~1"));
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-description", "Invalid collection", detail)
        .with("pointer", pointer)
}

/// Whether it contains a text that cannot be written into a feed (AF1).
fn has_unrepresentable_text(value: &Value) -> bool {
    let cannot =
        |character: char| matches!(character, '\0'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}');
    match value {
        Value::String(text) => text.contains(cannot),
        Value::Array(values) => values.iter().any(has_unrepresentable_text),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(cannot) || has_unrepresentable_text(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
