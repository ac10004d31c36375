//! `feedsync rm`

use clap::Args;
use feedsync_core::{Base, Edit, Item, Payload};
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
/// A tombstone stays, so that other endpoints delete the item, too. `undelete` brings the item back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rm {
    /// Name of the collection
    collection: CollectionName,
    /// Id of the item, or the beginning of it
    item: String,
    #[command(flatten)]
    deletion: Deletion,
}

/// How an item is deleted.
#[derive(Debug, Args)]
pub(crate) struct Deletion {
    /// Delete the content, too: the tombstone keeps only the id and the history
    ///
    /// The item must not have conflicts. `undelete` needs new content afterwards.
    #[arg(long)]
    pub(crate) truncate: bool,
}

/// Refuses to delete an item that is deleted already.
pub(crate) fn check_not_deleted(item: &Item<Payload>) -> Result<(), Failure> {
    match item.winner.deleted {
        true => Err(Failure::refused(format!("{} is deleted already", item.id))),
        false => Ok(()),
    }
}

impl Rm {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        check_not_deleted(&seen)?;
        let edited = if self.deletion.truncate {
            home.endpoint.delete_truncated(&self.collection, &seen.id).await?
        } else {
            let base = Some(Base::from(&seen.winner));
            home.endpoint.edit(&self.collection, &seen.id, base, Edit::delete()).await?
        };
        report(context, &self.collection, &edited.item)
    }
}
