//! Errors of requests to origins, which tell whether the origin may have received the request.

use std::error::Error as _;
use std::io;

use crate::proxy::BodyError;
use crate::target::Authority;

/// Reason why there is no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The request is not allowed; nothing was sent.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Nothing of the request was sent.
    #[error(transparent)]
    NotSent(#[from] NotSent),
    /// The request was sent in part or whole; the origin may have acted on it.
    #[error("{authority} did not respond: {}", cause(source))]
    Broken {
        /// The origin.
        authority: Authority,
        /// Error of the connection.
        source: hyper::Error,
    },
    /// The body of the request was malformed, truncated or too slow. The origin may have received a part of it.
    #[error("{}", cause(source))]
    Request {
        /// Whether its sender was too slow.
        is_late: bool,
        /// The error of the body.
        source: hyper::Error,
    },
    /// The whole request was sent, and no response arrived in time. The origin may have acted on it.
    #[error("{0} received the request but did not respond in time")]
    NoResponse(Authority),
    /// The response was ambiguous.
    #[error("{authority} sent an invalid response: {fault}")]
    Malformed {
        /// The origin.
        authority: Authority,
        /// Description of the fault.
        fault: &'static str,
    },
}

/// Reason why a request is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The authority is not mounted, subscribed or allowed.
    #[error("this gateway does not forward requests to {0}")]
    NotReachable(Authority),
    /// A name that is not named itself resolves to a private address.
    #[error(
        "{authority} has a private address, which the gateway uses only if it is allowed by name: \
         start it with --allow {authority}"
    )]
    Private {
        /// The authority.
        authority: Authority,
    },
    /// The target is the gateway itself.
    #[error("{0} is the address of the gateway itself")]
    Loop(Authority),
}

/// Reason why nothing of a request was sent.
#[derive(Debug, thiserror::Error)]
pub enum NotSent {
    /// The name cannot be resolved.
    #[error("cannot resolve {authority}: {source}")]
    Resolve {
        /// The authority.
        authority: Authority,
        /// Error of the resolver.
        source: io::Error,
    },
    /// No connection can be established.
    #[error("cannot connect to {authority}: {source}")]
    Connect {
        /// The authority.
        authority: Authority,
        /// Error of the operating system for the last address that was tried.
        source: io::Error,
    },
    /// The connection cannot be encrypted, or the certificate is not valid for this host.
    #[error("cannot connect to {authority} with TLS: {source}")]
    Encrypt {
        /// The authority.
        authority: Authority,
        /// Error of the encryption.
        source: io::Error,
    },
    /// No connection was established in time.
    #[error("timeout while connecting to {0}")]
    Late(Authority),
    /// The maximum number of concurrent requests is reached.
    #[error("too many concurrent requests to {0}, or in total; try again later")]
    Busy(Authority),
    /// The connection was closed before anything was written.
    #[error("{0} closes every connection immediately")]
    Closed(Authority),
}

impl UpstreamError {
    /// Classifies a failure during sending by the side that caused it.
    pub(crate) fn broken(authority: Authority, source: hyper::Error) -> Self {
        match source.source().and_then(|source| source.downcast_ref()) {
            Some(BodyError::Broken(_)) => Self::Request { is_late: false, source },
            Some(BodyError::Silent(_)) => Self::Request { is_late: true, source },
            Some(BodyError::File(_)) | None => Self::Broken { authority, source },
        }
    }

    /// Whether the certificate of the origin is invalid, which an application must learn.
    pub fn is_certificate_fault(&self) -> bool {
        let Self::NotSent(NotSent::Encrypt { source, .. }) = self else { return false };
        let error = source.get_ref().and_then(|error| error.downcast_ref());
        matches!(error, Some(rustls::Error::InvalidCertificate(_)))
    }

    /// Whether the origin may have got the request, and acted on it.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Refused(_) | Self::NotSent(_) => false,
            Self::Broken { .. }
            | Self::Request { .. }
            | Self::NoResponse(_)
            | Self::Malformed { .. } => true,
        }
    }
}

/// Innermost error, which has the specific reason.
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
