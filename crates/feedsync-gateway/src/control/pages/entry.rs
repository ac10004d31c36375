//! `/pages/open` and `/pages/close`: start and end of a browser session.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

use super::super::Control;
use super::super::caller::Caller;
use super::form::Form;
use super::{person, refused, see_other};

#[derive(Deserialize)]
pub(super) struct Ticket {
    #[serde(default)]
    ticket: String,
}

/// `GET /pages/open?ticket=...`: exchanges the ticket of a link for a session, once.
pub(super) async fn open(State(control): State<Control>, Query(ticket): Query<Ticket>) -> Response {
    let Some(cookie) = control.0.sessions.open(&ticket.ticket) else {
        return refused(Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "Sign-in required",
            "the link was already used or has expired",
        ));
    };
    let mut answer = see_other("/");
    answer.headers_mut().append(header::SET_COOKIE, cookie);
    answer
}

/// `POST /pages/close`: ends the session.
pub(super) async fn close(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let session = person(&caller)?;
    Form::read(session, &headers, body).await?;
    let mut answer = refused(Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "Sign-in required",
        "closed",
    ));
    answer.headers_mut().append(header::SET_COOKIE, control.0.sessions.end(session));
    Ok(answer.into_response())
}
