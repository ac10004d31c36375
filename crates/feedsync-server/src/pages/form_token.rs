//! Binding of a form to the browser that its page was sent to; other browsers cannot submit it (AP64).
//!
//! Each form contains a digest of the browser's credentials, which no other site can read or guess: the
//! session token, or the `Authorization` header. A client that has not signed in gets a random cookie for
//! this with its first form. There are two more protections: the cookies are not sent from other sites,
//! and a foreign `Origin` is refused.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use feedsync_store::Digest;
use http::{HeaderValue, StatusCode, header};

use crate::access::Principal;
use crate::access::browser::Browser;
use crate::access::call::Call;
use crate::http::address::PublicBase;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Middleware that gives the handlers of pages the identity of the browser, and sets the cookie that they
/// created.
pub(crate) async fn with_browser(
    State(hub): State<Hub>,
    mut request: Request,
    next: Next,
) -> Response {
    let base = request.extensions().get::<PublicBase>().or(hub.config.public_base.as_ref());
    let secure = base.is_some_and(PublicBase::is_secure);
    let browser = Browser::of(request.headers(), secure);
    request.extensions_mut().insert(browser.clone());
    let mut response = next.run(request).await;
    browser.set_cookie(&mut response, secure);
    response
}

/// Form token for the forms of a response.
pub(super) fn token(hub: &Hub, call: &Call) -> String {
    let digest = |what: &str, secret: &[u8]| {
        let text = [b"feedsync form ", what.as_bytes(), b" ", secret].concat();
        Digest::of(&text).to_string()
    };
    let given = call.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    match (&call.principal, given, call.session()) {
        (Principal::Person(_), Some(given), _) => digest("authorization", given),
        (Principal::Person(_), None, Some(secret)) => digest("session", secret.as_str().as_bytes()),
        _ => digest("browser", call.browser.secret(&**hub.endpoint.environment()).as_bytes()),
    }
}

/// Whether a form token is the right one. Digests are compared, so that the time of the comparison
/// reveals nothing.
pub(super) fn is_genuine(hub: &Hub, call: &Call, given: &str) -> bool {
    Digest::of(given.as_bytes()) == Digest::of(token(hub, call).as_bytes())
}

/// Message about a form with a wrong token.
pub(super) const STALE: &str = "You signed in or out since the form was loaded, or your browser \
does not store cookies. Nothing was changed: check the form and send it again.";

/// Refusal of a form that was not issued to this browser.
pub(super) fn refused() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "foreign-form", "Outdated form", STALE)
}
