//! `feedsync log`

pub(crate) mod access;
mod append;
mod compact;
mod create;
mod pull;
mod response;
mod snapshot;
mod tail;
mod verify;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync log create https://hub.example/logs/reading
  feedsync log tail reading --follow
  feedsync log verify ./reading.jsonl
";

/// Create, append to, read, compact and check append-only logs
///
/// A log is a file of records, one in each line (REST-logging). Any web server can serve it, and many devices can
/// append to it. LOG is an address, the name of a collection of this endpoint, or, for reading, the path of a file
/// with '/' or '.' in it.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Log {
    Create(create::Create),
    Append(append::Append),
    Tail(tail::Tail),
    Pull(pull::Pull),
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
            Self::Pull(command) => command.run(context).await,
            Self::Compact(command) => command.run(context).await,
            Self::Snapshot(command) => command.run(context).await,
            Self::Verify(command) => command.run(context).await,
        }
    }
}
