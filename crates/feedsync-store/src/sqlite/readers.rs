//! Threads that read, each with its own connection, so that no thread of an executor blocks.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::StoreError;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The pool. Dropping it ends the threads after all queued reads.
pub(super) struct Readers {
    queue: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(connections: Vec<Connection>) -> Result<Self, StoreError> {
        let (queue, jobs) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut readers = Self { queue: Some(queue), threads: Vec::new() };
        for connection in connections {
            let jobs = Arc::clone(&jobs);
            let thread = thread::Builder::new()
                .name("feedsync-reading-state".to_owned())
                .spawn(move || serve(&connection, &jobs))
                .map_err(|error| StoreError::Database(Box::new(error)))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a read in a transaction, which sees one snapshot. The snapshot is later than every commit that
    /// was acknowledged before the call.
    pub(super) async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.run(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            let value = read(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
        .await?
    }

    /// Runs blocking work on one of the threads.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> T + Send + 'static,
    {
        let stopped = || StoreError::Database("a reading thread has ended".into());
        let (answer, outcome) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // The caller may have dropped its future.
            let _ = answer.send(work(connection));
        });
        if let Some(queue) = &self.queue {
            queue.send(job).map_err(|_| stopped())?;
        }
        outcome.await.map_err(|_| stopped())
    }
}

impl Drop for Readers {
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
