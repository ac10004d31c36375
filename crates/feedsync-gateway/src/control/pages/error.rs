//! `/pages/errors/{id}`: one error, with the edit, its base and the current version at the server side by side.

use std::time::{Duration, Instant};

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use feedsync_bitsy::event::headers_text;
use feedsync_bitsy::interceptor::Content;
use feedsync_http::Problem;
use feedsync_http::pages::{Piece, Side, sides};
use http::{HeaderMap, StatusCode};

use super::super::Control;
use super::super::answer::failed;
use super::super::caller::Caller;
use super::super::current::Current;
use super::super::view::is_edit;
use super::errors::settle;
use super::form::Form;
use super::{Frame, Moment, person, shown};

/// Maximum number of displayed bytes of a side.
const MAX_SHOWN_BYTES: u64 = 64 << 10;

/// Time limit for the comparison of words.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    id: u64,
    status: String,
    method: String,
    location: String,
    feed: String,
    time: Moment,
    is_edit: bool,
    panes: Vec<Pane>,
    request_headers: String,
    response_headers: String,
    /// Body of the response, if it is text.
    answer: Option<String>,
}

/// One of mine, base and theirs.
struct Pane {
    name: &'static str,
    heading: &'static str,
    mark: &'static str,
    text: Side,
    /// Reason why there is no text.
    instead: String,
    /// Remark below the text.
    note: String,
    /// Whether there are bytes to download.
    has_bytes: bool,
}

/// `GET /pages/errors/{id}`.
pub(super) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let frame = Frame::of(person(&caller)?, "", String::new());
    let (error, _) = control.error(&caller, &id).await?;
    let interaction = &error.interaction;
    let current = control.current(&error).await?;
    let theirs = current.as_ref().map(|current| current.representation.content);
    let mut read = Vec::new();
    for content in [interaction.request_body, error.previous, theirs] {
        read.push(text(&control, content).await?);
    }
    let note = note(current.as_ref());
    let answer = text(&control, interaction.response_body).await?.text;
    let panes = tokio::task::spawn_blocking(move || panes(&read, note));
    let panes = panes.await.map_err(|_| Problem::unavailable("the page could not be created"))?;
    let page = ErrorPage {
        frame,
        id: error.id.0,
        status: interaction.status.to_string(),
        method: interaction.method.clone(),
        location: interaction.location.to_string(),
        feed: error.feed.to_string(),
        time: Moment::of(interaction.time),
        is_edit: is_edit(&error),
        panes,
        request_headers: headers_text(&interaction.request_headers),
        response_headers: headers_text(&interaction.response_headers),
        answer,
    };
    shown(StatusCode::OK, &page)
}

/// `POST /pages/errors/{id}`.
pub(super) async fn act(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(person(&caller)?, &headers, body).await?;
    settle(&control, &caller, &id, form.text("action")).await
}

/// Contents of a side: its text, or a message instead.
struct Read {
    text: Option<String>,
    instead: String,
    has_bytes: bool,
}

async fn text(control: &Control, content: Option<Content>) -> Result<Read, Problem> {
    let Some(content) = content.filter(|content| content.length > 0) else {
        return Ok(Read { text: None, instead: "nothing".to_owned(), has_bytes: false });
    };
    let instead = format!("{} bytes", content.length);
    if content.length > MAX_SHOWN_BYTES {
        return Ok(Read { text: None, instead, has_bytes: true });
    }
    let bytes =
        control.0.interceptor_handle.content(content).await.map_err(|error| failed(&error))?;
    Ok(Read { text: String::from_utf8(bytes).ok(), instead, has_bytes: true })
}

/// Remark on the age of the server's version.
fn note(current: Option<&Current>) -> String {
    match current {
        None => "The version on the server is not known.".to_owned(),
        Some(Current { is_new: true, .. }) => "Fetched from the server just now.".to_owned(),
        Some(Current { representation, .. }) => {
            let time = Moment::of(representation.fetched);
            format!("Version of {}: the server has not responded since.", time.human())
        }
    }
}

/// Builds the three panes. The words that only one of mine and theirs has are marked.
fn panes(read: &[Read], note: String) -> Vec<Pane> {
    let plain = |text: &Option<String>| -> Side {
        text.iter().map(|text| Piece { marked: false, text: text.clone() }).collect()
    };
    let [mine, base, theirs] = read else { return Vec::new() };
    let (left, right) = match (&mine.text, &theirs.text) {
        (Some(mine), Some(theirs)) => sides(mine, theirs, Instant::now() + DIFF_TIMEOUT),
        _ => (plain(&mine.text), plain(&theirs.text)),
    };
    let pane = |name, heading, mark, read: &Read, text| Pane {
        name,
        heading,
        mark,
        text,
        instead: read.instead.clone(),
        note: String::new(),
        has_bytes: read.has_bytes,
    };
    let current = pane("theirs", "Theirs: the current version on the server", "del", theirs, right);
    vec![
        pane("mine", "Mine: the version that was sent", "ins", mine, left),
        pane("base", "Base: the version that was edited", "ins", base, plain(&base.text)),
        Pane { note, ..current },
    ]
}
