//! `feedsync undelete`

use clap::Args;
use feedsync::{Base, Edit};
use feedsync_formats::entry;
use feedsync_store::CollectionName;

use crate::commands::content::Content;
use crate::commands::edit::report;
use crate::context::Context;
use crate::failure::Failure;

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
        if !seen.winner.deleted {
            return Err(Failure::refused(format!("{} is not deleted", seen.id)));
        }
        let mut edit = Edit::undelete();
        if !self.content.is_empty() {
            let payload = &seen.winner.payload;
            let way = context.way();
            edit.payload = Some(self.content.revise(&way, &home.endpoint, payload).await?);
        } else if entry(&seen.winner.payload).is_blank() {
            return Err(Failure::usage(format!("{} was deleted with its content", seen.id))
                .hint("say what it is to be: --title, --content or --file"));
        }
        let base = Some(Base::from(&seen.winner));
        let edited = home.endpoint.edit(&self.collection, &seen.id, base, edit).await?;
        report(context, &self.collection, &edited.item)
    }
}
