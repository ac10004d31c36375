//! `feedsync database`

mod replicate;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync database replicate http://127.0.0.1:5984/notes notes --create
";

/// Replicate databases of documents with CouchDB, PouchDB and hubs
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Database {
    Replicate(replicate::Replicate),
}

impl Database {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Replicate(command) => command.run(context).await,
        }
    }
}
