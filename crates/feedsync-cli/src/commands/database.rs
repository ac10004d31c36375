//! `feedsync database`

mod at;
mod drop;
mod find;
mod history;
mod list;
mod past_time;
mod replicate;
mod restore;
mod set;
mod undrop;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync database replicate http://127.0.0.1:5984/notes notes --create
  feedsync database set notes --history 30d
  feedsync database restore notes --at 2h --dry-run
";

/// Replicate databases of documents with CouchDB, PouchDB and hubs, and bring back what they were
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Database {
    List(list::List),
    Replicate(replicate::Replicate),
    Set(set::Set),
    History(history::History),
    At(at::At),
    Restore(restore::Restore),
    Drop(drop::Drop),
    Undrop(undrop::Undrop),
}

impl Database {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Replicate(command) => command.run(context).await,
            Self::Set(command) => command.run(context).await,
            Self::History(command) => command.run(context).await,
            Self::At(command) => command.run(context).await,
            Self::Restore(command) => command.run(context).await,
            Self::Drop(command) => command.run(context).await,
            Self::Undrop(command) => command.run(context).await,
        }
    }
}
