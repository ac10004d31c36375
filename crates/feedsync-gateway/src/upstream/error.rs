//! Why there is no answer, and whether the origin may have got the request.

use std::error::Error as _;
use std::io;

use crate::face::BodyError;
use crate::target::Authority;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It is not allowed; nothing was sent.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Nothing of the request was sent.
    #[error(transparent)]
    NotSent(#[from] NotSent),
    /// The request was written in part or whole: the origin may have acted on it.
    #[error("{authority} has not answered: {}", cause(source))]
    Broken {
        /// The origin.
        authority: Authority,
        /// What happened to the connection.
        source: hyper::Error,
    },
    /// The body of the request was malformed, broke off or did not come in time: the origin may have got a part
    /// of it.
    #[error("{}", cause(source))]
    Request {
        /// Whether its sender was too slow.
        is_late: bool,
        /// The error of the body.
        source: hyper::Error,
    },
    /// The whole request was sent, and no answer came in time: the origin may have acted on it.
    #[error("{0} has the request and has not answered in time")]
    NoAnswer(Authority),
    /// The origin answered in a way that could be understood in two ways.
    #[error("{authority} has answered wrongly: {fault}")]
    Malformed {
        /// The origin.
        authority: Authority,
        /// What is wrong.
        fault: &'static str,
    },
}

/// What is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nobody named the authority.
    #[error("{0} is not reached through this gateway")]
    NotReachable(Authority),
    /// A name that was not named itself leads into the local network.
    #[error(
        "{authority} has a private address: it is reached only when it is named itself, by --allow \
         {authority}"
    )]
    Private {
        /// The authority.
        authority: Authority,
    },
    /// The gateway itself.
    #[error("{0} is the gateway itself")]
    Loop(Authority),
}

/// Why nothing of a request was sent.
#[derive(Debug, thiserror::Error)]
pub enum NotSent {
    /// The name cannot be resolved.
    #[error("{authority} cannot be found: {source}")]
    Resolve {
        /// The authority.
        authority: Authority,
        /// What the resolver says.
        source: io::Error,
    },
    /// No connection can be made.
    #[error("{authority} cannot be reached: {source}")]
    Connect {
        /// The authority.
        authority: Authority,
        /// What the system says of the last address that was tried.
        source: io::Error,
    },
    /// The connection cannot be encrypted, or not for this host.
    #[error("{authority} cannot be reached encrypted: {source}")]
    Encrypt {
        /// The authority.
        authority: Authority,
        /// What is wrong.
        source: io::Error,
    },
    /// No connection was made in time.
    #[error("{0} cannot be reached in time")]
    Late(Authority),
    /// As many requests as may be are on their way already.
    #[error("too many requests are on their way to {0} or in all")]
    Busy(Authority),
    /// The connection was closed before anything was written.
    #[error("{0} closes its connections at once")]
    Closed(Authority),
}

impl UpstreamError {
    /// The fault of whichever side broke a request off that was being sent.
    pub(crate) fn broken(authority: Authority, source: hyper::Error) -> Self {
        match source.source().and_then(|source| source.downcast_ref()) {
            Some(BodyError::Broken(_)) => Self::Request { is_late: false, source },
            Some(BodyError::Silent(_)) => Self::Request { is_late: true, source },
            Some(BodyError::File(_)) | None => Self::Broken { authority, source },
        }
    }

    /// Whether the origin may have got the request, and acted on it.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Refused(_) | Self::NotSent(_) => false,
            Self::Broken { .. }
            | Self::Request { .. }
            | Self::NoAnswer(_)
            | Self::Malformed { .. } => true,
        }
    }
}

/// The innermost reason, which is the one that says something.
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
