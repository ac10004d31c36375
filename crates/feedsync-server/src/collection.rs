//! Collections as resources: `PUT /collections/{c}` creates or changes one, `DELETE` removes it with all
//! that it holds, `GET /collections/{c}/settings` tells what it is set to.
//!
//! A description is an object of JSON: `title`, `format` (of new items), and every setting by its name.
//! It is whole: what is absent takes its default. The tag of `settings` is that of the description, and
//! what `If-Match` and `If-None-Match` of a `PUT` or `DELETE` speak of.
//!
//! Whoever may read a collection may read what it is set to: the service document tells readers what it
//! accepts (RFC 5023 8.3), its feed until when its window holds (FeedSync 2.2, 4.2), the rest how it
//! treats what they do. A setting that readers must not know would need a right of its own.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync::Format;
use feedsync_endpoint::{Endpoint, EndpointError, Settings};
use feedsync_store::{
    Alteration, Collection, CollectionChange, CollectionName, NewCollection, StoreError,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use crate::address::View;
use crate::caching::Caching;
use crate::call::Call;
use crate::hub::Hub;
use crate::limits;
use crate::preconditions;
use crate::problem::Problem;
use crate::submissions;
use crate::validators::{Condition, failed};
use crate::whole::{conditional, tag};

const JSON: &str = "application/json";

/// The most bytes of a description.
const MOST: usize = 256 << 10;

/// The most bytes of a title.
const MOST_TITLE: usize = 1_024;

pub(crate) async fn settings(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let caching = Caching::of(&preconditions::settings(&collection)?);
    conditional(&hub, &call, JSON, caching, described(&collection)?).await
}

pub(crate) async fn write(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let name = named(&call)?;
    let description = read(&hub, &call, body).await?.meant(&name)?;
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
    let name = named(&call)?;
    let headers = call.headers.clone();
    let drop = move |found: &Collection| {
        check(&headers, Some(found))?;
        Ok::<_, Problem>(Alteration::Drop)
    };
    call.endpoint(&hub).alter_collection(&name, drop).await??;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The name in the path, which has no suffix: a collection is of no one format.
pub(crate) fn named(call: &Call) -> Result<CollectionName, Problem> {
    CollectionName::new(call.segment("collection"))
        .map_err(|error| Problem::not_found(error.to_string()))
}

/// What is asked of a collection.
#[derive(Clone)]
struct Description {
    title: String,
    format: Format,
    settings: Settings,
}

/// Changes a collection, or makes it. Whoever was quicker, on this node or another, is seen: the right
/// is asked for again in each round, and what is changed is the collection that it was asked for.
async fn put(
    hub: &Hub,
    call: &Call,
    name: CollectionName,
    description: Description,
) -> Result<(StatusCode, Collection), Problem> {
    let endpoint = call.endpoint(hub);
    loop {
        let found = endpoint.store().collection(&name).await?;
        call.recheck(hub).await?;
        let Some(found) = found else {
            check(&call.headers, None)?;
            match create(hub, call, name.clone(), description.clone()).await? {
                Some(created) => return Ok((StatusCode::CREATED, created)),
                None => continue,
            }
        };
        match change(&endpoint, &found, call.headers.clone(), description.clone()).await {
            // Somebody removed it since, and perhaps made another one.
            Err(EndpointError::Store(StoreError::NoCollection(_))) | Ok(Err(Refused::Another)) => {}
            Ok(Err(Refused::Because(problem))) => return Err(problem),
            Ok(Ok(changed)) => return Ok((StatusCode::OK, changed)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes a collection as it is when nothing is said of it, unless somebody made it since.
pub(crate) async fn make(hub: &Hub, call: &Call, name: &CollectionName) -> Result<(), Problem> {
    let description = Described(Map::new()).meant(name)?;
    create(hub, call, name.clone(), description).await.map(drop)
}

/// Makes a collection for who asks; `None` if somebody made it since.
async fn create(
    hub: &Hub,
    call: &Call,
    name: CollectionName,
    description: Description,
) -> Result<Option<Collection>, Problem> {
    // Within this node nobody makes another one between counting and making.
    let _turn = hub.collections.lock().await;
    limits::collections(hub, &call.principal).await?;
    let Description { title, format, settings } = description;
    let mut stored = Default::default();
    settings.write(&mut stored);
    let new = NewCollection { name, title, format, settings: stored };
    let created = match call.endpoint(hub).create_collection(new).await {
        Err(EndpointError::Store(StoreError::CollectionExists(_))) => return Ok(None),
        created => created,
    };
    // Who made it owns it at once.
    hub.access.forget();
    Ok(Some(created?))
}

/// Why a collection is not changed.
enum Refused {
    /// It is another one of that name.
    Another,
    Because(Problem),
}

/// Changes the collection that was found, and no other one that has its name by now.
async fn change(
    endpoint: &Endpoint,
    found: &Collection,
    headers: HeaderMap,
    description: Description,
) -> Result<Result<Collection, Refused>, EndpointError> {
    let epoch = found.epoch;
    let change = move |current: &Collection| {
        if current.epoch != epoch {
            return Err(Refused::Another);
        }
        check(&headers, Some(current)).map_err(Refused::Because)?;
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

/// Checks what the request says that the collection is now; one that is not there has no tag.
fn check(headers: &HeaderMap, found: Option<&Collection>) -> Result<(), Problem> {
    match found {
        Some(found) => {
            let tag = tag(&described(found)?);
            match tag.weigh(headers) {
                Condition::Proceed => Ok(()),
                Condition::NotModified(_) | Condition::Failed => Err(failed(&tag)),
            }
        }
        None if headers.contains_key(header::IF_MATCH) => Err(Problem::new(
            StatusCode::PRECONDITION_FAILED,
            "precondition-failed",
            "Not the state you expect",
            "If-Match names a state, and there is no such collection",
        )),
        None => Ok(()),
    }
}

/// The description of a collection as it is.
fn described(collection: &Collection) -> Result<String, Problem> {
    let settings = preconditions::settings(collection)?;
    let mut members = Map::new();
    members.insert("name".to_owned(), collection.name.as_str().into());
    members.insert("title".to_owned(), collection.title.as_str().into());
    members.insert("format".to_owned(), collection.format.name().into());
    members.append(&mut settings.members());
    Ok(format!("{}\n", Value::Object(members)))
}

/// A description as it came.
struct Described(Map<String, Value>);

async fn read(hub: &Hub, call: &Call, body: Body) -> Result<Described, Problem> {
    let (_turn, value) = submissions::json(hub, call, body, MOST).await?;
    match value {
        Value::Object(members) => Ok(Described(members)),
        _ => Err(Problem::bad_request("the description is not an object of JSON")),
    }
}

impl Described {
    /// What it asks for, or the first member that cannot be (422).
    fn meant(mut self, name: &CollectionName) -> Result<Description, Problem> {
        for (member, value) in &self.0 {
            // Markup has lines, and is checked as a document.
            if member != "markup" && holds_what_no_document_can(value) {
                return Err(refused(member, "it has a character that XML cannot hold"));
            }
        }
        if self.text("name")?.is_some_and(|given| given != name.as_str()) {
            return Err(refused("name", "it is not the name in the address"));
        }
        let title = self.text("title")?.unwrap_or_else(|| name.to_string());
        if title.len() > MOST_TITLE {
            return Err(refused("title", &format!("it has more than {MOST_TITLE} bytes")));
        }
        let format = match self.text("format")? {
            Some(text) => text.parse().map_err(|_| {
                let formats = Format::ALL.map(Format::name).join(", ");
                refused("format", &format!("{text:?} is not a format: {formats}"))
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

    /// Takes out a member that is a text.
    fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(refused(name, "a text is expected")),
        }
    }
}

fn refused(member: &str, detail: &str) -> Problem {
    let pointer = format!("/{}", member.replace('~', "~0").replace('/', "~1"));
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "bad-description",
        "The collection cannot be so",
        detail,
    )
    .with("pointer", pointer)
}

/// Whether a text in it could not be written into a feed (AF1).
fn holds_what_no_document_can(value: &Value) -> bool {
    let cannot =
        |character: char| matches!(character, '\0'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}');
    match value {
        Value::String(text) => text.contains(cannot),
        Value::Array(values) => values.iter().any(holds_what_no_document_can),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(cannot) || holds_what_no_document_can(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
