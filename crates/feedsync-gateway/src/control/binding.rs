//! `/bitsy.js`, `/bitsy.webidl`, `/bitsy.d.ts`: the binding for pages (appendix C). Every request whose Host is
//! ours gets them: they contain no secrets, and a page still needs admission for everything else.

use axum::Extension;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, HeaderValue, header};
use serde_json::json;

use super::admission::Host;
use super::proxies::styles;

const SCRIPT: &str = include_str!("../../bitsy/bitsy.js");
const WEB_IDL: &str = include_str!("../../bitsy/bitsy.webidl");
const TYPES: &str = include_str!("../../bitsy/bitsy.d.ts");

/// Whether a path names one of these files.
pub(crate) fn is_at(path: &str) -> bool {
    matches!(path, "/bitsy.js" | "/bitsy.webidl" | "/bitsy.d.ts")
}

/// `GET /bitsy.js`: the script, with the address of this port under the requested host name. It also contains the
/// proxy styles that are emulated, which pages query before anything else.
pub(crate) async fn script(Extension(Host(host)): Extension<Host>) -> Response {
    let control = json!(format!("http://{host}")).to_string();
    let text = SCRIPT.replacen("/*control*/ null", &control, 1).replacen(
        "/*proxies*/ []",
        &json!(styles()).to_string(),
        1,
    );
    shared("text/javascript; charset=utf-8", text)
}

/// `GET /bitsy.webidl`.
pub(crate) async fn web_idl() -> Response {
    shared("text/plain; charset=utf-8", WEB_IDL.to_owned())
}

/// `GET /bitsy.d.ts`.
pub(crate) async fn types() -> Response {
    shared("text/plain; charset=utf-8", TYPES.to_owned())
}

fn shared(kind: &'static str, text: String) -> Response {
    let fixed: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    let mut answer = text.into_response();
    for (name, value) in fixed {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}
