//! Error pages for requests to pages, and the redirect to the sign-in page for browsers that need
//! it.

use askama::Template;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use feedsync_http::ProblemDescription;
use feedsync_http::pages::markup;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::http::media_types::essence;
use crate::http::paths;
use crate::hub::Hub;
use crate::pages::answer::{rendered, see_other};
use crate::pages::assets::STYLE;
use crate::pages::return_target::ReturnTarget;

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    root: String,
    style: &'static str,
    status: u16,
    title: &'static str,
    detail: String,
    /// Address of the sign-in page, if signing in would help and no input would be lost.
    login: Option<String>,
}

/// Converts problems of pages into error pages; their status and other headers stay.
pub(crate) async fn shown(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    if !paths::is_for_pages(request.uri().path()) {
        return next.run(request).await;
    }
    let asks = request.method().is_safe();
    let place = ReturnTarget::here(request.uri());
    let browses = is_browser(request.headers());
    let response = next.run(request).await;
    let Some(ProblemDescription { title, detail }) = response.extensions().get().cloned() else {
        return response;
    };
    let root = hub.config.public_base.as_ref().map_or(String::new(), |base| base.path().to_owned());
    let status = response.status();
    let login = place.login(&root);
    let unknown = status == StatusCode::UNAUTHORIZED;
    if unknown && asks && browses {
        return redirect_to_login(&login);
    }
    let login = unknown.then_some(login);
    let page =
        FailurePage { root, style: &STYLE.name, status: status.as_u16(), title, detail, login };
    let text = match rendered(&page) {
        Ok(text) => text,
        Err(problem) => return problem.into_response(),
    };
    let mut shown = markup(status, text);
    let own = shown.headers().clone();
    for (name, value) in response.headers() {
        if !own.contains_key(name) && name != header::CONTENT_LENGTH {
            shown.headers_mut().append(name, value.clone());
        }
    }
    shown
}

/// Redirects to the sign-in page. Caches learn that other clients get other responses.
fn redirect_to_login(login: &str) -> Response {
    let mut answer = see_other(login).unwrap_or_else(IntoResponse::into_response);
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Authorization, Cookie"));
    answer
}

/// Whether the client is a browser without other credentials: it names HTML, which programs that
/// accept any type do not.
fn is_browser(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = accepts.flat_map(|text| text.split(','));
    let html = ranges.any(|range| essence(range).eq_ignore_ascii_case("text/html"));
    html && !headers.contains_key(header::AUTHORIZATION)
}
