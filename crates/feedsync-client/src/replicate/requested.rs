//! Replications that clients of a server request.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::replicate::{RemoteAddress, ReplicateRequest, ReplicationSide};
use feedsync_couch::replication::{RejectedDocument, ReplicationStats, UpdateSequence};
use feedsync_couch::{Refusal, RefusalKind};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::replication::{
    ReplicationJob, ReplicationOutcome, Replicator, SharedProgress,
};
use feedsync_endpoint::documents::validation::Author;
use feedsync_fetch::Fetcher;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT,
    HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use tokio::sync::watch;

use super::{
    RemoteDatabase, Replica, Replication, ReplicationError, ReplicationProgress, RetryPolicy,
    StoredDatabase,
};

/// Headers that belong to the connection and the body, and that a client must not choose.
const OWN_HEADERS: [HeaderName; 12] = [
    ACCEPT,
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Maximum number of bytes of the headers of one database.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Carries out replications that clients of a server request.
pub struct RequestedReplications {
    fetcher: Fetcher,
}

impl RequestedReplications {
    /// Creates a replicator that sends requests with this fetcher. Credentials of remote databases are in the
    /// requests, so the fetcher needs no logins.
    pub fn new(fetcher: Fetcher) -> Self {
        Self { fetcher }
    }

    fn remote(
        &self,
        remote: &RemoteAddress,
        retry_policy: RetryPolicy,
    ) -> Result<RemoteDatabase, Refusal> {
        let bad = |reason: String| RefusalKind::BadRequest.with_reason(reason);
        let database = RemoteDatabase::new(self.fetcher.clone(), &remote.url, retry_policy);
        let mut database = database.map_err(|error| bad(error.to_string()))?;
        if let Some((user, password)) = &remote.credentials {
            database = database.with_credentials(user, password);
        }
        let bytes: usize =
            remote.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_HEADER_BYTES {
            return Err(bad(format!("headers have more than {MAX_HEADER_BYTES} bytes")));
        }
        for (name, value) in &remote.headers {
            let wrong = || bad("headers has an invalid name or value".to_owned());
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            if OWN_HEADERS.contains(&name) {
                return Err(bad(format!("headers cannot contain {name}")));
            }
            let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            database = database.with_header(name, value);
        }
        Ok(database)
    }

    fn replica(
        &self,
        endpoint: &Endpoint,
        side: &ReplicationSide,
        author: &Author,
        retry_policy: RetryPolicy,
    ) -> Result<Arc<dyn Replica>, Refusal> {
        Ok(match side {
            ReplicationSide::Local(name) => {
                let database = StoredDatabase::new(endpoint.clone(), name.clone());
                Arc::new(database.on_behalf_of(author.clone()))
            }
            ReplicationSide::Remote(remote) => {
                let retries = |error: &feedsync_fetch::FetchError, pause: std::time::Duration| {
                    tracing::info!(%error, pause_seconds = pause.as_secs_f64(), "replication waits before a retry");
                };
                let database = self.remote(remote, retry_policy)?;
                Arc::new(database.with_wait_callback(Arc::new(retries)))
            }
        })
    }
}

#[async_trait]
impl Replicator for RequestedReplications {
    fn check(&self, remote: &RemoteAddress) -> Result<String, Refusal> {
        Ok(self.remote(remote, RetryPolicy::BOUNDED)?.shown())
    }

    async fn replicate(
        &self,
        endpoint: &Endpoint,
        job: ReplicationJob,
    ) -> Result<ReplicationOutcome, Refusal> {
        let ReplicationJob { request, author, progress, stop } = job;
        let ReplicateRequest { source, target, filter, .. } = request;
        let retry_policy = match request.is_continuous {
            true => RetryPolicy::UNBOUNDED,
            false => RetryPolicy::BOUNDED,
        };
        let side = |side| self.replica(endpoint, side, &author, retry_policy);
        let (from, to) = (side(&source)?, side(&target)?);
        let replication = Replication {
            filter,
            is_continuous: request.is_continuous,
            creates_target: request.creates_target,
            since: request.since,
            has_no_checkpoints: !request.uses_checkpoints,
            ..Replication::default()
        };
        let environment = Arc::clone(endpoint.environment());
        let done = replication.run(from, to, environment, &*progress, stopped(stop)).await;
        let done = done.map_err(refusal)?;
        let beginning = UpdateSequence::beginning;
        Ok(ReplicationOutcome {
            began_at: done.began_at.unwrap_or_else(beginning),
            reached: done.reached.unwrap_or_else(beginning),
            stats: done.stats,
        })
    }
}

/// Completes when the replication is to end.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|is_stopped| *is_stopped).await.is_err() {
        // Nobody can stop it any more.
        std::future::pending::<()>().await;
    }
}

fn refusal(error: ReplicationError) -> Refusal {
    match error {
        ReplicationError::NoDatabase { database } => {
            RefusalKind::DatabaseNotFound.with_reason(format!("could not open {database}"))
        }
        error => RefusalKind::Replication.with_reason(error),
    }
}

impl ReplicationProgress for SharedProgress {
    fn begins(&self, _is_resumed: bool) {}

    fn examined(&self, documents: u64, pending: Option<u64>) {
        self.update(|progress| {
            progress.examined += documents;
            progress.pending = pending;
        });
    }

    fn refused(&self, refused: &RejectedDocument) {
        let RejectedDocument { id, error, reason } = refused;
        tracing::debug!(id, error, reason, "document was not replicated");
    }

    fn replicated(&self, _documents: u64) {}

    fn reached(&self, place: &UpdateSequence, stats: ReplicationStats) {
        self.update(|progress| {
            progress.reached = Some(place.clone());
            progress.stats = stats;
        });
    }
}
