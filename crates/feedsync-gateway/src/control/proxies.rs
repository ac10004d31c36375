//! `GET /proxies`: the styles of proxies that are emulated (`supportedProxies`, 2.3).

use axum::response::Response;
use feedsync_bitsy::proxy::Style;
use serde_json::json;

use super::answer;

/// Names of the emulated styles.
pub(crate) fn styles() -> Vec<&'static str> {
    Style::ALL.into_iter().map(Style::name).collect()
}

pub(crate) async fn read() -> Response {
    answer::json(&json!(styles()))
}
