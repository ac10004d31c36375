//! Queued writes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::sqlite_support::error::{SqliteError, TaskError};
use crate::sqlite_support::writer::Durability;

/// A queued write.
pub(super) trait Task<E>: Send {
    fn durability(&self) -> Durability;
    /// Runs the write; returns whether it is to be committed.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Tells whether it adds nothing, so that it may run on a full disk, and may be run again.
    fn is_without_growth(&self) -> bool;
    /// Tells whether it failed because the disk was full.
    fn is_full(&self) -> bool;
    /// Sends the result of `run` to the caller, or the reason why it was not committed.
    fn answer(self: Box<Self>, failure: Option<E>);
    /// Sends an error to the caller without running the write.
    fn refuse(self: Box<Self>, failure: E);
}

/// Closure of a task.
pub(super) enum TaskClosure<F, G> {
    Once(Option<F>),
    WithoutGrowth(G),
}

/// A task with the channel for its result.
pub(super) struct Work<T, E, F, G> {
    pub(super) durability: Durability,
    pub(super) work: TaskClosure<F, G>,
    pub(super) outcome: Result<T, E>,
    pub(super) answer: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F, G> Task<E> for Work<T, E, F, G>
where
    T: Send,
    E: TaskError,
    F: FnOnce(&Connection) -> Result<T, E> + Send,
    G: FnMut(&Connection) -> Result<T, E> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, connection: &Connection) -> bool {
        // The savepoint is rolled back, so a panic leaves nothing half-done.
        let work = &mut self.work;
        let result = catch_unwind(AssertUnwindSafe(|| match work {
            TaskClosure::Once(work) => work.take().map(|work| work(connection)),
            TaskClosure::WithoutGrowth(work) => Some(work(connection)),
        }));
        let panicked = || Some(Err(SqliteError::Panicked.into()));
        if let Some(outcome) = result.unwrap_or_else(|_| panicked()) {
            self.outcome = outcome;
        }
        self.outcome.is_ok()
    }

    fn is_without_growth(&self) -> bool {
        matches!(self.work, TaskClosure::WithoutGrowth(_))
    }

    fn is_full(&self) -> bool {
        self.outcome.as_ref().is_err_and(E::is_full_disk)
    }

    fn answer(self: Box<Self>, failure: Option<E>) {
        let Self { work, outcome, answer, .. } = *self;
        // The closure is dropped before the result is sent: it may own the store, which must not be dropped
        // by its own thread.
        drop(work);
        let outcome = match (outcome, failure) {
            (Ok(_), Some(failure)) => Err(failure),
            (outcome, _) => outcome,
        };
        // The caller may have dropped its future.
        let _ = answer.send(outcome);
    }

    fn refuse(self: Box<Self>, failure: E) {
        let Self { work, answer, .. } = *self;
        drop(work);
        let _ = answer.send(Err(failure));
    }
}
