//! `feedsync store`

mod audit;
mod backup;
mod data_files;
mod doctor;
mod init;
mod migrate;
mod purge;
mod restore;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync store init --endpoint laptop
  feedsync store backup notes-2026-11-20.db
  feedsync store doctor
";

/// Create, back up, check and move the store of this endpoint
///
/// The store is a data directory or a PostgreSQL database. It holds the collections, databases, users and remotes.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Store {
    Init(init::Init),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Migrate(migrate::Migrate),
    Doctor(doctor::Doctor),
    Purge(purge::Purge),
    Audit(audit::Audit),
}

impl Store {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Init(command) => command.run(context).await,
            Self::Backup(command) => command.run(context).await,
            Self::Restore(command) => command.run(context).await,
            Self::Migrate(command) => command.run(context).await,
            Self::Doctor(command) => command.run(context).await,
            Self::Purge(command) => command.run(context).await,
            Self::Audit(command) => command.run(context).await,
        }
    }
}
