//! `_compact`: runs in the background, and is reported while it runs (section 4, CL22).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::Response;
use feedsync_couch::DatabaseName;
use http::StatusCode;
use tokio::time::timeout;

use super::database::sweep;
use super::{Asked, Failure, done};

/// Time to wait for the end before the response is sent.
const SOON: Duration = Duration::from_secs(2);

/// Databases that this node is compacting.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compacting(Arc<Mutex<HashSet<DatabaseName>>>);

/// A running compaction, until it is dropped.
struct Underway(Compacting, DatabaseName);

impl Compacting {
    pub(super) fn is_underway(&self, name: &DatabaseName) -> bool {
        self.names().contains(name)
    }

    /// Starts a compaction unless one is running.
    fn begin(&self, name: &DatabaseName) -> Option<Underway> {
        self.names().insert(name.clone()).then(|| Underway(self.clone(), name.clone()))
    }

    fn names(&self) -> MutexGuard<'_, HashSet<DatabaseName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.names().remove(&self.1);
    }
}

/// Starts a compaction, which goes on even if the client disconnects.
pub(super) async fn begin(asked: &Asked, name: &DatabaseName) -> Result<Response, Failure> {
    let Some(underway) = asked.hub.compacting.begin(name) else {
        return Ok(done(StatusCode::ACCEPTED));
    };
    let asked = asked.clone();
    let compacted = tokio::spawn(async move {
        let compacted = asked.hub.endpoint.compact_database(&underway.1).await;
        if let Err(error) = &compacted {
            tracing::warn!(%error, "a database was not compacted");
        }
        drop(underway);
        sweep(&asked);
        compacted
    });
    if let Ok(Ok(compacted)) = timeout(SOON, compacted).await {
        compacted?;
    }
    Ok(done(StatusCode::ACCEPTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_at_a_database_at_a_time() {
        let (compacting, name) = (Compacting::default(), "notes".parse().unwrap());
        let underway = compacting.begin(&name).unwrap();
        assert!(compacting.is_underway(&name));
        assert!(compacting.begin(&name).is_none());
        assert!(compacting.begin(&"other".parse().unwrap()).is_some());
        drop(underway);
        assert!(!compacting.is_underway(&name));
        assert!(compacting.begin(&name).is_some());
    }
}
