//! Errors in CouchDB's form (section 11).

use axum::response::{IntoResponse as _, Response};
use feedsync_couch::{Refusal, RefusalKind};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_store::StoreError;
use http::{HeaderValue, Method, StatusCode, header};

use super::response::json;
use crate::http::couch_errors::{in_couch_form, text};
use crate::http::problem::Problem;

/// Reason for refusing a request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A refusal in CouchDB's terms.
    Refused(Refusal),
    /// A problem of this hub.
    Problem(Problem),
    /// The resource supports only these methods.
    NotAllowed(Vec<String>),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoDatabase(_) => no_database().into(),
            error => Self::Problem(error.into()),
        }
    }
}

impl From<DocumentsError> for Failure {
    fn from(error: DocumentsError) -> Self {
        match error {
            DocumentsError::Refused(refusal) => refusal.into(),
            DocumentsError::Store(error) => error.into(),
        }
    }
}

impl Failure {
    /// The reason, for people.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.reason.clone(),
            Self::Problem(problem) => problem.status().to_string(),
            Self::NotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED.to_string(),
        }
    }
}

pub(super) fn no_database() -> Refusal {
    RefusalKind::NotFound.with_reason("Database does not exist.")
}

pub(super) fn respond(failure: Failure) -> Response {
    match failure {
        Failure::Refused(refusal) => refused(&refusal),
        Failure::NotAllowed(names) => {
            let reason = format!("Only {} allowed", names.join(","));
            let mut response = refused(&RefusalKind::MethodNotAllowed.with_reason(reason));
            if let Ok(allow) = HeaderValue::from_str(&names.join(", ")) {
                response.headers_mut().insert(header::ALLOW, allow);
            }
            response
        }
        Failure::Problem(problem) => in_couch_form(problem.into_response()),
    }
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
