//! `feedsync copy`

use clap::Args;
use feedsync_store::CollectionName;

use crate::commands::add::report_id;
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync copy notes 4f2a
  id=$(feedsync copy notes 4f2a) && feedsync rm notes 4f2a
";

/// Copy an item under a new id, and print that id and nothing else
///
/// The copy has the content of the item's winner, and a history of its own. So an item that has had all the
/// updates that it can have goes on as its copy. The item itself stays; `rm` deletes it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Copy {
    /// The collection
    collection: CollectionName,
    /// The item's id, or what it begins with
    item: String,
}

impl Copy {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        let copy = home.endpoint.copy(&self.collection, &seen.id).await?;
        report_id(context.json, &copy.item.id)
    }
}
