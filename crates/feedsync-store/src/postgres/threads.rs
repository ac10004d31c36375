//! The threads that talk to the database.
//!
//! A connection lives on the executor that opened it. The store brings its own, so that it can be
//! called from any: what is asked runs there to its end, even if who asked goes away.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::StoreError;

/// Two threads: they wait for the database, and decide.
const THREADS: usize = 2;

/// The executor. Dropping it ends what still runs without waiting; nobody is left who waits for it.
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

    /// Runs to the end.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let ended = |_| StoreError::Unknown("the work ended before its answer".to_owned());
        self.handle.spawn(work).await.map_err(ended)?
    }

    /// Runs for as long as the executor does.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
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
