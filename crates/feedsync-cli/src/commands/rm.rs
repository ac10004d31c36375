//! `feedsync rm`

use clap::Args;
use feedsync::{Base, Edit};
use feedsync_store::CollectionName;

use crate::commands::edit::report;
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync rm notes 4f2a
  feedsync rm notes 4f2a --truncate
";

/// Delete an item
///
/// A tombstone stays, so that everybody else learns of it; `undelete` brings the item back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rm {
    /// The collection
    collection: CollectionName,
    /// The item's id, or what it begins with
    item: String,
    /// Drop the content too: the tombstone keeps the item's name and history only
    ///
    /// Not while conflicts are open. `undelete` then needs new content.
    #[arg(long)]
    truncate: bool,
}

impl Rm {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        if seen.winner.deleted {
            return Err(Failure::refused(format!("{} is deleted already", seen.id)));
        }
        let edited = if self.truncate {
            home.endpoint.delete_truncated(&self.collection, &seen.id).await?
        } else {
            let base = Some(Base::from(&seen.winner));
            home.endpoint.edit(&self.collection, &seen.id, base, Edit::delete()).await?
        };
        report(context, &self.collection, &edited.item)
    }
}
