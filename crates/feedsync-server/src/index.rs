//! `GET /collections`: what is here that the caller may read, for programs (AP12).

use axum::extract::State;
use axum::response::Response;
use feedsync_store::Collection;
use serde_json::{Value, json};

use crate::access::may_read;
use crate::address::View;
use crate::caching::Caching;
use crate::call::Call;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::whole::conditional;

/// `[{"name","title","format","items","changes"}]`.
pub(crate) async fn list(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let entry = |collection: &Collection| {
        json!({
            "name": collection.name.as_str(),
            "title": collection.title,
            "format": collection.format.name(),
            "items": collection.live,
            "changes": call.base.url(&View::Changes.path(&collection.name, None)),
        })
    };
    let list: Value = readable(&hub, &call).await?.iter().map(entry).collect();
    let text = format!("{list}\n");
    conditional(&hub, &call, "application/json", Caching::OnePerson, text).await
}

/// The collections that the caller may read.
pub(crate) async fn readable(hub: &Hub, call: &Call) -> Result<Vec<Collection>, Problem> {
    let mut readable = Vec::new();
    for collection in hub.endpoint.store().collections().await? {
        if may_read(&call.principal, &collection)? {
            readable.push(collection);
        }
    }
    Ok(readable)
}
