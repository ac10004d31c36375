//! `feedsync restore`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use feedsync_store::{ItemStore as _, SqliteStore, StoreError, SystemEnvironment};

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync restore --from notes-2026-11-20.db
  feedsync --data ~/restored restore --from notes-2026-11-20.db
";

/// Make an endpoint out of a backup, in a data directory that has none
///
/// It goes on under the same name, but signs differently and publishes anew, so that edits made after
/// the backup are not mistaken for those made after the restoring: synchronise, and both are there.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The backup
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
}

impl Restore {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if !self.from.exists() {
            let message = format!("{}: there is no such file", self.from.display());
            return Err(Failure::not_found(message));
        }
        let environment = Arc::new(SystemEnvironment);
        let restored = SqliteStore::restore(&self.from, &context.data, environment);
        let store = restored.map_err(|error| match error {
            StoreError::Place { .. } => Failure::refused(error)
                .hint("name an empty directory: feedsync --data DIR restore --from FILE"),
            other => other.into(),
        })?;
        let name = store.identity().await?.name;
        output::line(format!("{} is the endpoint {name}, restored", context.data.display()))
    }
}
