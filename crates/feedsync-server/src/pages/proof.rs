//! What binds a form to the browser that a page was sent to: without it a form is not carried out (AP64).
//!
//! Each form carries a digest of what its browser signs in with, which no other site can read or guess:
//! the session's token, or what stands in `Authorization`. Who has not signed in gets a random cookie
//! for that, with the first page that has a form. It stands beside two other walls: the cookies are
//! not sent from other sites, and a foreign `Origin` is refused.

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use feedsync_store::{Digest, Environment};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::{Principal, session};
use crate::address::PublicBase;
use crate::call::Call;
use crate::hub::Hub;
use crate::problem::Problem;

/// The cookie of who has not signed in.
const COOKIE: session::Cookie = session::Cookie::new("feedsync-form", "__Host-feedsync-form");

/// Seconds that it is kept.
const KEPT: u64 = 30 * 24 * 60 * 60;

/// The browser that a page is made for.
#[derive(Clone, Default)]
pub(crate) struct Browser(Arc<Known>);

#[derive(Default)]
struct Known {
    sent: Option<String>,
    /// What the answer gives it.
    made: OnceLock<String>,
}

/// Tells the handlers of pages what the browser is known by, and the browser what they gave it.
pub(crate) async fn carried(State(hub): State<Hub>, mut request: Request, next: Next) -> Response {
    let base = request.extensions().get::<PublicBase>().or(hub.config.public_base.as_ref());
    let secure = base.is_some_and(PublicBase::is_secure);
    let browser = Browser::of(request.headers(), secure);
    request.extensions_mut().insert(browser.clone());
    let mut response = next.run(request).await;
    if let Some(made) = browser.0.made.get() {
        response.headers_mut().append(header::SET_COOKIE, COOKIE.set(made, KEPT, secure));
    }
    response
}

impl Browser {
    fn of(headers: &HeaderMap, secure: bool) -> Self {
        let sent = COOKIE
            .read(headers, secure)
            .filter(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        Self(Arc::new(Known { sent, made: OnceLock::new() }))
    }

    fn secret(&self, environment: &dyn Environment) -> &str {
        let random = || (0..4).map(|_| format!("{:016x}", environment.random())).collect();
        self.0.sent.as_deref().unwrap_or_else(|| self.0.made.get_or_init(random))
    }
}

/// What the forms of an answer carry, and what has to come back with them.
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

/// Whether what came back is what was sent; the time that it takes tells nothing.
pub(super) fn is_genuine(hub: &Hub, call: &Call, given: &str) -> bool {
    Digest::of(given.as_bytes()) == Digest::of(token(hub, call).as_bytes())
}

/// A word about a form that does not carry it.
pub(super) const STALE: &str = "You signed in or out since this form was made, or your browser keeps no \
                                cookies. Nothing was changed: look again, and send it once more.";

/// A form that a browser was not given.
pub(super) fn refused() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "foreign-form", "Not a form of yours", STALE)
}
