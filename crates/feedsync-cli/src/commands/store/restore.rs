//! `feedsync store restore`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use feedsync_store::{ItemStore as _, SqliteStore, StoreError, SystemEnvironment};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, note};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync store restore --from hub-2026-11-20.backup
  feedsync --data ~/restored store restore --from hub-2026-11-20.backup --with hub-2026-11-21.increment
";

/// Create an endpoint from a backup, in a data directory without one
///
/// The endpoint keeps its name, but gets a new signature and a new epoch. So edits made after the backup and edits
/// made after the restore are distinct; synchronise to get both. Files that are in the directory already, such as
/// feedsync.toml, stay as they are.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// Path of the backup file
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Increment of the backup: what changed after it
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
}

impl Restore {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        for file in std::iter::once(&self.from).chain(&self.with) {
            if !file.exists() {
                let message = format!("{}: there is no such file", file.display());
                return Err(Failure::not_found(message));
            }
        }
        let environment = Arc::new(SystemEnvironment);
        let with = self.with.as_deref();
        let restored = SqliteStore::restore_with(&self.from, with, &context.data, environment);
        let (store, stayed) = restored.map_err(|error| match error {
            StoreError::Place { .. } => Failure::refused(error)
                .hint("name an empty directory: feedsync --data DIR store restore --from FILE"),
            other => other.into(),
        })?;
        for name in &stayed {
            note(&format!("{name} was there and stays as it is"));
        }
        let identity = store.identity().await?;
        let (place, name) = (context.data.display().to_string(), identity.name);
        let value = json!({ "data": place, "name": name.as_str(), "by": identity.by.as_str(), "kept": stayed });
        output::result(context.json, &value, format!("{place} is the endpoint {name}, restored"))
    }
}
