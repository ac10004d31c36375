//! The writer thread. Queued work is committed together, each task in its own savepoint.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::library::error::LibraryError;

/// Limits of the number of tasks in one commit, and of the time before it.
const MAX_TASKS: usize = 512;
const MAX_COMMIT_TIME: Duration = Duration::from_millis(50);

/// Failure that a commit survives once it is acknowledged or visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durability {
    /// End of the process.
    Process,
    /// Power failure, which is required for commits that assign numbers.
    Power,
}

/// A write in the queue.
trait Task: Send {
    fn durability(&self) -> Durability;
    /// Performs the write; returns whether it is to be committed.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Reports the result of `run`, or the reason why it was not committed.
    fn answer(self: Box<Self>, failure: Option<LibraryError>);
}

struct Work<T, F> {
    durability: Durability,
    work: Option<F>,
    outcome: Result<T, LibraryError>,
    answer: oneshot::Sender<Result<T, LibraryError>>,
}

impl<T, F> Task for Work<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, LibraryError> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            self.outcome = work(connection);
        }
        self.outcome.is_ok()
    }

    fn answer(self: Box<Self>, failure: Option<LibraryError>) {
        let outcome = match (self.outcome, failure) {
            (Ok(_), Some(failure)) => Err(failure),
            (outcome, _) => outcome,
        };
        // The caller may have been cancelled.
        let _ = self.answer.send(outcome);
    }
}

/// The thread and its queue. Dropping it ends the thread once the queue is empty.
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, LibraryError> {
        let (queue, tasks) = channel();
        let thread = thread::Builder::new()
            .name("feedsync-library".to_owned())
            .spawn(move || write(&connection, &tasks))
            .map_err(|error| LibraryError::Database(Box::new(error)))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a write; completes when it is committed.
    pub(super) async fn run<T, F>(&self, durability: Durability, work: F) -> Result<T, LibraryError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LibraryError> + Send + 'static,
    {
        let stopped = || LibraryError::Unknown("the writing thread has ended".to_owned());
        let (answer, outcome) = oneshot::channel();
        let task = Work { durability, work: Some(work), outcome: Err(stopped()), answer };
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

fn write(connection: &Connection, tasks: &Receiver<Box<dyn Task>>) {
    let mut waiting: VecDeque<Box<dyn Task>> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match tasks.recv() {
                Ok(task) => waiting.push_back(task),
                Err(_) => return,
            }
        }
        while waiting.len() < MAX_TASKS
            && let Ok(task) = tasks.try_recv()
        {
            waiting.push_back(task);
        }
        let mut done = Vec::new();
        let failure = commit(connection, &mut waiting, &mut done).err();
        if failure.is_some() && !connection.is_autocommit() {
            // If this fails, too, the next BEGIN reports the error.
            let _ = connection.execute_batch("ROLLBACK");
        }
        for task in done {
            task.answer(failure.as_ref().map(Failure::error));
        }
    }
}

/// Reason why a whole commit failed.
enum Failure {
    /// Failure before COMMIT: nothing was written.
    Before(rusqlite::Error),
    /// Failure of COMMIT: it is unknown what reached the disk.
    Commit(rusqlite::Error),
}

impl Failure {
    /// Error for each of the tasks.
    fn error(&self) -> LibraryError {
        match self {
            Self::Before(error) => match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => LibraryError::Full,
                Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                    LibraryError::Damaged(error.to_string())
                }
                _ => LibraryError::Database(error.to_string().into()),
            },
            Self::Commit(error) => LibraryError::Unknown(error.to_string()),
        }
    }
}

/// Runs waiting tasks in order and commits them; tasks beyond the limits stay in the queue.
fn commit(
    connection: &Connection,
    waiting: &mut VecDeque<Box<dyn Task>>,
    done: &mut Vec<Box<dyn Task>>,
) -> Result<(), Failure> {
    let started = Instant::now();
    let durability = waiting.iter().map(|task| task.durability()).max();
    if let Err(error) = begin(connection, durability.unwrap_or(Durability::Process)) {
        done.extend(waiting.pop_front());
        return Err(Failure::Before(error));
    }
    while let Some(mut task) = waiting.pop_front() {
        let run = savepoint(connection, &mut *task);
        done.push(task);
        run.map_err(Failure::Before)?;
        if started.elapsed() >= MAX_COMMIT_TIME {
            break;
        }
    }
    connection.execute_batch("COMMIT").map_err(Failure::Commit)
}

fn begin(connection: &Connection, durability: Durability) -> Result<(), rusqlite::Error> {
    connection.execute_batch(match durability {
        Durability::Process => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        Durability::Power => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
    })
}

fn savepoint(connection: &Connection, task: &mut dyn Task) -> Result<(), rusqlite::Error> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    execute("SAVEPOINT task")?;
    if !task.run(connection) {
        // A full disk and similar errors end the whole transaction. This statement then fails, and with it all
        // tasks.
        execute("ROLLBACK TO task")?;
    }
    execute("RELEASE task")
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn write_name(connection: &Connection, name: &str) -> Result<(), LibraryError> {
        connection.execute("INSERT INTO readers (name) VALUES (?1)", [name])?;
        Ok(())
    }

    /// A failed task leaves no changes, even if it was committed together with others.
    #[test]
    fn failed_task_is_rolled_back_alone() {
        let (directory, connection) = schema::empty();
        let writer = Writer::start(connection).unwrap();
        let write = |name: &'static str, fails: bool| {
            writer.run(Durability::Process, move |connection| {
                write_name(connection, name)?;
                if fails { Err(LibraryError::Decision) } else { Ok(()) }
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let written = runtime.block_on(async {
            tokio::join!(write("a", false), write("b", true), write("c", false), write("a", false))
        });
        assert!(written.0.is_ok() && written.2.is_ok());
        assert!(matches!(written.1, Err(LibraryError::Decision)));
        assert!(matches!(written.3, Err(LibraryError::Database(_))));
        drop(writer);
        let connection = schema::connect(&directory.path().join(super::super::FILE)).unwrap();
        let mut statement = connection.prepare("SELECT name FROM readers ORDER BY name").unwrap();
        let names: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(names, ["a", "c"]);
    }
}
