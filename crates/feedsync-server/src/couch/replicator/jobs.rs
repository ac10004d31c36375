//! The replications of documents of a process, which requests read and the task changes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::plan::Jobs;

/// The replications of documents of this process.
pub(crate) struct DocumentJobs {
    started: Instant,
    jobs: Mutex<Jobs>,
}

impl DocumentJobs {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), jobs: Mutex::default() }
    }

    /// Time since the start of the process.
    pub(in crate::couch) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(in crate::couch) fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
