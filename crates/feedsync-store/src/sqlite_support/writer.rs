//! The only thread that writes; it commits all queued tasks together.
//!
//! Each task runs in its own savepoint, so that a failed task does not affect others. Results are sent after
//! the commit, when all tasks are durable.

mod batch;
mod task;

use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use self::batch::WriterState;
use self::task::{Task, TaskClosure, Work};
use super::error::{SqliteError, TaskError};

/// The failure that a commit survives once it is acknowledged or visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of the process.
    Process,
    /// A loss of power.
    Power,
}

impl Durability {
    pub(super) const fn synchronous(self) -> &'static str {
        match self {
            Self::Process => "NORMAL",
            Self::Power => "FULL",
        }
    }
}

/// Result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// All is written.
    Committed,
    /// Nothing is written.
    RolledBack,
    /// It is unknown what reached the disk.
    Unknown,
}

/// Work of a writer's thread beside the tasks. All methods do nothing by default; `()` has no hooks.
pub trait CommitHooks<E>: Send + 'static {
    /// Prepares the run of queued tasks.
    fn before_batch(&mut self, _: &Connection) {}

    /// Whether tasks that add something fail at once, because the disk is full.
    fn refuses_growth(&self) -> bool {
        false
    }

    /// The last step of a transaction. An error rolls it back.
    fn before_commit(&mut self, _: &Connection) -> Result<(), E> {
        Ok(())
    }

    /// Called when a transaction has ended.
    fn after_commit(&mut self, _: CommitOutcome) {}

    /// Frees space after a write failed because the disk was full.
    fn free_space(&mut self, _: &Connection) {}

    /// Called when the results of a batch were sent.
    fn after_batch(&mut self, _: &Connection) {}

    /// Called when the last task is done.
    fn end(&mut self, _: &mut Connection) {}
}

impl<E> CommitHooks<E> for () {}

/// The thread and its queue. Dropping it ends the thread after all queued tasks are written.
pub struct Writer<E> {
    queue: Option<Sender<Box<dyn Task<E>>>>,
    thread: Option<JoinHandle<()>>,
}

impl<E: TaskError> Writer<E> {
    /// Starts the thread.
    pub fn start(
        name: &'static str,
        connection: Connection,
        hooks: impl CommitHooks<E>,
    ) -> Result<Self, SqliteError> {
        let (queue, tasks) = channel();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || WriterState::new(connection, hooks).run(&tasks))
            .map_err(SqliteError::thread)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a write; the future is ready when the write survives a loss of power.
    pub async fn run<T, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.run_with(Durability::Power, work).await
    }

    /// Queues a write; the future is ready when the write is committed and as durable as required.
    pub async fn run_with<T, F>(&self, durability: Durability, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let work = TaskClosure::<F, fn(&Connection) -> Result<T, E>>::Once(Some(work));
        self.queue(durability, work).await
    }

    /// Queues a write that adds nothing; the future is ready when the write survives a loss of power. It also
    /// runs on a full disk, in the space that the hooks free. It may run twice, if the first attempt is not
    /// committed.
    pub async fn run_without_growth<T, G>(&self, work: G) -> Result<T, E>
    where
        T: Send + 'static,
        G: FnMut(&Connection) -> Result<T, E> + Send + 'static,
    {
        let work = TaskClosure::<fn(&Connection) -> Result<T, E>, G>::WithoutGrowth(work);
        self.queue(Durability::Power, work).await
    }

    async fn queue<T, F, G>(&self, durability: Durability, work: TaskClosure<F, G>) -> Result<T, E>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        G: FnMut(&Connection) -> Result<T, E> + Send + 'static,
    {
        let stopped = || E::from(SqliteError::Unknown("the writing thread has ended".to_owned()));
        let (answer, outcome) = oneshot::channel();
        let task = Work { durability, work, outcome: Err(stopped()), answer };
        if let Some(queue) = &self.queue {
            queue.send(Box::new(task)).map_err(|_| stopped())?;
        }
        outcome.await.map_err(|_| stopped())?
    }
}

impl<E> Drop for Writer<E> {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreError;
    use crate::sqlite_support::{Busy, Settings};

    const SETTINGS: Settings = Settings {
        durability: Durability::Power,
        foreign_keys: false,
        cache: 1_000,
        reader_cache: 1_000,
        checkpoint: 1_000,
        busy: Busy::Share,
    };

    fn written(
        tasks: impl AsyncFnOnce(&Writer<StoreError>),
        hooks: impl CommitHooks<StoreError>,
    ) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("names.db");
        std::fs::write(&file, b"").unwrap();
        let connection = SETTINGS.connect(&file).unwrap();
        connection.execute_batch("CREATE TABLE names (name TEXT PRIMARY KEY)").unwrap();
        let writer = Writer::start("test", connection, hooks).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(tasks(&writer));
        drop(writer);
        let connection = SETTINGS.connect_reader(&file).unwrap();
        let mut statement = connection.prepare("SELECT name FROM names ORDER BY name").unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    }

    fn write_name(connection: &Connection, name: &str) -> Result<(), StoreError> {
        connection.execute("INSERT INTO names (name) VALUES (?1)", [name])?;
        Ok(())
    }

    /// A failed task, or one that panics, leaves no changes, even if it was committed together with others.
    #[test]
    fn failed_task_is_rolled_back_alone() {
        let tasks = async |writer: &Writer<StoreError>| {
            let write = |name: &'static str, durability| {
                writer.run_with(durability, move |connection| {
                    write_name(connection, name)?;
                    match name {
                        "fails" => Err(StoreError::NoRemote),
                        "panics" => panic!("on purpose: part of the test"),
                        _ => Ok(()),
                    }
                })
            };
            let (a, fails, c, again, panics) = tokio::join!(
                write("a", Durability::Process),
                write("fails", Durability::Power),
                write("c", Durability::Power),
                write("a", Durability::Process),
                write("panics", Durability::Process),
            );
            assert!(a.is_ok() && c.is_ok());
            assert!(matches!(fails, Err(StoreError::NoRemote)), "{fails:?}");
            assert!(matches!(again, Err(StoreError::Database(_))), "{again:?}");
            assert!(matches!(panics, Err(StoreError::Decision(_))), "{panics:?}");
        };
        assert_eq!(written(tasks, ()), ["a", "c"]);
    }

    /// Hooks of a disk that is full.
    struct FullDisk;

    impl CommitHooks<StoreError> for FullDisk {
        fn refuses_growth(&self) -> bool {
            true
        }
    }

    #[test]
    fn full_disk_accepts_only_tasks_without_growth() {
        let tasks = async |writer: &Writer<StoreError>| {
            let (grows, shrinks) = tokio::join!(
                writer.run(|connection| write_name(connection, "grows")),
                writer.run_without_growth(|connection| write_name(connection, "shrinks")),
            );
            assert!(matches!(grows, Err(StoreError::Full)), "{grows:?}");
            shrinks.unwrap();
        };
        assert_eq!(written(tasks, FullDisk), ["shrinks"]);
    }

    /// Hooks that fail.
    struct Failing;

    impl CommitHooks<StoreError> for Failing {
        fn before_commit(&mut self, _: &Connection) -> Result<(), StoreError> {
            Err(StoreError::NoRemote)
        }
    }

    #[test]
    fn failed_hook_rolls_all_tasks_back() {
        let tasks = async |writer: &Writer<StoreError>| {
            let write = writer.run(|connection| write_name(connection, "a")).await;
            assert!(matches!(write, Err(StoreError::Database(_))), "{write:?}");
        };
        assert_eq!(written(tasks, Failing), [""; 0]);
    }
}
