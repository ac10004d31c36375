//! `/pages/outbox`: the pending edits, in the order of their arrival.

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_bitsy::interceptor::{EditStatus, Entity};
use feedsync_bitsy::outbox::Edit;
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode, Uri};

use super::super::Control;
use super::super::caller::Caller;
use super::super::view;
use super::form::Form;
use super::{Frame, Moment, person, see_other, shown};

#[derive(Template)]
#[template(path = "outbox.html")]
struct OutboxPage {
    frame: Frame,
    rows: Vec<Row>,
}

struct Row {
    id: u64,
    method: &'static str,
    location: String,
    feed: String,
    bytes: Option<u64>,
    tries: u32,
    why: String,
    since: Option<Moment>,
    until: Option<Moment>,
    error: Option<u64>,
}

/// `GET /pages/outbox`.
pub(super) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, Problem> {
    let said = match uri.query() {
        Some("dropped") => "The edit was discarded, together with later edits that depend on it.",
        Some("tried") => "The edit is being sent.",
        _ => "",
    };
    let frame = Frame::of(person(&caller)?, said, String::new());
    let rows = control.edits(&caller).await.iter().map(row).collect();
    shown(StatusCode::OK, &OutboxPage { frame, rows })
}

/// `POST /pages/outbox`.
pub(super) async fn act(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(person(&caller)?, &headers, body).await?;
    match form.text("action") {
        "drop" => {
            control.discard(&caller, form.text("id")).await?;
            Ok(see_other("/pages/outbox?dropped"))
        }
        "retry" => {
            control.retry_now(&caller, form.text("id")).await?;
            Ok(see_other("/pages/outbox?tried"))
        }
        _ => Err(Problem::bad_request("the form has no such action")),
    }
}

fn row((edit, standing): &(Edit<Entity>, EditStatus)) -> Row {
    let requested = &edit.requested;
    Row {
        id: edit.id.0,
        method: view::method(requested.method),
        location: requested.location.to_string(),
        feed: requested.feed.to_string(),
        bytes: requested.body.as_ref().map(|entity| entity.content.length),
        tries: edit.tries,
        why: view::why(&standing.why),
        since: standing.since.map(Moment::of),
        until: standing.until.map(Moment::of),
        error: standing.error.map(|error| error.0),
    }
}
