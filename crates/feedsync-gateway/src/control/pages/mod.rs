//! Pages for people: subscriptions, the outbox, and errors with the possible actions.
//!
//! They look like those of the hub and support keyboard use. They work without their script, which only updates
//! the displayed state. A link admits a browser ([`super::links`]); forms post to their own page and are answered
//! with 303. Contents from outside are always shown as text.

mod assets;
mod entry;
mod error;
mod errors;
mod form;
mod home;
mod outbox;

use askama::Template;
use axum::Router;
use axum::body::to_bytes;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use feedsync_http::{Problem, pages};
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use super::Control;
use super::caller::Caller;
use super::sessions::Session;
use assets::{SCRIPT, STYLE};

/// Common parts of each page.
pub(crate) struct Frame {
    style: &'static str,
    script: &'static str,
    /// Proof that each form contains.
    form: String,
    /// Message about a completed action.
    said: &'static str,
    /// Message about a failed action.
    fault: String,
}

#[derive(Template)]
#[template(path = "refused.html")]
struct Refused {
    style: &'static str,
    status: u16,
    is_unknown: bool,
    detail: String,
}

/// Routes of the pages.
pub(crate) fn routes() -> Router<Control> {
    Router::new()
        .route("/", get(home::read).post(home::act))
        .route("/pages/outbox", get(outbox::read).post(outbox::act))
        .route("/pages/errors", get(errors::read).post(errors::act))
        .route("/pages/errors/{id}", get(error::read).post(error::act))
        .route("/pages/open", get(entry::open))
        .route("/pages/close", post(entry::close))
        .route("/pages/assets/{name}", get(assets::read))
}

/// Whether a path belongs to a page.
pub(crate) fn are_at(path: &str) -> bool {
    path == "/" || path.starts_with("/pages/")
}

/// Whether a page is available to every request whose Host is ours: the entry link, and the static files.
pub(crate) fn is_open(path: &str) -> bool {
    path == "/pages/open" || path.starts_with("/pages/assets/")
}

/// Page that shows why a request was not admitted.
pub(crate) fn refused(problem: Problem) -> Response {
    let status = problem.into_response().status();
    let detail = match status {
        StatusCode::UNAUTHORIZED => {
            "This browser has no access to the gateway, or no longer has it."
        }
        _ => "The browser did not confirm that the request comes from a page of this gateway.",
    };
    said(status, detail.to_owned())
}

/// Converts a problem response to a page.
pub(crate) async fn problem_page(answer: Response) -> Response {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "application/problem+json") {
        return answer;
    }
    let status = answer.status();
    let bytes = to_bytes(answer.into_body(), 64 << 10).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    said(status, problem["detail"].as_str().unwrap_or_default().to_owned())
}

fn said(status: StatusCode, detail: String) -> Response {
    let is_unknown = status == StatusCode::UNAUTHORIZED;
    let page = Refused { style: &STYLE.name, status: status.as_u16(), is_unknown, detail };
    shown(status, &page).unwrap_or_else(|problem| problem.into_response())
}

/// Renders a page.
fn shown(status: StatusCode, page: &impl Template) -> Result<Response, Problem> {
    let text = page.render().map_err(|error| {
        tracing::error!(%error, "cannot render a page");
        Problem::unavailable("the page could not be created; the log of the gateway has the reason")
    })?;
    Ok(pages::markup(status, text))
}

/// Redirects a browser after its form was processed (303).
fn see_other(path: &str) -> Response {
    let place = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    let fixed =
        [(header::LOCATION, place), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, fixed).into_response()
}

/// Returns the session of a person; programs and applications get an error.
fn person(caller: &Caller) -> Result<&Session, Problem> {
    match caller {
        Caller::Person(session) => Ok(session),
        Caller::Program | Caller::Page(_) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "for-people",
            "Browser required",
            "pages are available only to a browser that was given access with the link that \
             `feedsync gateway open` prints",
        )),
    }
}

impl Frame {
    fn of(session: &Session, said: &'static str, fault: String) -> Self {
        let form = session.proof().as_str().to_owned();
        Self { style: &STYLE.name, script: &SCRIPT.name, form, said, fault }
    }
}

/// A time, formatted for programs and for people.
struct Moment(String);

impl Moment {
    fn of(time: feedsync_bitsy::time::Time) -> Self {
        Self(time.date_time())
    }

    fn human(&self) -> String {
        self.0.replacen('T', " ", 1).replacen('Z', " UTC", 1)
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
