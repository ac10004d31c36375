//! Building blocks of HTML pages, so that the pages of all listeners look and behave alike.

mod differences;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};

use crate::browser_policy;

pub use differences::{Piece, Side, sides};

/// The style sheet.
pub const STYLE: &str = include_str!("../web/style.css");

/// The script. Where a page names an event stream in `data-follow`, parts with `data-live` are
/// refreshed on each event.
pub const SCRIPT: &str = include_str!("../web/script.js");

/// Media type of pages.
pub const MEDIA_TYPE: &str = "text/html; charset=utf-8";

/// Content security policy of pages: only content of this server is loaded.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

/// Response with a status and markup.
pub fn markup(status: StatusCode, text: String) -> Response {
    let mut response = (status, text).into_response();
    set_page_headers(&mut response);
    response
}

/// Adds the headers of pages, and marks the response so that it gets their policy.
pub fn set_page_headers(response: &mut Response) {
    browser_policy::mark_page(response, POLICY);
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, MEDIA_TYPE),
        (header::CACHE_CONTROL, "private, no-cache"),
        // Forms need their Origin; other sites learn nothing.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
}
