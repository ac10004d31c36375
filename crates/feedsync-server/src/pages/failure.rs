//! What went wrong, as a page where a page was asked for.

use askama::Template;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header;

use crate::hub::Hub;
use crate::pages::answer::{headers, rendered};
use crate::pages::assets::STYLE;
use crate::problem::Described;

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    root: String,
    style: &'static str,
    status: u16,
    title: &'static str,
    detail: String,
}

/// Turns the problems of pages into pages; their status and other headers stay.
pub(crate) async fn shown(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let for_people = path == "/" || path == "/pages" || path.starts_with("/pages/");
    let response = next.run(request).await;
    let Some(Described { title, detail }) = response.extensions().get().cloned() else {
        return response;
    };
    if !for_people {
        return response;
    }
    let root = hub.config.public_base.as_ref().map_or(String::new(), |base| base.path().to_owned());
    let status = response.status();
    let page = FailurePage { root, style: &STYLE.name, status: status.as_u16(), title, detail };
    let text = match rendered(&page) {
        Ok(text) => text,
        Err(problem) => return problem.into_response(),
    };
    let mut shown = (status, headers(), text).into_response();
    let own = shown.headers().clone();
    for (name, value) in response.headers() {
        if !own.contains_key(name) && name != header::CONTENT_LENGTH {
            shown.headers_mut().append(name, value.clone());
        }
    }
    shown
}
