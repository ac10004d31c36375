//! `/pages/errors`: errors that were not cleared yet.

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode, Uri};

use super::super::Control;
use super::super::answer::refused;
use super::super::caller::Caller;
use super::super::view::is_edit;
use super::form::Form;
use super::{Frame, Moment, person, see_other, shown};

#[derive(Template)]
#[template(path = "errors.html")]
struct ErrorsPage {
    frame: Frame,
    rows: Vec<Row>,
}

struct Row {
    id: u64,
    status: String,
    method: String,
    location: String,
    feed: String,
    time: Moment,
    is_edit: bool,
}

/// `GET /pages/errors`.
pub(super) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, Problem> {
    let said = match uri.query() {
        Some("cleared") => {
            "The error was cleared. A paused subscription continues after you resume it."
        }
        Some("retried") => "The edit is applied again to the current version on the server.",
        _ => "",
    };
    let frame = Frame::of(person(&caller)?, said, String::new());
    let errors = control.errors(&caller, |_| true).await;
    let row = |(error, _): &feedsync_bitsy::view::VisibleError| Row {
        id: error.id.0,
        status: error.interaction.status.to_string(),
        method: error.interaction.method.clone(),
        location: error.interaction.location.to_string(),
        feed: error.feed.to_string(),
        time: Moment::of(error.interaction.time),
        is_edit: is_edit(error),
    };
    shown(StatusCode::OK, &ErrorsPage { frame, rows: errors.iter().map(row).collect() })
}

/// `POST /pages/errors`.
pub(super) async fn act(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(person(&caller)?, &headers, body).await?;
    settle(&control, &caller, form.text("id"), form.text("action")).await
}

/// Clears an error, or repeats its edit.
pub(super) async fn settle(
    control: &Control,
    caller: &Caller,
    id: &str,
    action: &str,
) -> Result<Response, Problem> {
    let id = control.error(caller, id).await?.0.id;
    match action {
        "clear" => {
            control.change(Box::new(move |it, _| it.clear(id))).await.map_err(refused)?;
            Ok(see_other("/pages/errors?cleared"))
        }
        "retry" => {
            control.retry(id).await?;
            Ok(see_other("/pages/errors?retried"))
        }
        _ => Err(Problem::bad_request("the form has no such action")),
    }
}
