//! `_compact`: runs in the background, and is reported while it runs (section 4, CL22).

use std::time::Duration;

use axum::response::Response;
use feedsync_couch::DatabaseName;
use http::StatusCode;
use tokio::time::timeout;

use super::database::sweep;
use super::{CouchRequest, Failure, done};

/// Time to wait for the end before the response is sent.
const MAX_RESPONSE_DELAY: Duration = Duration::from_secs(2);

/// Starts a compaction, which goes on even if the client disconnects.
pub(super) async fn begin(asked: &CouchRequest, name: &DatabaseName) -> Result<Response, Failure> {
    let Some(underway) = asked.hub.compacting.begin(name) else {
        return Ok(done(StatusCode::ACCEPTED));
    };
    let asked = asked.clone();
    let compacted = tokio::spawn(async move {
        let compacted = asked.hub.endpoint.compact_database(underway.name()).await;
        if let Err(error) = &compacted {
            tracing::warn!(%error, "cannot compact a database");
        }
        drop(underway);
        sweep(&asked);
        compacted
    });
    if let Ok(Ok(compacted)) = timeout(MAX_RESPONSE_DELAY, compacted).await {
        compacted?;
    }
    Ok(done(StatusCode::ACCEPTED))
}
