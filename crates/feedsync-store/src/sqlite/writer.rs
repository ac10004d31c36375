//! The only thread that writes; it commits all queued tasks together.
//!
//! Each task runs in its own savepoint, so that a failed task does not affect others. Results are sent after
//! the commit, when all tasks are durable. Log files that they wrote are synchronized before the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::disk_reserve::DiskReserve;
use super::log_files::LogFiles;
use super::nonce::NonceRenewal;
use crate::error::StoreError;

/// Maximum number of tasks in one commit, however many are queued.
const MAX_TASKS: usize = 512;
const MAX_BATCH_TIME: Duration = Duration::from_millis(50);

/// Pause after each commit while other processes also write, so that they can acquire the lock. It applies
/// for a limited time after the last detected commit of another process.
const LOCK_PAUSE: Duration = Duration::from_millis(1);
const CONTENTION_WINDOW: Duration = Duration::from_secs(1);

/// A queued write.
trait Task: Send {
    /// Runs the write; returns whether it is to be committed.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Tells whether it adds nothing, so that it may run on a full disk, and may be run again.
    fn is_without_growth(&self) -> bool;
    /// Tells whether it failed because the disk was full.
    fn is_full(&self) -> bool;
    /// Sends the result of `run` to the caller, or the reason why it was not committed.
    fn answer(self: Box<Self>, failure: Option<StoreError>);
    /// Sends an error to the caller without running the write.
    fn refuse(self: Box<Self>, failure: StoreError);
}

/// Closure of a task.
enum TaskClosure<F, G> {
    Once(Option<F>),
    WithoutGrowth(G),
}

struct Work<T, F, G> {
    work: TaskClosure<F, G>,
    outcome: Result<T, StoreError>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F, G> Task for Work<T, F, G>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
    G: FnMut(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) -> bool {
        // The savepoint is rolled back, so a panic leaves nothing half-done.
        let work = &mut self.work;
        let result = catch_unwind(AssertUnwindSafe(|| match work {
            TaskClosure::Once(work) => work.take().map(|work| work(connection)),
            TaskClosure::WithoutGrowth(work) => Some(work(connection)),
        }));
        let panicked = || Some(Err(StoreError::Decision("the decision panicked".to_owned())));
        if let Some(outcome) = result.unwrap_or_else(|_| panicked()) {
            self.outcome = outcome;
        }
        self.outcome.is_ok()
    }

    fn is_without_growth(&self) -> bool {
        matches!(self.work, TaskClosure::WithoutGrowth(_))
    }

    fn is_full(&self) -> bool {
        matches!(self.outcome, Err(StoreError::Full))
    }

    fn answer(self: Box<Self>, failure: Option<StoreError>) {
        let Self { work, outcome, answer } = *self;
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

    fn refuse(self: Box<Self>, failure: StoreError) {
        let Self { work, answer, .. } = *self;
        drop(work);
        let _ = answer.send(Err(failure));
    }
}

/// The thread and its queue. Dropping it ends the thread after all queued tasks are written.
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        nonce: NonceRenewal,
        files: Arc<LogFiles>,
        space: DiskReserve,
    ) -> Result<Self, StoreError> {
        let (queue, tasks) = channel();
        let thread = thread::Builder::new()
            .name("feedsync-writer".to_owned())
            .spawn(move || write(&mut WriterState { connection, nonce, files, space }, &tasks))
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a write; the future is ready when the write is durable.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.queue(TaskClosure::<F, fn(&Connection) -> Result<T, StoreError>>::Once(Some(work)))
            .await
    }

    /// Queues a write that adds nothing; the future is ready when the write is durable. It also runs on a
    /// full disk, with space from the [reserve](super::space). It may run twice, if the first attempt is not
    /// committed.
    pub(super) async fn run_without_growth<T, G>(&self, work: G) -> Result<T, StoreError>
    where
        T: Send + 'static,
        G: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.queue(TaskClosure::<fn(&Connection) -> Result<T, StoreError>, G>::WithoutGrowth(work))
            .await
    }

    async fn queue<T, F, G>(&self, work: TaskClosure<F, G>) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        G: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let stopped = || StoreError::Unknown("the writing thread has ended".to_owned());
        let (answer, outcome) = oneshot::channel();
        let task = Work { work, outcome: Err(stopped()), answer };
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

/// State of the writing thread.
struct WriterState {
    connection: Connection,
    nonce: NonceRenewal,
    files: Arc<LogFiles>,
    space: DiskReserve,
}

fn write(state: &mut WriterState, tasks: &Receiver<Box<dyn Task>>) {
    let mut others = OtherWriters { version: None, last_seen: None };
    while let Ok(first) = tasks.recv() {
        state.space.restore(&state.connection);
        let mut done = Vec::new();
        let failure = state.commit(first, Some(tasks), &mut done);
        let lacks_room = matches!(failure, Some(Failure::Full { .. }));
        if lacks_room || done.iter().any(|task| task.is_full()) {
            state.space.release(&state.connection);
            // If the returned space suffices, everything is run again; otherwise only deletions are.
            state.space.restore(&state.connection);
            let (again, over): (Vec<_>, Vec<_>) = done
                .into_iter()
                .partition(|task| task.is_without_growth() && (lacks_room || task.is_full()));
            done = over;
            for task in again {
                state.again(task);
            }
        }
        for task in done {
            task.answer(failure.as_ref().map(Failure::error));
        }
        state.space.keep(&state.connection);
        others.yield_lock(&state.connection);
    }
    // No caller is left to report an error to. If this fails, copies made since the last renewal are not
    // detected as old.
    let _ = state.nonce.end(&mut state.connection);
}

