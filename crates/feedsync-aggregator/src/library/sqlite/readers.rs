//! Reader threads, each with its own connection, so that asynchronous threads do not block.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::library::error::LibraryError;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// Thread pool. Dropping it ends the threads once the queue is empty.
pub(super) struct ReadPool {
    queue: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl ReadPool {
    pub(super) fn start(connections: Vec<Connection>) -> Result<Self, LibraryError> {
        let (queue, jobs) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut readers = Self { queue: Some(queue), threads: Vec::new() };
        for connection in connections {
            let jobs = Arc::clone(&jobs);
            let thread = thread::Builder::new()
                .name("feedsync-library".to_owned())
                .spawn(move || serve(&connection, &jobs))
                .map_err(|error| LibraryError::Database(Box::new(error)))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a read in a transaction. It sees one snapshot, which includes every commit that was acknowledged
    /// before the call.
    pub(super) async fn read<T, F>(&self, read: F) -> Result<T, LibraryError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LibraryError> + Send + 'static,
    {
        let stopped = || LibraryError::Database("a reading thread has ended".into());
        let (answer, outcome) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // A filter of the caller may panic. The transaction is then rolled back, so the next job finds the
            // connection unchanged.
            let result = catch_unwind(AssertUnwindSafe(|| {
                let transaction = connection.unchecked_transaction()?;
                let value = read(&transaction)?;
                transaction.commit()?;
                Ok(value)
            }));
            // The caller may have been cancelled.
            let _ = answer.send(result.unwrap_or(Err(LibraryError::Decision)));
        });
        if let Some(queue) = &self.queue {
            queue.send(job).map_err(|_| stopped())?;
        }
        outcome.await.map_err(|_| stopped())?
    }
}

impl Drop for ReadPool {
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
