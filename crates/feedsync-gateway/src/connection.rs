//! A connection that is answered until the gateway stops.

use std::pin::Pin;

use tokio::sync::watch;

/// Answers the requests of a connection; once the gateway stops, of the one that has begun: `end` tells the
/// connection so.
pub(crate) async fn until_stopped<C: Future>(
    connection: C,
    mut stopping: watch::Receiver<bool>,
    end: impl FnOnce(Pin<&mut C>),
) -> C::Output {
    let mut connection = std::pin::pin!(connection);
    let stopped = async move {
        // An error means that the gateway is gone, which is as good.
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
