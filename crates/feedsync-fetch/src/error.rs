//! Errors of a fetch. Addresses are shown without credentials.

use std::error::Error;
use std::io;

use http::StatusCode;
use reqwest::Url;

use crate::address::{PrivateAddress, is_http};
use crate::problem::Problem;
use crate::retry::RetryAfter;

/// Reason for the failure of a fetch. The variants are in the order of the part at fault:
///
/// - the address or the login that the caller gave: `Address`, `Private`, `Insecure`;
/// - this machine: `Client`;
/// - the network between here and the server: `Untrusted`, `Unreachable`, `Timeout`, `Interrupted`;
/// - the server: all others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The given address cannot be fetched.
    #[error("{url}: {reason}")]
    Address {
        /// The address as it was given, without credentials.
        url: String,
        /// The fault in it.
        reason: String,
    },
    /// The address is not public, and only public ones may be fetched here.
    #[error("{url}: {host} is not a public address")]
    Private {
        /// Requested address.
        url: String,
        /// Name or address of the host.
        host: String,
    },
    /// A login would be sent over a connection on which it can be read.
    #[error("{url}: credentials are sent only over https, or to this machine")]
    Insecure {
        /// Address to which it would have been sent.
        url: String,
    },
    /// This machine cannot make connections.
    #[error("cannot set up HTTP: {0}")]
    Client(String),
    /// The connection is not secure: the server's certificate is not valid for the address, or the other side does not
    /// speak TLS as a server does. Another machine may have answered in its place.
    #[error("{url}: no secure connection: {reason}")]
    Untrusted {
        /// Requested address.
        url: String,
        /// The fault that TLS found.
        reason: String,
    },
    /// There was no response: no such name, no route, or connection refused.
    #[error("{url}: cannot connect: {reason}")]
    Unreachable {
        /// Requested address.
        url: String,
        /// Message of the system.
        reason: String,
    },
    /// A timeout expired.
    #[error("{url}: the server did not respond in time")]
    Timeout {
        /// Requested address.
        url: String,
    },
    /// The response was interrupted.
    #[error("{url}: the response was interrupted: {reason}")]
    Interrupted {
        /// Requested address.
        url: String,
        /// Message of the system.
        reason: String,
    },
    /// There were more redirects than the limit allows.
    #[error("{url}: more than {limit} redirects")]
    TooManyRedirects {
        /// Address of the last redirect.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// A redirect leads to an address that was requested before.
    #[error("{url}: the redirects form a loop")]
    RedirectLoop {
        /// Address at which the loop closes.
        url: String,
    },
    /// A redirect that cannot be followed.
    #[error("{url}: {reason}")]
    Redirect {
        /// Address that redirected.
        url: String,
        /// The fault in the redirect.
        reason: String,
    },
    /// The server returned an error.
    #[error("{url}: the server answered {status}{}", detail(problem))]
    Status {
        /// Requested address.
        url: String,
        /// Status of the response.
        status: StatusCode,
        /// Details, if the server gave them (RFC 9457).
        problem: Option<Box<Problem>>,
        /// Time at which to retry, if the server gave it.
        retry_after: Option<RetryAfter>,
    },
    /// The response is an HTML page instead of a document for programs.
    #[error(
        "{url} answered {status} {media_type}, a web page: is there a sign-in page in between?"
    )]
    Page {
        /// Address that answered, after redirects.
        url: String,
        /// Status of the response.
        status: StatusCode,
        /// Media type of the response.
        media_type: String,
    },
    /// The body is larger than the bound.
    #[error("{url}: the response is larger than {limit} bytes")]
    TooLarge {
        /// Requested address.
        url: String,
        /// The bound, in bytes.
        limit: u64,
    },
    /// The body has an encoding that was not requested, or is encoded wrongly.
    #[error("{url}: {reason}")]
    Encoding {
        /// Requested address.
        url: String,
        /// The fault in the encoding.
        reason: String,
    },
}

impl FetchError {
    /// Returns the time at which the server asked to retry, if it gave one.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns the status, if the server returned an error.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the same request may succeed later without any change.
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
            if let Some(fault) = tls_fault(current) {
                return Self::Untrusted { url: shown(url), reason: fault.to_string() };
            }
            source = current.source();
        }
        if error.is_timeout() {
            Self::Timeout { url: shown(url) }
        } else {
            Self::Unreachable { url: shown(url), reason: cause(error) }
        }
    }

    /// Returns the error for a response `304 Not Modified` to a request without conditions.
    pub fn unexpected_not_modified(url: &Url) -> Self {
        Self::Status {
            url: shown(url),
            status: StatusCode::NOT_MODIFIED,
            problem: None,
            retry_after: None,
        }
    }
}

/// Returns the fault of TLS that is an error, or that an error of the system wraps, which hides it from its sources.
fn tls_fault<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(fault) = error.downcast_ref() {
        return Some(fault);
    }
    tls_fault(error.downcast_ref::<io::Error>()?.get_ref()?)
}

/// Returns the innermost cause, which is the most useful one for a person.
pub(crate) fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Formats an address for messages and logs: without credentials, and without its query, which may contain
/// some.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    bare(&url)
}

/// Returns an address without credentials, which can still be requested.
pub(crate) fn bare(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that have no host, which have no credentials either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// Formats a text that should be an address for messages and logs: without credentials and query.
pub fn shown_text(text: &str) -> String {
    let bare = without_credentials(text);
    // Names of files may contain a question mark.
    let is_address = bare != text || bare.contains("://");
    match bare.split_once('?') {
        Some((place, _)) if is_address => place.to_owned(),
        _ => bare,
    }
}

/// Returns a text that should be an address without credentials, for the person who gave it. If it is not an
/// address of `http` or `https`, everything between its scheme and its last `@` is removed.
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
    fn shown_address_has_no_query_and_bare_address_keeps_it() {
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
