//! The threads that communicate with the database.
//!
//! A connection belongs to the executor that opened it. The store has its own executor, so that it can be
//! called from any other. A request runs there to its end, even if its caller drops the future.

use std::pin::Pin;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use crate::error::StoreError;

/// Two threads: they wait for the database, and run decisions.
const THREADS: usize = 2;

/// The executor. Dropping it stops its tasks without waiting, since no caller waits for them.
pub(super) struct Threads {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Threads {
    pub(super) fn start() -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("feedsync-postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Runs a future to its end.
    pub(super) async fn run<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (result, received) = oneshot::channel();
        self.spawn(async move {
            // A caller that dropped its future needs no result.
            let _ = result.send(work.await);
        });
        let ended = |_| StoreError::Unknown("a store task ended without a result".to_owned());
        received.await.map_err(ended)?
    }

    /// Runs a future for as long as the executor exists.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Boxed, because each type of task is compiled anew, and a store has more than a hundred.
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
        self.handle.spawn(work);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
