//! Threads that read, each with a connection of its own, so that no asynchronous thread waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::LibraryError;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The pool. Dropping it ends the threads when all that is queued is answered.
pub(super) struct Readers {
    queue: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
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

    /// Runs a read in a transaction: all that it sees is of one moment, and that moment is after every commit
    /// that was acknowledged before the call.
    pub(super) async fn read<T, F>(&self, read: F) -> Result<T, LibraryError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LibraryError> + Send + 'static,
    {
        let stopped = || LibraryError::Database("a reading thread has ended".into());
        let (answer, outcome) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // A decision of the caller may panic in here. The transaction is rolled back on the way, so the
            // next job finds the connection as it was.
            let result = catch_unwind(AssertUnwindSafe(|| {
                let transaction = connection.unchecked_transaction()?;
                let value = read(&transaction)?;
                transaction.commit()?;
                Ok(value)
            }));
            // Who asked may have gone.
            let _ = answer.send(result.unwrap_or(Err(LibraryError::Decision)));
        });
        if let Some(queue) = &self.queue {
            queue.send(job).map_err(|_| stopped())?;
        }
        outcome.await.map_err(|_| stopped())?
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
