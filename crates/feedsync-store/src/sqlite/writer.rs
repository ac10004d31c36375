//! The one thread that writes: whatever is queued is committed together.
//!
//! Each task runs in a savepoint of its own, so that one that fails takes nothing else with it, and
//! is answered after the commit, when all of them are durable. What they write into files of logs is
//! synchronised before it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::life::Life;
use super::log_files::LogFiles;
use crate::error::StoreError;

/// A commit waits for no more than this, however much is queued.
const MOST_TASKS: usize = 512;
const MOST_TIME: Duration = Duration::from_millis(50);

/// While other processes write too, each commit leaves them a gap; for so long after the last sign of
/// them.
const GAP: Duration = Duration::from_millis(1);
const COURTESY: Duration = Duration::from_secs(1);

/// Something to write.
trait Task: Send {
    /// Does it; true if it is to be committed.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Answers who waits: with what `run` made of it, or with why it was not committed.
    fn answer(self: Box<Self>, failure: Option<StoreError>);
}

struct Work<T, F> {
    work: Option<F>,
    outcome: Result<T, StoreError>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Task for Work<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            // The savepoint is rolled back, so nothing half-done is seen after a panic.
            let result = catch_unwind(AssertUnwindSafe(|| work(connection)));
            self.outcome = result
                .unwrap_or_else(|_| Err(StoreError::Decision("the decision panicked".to_owned())));
        }
        self.outcome.is_ok()
    }

    fn answer(self: Box<Self>, failure: Option<StoreError>) {
        let outcome = match (self.outcome, failure) {
            (Ok(_), Some(failure)) => Err(failure),
            (outcome, _) => outcome,
        };
        // Who asked may have gone.
        let _ = self.answer.send(outcome);
    }
}

/// The thread and its queue. Dropping it ends the thread when all that is queued is written.
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        life: Life,
        files: Arc<LogFiles>,
    ) -> Result<Self, StoreError> {
        let (queue, tasks) = channel();
        let thread = thread::Builder::new()
            .name("feedsync-writer".to_owned())
            .spawn(move || write(connection, life, &files, &tasks))
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues work; ready when it is durable.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let stopped = || StoreError::Unknown("the writing thread has ended".to_owned());
        let (answer, outcome) = oneshot::channel();
        let task = Work { work: Some(work), outcome: Err(stopped()), answer };
        if let Some(queue) = &self.queue {
            queue.send(Box::new(task)).map_err(|_| stopped())?;
        }
        outcome.await.map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write(
    mut connection: Connection,
    mut life: Life,
    files: &LogFiles,
    tasks: &Receiver<Box<dyn Task>>,
) {
    let mut others = Others { version: None, last_seen: None };
    while let Ok(first) = tasks.recv() {
        let mut done = Vec::new();
        let failure = match connection.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => batch(&connection, first, tasks, &mut done)
                .map_err(StoreError::from)
                .and_then(|()| files.sync())
                .and_then(|()| life.renew_if_due(&connection))
                .map_err(|error| Failure::Before(error.to_string()))
                .and_then(|renewed| {
                    connection.execute_batch("COMMIT").map_err(Failure::Commit)?;
                    life.committed(renewed);
                    Ok(())
                })
                .err(),
            Err(error) => {
                done.push(first);
                Some(Failure::Before(error.to_string()))
            }
        };
        if failure.is_some() && !connection.is_autocommit() {
            // If even this fails, the next BEGIN will say so.
            let _ = connection.execute_batch("ROLLBACK");
        }
        match &failure {
            None => files.committed(),
            Some(Failure::Before(_)) => files.rolled_back(),
            Some(Failure::Commit(_)) => files.left_open(),
        }
        for task in done {
            task.answer(failure.as_ref().map(Failure::error));
        }
        others.leave_a_gap(&connection);
    }
    // Nobody is left to tell; only copies made since the last time are not known as old.
    let _ = life.end(&mut connection);
}

/// What is known of other processes that write to the file.
struct Others {
    version: Option<i64>,
    last_seen: Option<Instant>,
}

impl Others {
    fn leave_a_gap(&mut self, connection: &Connection) {
        // It changes with commits of others only. Not to know it is no harm.
        let version = connection.query_row("PRAGMA data_version", [], |row| row.get(0)).ok();
        if self.version.is_some() && version != self.version {
            self.last_seen = Some(Instant::now());
        }
        self.version = version;
        if self.last_seen.is_some_and(|seen| seen.elapsed() < COURTESY) {
            thread::sleep(GAP);
        }
    }
}

/// Why a whole batch was not committed.
enum Failure {
    /// Before COMMIT was asked for: nothing was written.
    Before(String),
    /// In COMMIT: what reached the disk is not known.
    Commit(rusqlite::Error),
}

impl Failure {
    fn error(&self) -> StoreError {
        match self {
            Self::Before(reason) => StoreError::Database(reason.as_str().into()),
            Self::Commit(error) => StoreError::Unknown(error.to_string()),
        }
    }
}

/// Runs the first task and those that are queued behind it.
fn batch(
    connection: &Connection,
    first: Box<dyn Task>,
    tasks: &Receiver<Box<dyn Task>>,
    done: &mut Vec<Box<dyn Task>>,
) -> Result<(), rusqlite::Error> {
    let started = Instant::now();
    let mut next = Some(first);
    while let Some(mut task) = next {
        let run = savepoint(connection, &mut *task);
        done.push(task);
        run?;
        let room = done.len() < MOST_TASKS && started.elapsed() < MOST_TIME;
        next = if room { tasks.try_recv().ok() } else { None };
    }
    Ok(())
}

fn savepoint(connection: &Connection, task: &mut dyn Task) -> Result<(), rusqlite::Error> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    execute("SAVEPOINT task")?;
    if !task.run(connection) {
        // A full disk and the like end the whole transaction; then this fails, and so do all.
        execute("ROLLBACK TO task")?;
    }
    execute("RELEASE task")
}
