//! Synchronization of collections with their databases, while the hub runs: a change on one side is copied to
//! the other.

use std::collections::HashMap;
use std::time::Duration;

use feedsync_endpoint::bridge::{BridgeError, BridgeRefusal, BridgeReport};
use feedsync_endpoint::{Endpoint, is_database};
use feedsync_store::{CollectionName, StoreError};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{interval, sleep};

/// Interval between checks of the collections' settings.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Delay before a bridge is retried after a failure, and before it is checked without a notification.
const RETRY_DELAY: Duration = Duration::from_secs(60);

/// Runs all bridges for as long as it is polled.
pub(crate) async fn all(endpoint: Endpoint) {
    let mut tasks = JoinSet::new();
    let mut open: HashMap<CollectionName, AbortHandle> = HashMap::new();
    let mut look = interval(POLL_INTERVAL);
    loop {
        look.tick().await;
        while let Some(ended) = tasks.try_join_next() {
            if let Err(error) = ended
                && error.is_panic()
            {
                tracing::error!(%error, "a bridge failed and is restarted");
            }
        }
        open.retain(|_, task| !task.is_finished());
        let wanted = match wanted(&endpoint).await {
            Ok(wanted) => wanted,
            Err(error) => {
                tracing::warn!(%error, "cannot list the collections that have a bridge");
                continue;
            }
        };
        // Access to the database is checked for each request; here the copying stops.
        open.retain(|name, task| {
            let is_wanted = wanted.contains(name);
            if !is_wanted {
                task.abort();
            }
            is_wanted
        });
        for name in wanted {
            open.entry(name.clone()).or_insert_with(|| tasks.spawn(one(endpoint.clone(), name)));
        }
    }
}

/// Returns the collections whose settings ask for a database.
async fn wanted(endpoint: &Endpoint) -> Result<Vec<CollectionName>, StoreError> {
    let collections = endpoint.collections().await?;
    Ok(collections.into_iter().filter(|it| is_database(&it.settings)).map(|it| it.name).collect())
}

/// Runs one bridge, and restarts it after failures.
async fn one(endpoint: Endpoint, name: CollectionName) {
    loop {
        if let Err(error) = copy_changes(&endpoint, &name).await {
            tracing::warn!(collection = %name, %error, "a bridge cannot transfer changes");
        }
        sleep(RETRY_DELAY).await;
    }
}

/// Copies changes until that fails.
async fn copy_changes(endpoint: &Endpoint, name: &CollectionName) -> Result<(), BridgeError> {
    let bridge = endpoint.open_as_database(name).await?;
    // Subscribing before the first read misses no change.
    let mut items = endpoint.subscribe(name);
    let mut documents = endpoint.databases().subscribe_to_database(&bridge.database);
    loop {
        let BridgeReport { refused, left, waiting, .. } =
            endpoint.synchronize_bridge(&bridge).await?;
        for BridgeRefusal { id, why } in &left {
            tracing::warn!(collection = %name, id, why, "a bridge cannot transfer an item");
        }
        if refused > left.len() as u64 {
            tracing::warn!(collection = %name, refused, "further items are not logged");
        }
        if waiting > 0 {
            tracing::debug!(collection = %name, waiting, "items wait for their blobs");
        }
        let is_open = tokio::select! {
            heard = items.next() => heard,
            heard = documents.next() => heard,
            // Blobs may have arrived meanwhile.
            () = sleep(RETRY_DELAY) => true,
        };
        if !is_open {
            return Ok(());
        }
    }
}
