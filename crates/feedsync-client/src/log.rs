//! Append-only logs (REST-logging): what a [`Session`] decides, done with a log wherever it is.
//!
//! [`RemoteLog`] is one on a server, [`StoredLog`] one of this endpoint, [`FileLog`] a file that can only be
//! read. [`synchronise`] brings a [`Follower`] in step with any of them.

mod copy;
mod file;
mod lines;
mod remote;
mod stored;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use feedsync_log::{Answer, Ask, Event, RecordId, Session, Stop, Waiting};
use feedsync_store::StoreError;
use tokio::time::sleep;

use crate::fetch::FetchError;

pub use copy::{CopyError, LogCopy};
pub use file::FileLog;
pub use lines::LineAppend;
pub use remote::RemoteLog;
pub use stored::StoredLog;

/// The media type of records.
pub const RECORDS: &str = "application/x-ndjson";

/// The longest that is waited within one synchronisation.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// A log, as whoever reads it and appends to it sees it.
#[async_trait]
pub trait LogAccess: Send + Sync {
    /// For people.
    fn name(&self) -> String;

    /// By what it is found again, and told from others: of an address all but the credentials.
    fn address(&self) -> String {
        self.name()
    }

    /// Reports that a request failed, and that it is sent again after a pause.
    fn retrying(&self, _reason: &Stop, _pause: Duration) {}

    /// Makes one request. That nobody answers is an answer of status 0.
    async fn ask(&self, ask: &Ask) -> Result<Answer, LogError>;

    /// Stores a snapshot that stands for the log up to a place, which is the text of the log's entity tag.
    async fn put_snapshot(&self, covers: &str, body: Vec<u8>) -> Result<Answer, LogError>;

    /// Begins the next generation of the log, if it still has this entity tag (LR46).
    async fn begin_generation(&self, tag: &str, body: Vec<u8>) -> Result<Answer, LogError>;
}

/// What keeps in step with a log: it applies what comes, and has records that wait.
pub trait Follower: Send {
    /// Why something could not be applied or stored.
    type Error: From<LogError>;

    /// What waits, in the order in which it is to be appended: names and lines. Asked before each request; what
    /// is named for the first time is stored first.
    fn waiting(&mut self, session: &Session) -> Result<Vec<(RecordId, String)>, Self::Error>;

    /// Applies what an event brought, and stores it together with [`Session::position`]: all or nothing. It
    /// tells the session what a snapshot covers.
    fn apply(&mut self, event: Event, session: &mut Session) -> Result<(), Self::Error>;
}

/// Why a log could not be read or appended to.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The address, or the way to it.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// This endpoint.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The server's answers.
    #[error("{log}: {stop}")]
    Stopped {
        /// Which log.
        log: String,
        /// Why.
        stop: Stop,
    },
    /// The server asks for more patience than one synchronisation has.
    #[error("{log}: the server asks to be left alone for {seconds} s")]
    Later {
        /// Which log.
        log: String,
        /// For how long.
        seconds: u64,
    },
}

/// Brings a follower in step with a log: reads what is new and appends what waits, until both are done. An error
/// at any time does no harm: what was applied was stored, and what waits goes on waiting.
pub async fn synchronise<F: Follower>(
    log: &dyn LogAccess,
    session: &mut Session,
    follower: &mut F,
    random: &(dyn Fn() -> u64 + Send + Sync),
) -> Result<(), F::Error> {
    loop {
        let waiting = follower.waiting(session)?;
        let lines: Vec<_> = waiting.iter().map(|(id, line)| Waiting { id, line }).collect();
        let Some(ask) = session.next(&lines) else {
            return match session.refusal().filter(|_| !lines.is_empty()) {
                Some(stop) => Err(LogError::Stopped { log: log.name(), stop }.into()),
                None => Ok(()),
            };
        };
        let answer = log.ask(&ask).await?;
        let excuse = answer.excuse();
        match session.answered(&ask, answer, random()) {
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
    if pause > MOST_WAIT {
        return Err(LogError::Later { log: log.name(), seconds: pause.as_secs() });
    }
    sleep(pause).await;
    Ok(())
}
