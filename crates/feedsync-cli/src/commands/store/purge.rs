//! `feedsync store purge`

use clap::Args;
use feedsync_endpoint::RetentionProgress;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};

const EXAMPLES: &str = "\
Examples:
  feedsync collection set notes keep.tombstones=90d && feedsync store purge notes
";

/// Delete items past the retention limits of a collection
///
/// The limits are the settings keep.age, keep.count and keep.tombstones. Items with conflicts stay, and so do items
/// that were never published. A subscriber that missed a purged item reads the complete feed next time. A running hub
/// purges regularly.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Purge {
    /// Name of the collection
    collection: CollectionName,
}

impl Purge {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let progress = Progress::spinner("purging");
        let mut retained = RetentionProgress::default();
        let count = home.endpoint.retain(&self.collection, &mut retained).await?;
        drop(progress);
        if context.json {
            return output::json(&json!({ "purged": count }));
        }
        output::line(format!("purged {}", text::count(count, "item")))
    }
}
