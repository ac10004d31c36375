//! The browser that requests a page, by a cookie of its own.

use std::sync::{Arc, OnceLock};

use axum::response::Response;
use feedsync_http::Cookie;
use feedsync_store::Environment;
use http::{HeaderMap, header};

/// Cookie of clients that have not signed in.
const COOKIE: Cookie = Cookie::new("feedsync-form", "__Host-feedsync-form");

/// Lifetime of the cookie, in seconds.
const COOKIE_MAX_AGE: u64 = 30 * 24 * 60 * 60;

/// The browser that requests a page.
#[derive(Clone, Default)]
pub(crate) struct Browser(Arc<BrowserSecret>);

#[derive(Default)]
struct BrowserSecret {
    sent: Option<String>,
    /// Value of the cookie that the response sets.
    made: OnceLock<String>,
}

impl Browser {
    /// Reads the cookie of a request.
    pub(crate) fn of(headers: &HeaderMap, secure: bool) -> Self {
        let sent = COOKIE
            .read(headers, secure)
            .filter(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        Self(Arc::new(BrowserSecret { sent, made: OnceLock::new() }))
    }

    /// Secret that only this browser knows. A browser that sent none gets one with the response.
    pub(crate) fn secret(&self, environment: &dyn Environment) -> &str {
        let random = || (0..4).map(|_| format!("{:016x}", environment.random())).collect();
        self.0.sent.as_deref().unwrap_or_else(|| self.0.made.get_or_init(random))
    }

    /// Sets the cookie that a handler created.
    pub(crate) fn set_cookie(&self, response: &mut Response, secure: bool) {
        if let Some(made) = self.0.made.get() {
            response
                .headers_mut()
                .append(header::SET_COOKIE, COOKIE.set(made, COOKIE_MAX_AGE, secure));
        }
    }
}
