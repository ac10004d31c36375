//! `feedsync purge`

use clap::Args;
use feedsync_endpoint::RetentionProgress;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};

const EXAMPLES: &str = "\
Examples:
  feedsync set notes keep.tombstones=90d && feedsync purge notes
";

/// Purge now what a collection is set to keep no longer
///
/// What has conflicts stays, and what nobody has been shown. A subscriber that has seen less than what is
/// purged reads the complete feed next time. A running hub does this from time to time.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Purge {
    /// The collection
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
