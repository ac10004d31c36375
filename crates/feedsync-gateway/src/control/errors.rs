//! `/errors`, `/subscriptions/{id}/errors`, `/errors/{id}` and the parts of an error (BITSY 2.2.2, 2.2.3).
//!
//! A refused edit has four sides: `mine` is the edit, and `base` is the version that it was made on. `theirs` is
//! the version that the server has now, and `answer` is the server's response to the edit.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::view::VisibleError;
use feedsync_http::Problem;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::Value;

use super::answer::{self, absent, failed, refused};
use super::caller::Caller;
use super::subscriptions::named;
use super::{Control, json, view};

/// `GET /errors`.
pub(crate) async fn list(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Response {
    answer::json(&views(&control.errors(&caller, |_| true).await))
}

/// `GET /subscriptions/{id}/errors`.
pub(crate) async fn of_subscription(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = named(&id)?;
    control.require_visible(&caller, id).await?;
    let id = id.0.to_string();
    let found = control.errors(&caller, |_| true).await;
    let of: Vec<VisibleError> = found.into_iter().filter(|(_, ids)| ids.contains(&id)).collect();
    Ok(answer::json(&views(&of)))
}

/// `GET /errors/{id}`, with its entities.
pub(crate) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (error, ids) = control.error(&caller, &id).await?;
    let view = view::error(&error, &ids);
    let interceptor_handle = &*control.0.interceptor_handle;
    let view = view::with_entities(interceptor_handle, &error.interaction, view).await;
    let mut view = view.map_err(|error| failed(&error))?;
    view["theirs"] = match control.current(&error).await? {
        None => Value::Null,
        Some(current) => {
            let told = view::current(interceptor_handle, &current).await;
            told.map_err(|error| failed(&error))?
        }
    };
    Ok(answer::json(&view))
}

/// `DELETE /errors/{id}` (`clear`).
pub(crate) async fn clear(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = control.error(&caller, &id).await?.0.id;
    control.change(Box::new(move |it, _| it.clear(id))).await.map_err(refused)?;
    Ok(answer::nothing())
}

/// `POST /errors/{id}/retry`: repeats the edit on the current version of its server.
pub(crate) async fn retry(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = control.error(&caller, &id).await?.0.id;
    control.retry(id).await?;
    Ok(answer::nothing())
}

/// `GET /errors/{id}/{side}`: bytes of one side.
pub(crate) async fn side(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path((id, side)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (error, _) = control.error(&caller, &id).await?;
    let interaction = &error.interaction;
    let current = match &*side {
        "theirs" => control.current(&error).await?.map(|current| current.representation),
        _ => None,
    };
    let (content, headers) = match &*side {
        "mine" => (interaction.request_body, &interaction.request_headers),
        "base" => (error.previous, &interaction.request_headers),
        "theirs" => match &current {
            Some(current) => (Some(current.content), &current.headers),
            None => (None, &interaction.response_headers),
        },
        "answer" => (interaction.response_body, &interaction.response_headers),
        _ => return Err(absent("side of an error: use mine, base, theirs or answer")),
    };
    let content = content.ok_or_else(|| Problem::not_found(format!("{side} has no content")))?;
    let body =
        control.0.interceptor_handle.stream(content).await.map_err(|error| failed(&error))?;
    Ok(inert(body, headers))
}

/// Response with bytes from other servers, which a browser downloads and does not render.
fn inert(body: Body, headers: &HeaderMap) -> Response {
    let kind = headers.get(header::CONTENT_TYPE).cloned();
    let fixed: [(HeaderName, &str); 2] =
        [(header::CACHE_CONTROL, "no-store"), (header::CONTENT_DISPOSITION, "attachment")];
    let mut answer = body.into_response();
    let own = answer.headers_mut();
    let unknown = HeaderValue::from_static("application/octet-stream");
    own.insert(header::CONTENT_TYPE, kind.unwrap_or(unknown));
    for (name, value) in fixed {
        own.insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn views(found: &[VisibleError]) -> Value {
    found.iter().map(|(error, ids)| view::error(error, ids)).collect()
}

impl Control {
    /// Returns the errors that a caller may see and that `pick` selects.
    pub(crate) async fn errors(
        &self,
        caller: &Caller,
        pick: impl Fn(ErrorId) -> bool,
    ) -> Vec<VisibleError> {
        self.see(caller, |state, visibility, _| {
            feedsync_bitsy::view::errors(state, visibility, pick)
        })
        .await
    }

    /// Returns an error, or 404 if the caller may not see it.
    pub(crate) async fn error(&self, caller: &Caller, id: &str) -> Result<VisibleError, Problem> {
        let id = json::number(id).ok_or_else(|| absent("error"))?;
        let found = self.errors(caller, |other| other.0 == id).await;
        found.into_iter().next().ok_or_else(|| absent("error"))
    }

    /// Repeats a refused edit.
    pub(crate) async fn retry(&self, id: ErrorId) -> Result<(), Problem> {
        self.0.interceptor_handle.retry(id).await.map_err(refused)?;
        self.0.changed.send_modify(|count| *count += 1);
        Ok(())
    }
}