impl WriterState {
    /// Runs the first task and those queued after it, and commits them together.
    fn commit(
        &mut self,
        first: Box<dyn Task>,
        tasks: Option<&Receiver<Box<dyn Task>>>,
        done: &mut Vec<Box<dyn Task>>,
    ) -> Option<Failure> {
        let Self { connection, nonce, files, space } = self;
        let failure = match connection.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => batch(connection, space.is_full(), first, tasks, done)
                .map_err(StoreError::from)
                .and_then(|()| files.sync())
                .and_then(|()| nonce.renew_if_due(connection))
                .map_err(Failure::before)
                .and_then(|renewed| {
                    connection.execute_batch("COMMIT").map_err(Failure::commit)?;
                    nonce.committed(renewed);
                    Ok(())
                })
                .err(),
            Err(error) => {
                done.push(first);
                Some(Failure::before(error.into()))
            }
        };
        // The full disk ended the transaction together with its savepoints.
        let failure = match failure {
            Some(Failure::Before(_)) if done.iter().any(|task| task.is_full()) => {
                Some(Failure::Full { in_commit: false })
            }
            failure => failure,
        };
        if failure.is_some() && !connection.is_autocommit() {
            // If this fails too, the next BEGIN reports it.
            let _ = connection.execute_batch("ROLLBACK");
        }
        match &failure {
            None => files.committed(),
            Some(Failure::Before(_) | Failure::Full { in_commit: false }) => files.rolled_back(),
            Some(Failure::Commit(_) | Failure::Full { in_commit: true }) => files.left_open(),
        }
        failure
    }

    /// Runs a task again, in the space that the reserve has released.
    fn again(&mut self, task: Box<dyn Task>) {
        let mut done = Vec::new();
        let failure = self.commit(task, None, &mut done);
        for task in done {
            task.answer(failure.as_ref().map(Failure::error));
        }
    }
}

/// Activity of other processes that write to the file.
struct OtherWriters {
    version: Option<i64>,
    last_seen: Option<Instant>,
}

impl OtherWriters {
    fn yield_lock(&mut self, connection: &Connection) {
        // It changes only when other connections commit. An error here is harmless.
        let version = connection.query_row("PRAGMA data_version", [], |row| row.get(0)).ok();
        if self.version.is_some() && version != self.version {
            self.last_seen = Some(Instant::now());
        }
        self.version = version;
        if self.last_seen.is_some_and(|seen| seen.elapsed() < CONTENTION_WINDOW) {
            thread::sleep(LOCK_PAUSE);
        }
    }
}

/// Reason why a whole batch was not committed.
enum Failure {
    /// An error before COMMIT: nothing was written.
    Before(String),
    /// The disk was full: nothing was committed.
    Full { in_commit: bool },
    /// An error in COMMIT: it is unknown what reached the disk.
    Commit(rusqlite::Error),
}

impl Failure {
    fn before(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full { in_commit: false },
            error => Self::Before(error.to_string()),
        }
    }

    fn commit(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            // The commit frame is written last, so a full disk means that it was not written.
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full { in_commit: true },
            _ => Self::Commit(error),
        }
    }

    fn error(&self) -> StoreError {
        match self {
            Self::Before(reason) => StoreError::Database(reason.as_str().into()),
            Self::Full { .. } => StoreError::Full,
            Self::Commit(error) => StoreError::Unknown(error.to_string()),
        }
    }
}

/// Runs the first task and those queued after it. On a full disk, tasks that add something are rejected.
fn batch(
    connection: &Connection,
    is_full: bool,
    first: Box<dyn Task>,
    tasks: Option<&Receiver<Box<dyn Task>>>,
    done: &mut Vec<Box<dyn Task>>,
) -> Result<(), rusqlite::Error> {
    let started = Instant::now();
    let mut next = Some(first);
    while let Some(mut task) = next {
        if is_full && !task.is_without_growth() {
            task.refuse(StoreError::Full);
        } else {
            let run = savepoint(connection, &mut *task);
            done.push(task);
            run?;
        }
        let room = done.len() < MAX_TASKS && started.elapsed() < MAX_BATCH_TIME;
        next = tasks.filter(|_| room).and_then(|tasks| tasks.try_recv().ok());
    }
    Ok(())
}

fn savepoint(connection: &Connection, task: &mut dyn Task) -> Result<(), rusqlite::Error> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    execute("SAVEPOINT task")?;
    if !task.run(connection) {
        // Errors such as a full disk end the whole transaction. Then this statement fails, and all tasks with
        // it.
        execute("ROLLBACK TO task")?;
    }
    execute("RELEASE task")
}
