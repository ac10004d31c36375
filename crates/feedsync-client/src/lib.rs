//! Reading and writing remote feeds over HTTP: pull, push, sync, follow.
//!
//! All requests are made by a [`feedsync_fetch::Fetcher`], within its limits. [`Session::sync`] synchronises
//! one collection with one remote: a hub, or any feed on any web server. [`Watch`] decides when to
//! synchronise, and [`Schedule`] reads the subscriptions of collections.

mod address;
mod aggregate;
mod atomic_file;
mod blobs;
mod complete;
mod document;
mod error;
mod events;
mod follow;
mod incoming;
#[cfg(feature = "log")]
mod log;
mod logins;
mod plain;
mod private_file;
mod progress;
mod pull;
mod push;
#[cfg(feature = "reader")]
mod reader;
#[cfg(feature = "couch")]
pub mod replicate;
mod report;
mod schedule;
mod session;
mod watch;
mod wire;

pub use aggregate::SubscriptionOptions;
pub use atomic_file::{FileReaders, replace_file};
pub use error::SyncError;
#[cfg(feature = "log")]
pub use log::{
    CopyError, FileLog, Follower, LogAccess, LogCopy, LogError, PendingLines, RECORDS_MEDIA_TYPE,
    RemoteLog, StoredLog, synchronise,
};
pub use logins::{LoginFile, LoginFileError};
pub use progress::{NoProgress, Progress, Step};
#[cfg(feature = "reader")]
pub use reader::{
    ReaderFile, ReaderFileError, ReaderJoin, ReaderJoinError, ReaderSync, StoredReader, compact,
    read_reader_log, synchronise_reader,
};
pub use report::{RefusedItem, Side, SyncReport, Warning};
pub use schedule::Schedule;
pub use session::{Direction, Session};
pub use watch::{Pace, SyncTrigger, Watch};
