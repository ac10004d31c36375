//! `GET /limits`: the bounds of this hub, for who meets one; and the bounds of what people and
//! collections hold.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_couch::DatabaseName;
use feedsync_store::{CollectionName, GrantsOf, Role, StoreError, Usage, UserId, UserName};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use crate::access::Principal;
use crate::config::Limits;
use crate::hub::Hub;
use crate::problem::Problem;

/// `{"NAME": {"value", "doc"}}`, of every setting of `[limits]`.
pub(crate) async fn read(State(hub): State<Hub>) -> Response {
    let limits: Map<String, Value> = Limits::settings()
        .into_iter()
        .map(|setting| {
            let name = setting.name.rsplit('.').next().unwrap_or_default().to_owned();
            // Numbers and texts of TOML are those of JSON.
            let shown = (setting.show)(&hub.config);
            let value = serde_json::from_str(&shown).unwrap_or(Value::String(shown));
            (name, serde_json::json!({ "value": value, "doc": setting.doc }))
        })
        .collect();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, format!("{}\n", Value::Object(limits))).into_response()
}

/// Refuses one more collection of who owns as many as a person may. Whoever asks through several nodes
/// at once may come to one more for each.
pub(crate) async fn collections(hub: &Hub, principal: &Principal) -> Result<(), Problem> {
    let most = hub.config.limits.owned_collections;
    let Some(user) = bounded(principal).filter(|_| most > 0) else { return Ok(()) };
    let grants = hub.endpoint.store().grants(GrantsOf::User(user)).await?;
    let owned = grants.iter().filter(|grant| grant.role == Role::Owner).count();
    if owned < most {
        return Ok(());
    }
    let detail = format!("{user} owns {owned} collections and may own {most}; none was made");
    Err(quota("owned_collections", detail))
}

/// Refuses one more database of a person who has made as many as one may. Requests through several nodes at once may
/// make one more for each.
pub(crate) async fn databases(hub: &Hub, principal: &Principal) -> Result<(), Problem> {
    let most = hub.config.limits.owned_databases as u64;
    let Some(reader) = bounded(principal).and(principal.reader()).filter(|_| most > 0) else {
        return Ok(());
    };
    let Usage { databases, .. } = hub.endpoint.store().usage(&reader.id).await?;
    if databases < most {
        return Ok(());
    }
    let user = reader.name;
    let detail = format!("{user} has {databases} databases and may have {most}; none was made");
    Err(quota("owned_databases", detail))
}

/// Refuses so many more documents and bytes in a database, if who is charged with it has no room for them.
pub(crate) async fn documents(
    hub: &Hub,
    database: &DatabaseName,
    documents: u64,
    bytes: u64,
) -> Result<(), Problem> {
    let most = hub.config.limits.owned_documents as u64;
    let charged = match hub.endpoint.databases().charged(database).await {
        // It was dropped meanwhile, which the write itself reports.
        Err(StoreError::NoDatabase(_)) => return Ok(()),
        charged => charged?,
    };
    let owners = match (charged, CollectionName::new(database.as_str())) {
        (Some(owner), _) => vec![owner],
        (None, Ok(collection)) => owners(hub, &collection).await?,
        (None, Err(_)) => Vec::new(),
    };
    for owner in owners {
        let usage = hub.endpoint.store().usage(&owner).await?;
        let after = usage.documents + documents;
        if most > 0 && (after > most && documents > 0 || usage.documents > most) {
            let detail = format!(
                "the owner of {database} has {} documents and may have {most}; nothing was written",
                usage.documents
            );
            return Err(quota("owned_documents", detail));
        }
        room(hub, &usage, bytes, &format!("the owner of {database}"))?;
    }
    Ok(())
}

/// Refuses so many more bytes of a log, if an owner of its collection has no room for them.
pub(crate) async fn log(hub: &Hub, name: &CollectionName, bytes: u64) -> Result<(), Problem> {
    for owner in owners(hub, name).await? {
        let usage = hub.endpoint.store().usage(&owner).await?;
        room(hub, &usage, bytes, &format!("the owner of {name}"))?;
    }
    Ok(())
}

/// Number of bytes that the items of a collection may grow by. `None` if nobody is charged with it.
pub(crate) async fn growth(hub: &Hub, name: &CollectionName) -> Result<Option<u64>, Problem> {
    let most = hub.config.limits.owned_bytes as u64;
    let mut least = None;
    for owner in owners(hub, name).await? {
        let left = most.saturating_sub(hub.endpoint.store().usage(&owner).await?.bytes());
        least = Some(least.unwrap_or(left).min(left));
    }
    Ok(least)
}

/// The users who are charged with a collection: its owners, except administrators.
async fn owners(hub: &Hub, name: &CollectionName) -> Result<Vec<UserId>, Problem> {
    let store = hub.endpoint.store();
    let grants = match store.grants(GrantsOf::Collection(name)).await {
        // It is made by this request.
        Err(StoreError::NoCollection(_)) => return Ok(Vec::new()),
        grants => grants?,
    };
    let mut owners = Vec::new();
    for grant in grants.iter().filter(|grant| grant.role == Role::Owner) {
        let owner = store.user(&grant.user).await?.filter(|owner| !owner.administrator);
        owners.extend(owner.map(|owner| owner.id));
    }
    Ok(owners)
}

fn room(hub: &Hub, usage: &Usage, bytes: u64, owner: &str) -> Result<(), Problem> {
    let most = hub.config.limits.owned_bytes as u64;
    let held = usage.bytes();
    match held.saturating_add(bytes) <= most {
        true => Ok(()),
        false => {
            let detail =
                format!("{owner} holds {held} bytes and may hold {most}; nothing was written");
            Err(quota("owned_bytes", detail))
        }
    }
}

/// The person whose use is bounded: who administers is not.
pub(crate) fn bounded(principal: &Principal) -> Option<&UserName> {
    principal.user().filter(|_| !principal.administers())
}

/// Something would become more than a limit of this name allows.
pub(crate) fn quota(limit: &str, detail: String) -> Problem {
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "quota", "More than is allowed", detail)
        .with("limit", limit)
}
