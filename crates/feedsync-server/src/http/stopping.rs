//! The end of a hub, for responses that would go on without an end.

use tokio::sync::watch;

/// Completes when the hub stops; never, if the sender is gone.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending().await
    }
}
