//! `GET /limits`: the bounds of this hub, for who meets one; and the bounds of what people and
//! collections hold.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_store::{GrantsOf, Role, UserName};
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

/// The person whose use is bounded: who administers is not.
pub(crate) fn bounded(principal: &Principal) -> Option<&UserName> {
    principal.user().filter(|_| !principal.administers())
}

/// Something would become more than a limit of this name allows.
pub(crate) fn quota(limit: &str, detail: String) -> Problem {
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "quota", "More than is allowed", detail)
        .with("limit", limit)
}
