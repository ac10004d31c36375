//! `feedsync store restore`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use feedsync_store::{ItemStore as _, SqliteStore, StoreError, SystemEnvironment};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync store restore --from notes-2026-11-20.db
  feedsync --data ~/restored store restore --from notes-2026-11-20.db
";

/// Create an endpoint from a backup, in a data directory without one
///
/// The endpoint keeps its name, but gets a new signature and a new epoch. So edits made after the backup and edits
/// made after the restore are distinct; synchronise to get both.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// Path of the backup file
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
                .hint("name an empty directory: feedsync --data DIR store restore --from FILE"),
            other => other.into(),
        })?;
        let identity = store.identity().await?;
        let (place, name) = (context.data.display().to_string(), identity.name);
        let value = json!({ "data": place, "name": name.as_str(), "by": identity.by.as_str() });
        output::result(context.json, &value, format!("{place} is the endpoint {name}, restored"))
    }
}
