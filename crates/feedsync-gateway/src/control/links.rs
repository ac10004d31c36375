//! `POST /links`: creates a link that admits one browser, once.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use feedsync_http::Problem;
use http::StatusCode;
use serde_json::json;

use super::Control;
use super::admission::Host;
use super::answer::{self, operators_only};
use super::caller::Caller;

/// Path of the link.
pub(crate) const OPEN: &str = "/pages/open";

pub(crate) async fn create(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Extension(Host(host)): Extension<Host>,
) -> Result<Response, Problem> {
    if !matches!(caller, Caller::Program) {
        return Err(operators_only());
    }
    let url = format!("http://{host}{OPEN}?ticket={}", control.link().as_str());
    Ok(answer::with_status(StatusCode::CREATED, &json!({ "url": url })))
}
