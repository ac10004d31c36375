//! Errors in CouchDB's form (section 11).

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use feedsync_couch::{Refusal, RefusalKind, quoted};
use http::{HeaderValue, Method, StatusCode, Uri, header};

use super::{Failure, json};
use crate::problem::Described;

pub(super) fn told(failure: Failure) -> Response {
    match failure {
        Failure::Refused(refusal) => refused(&refusal),
        Failure::NotAllowed(names) => {
            let reason = format!("Only {} allowed", names.join(","));
            let mut response = refused(&RefusalKind::MethodNotAllowed.because(reason));
            if let Ok(allow) = HeaderValue::from_str(&names.join(", ")) {
                response.headers_mut().insert(header::ALLOW, allow);
            }
            response
        }
        Failure::Problem(problem) => retold(problem.into_response()),
    }
}

/// Converts responses of the hub to requests that did not reach a database resource, such as 401.
pub(crate) async fn retelling(request: Request, next: Next) -> Response {
    retold(next.run(request).await)
}

/// Converts a response to a request that was refused before routing, if it is about a database.
pub(crate) fn turned_away(uri: &Uri, response: Response) -> Response {
    if super::are_at(uri) { retold(response) } else { response }
}

/// Replaces the body of an error response by CouchDB's form. Status and headers are unchanged.
pub(crate) fn retold(response: Response) -> Response {
    let Some(Described { detail, .. }) = response.extensions().get().cloned() else {
        return response;
    };
    let status = response.status();
    let error = match status {
        StatusCode::UNAUTHORIZED => RefusalKind::Unauthorized.error(),
        StatusCode::FORBIDDEN => RefusalKind::Forbidden.error(),
        StatusCode::NOT_FOUND => RefusalKind::NotFound.error(),
        StatusCode::METHOD_NOT_ALLOWED => RefusalKind::MethodNotAllowed.error(),
        StatusCode::RANGE_NOT_SATISFIABLE => RefusalKind::RangeNotSatisfiable.error(),
        StatusCode::PAYLOAD_TOO_LARGE => RefusalKind::TooLarge.error(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => RefusalKind::BadContentType.error(),
        StatusCode::SERVICE_UNAVAILABLE => RefusalKind::Unavailable.error(),
        StatusCode::INSUFFICIENT_STORAGE => "insufficient_storage",
        StatusCode::TOO_MANY_REQUESTS => "too_many_requests",
        status if status.is_client_error() => RefusalKind::BadRequest.error(),
        _ => RefusalKind::Internal.error(),
    };
    let (mut parts, _) = response.into_parts();
    parts.extensions.remove::<Described>();
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(text(error, &detail)))
}

fn refused(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.kind.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, text(refusal.kind.error(), &refusal.reason));
    if refusal.kind == RefusalKind::Unauthorized {
        let realm = HeaderValue::from_static("Basic realm=\"feedsync\", charset=\"UTF-8\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, realm);
    }
    response
}

/// 405 with the supported methods.
pub(super) fn not_allowed(known: &[Method]) -> Failure {
    let mut names: Vec<String> = known.iter().map(|method| method.as_str().to_owned()).collect();
    if known.contains(&Method::GET) {
        names.push("HEAD".to_owned());
    }
    Failure::NotAllowed(names)
}

/// `{"error": ..., "reason": ...}`.
pub(super) fn text(error: &str, reason: &str) -> String {
    format!("{{\"error\":{},\"reason\":{}}}\n", quoted(error), quoted(reason))
}
