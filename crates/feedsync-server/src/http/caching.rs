//! Cache headers of a response, and the request headers it depends on (RFC 9111 5.2, RFC 9110 12.5.5,
//! AH15, AH31).

use feedsync_endpoint::Settings;
use http::{HeaderMap, HeaderValue, header};

/// Clients that get the same response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    /// All clients: any cache may store it. The cache revalidates it each time, so that a write is
    /// visible at once through caches too (AH32).
    Everybody,
    /// One user, or one anonymous client: only a private cache may store it.
    OnePerson,
}

impl Caching {
    /// Caching of the content of a collection with these settings. Where drafts are honoured, editors
    /// see more than other readers (AH1).
    pub(crate) fn of(settings: &Settings) -> Self {
        if settings.public && !settings.drafts { Self::Everybody } else { Self::OnePerson }
    }

    /// Sets the cache headers, including the request headers that the response depends on.
    pub(crate) fn set_headers(self, headers: &mut HeaderMap, depends_on: &[&str]) {
        let (control, people): (_, &[&str]) = match self {
            Self::Everybody => ("public, max-age=0, must-revalidate", &[]),
            Self::OnePerson => ("private, no-cache", &["Authorization", "Cookie"]),
        };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(control));
        let vary = [depends_on, people].concat().join(", ");
        if let Some(vary) = HeaderValue::from_str(&vary).ok().filter(|vary| !vary.is_empty()) {
            headers.insert(header::VARY, vary);
        }
    }
}
