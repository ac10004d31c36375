//! Error responses of the gateway itself, as `application/problem+json` (RFC 9457).

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

use crate::driver::DriverError;
use crate::proxy::body::{Body, BodyError};
use crate::store::StoreError;
use crate::target::TargetError;
use crate::upstream::{NotSent, Refused, UpstreamError, cause};

/// Reason why a request is not forwarded.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: &'static str,
    title: &'static str,
    detail: String,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self { status, kind, title, detail: detail.into() }
    }

    /// The request is malformed.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "Bad request", detail)
    }

    /// The body of the request was truncated.
    fn interrupted(is_late: bool, why: &str) -> Self {
        let detail = format!("the request body is incomplete: {why}");
        match is_late {
            true => {
                Self::new(StatusCode::REQUEST_TIMEOUT, "late-request", "Request timeout", detail)
            }
            false => Self::bad_request(detail),
        }
    }

    /// The page may not make this request.
    pub(crate) fn foreign_origin(detail: impl Into<String>) -> Self {
        let title = "Request from another origin";
        Self::new(StatusCode::FORBIDDEN, "foreign-origin", title, detail)
    }

    pub(crate) fn response(self) -> Response<Body> {
        let body = json!({
            "type": format!("urn:feedsync:1:problem:{}", self.kind),
            "title": self.title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let mut response = Response::new(Body::from(Bytes::from(body.to_string())));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        sandbox(headers);
        response
    }
}

/// Sets the browser policy of the gateway's own responses: they run and load nothing.
pub(crate) fn sandbox(headers: &mut HeaderMap) {
    let policy = HeaderValue::from_static(feedsync_http::browser_policy::SANDBOX);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

impl Problem {
    /// Response for stored bytes that are damaged if no other copy is available.
    pub(super) fn damaged() -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "damaged",
            "Damaged data",
            "the stored copy is damaged on the disk of the gateway and is not served; the gateway \
             fetches it again when its server can be reached. Try again then, and check the disk \
             with `feedsync store doctor`",
        )
    }
}

impl From<TargetError> for Problem {
    fn from(error: TargetError) -> Self {
        let detail = error.to_string();
        let (status, kind, title) = match error {
            TargetError::NoOrigin(_) => (StatusCode::NOT_FOUND, "no-origin", "No origin"),
            TargetError::ForeignHost(_) => {
                (StatusCode::MISDIRECTED_REQUEST, "foreign-host", "Unknown host")
            }
            TargetError::NotReachable { .. } => {
                (StatusCode::FORBIDDEN, "not-reachable", "Not forwarded")
            }
            TargetError::TunnelPort(_) => {
                (StatusCode::FORBIDDEN, "tunnel-port", "Tunnel not allowed")
            }
            TargetError::Loop(_) => looping(),
            TargetError::Misdirected { .. } => {
                (StatusCode::MISDIRECTED_REQUEST, "misdirected", "Request for another host")
            }
            _ => return Self::bad_request(detail),
        };
        Self::new(status, kind, title, detail)
    }
}

impl From<&UpstreamError> for Problem {
    fn from(error: &UpstreamError) -> Self {
        let (status, kind, title) = match error {
            UpstreamError::Refused(Refused::NotReachable(_)) => {
                (StatusCode::FORBIDDEN, "not-reachable", "Not forwarded")
            }
            UpstreamError::Refused(Refused::Private { .. }) => {
                (StatusCode::FORBIDDEN, "private-address", "Private address")
            }
            UpstreamError::Refused(Refused::Loop(_)) => looping(),
            UpstreamError::NotSent(NotSent::Busy(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "busy", "Temporarily unavailable")
            }
            UpstreamError::Request { is_late, .. } => {
                return Self::interrupted(*is_late, &error.to_string());
            }
            _ if error.is_certificate_fault() => {
                (StatusCode::BAD_GATEWAY, "certificate", "Invalid certificate of the origin")
            }
            UpstreamError::NotSent(NotSent::Late(_)) | UpstreamError::NoResponse(_) => {
                (StatusCode::GATEWAY_TIMEOUT, "late", "Origin timeout")
            }
            UpstreamError::NotSent(_) => {
                (StatusCode::BAD_GATEWAY, "unreachable", "Origin unreachable")
            }
            UpstreamError::Broken { .. } | UpstreamError::Malformed { .. } => {
                (StatusCode::BAD_GATEWAY, "bad-answer", "Invalid response of the origin")
            }
        };
        Self::new(status, kind, title, error.to_string())
    }
}

const fn looping() -> (StatusCode, &'static str, &'static str) {
    (StatusCode::LOOP_DETECTED, "loop", "Request loop")
}

impl From<&BodyError> for Problem {
    fn from(error: &BodyError) -> Self {
        Self::interrupted(matches!(error, BodyError::Silent(_)), &cause(error))
    }
}

impl From<DriverError> for Problem {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Store(error) if error.is_full() => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "no-room",
                "Disk full",
                "nothing was changed: free disk space on the machine of the gateway, and try again",
            ),
            DriverError::Store(error) if error.is_corrupt() => Self::damaged(),
            DriverError::TooLarge { limit } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too-large",
                "Too large",
                format!("the body exceeds the limit of {limit} bytes"),
            ),
            DriverError::Body(error) => Self::from(&error),
            error @ (DriverError::Store(_) | DriverError::GivenUp(_)) => {
                tracing::error!(%error, "internal error of the gateway");
                let title = "Internal error";
                let detail = "the store of the gateway cannot be used at the moment; the log of \
                the gateway has the reason";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store", title, detail)
            }
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        DriverError::from(error).into()
    }
}
