//! `feedsync collection rename`

use clap::Args;
use feedsync_store::{CollectionChange, CollectionName};

use crate::context::Context;
use crate::failure::Failure;
use crate::{output, view};

const EXAMPLES: &str = "\
Examples:
  feedsync collection rename notes shopping
";

/// Rename a collection
///
/// The items, the remotes and the id of the feed stay. The addresses at this hub change with the name.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rename {
    /// Name of the collection
    collection: CollectionName,
    /// New name
    new: CollectionName,
}

impl Rename {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let change = CollectionChange { name: Some(self.new), ..CollectionChange::default() };
        let collection =
            context.open().await?.endpoint.change_collection(&self.collection, change).await?;
        if context.json {
            return output::json(&view::collection(&collection));
        }
        output::line(format!("{} is now {}", self.collection, collection.name))
    }
}
