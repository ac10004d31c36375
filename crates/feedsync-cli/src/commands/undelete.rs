//! `feedsync undelete`

use clap::Args;
use feedsync::{Base, Edit};
use feedsync_store::CollectionName;

use crate::commands::edit::report;
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync ls notes --all
  feedsync undelete notes 4f2a
";

/// Bring a deleted item back as it was
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undelete {
    /// The collection
    collection: CollectionName,
    /// The item's id, or what it begins with
    item: String,
}

impl Undelete {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        if !seen.winner.deleted {
            return Err(Failure::refused(format!("{} is not deleted", seen.id)));
        }
        let base = Some(Base::from(&seen.winner));
        let edited = home.endpoint.edit(&self.collection, &seen.id, base, Edit::undelete()).await?;
        report(context, &self.collection, &edited.item)
    }
}
