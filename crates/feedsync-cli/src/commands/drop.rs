//! `feedsync drop`

use clap::Args;
use feedsync_store::CollectionName;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync backup before.db && feedsync drop notes
";

/// Remove a collection with its items and remotes from this endpoint
///
/// Nothing is deleted anywhere else: who had the items keeps them. What was never synchronised is gone.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Drop {
    /// The collection
    collection: CollectionName,
}

impl Drop {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        context.open().await?.endpoint.drop_collection(&self.collection).await?;
        output::line(format!("dropped {}", self.collection))
    }
}
