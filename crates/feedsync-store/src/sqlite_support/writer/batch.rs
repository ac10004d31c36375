//! The loop of the writing thread: batches, commits and their failures.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::task::Task;
use super::{CommitHooks, CommitOutcome, Durability};
use crate::sqlite_support::error::{SqliteError, TaskError};

/// Maximum number of tasks in one commit, however many are queued, and maximum time that they run.
const MAX_TASKS: usize = 512;
const MAX_BATCH_TIME: Duration = Duration::from_millis(50);

/// Pause after each commit while other processes also write, so that they can acquire the lock. It applies
/// for a limited time after the last detected commit of another process.
const LOCK_PAUSE: Duration = Duration::from_millis(1);
const CONTENTION_WINDOW: Duration = Duration::from_secs(1);

type Queue<E> = Receiver<Box<dyn Task<E>>>;
type Tasks<E> = Vec<Box<dyn Task<E>>>;

/// State of the writing thread.
pub(super) struct WriterState<E, H> {
    connection: Connection,
    hooks: H,
    /// Tasks that were taken from the queue.
    waiting: VecDeque<Box<dyn Task<E>>>,
    /// The durability that is set on the connection.
    durability: Option<Durability>,
}

impl<E: TaskError, H: CommitHooks<E>> WriterState<E, H> {
    pub(super) fn new(connection: Connection, hooks: H) -> Self {
        Self { connection, hooks, waiting: VecDeque::new(), durability: None }
    }

    /// Writes tasks until the queue is closed and empty.
    pub(super) fn run(mut self, queue: &Queue<E>) {
        let mut others = OtherWriters { version: None, last_seen: None };
        loop {
            if self.waiting.is_empty() {
                match queue.recv() {
                    Ok(task) => self.waiting.push_back(task),
                    Err(_) => break,
                }
            }
            self.hooks.before_batch(&self.connection);
            let mut done = Vec::new();
            let failure = self.commit(Some(queue), &mut done);
            let lacks_room = matches!(failure, Some(Failure::Full { .. }));
            if lacks_room || done.iter().any(|task| task.is_full()) {
                self.hooks.free_space(&self.connection);
                let (again, over): (Tasks<E>, Tasks<E>) = done
                    .into_iter()
                    .partition(|task| task.is_without_growth() && (lacks_room || task.is_full()));
                done = over;
                again.into_iter().for_each(|task| self.again(task));
            }
            answer(done, failure.as_ref());
            self.hooks.after_batch(&self.connection);
            others.yield_lock(&self.connection);
        }
        self.hooks.end(&mut self.connection);
    }

