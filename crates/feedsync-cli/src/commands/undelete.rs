//! `feedsync undelete`

use clap::Args;
use feedsync_core::{Base, Edit, Item, Payload};
use feedsync_formats::entry;
use feedsync_store::CollectionName;

use crate::commands::content::Content;
use crate::commands::edit::report;
use crate::context::Context;
use crate::failure::Failure;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync ls notes --all
  feedsync undelete notes 4f2a
  feedsync undelete notes 4f2a --title Milk --content 'two litres'
";

/// Bring a deleted item back as it was, or with new content
///
/// Some publishers delete the content with the item. Then it has to be given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undelete {
    /// The collection
    collection: CollectionName,
    /// The item's id, or what it begins with
    item: String,
    #[command(flatten)]
    content: Content,
}

impl Undelete {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        let edit = undeletion(self.content, &context.way(), &seen).await?;
        let base = Some(Base::from(&seen.winner));
        let edited = home.endpoint.edit(&self.collection, &seen.id, base, edit).await?;
        report(context, &self.collection, &edited.item)
    }
}

/// Creates the edit that restores an item. It needs new content if the old content was deleted with the item.
pub(crate) async fn undeletion(
    content: Content,
    way: &NetworkAccess,
    seen: &Item<Payload>,
) -> Result<Edit<Payload>, Failure> {
    if !seen.winner.deleted {
        return Err(Failure::refused(format!("{} is not deleted", seen.id)));
    }
    if !content.is_empty() {
        let payload = Some(content.revise(way, &seen.winner.payload).await?);
        return Ok(Edit { payload, ..Edit::undelete() });
    }
    match entry(&seen.winner.payload).is_blank() {
        false => Ok(Edit::undelete()),
        true => Err(Failure::usage(format!("{} was deleted with its content", seen.id))
            .hint("say what it is to be: --title, --content or --file")),
    }
}
