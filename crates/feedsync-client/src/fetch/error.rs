//! What can go wrong with a fetch, by culprit. Addresses are shown without credentials.

use std::error::Error;

use http::StatusCode;
use reqwest::Url;

use crate::fetch::address::{PrivateAddress, is_http};
use crate::fetch::problem::Problem;
use crate::fetch::retry::RetryAfter;

/// Why a document could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The caller's address cannot be fetched.
    #[error("{url}: {reason}")]
    Address {
        /// As it was given, without credentials.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The address is not public, and only public ones may be fetched here.
    #[error("{url}: {host} is not a public address")]
    Private {
        /// What was asked.
        url: String,
        /// The name or address.
        host: String,
    },
    /// A login would be sent where it can be read on the way.
    #[error("{url}: a login goes over https only, or to this machine")]
    Insecure {
        /// Where it would have gone.
        url: String,
    },
    /// This machine cannot make connections at all.
    #[error("cannot set up HTTP: {0}")]
    Client(String),
    /// No answer: no such name, no route, refused, no agreement on TLS.
    #[error("{url}: cannot be reached: {reason}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// What the system says.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("{url}: no answer in time")]
    Timeout {
        /// What was asked.
        url: String,
    },
    /// More redirects than are followed.
    #[error("{url}: more than {limit} redirects")]
    TooManyRedirects {
        /// The last one.
        url: String,
        /// How many are followed.
        limit: usize,
    },
    /// A redirect to an address that was asked before.
    #[error("{url}: a redirect loop")]
    RedirectLoop {
        /// Where it closes.
        url: String,
    },
    /// A redirect that cannot be followed.
    #[error("{url}: {reason}")]
    Redirect {
        /// Who redirected.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The server says no.
    #[error("{url}: the server answered {status}{}", detail(problem))]
    Status {
        /// What was asked.
        url: String,
        /// Its answer.
        status: StatusCode,
        /// Why, if it told (RFC 9457).
        problem: Option<Box<Problem>>,
        /// When it may be asked again, if it told.
        retry_after: Option<RetryAfter>,
    },
    /// A page for people came, where a document for programs was asked for.
    #[error(
        "{url} answered {status} {media_type}, a page for people: is there a sign-in page in between?"
    )]
    Page {
        /// The address that answered, after redirects.
        url: String,
        /// Its status.
        status: StatusCode,
        /// Its media type.
        media_type: String,
    },
    /// The body is larger than the bound.
    #[error("{url}: the answer is larger than {limit} bytes")]
    TooLarge {
        /// What was asked.
        url: String,
        /// The bound.
        limit: u64,
    },
    /// The body is encoded in a way that was not asked for, or wrongly.
    #[error("{url}: {reason}")]
    Encoding {
        /// What was asked.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The answer broke off.
    #[error("{url}: the answer broke off: {reason}")]
    Interrupted {
        /// What was asked.
        url: String,
        /// What the system says.
        reason: String,
    },
}

impl FetchError {
    /// When the server wants to be asked again, if it told.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The status of the server's refusal, if that is what it is.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the same request may succeed later without anybody changing anything.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Interrupted { .. } => true,
            Self::Status { status, .. } => {
                status.is_server_error() && *status != StatusCode::NOT_IMPLEMENTED
                    || matches!(status.as_u16(), 408 | 409 | 423 | 425 | 429)
            }
            _ => false,
        }
    }

    pub(crate) fn sending(url: &Url, error: &reqwest::Error) -> Self {
        let mut source: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(current) = source {
            if let Some(private) = current.downcast_ref::<PrivateAddress>() {
                return Self::Private { url: shown(url), host: private.0.clone() };
            }
            source = current.source();
        }
        if error.is_timeout() {
            Self::Timeout { url: shown(url) }
        } else {
            Self::Unreachable { url: shown(url), reason: cause(error) }
        }
    }

    pub(crate) fn unasked(url: &Url) -> Self {
        Self::Status {
            url: shown(url),
            status: StatusCode::NOT_MODIFIED,
            problem: None,
            retry_after: None,
        }
    }
}

/// The innermost reason, which is what tells a person most.
pub(crate) fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// An address as it may be shown and logged: without credentials, and without its query, which may
/// hold some.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    bare(&url)
}

/// An address without credentials, which it may be asked with again.
pub(crate) fn bare(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that have no host, which have no credentials either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// A text that should be an address, as it may be shown and logged: without credentials and query.
pub fn shown_text(text: &str) -> String {
    let bare = without_credentials(text);
    // A file may have any name.
    let is_address = bare != text || bare.contains("://");
    match bare.split_once('?') {
        Some((place, _)) if is_address => place.to_owned(),
        _ => bare,
    }
}

/// A text that should be an address, for whoever gave it: without credentials. What is no address of
/// `http` or `https` loses all between its scheme and its last `@`.
pub fn without_credentials(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if is_http(&url) => {
            let is_bare = url.username().is_empty() && url.password().is_none();
            if is_bare { text.to_owned() } else { bare(&url) }
        }
        _ => {
            let Some((before, after)) = text.rsplit_once('@') else { return text.to_owned() };
            let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
            match before.split_once("://") {
                Some((scheme, _)) if is_scheme(scheme) => format!("{scheme}://{after}"),
                _ => after.to_owned(),
            }
        }
    }
}

fn detail(problem: &Option<Box<Problem>>) -> String {
    problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_shows_credentials_whether_it_is_an_address_or_not() {
        for (text, expected) in [
            ("http://anna:secret@a.example/x", "http://a.example/x"),
            ("http:anna:secret@a.example/x", "http://a.example/x"),
            ("http://anna:secret@127.0.0.1:1x/", "http://127.0.0.1:1x/"),
            ("http://anna:sec/r@et@a.example/x", "http://a.example/x"),
            ("ftp://anna:secret@a.example/", "ftp://a.example/"),
            ("anna:secret@a.example/", "a.example/"),
            ("anna:sec://ret@a.example/", "a.example/"),
            ("http://a.example/@anna/feed", "http://a.example/@anna/feed"),
            ("http://a.example", "http://a.example"),
            ("feed.xml", "feed.xml"),
            ("why?.xml", "why?.xml"),
        ] {
            assert_eq!(shown_text(text), expected, "{text}");
            assert_eq!(without_credentials(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_shown_has_no_query_and_what_is_asked_with_keeps_it() {
        let url = Url::parse("http://u:p@a.example/x?token=1").unwrap();
        assert_eq!(bare(&url), "http://a.example/x?token=1");
        assert_eq!(shown(&url), "http://a.example/x");
        for (text, asked, expected) in [
            ("http://a.example/x?token=1", "http://a.example/x?token=1", "http://a.example/x"),
            ("http://u:p@a.example/?t=1&u=2", "http://a.example/?t=1&u=2", "http://a.example/"),
            ("ftp://a.example/?t=1", "ftp://a.example/?t=1", "ftp://a.example/"),
            ("u:p@a.example/?t=1", "a.example/?t=1", "a.example/"),
        ] {
            assert_eq!(without_credentials(text), asked);
            assert_eq!(shown_text(text), expected);
        }
    }
}