    /// Runs waiting tasks, and those that are queued meanwhile, and commits them together.
    fn commit(&mut self, queue: Option<&Queue<E>>, done: &mut Tasks<E>) -> Option<Failure> {
        self.fill(queue);
        let durability = self.waiting.iter().map(|task| task.durability()).max();
        let failure = match self.begin(durability.unwrap_or(Durability::Power)) {
            Ok(durability) => self.complete(queue, durability, done).err(),
            Err(error) => {
                done.extend(self.waiting.pop_front());
                Some(Failure::statement::<E>(error))
            }
        };
        // The full disk ended the transaction together with its savepoints.
        let failure = match failure {
            Some(Failure::Before { .. }) if done.iter().any(|task| task.is_full()) => {
                Some(Failure::Full { in_commit: false })
            }
            failure => failure,
        };
        if failure.is_some() && !self.connection.is_autocommit() {
            // If this fails too, the next BEGIN reports it.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.hooks.after_commit(match &failure {
            None => CommitOutcome::Committed,
            Some(Failure::Before { .. } | Failure::Full { in_commit: false }) => {
                CommitOutcome::RolledBack
            }
            Some(Failure::Commit(_) | Failure::Full { in_commit: true }) => CommitOutcome::Unknown,
        });
        failure
    }

    fn begin(&mut self, durability: Durability) -> Result<Durability, rusqlite::Error> {
        if self.durability != Some(durability) {
            let synchronous = durability.synchronous();
            self.connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
            self.durability = Some(durability);
        }
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(durability)
    }

    fn complete(
        &mut self,
        queue: Option<&Queue<E>>,
        durability: Durability,
        done: &mut Tasks<E>,
    ) -> Result<(), Failure> {
        self.batch(queue, durability, done).map_err(Failure::statement::<E>)?;
        let prepared = self.hooks.before_commit(&self.connection);
        prepared.map_err(|error| Failure::before(&error, error.to_string()))?;
        self.connection.execute_batch("COMMIT").map_err(|error| Failure::commit(&error))
    }

    /// Runs tasks. On a full disk, tasks that add something are rejected. A task that requires more durability
    /// than the transaction has waits for the next one.
    fn batch(
        &mut self,
        queue: Option<&Queue<E>>,
        durability: Durability,
        done: &mut Tasks<E>,
    ) -> Result<(), rusqlite::Error> {
        let started = Instant::now();
        let refuses_growth = self.hooks.refuses_growth();
        while let Some(mut task) = self.waiting.pop_front_if(|task| task.durability() <= durability)
        {
            if refuses_growth && !task.is_without_growth() {
                task.refuse(SqliteError::Full.into());
            } else {
                let run = savepoint(&self.connection, &mut *task);
                done.push(task);
                run?;
            }
            if done.len() >= MAX_TASKS || started.elapsed() >= MAX_BATCH_TIME {
                break;
            }
            self.fill(queue);
        }
        Ok(())
    }

    /// Takes queued tasks.
    fn fill(&mut self, queue: Option<&Queue<E>>) {
        while let Some(queue) = queue
            && self.waiting.len() < MAX_TASKS
            && let Ok(task) = queue.try_recv()
        {
            self.waiting.push_back(task);
        }
    }

    /// Runs a task again, alone, in the space that was freed.
    fn again(&mut self, task: Box<dyn Task<E>>) {
        let mut done = Vec::new();
        let others = std::mem::replace(&mut self.waiting, VecDeque::from([task]));
        let failure = self.commit(None, &mut done);
        self.waiting = others;
        answer(done, failure.as_ref());
    }
}

fn answer<E: TaskError>(done: Tasks<E>, failure: Option<&Failure>) {
    for task in done {
        task.answer(failure.map(|failure| failure.error().into()));
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
    Before { reason: String, is_damaged: bool },
    /// The disk was full: nothing was committed.
    Full { in_commit: bool },
    /// An error in COMMIT: it is unknown what reached the disk.
    Commit(String),
}

impl Failure {
    fn before<E: TaskError>(error: &E, reason: String) -> Self {
        match error.is_full_disk() {
            true => Self::Full { in_commit: false },
            false => Self::Before { reason, is_damaged: error.is_damaged_file() },
        }
    }

    /// The failure of a statement before COMMIT. Its reason is that of SQLite, since the error of each task
    /// begins with "the database failed" by itself.
    fn statement<E: TaskError>(error: rusqlite::Error) -> Self {
        let reason = error.to_string();
        Self::before(&E::from(error), reason)
    }

    fn commit(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            // The commit frame is written last, so a full disk means that it was not written.
            Some(ErrorCode::DiskFull) => Self::Full { in_commit: true },
            _ => Self::Commit(error.to_string()),
        }
    }

    /// The error of each task of the batch.
    fn error(&self) -> SqliteError {
        match self {
            Self::Before { reason, is_damaged: true } => SqliteError::Damaged(reason.clone()),
            Self::Before { reason, .. } => SqliteError::Database(reason.as_str().into()),
            Self::Full { .. } => SqliteError::Full,
            Self::Commit(reason) => SqliteError::Unknown(reason.clone()),
        }
    }
}

fn savepoint<E>(connection: &Connection, task: &mut dyn Task<E>) -> Result<(), rusqlite::Error> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    execute("SAVEPOINT task")?;
    if !task.run(connection) {
        // Errors such as a full disk end the whole transaction. Then this statement fails, and all tasks with
        // it.
        execute("ROLLBACK TO task")?;
    }
    execute("RELEASE task")
}
