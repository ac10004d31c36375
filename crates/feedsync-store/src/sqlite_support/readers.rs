//! Threads that read, each with its own connection, so that no thread of an executor blocks.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::{SqliteError, TaskError};

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// A pool of reading threads. Dropping it ends the threads after all queued reads.
pub struct ReadPool<E> {
    queue: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    error: PhantomData<fn() -> E>,
}

impl<E: TaskError> ReadPool<E> {
    /// Starts a thread for each connection.
    pub fn start(name: &'static str, connections: Vec<Connection>) -> Result<Self, SqliteError> {
        let (queue, jobs) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut readers = Self { queue: Some(queue), threads: Vec::new(), error: PhantomData };
        for connection in connections {
            let jobs = Arc::clone(&jobs);
            let thread = thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || serve(&connection, &jobs))
                .map_err(SqliteError::thread)?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a read in a transaction, which sees one snapshot. The snapshot is later than every commit that
    /// was acknowledged before the call. A read that panics fails with [`SqliteError::Panicked`].
    pub async fn read<T, F>(&self, read: F) -> Result<T, E>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.run(move |connection| {
            // A transaction that is dropped is rolled back, so the next read finds the connection unchanged.
            let result = catch_unwind(AssertUnwindSafe(|| {
                let transaction = connection.unchecked_transaction()?;
                let value = read(&transaction)?;
                transaction.commit()?;
                Ok(value)
            }));
            result.unwrap_or_else(|_| Err(SqliteError::Panicked.into()))
        })
        .await?
    }

    /// Runs blocking work on one of the threads. It must not panic.
    pub async fn run<T, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> T + Send + 'static,
    {
        let stopped = || SqliteError::Database("a reading thread has ended".into());
        let (answer, outcome) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // The caller may have dropped its future.
            let _ = answer.send(work(connection));
        });
        if let Some(queue) = &self.queue {
            queue.send(job).map_err(|_| stopped())?;
        }
        Ok(outcome.await.map_err(|_| stopped())?)
    }
}

impl<E> Drop for ReadPool<E> {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(connection: &Connection, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(connection),
            Err(_) => return,
        }
    }
}
