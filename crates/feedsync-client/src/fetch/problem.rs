//! Details of an error that a server returned (RFC 9457, or the form of CouchDB).

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use crate::fetch::body::{Body, WaitLimits};
use crate::fetch::error::FetchError;
use crate::fetch::response::Head;
use crate::fetch::traffic::Traffic;

/// Details of an error that a server returned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// Kind of the problem, in words.
    pub title: Option<String>,
    /// Description of this occurrence.
    pub detail: Option<String>,
    /// Line in the request body, from 1.
    pub line: Option<u32>,
    /// Column in the request body, from 1.
    pub column: Option<u32>,
}

/// The same in the form of CouchDB.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reason {
    error: Option<String>,
    reason: Option<String>,
}

impl Problem {
    fn read(bytes: &[u8]) -> Option<Box<Self>> {
        let problem: Self = serde_json::from_slice(bytes).ok()?;
        let Reason { error, reason } = serde_json::from_slice(bytes).unwrap_or_default();
        let (title, detail) = (problem.title.or(error), problem.detail.or(reason));
        Some(Box::new(Self { title, detail, ..problem }))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.detail.as_deref().or(self.title.as_deref()).unwrap_or("no reason given");
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "{line}:{column}: {text}"),
            _ => f.write_str(text),
        }
    }
}

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
