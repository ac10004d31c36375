//! Blobs that nobody names are kept for a day, so that the item that names them can follow, and then
//! swept.

use std::time::Duration;

use feedsync_endpoint::Endpoint;
use feedsync_store::{Moment, StoreError};
use tokio::time::interval;

const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// Sweeps each hour, for as long as it is polled.
pub(crate) async fn hourly(endpoint: Endpoint) {
    let mut pause = interval(PAUSE);
    loop {
        pause.tick().await;
        match once(&endpoint).await {
            Ok(0) => {}
            Ok(blobs) => tracing::info!(blobs, "swept blobs that nobody named for a day"),
            Err(error) => tracing::warn!(%error, "blobs cannot be swept"),
        }
    }
}

async fn once(endpoint: &Endpoint) -> Result<u64, StoreError> {
    let kept = u64::try_from(KEPT.as_micros()).unwrap_or(u64::MAX);
    let now = endpoint.environment().now();
    let stored_before = Moment::from_micros(now.micros().saturating_sub(kept));
    endpoint.store().sweep_blobs(stored_before).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use feedsync_store::{EndpointName, Environment, MemoryStore};

    use super::*;

    #[derive(Default)]
    struct Clock(AtomicU64);

    impl Environment for Clock {
        fn now(&self) -> Moment {
            Moment::from_micros(self.0.load(Ordering::Relaxed))
        }

        fn random(&self) -> u64 {
            7
        }
    }

    #[tokio::test]
    async fn a_blob_that_nobody_names_is_kept_for_a_day() {
        let clock = Arc::new(Clock::default());
        let hours = |hours: u64| clock.0.store(hours * 3_600_000_000, Ordering::Relaxed);
        hours(1_000);
        let store = MemoryStore::new(&EndpointName::new("hub").unwrap(), clock.clone());
        let endpoint = Endpoint::new(Arc::new(store), clock.clone());
        let digest = endpoint.store().put_blob(b"picture".to_vec()).await.unwrap();
        hours(1_023);
        assert_eq!(once(&endpoint).await.unwrap(), 0);
        assert!(endpoint.store().blob(digest).await.unwrap().is_some());
        hours(1_025);
        assert_eq!(once(&endpoint).await.unwrap(), 1);
        assert!(endpoint.store().blob(digest).await.unwrap().is_none());
    }
}
