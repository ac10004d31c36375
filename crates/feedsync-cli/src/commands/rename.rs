//! `feedsync rename`

use clap::Args;
use feedsync_store::{CollectionChange, CollectionName};

use crate::context::Context;
use crate::failure::Failure;
use crate::{output, view};

const EXAMPLES: &str = "\
Examples:
  feedsync rename notes shopping
";

/// Rename a collection
///
/// Its items, remotes and the id of its feed stay. Addresses at this hub change with the name.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rename {
    /// The collection
    collection: CollectionName,
    /// Its new name
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
