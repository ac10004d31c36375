//! `GET /collections`: the collections that the caller may read, for programs (AP12).

use axum::extract::State;
use axum::response::Response;
use feedsync_store::Collection;
use serde_json::json;

use crate::access::call::Call;
use crate::http::address::{PublicBase, View};
use crate::http::catalogue::Catalogue;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// `[{"name","title","format","items","changes"}]`.
pub(crate) async fn list(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let (kind, begin) = ("application/json", "[".to_owned());
    Catalogue { kind, begin, entry, separator: ",", end: "]\n" }.answer(hub, call).await
}

fn entry(base: &PublicBase, collection: &Collection) -> Result<String, Problem> {
    let told = json!({
        "name": collection.name.as_str(),
        "title": collection.title,
        "format": collection.format.name(),
        "items": collection.live,
        "changes": base.url(&View::Changes.path(&collection.name, None)),
    });
    Ok(told.to_string())
}
