//! `GET /limits`: the limits of this hub, for clients that reach one.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use serde_json::{Map, Value};

use crate::config::Limits;
use crate::hub::Hub;

/// `{"NAME": {"value", "doc"}}`, for every setting of `[limits]`.
pub(crate) async fn read(State(hub): State<Hub>) -> Response {
    let limits: Map<String, Value> = Limits::settings()
        .into_iter()
        .map(|setting| {
            let name = setting.name.rsplit('.').next().unwrap_or_default().to_owned();
            // Numbers and texts have the same syntax in TOML and JSON.
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
