//! `feedsync backup`

use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress};
use crate::store::Opened;

const EXAMPLES: &str = "\
Examples:
  feedsync backup notes-2026-11-20.db
";

/// Copy the whole endpoint into one file, while it is in use
///
/// For a store in a data directory. A PostgreSQL database has programs of its own for it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    /// The file; an older one of that name is replaced when the copy is whole
    file: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let Opened::Sqlite(store) = &home.opened else {
            let message = format!("{}: a database is backed up by its own programs", home.place);
            return Err(Failure::usage(message)
                .hint("pg_dump, or move it into a directory: feedsync migrate --to sqlite:DIR"));
        };
        let progress = Progress::spinner("backing up");
        store.backup(&self.file).await?;
        drop(progress);
        output::line(format!("backed up to {}", self.file.display()))
    }
}
