//! `feedsync log`

mod access;
mod append;
mod compact;
mod copy;
mod create;
mod snapshot;
mod tail;
mod verify;

use clap::Subcommand;
use feedsync_client::LogError;
use feedsync_log::{LogResponse, Position, Session, Stop};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;

pub(crate) use access::{access, random};

/// Look after append-only logs
///
/// A log is a file of records, one a line, that any web server can serve and many devices append to under a
/// precondition (REST-logging). LOG is its address, the name of a collection of this endpoint, or for reading
/// a file (a path with '/' or '.' in it).
#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    Create(create::Create),
    Append(append::Append),
    Tail(tail::Tail),
    Sync(copy::Copy),
    Compact(compact::Compact),
    Snapshot(snapshot::Snapshot),
    Verify(verify::Verify),
}

impl Log {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::Append(command) => command.run(context).await,
            Self::Tail(command) => command.run(context).await,
            Self::Sync(command) => command.run(context).await,
            Self::Compact(command) => command.run(context).await,
            Self::Snapshot(command) => command.run(context).await,
            Self::Verify(command) => command.run(context).await,
        }
    }
}

/// Position in a log, as JSON.
fn shown(position: &Position) -> Value {
    json!({ "length": position.offset, "etag": position.etag, "generation": position.generation })
}

/// Checks that a log exists before it is read.
fn present(name: &str, session: &Session) -> Result<(), Failure> {
    if session.is_absent() {
        return Err(Failure::not_found(format!("{name}: there is no such log")));
    }
    Ok(())
}

/// Checks that the server stored the data of the request.
fn stored(name: &str, answer: &LogResponse) -> Result<(), Failure> {
    answer.stored().map_err(|_| refused(name, answer))
}

/// Converts an unsuccessful response of a log into a failure.
fn refused(name: &str, answer: &LogResponse) -> Failure {
    if let Some(excuse) = answer.excuse() {
        return Failure::network(format!("{name}: {excuse}"));
    }
    let stopped = |stop| Failure::from(LogError::Stopped { log: name.to_owned(), stop });
    match answer.status {
        1..=399 | 511 => stopped(answer.foreign()),
        404 | 409 | 410 | 412 if answer.refused(false).is_err() => stopped(answer.foreign()),
        401 | 403 => stopped(Stop::Refused(answer.status)),
        404 => Failure::not_found(format!("{name}: there is no such log")),
        410 => Failure::not_found(format!("{name}: {}", Stop::Gone)),
        412 => Failure::refused(format!("{name}: it does not stand where it was expected to")),
        507 => Failure::refused(format!("{name}: {}", Stop::Full)),
        status => Failure::network(format!("{name}: the server answered {status}")),
    }
}
