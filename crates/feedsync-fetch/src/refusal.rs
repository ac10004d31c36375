//! Reads a response that is not a success.

use std::sync::Arc;

use crate::body::{Body, WaitLimits};
use crate::error::FetchError;
use crate::problem::Problem;
use crate::response::Head;
use crate::traffic::Traffic;

/// Maximum number of bytes of an error body that are read.
const MAX_REASON_BYTES: u64 = 64 << 10;

/// Returns the error for a response that is not a success. Its body is read only up to a limit. Secrets that
/// it repeats are removed.
pub(crate) async fn refused(
    head: Head,
    answer: reqwest::Response,
    wait: WaitLimits,
    traffic: &Arc<Traffic>,
    secrets: &[String],
) -> FetchError {
    let mut problem: Option<Box<Problem>> = None;
    if matches!(head.media_type().as_deref(), Some("application/problem+json" | "application/json"))
        && let Ok(mut body) =
            Body::bounded(&head, answer, MAX_REASON_BYTES, wait, Arc::clone(traffic))
        && let Ok(bytes) = body.rest().await
    {
        problem = Problem::read(&bytes);
    }
    if let Some(problem) = &mut problem {
        for text in [&mut problem.title, &mut problem.detail].into_iter().flatten() {
            for secret in secrets {
                *text = text.replace(secret, "\u{2026}");
            }
        }
    }
    FetchError::Status {
        url: head.shown(),
        status: head.status,
        retry_after: head.retry_after(),
        problem,
    }
}
