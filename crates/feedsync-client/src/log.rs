//! Append-only logs (REST-logging): the I/O that a [`Session`] decides on, for logs of any kind.
//!
//! [`RemoteLog`] is a log on a server, [`StoredLog`] a log of this endpoint, [`FileLog`] a file that can only
//! be read. [`synchronise`] synchronises a [`Follower`] with any of them.

mod copy;
mod file;
mod lines;
mod remote;
mod stored;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use feedsync_log::{Event, LogRequest, LogResponse, PendingRecord, RecordId, Session, Stop};
use feedsync_store::StoreError;
use tokio::time::sleep;

use feedsync_fetch::FetchError;

pub use copy::{CopyError, LogCopy};
pub use file::FileLog;
pub use lines::PendingLines;
pub use remote::RemoteLog;
pub use stored::StoredLog;

/// Media type of records.
pub const RECORDS_MEDIA_TYPE: &str = "application/x-ndjson";

/// Maximum wait within one synchronisation.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A log, as its readers and writers see it.
#[async_trait]
pub trait LogAccess: Send + Sync {
    /// Returns the name of the log for people.
    fn name(&self) -> String;

    /// Returns the identifier of the log, which differs from that of other logs: the whole address except the
    /// credentials.
    fn address(&self) -> String {
        self.name()
    }

    /// Reports that a request failed, and that it is sent again after a pause.
    fn retrying(&self, _reason: &Stop, _pause: Duration) {}

    /// Makes one request. A missing response is an [`LogResponse`] of status 0.
    async fn ask(&self, ask: &LogRequest) -> Result<LogResponse, LogError>;

    /// Stores a snapshot of the log up to a position, given as the text of the log's entity tag.
    async fn put_snapshot(&self, covers: &str, body: Vec<u8>) -> Result<LogResponse, LogError>;

    /// Starts the next generation of the log, if it still has this entity tag (LR46).
    async fn begin_generation(&self, tag: &str, body: Vec<u8>) -> Result<LogResponse, LogError>;
}

/// A participant that is synchronised with a log: it applies incoming events, and has records to append.
pub trait Follower: Send {
    /// Error when an event cannot be applied or stored.
    type Error: From<LogError>;

    /// Returns the names and lines of records to append, in order. It is called before each request. A record
    /// that is named for the first time is stored first.
    fn waiting(&mut self, session: &Session) -> Result<Vec<(RecordId, String)>, Self::Error>;

    /// Applies an event, and stores the result together with [`Session::position`], atomically. For a
    /// snapshot it reports to the session what the snapshot covers.
    fn apply(&mut self, event: Event, session: &mut Session) -> Result<(), Self::Error>;
}

/// Reason for failing to read a log or append to it.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A request failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The store of this endpoint failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Message of the system.
        source: std::io::Error,
    },
    /// The responses of the server prevent the session from continuing.
    #[error("{log}: {stop}")]
    Stopped {
        /// Name of the log.
        log: String,
        /// The reason.
        stop: Stop,
    },
    /// The server asks for a longer wait than one synchronisation allows.
    #[error("{log}: the server asked for a pause of {seconds} s; try again later")]
    Later {
        /// Name of the log.
        log: String,
        /// The wait, in seconds.
        seconds: u64,
    },
}

/// Synchronises a follower with a log: reads new records and appends waiting ones, until both are done. After
/// an error at any time, applied events are stored and waiting records still wait.
pub async fn synchronise<F: Follower>(
    log: &dyn LogAccess,
    session: &mut Session,
    follower: &mut F,
    random: &(dyn Fn() -> u64 + Send + Sync),
) -> Result<(), F::Error> {
    loop {
        let waiting = follower.waiting(session)?;
        let lines: Vec<_> = waiting.iter().map(|(id, line)| PendingRecord { id, line }).collect();
        let Some(ask) = session.next(&lines) else {
            return match session.refusal().filter(|_| !lines.is_empty()) {
                Some(stop) => Err(LogError::Stopped { log: log.name(), stop }.into()),
                None => Ok(()),
            };
        };
        let answer = log.ask(&ask).await?;
        let excuse = answer.excuse();
        match session.handle_response(&ask, answer, random()) {
            Event::Nothing => {}
            Event::Wait(wait) => {
                let wait = Duration::from_millis(wait.get());
                if let Some(reason) = excuse {
                    log.retrying(&reason, wait);
                }
                pause(log, wait).await?;
            }
            Event::Stopped(stop) => {
                return Err(LogError::Stopped { log: log.name(), stop }.into());
            }
            event => follower.apply(event, session)?,
        }
    }
}

async fn pause(log: &dyn LogAccess, pause: Duration) -> Result<(), LogError> {
    if pause > MAX_WAIT {
        return Err(LogError::Later { log: log.name(), seconds: pause.as_secs() });
    }
    sleep(pause).await;
    Ok(())
}
