//! Serves a connection until the gateway stops.

use std::pin::Pin;

use tokio::sync::watch;

/// Serves the requests of a connection. Once the gateway stops, `end` is called with the connection, which then
/// finishes the request in progress only.
pub(crate) async fn until_stopped<C: Future>(
    connection: C,
    mut stopping: watch::Receiver<bool>,
    end: impl FnOnce(Pin<&mut C>),
) -> C::Output {
    let mut connection = std::pin::pin!(connection);
    let stopped = async move {
        // An error means that the gateway is gone, which has the same effect.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    tokio::select! {
        ended = &mut connection => ended,
        () = stopped => {
            end(connection.as_mut());
            connection.await
        }
    }
}
