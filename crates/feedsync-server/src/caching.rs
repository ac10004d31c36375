//! What caches may keep of an answer, and what it depends on besides its address (RFC 9111 5.2,
//! RFC 9110 12.5.5, AH15, AH31).

use feedsync_endpoint::Settings;
use http::{HeaderMap, HeaderValue, header};

/// Who is answered alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    /// Everybody: any cache may keep it. It asks each time whether it still holds, so that a write is
    /// seen at once through caches too (AH32).
    Everybody,
    /// One person, or nobody who has signed in: only their own cache may keep it.
    OnePerson,
}

impl Caching {
    /// For what a collection of these settings holds. Where drafts are honoured, editors see more than
    /// others (C-H2).
    pub(crate) fn of(settings: &Settings) -> Self {
        if settings.public && !settings.drafts { Self::Everybody } else { Self::OnePerson }
    }

    /// Tells caches, who are also told the headers of a request that the answer depends on.
    pub(crate) fn tell(self, headers: &mut HeaderMap, depends_on: &[&str]) {
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
