//! `feedsync file undelete`

use clap::Args;
use feedsync_core::Base;

use super::edited::EditedItem;
use crate::commands::content::Content;
use crate::commands::undelete::undeletion;
use crate::failure::Failure;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync file ls notes.atom --all
  feedsync file undelete notes.atom 4f2a
  feedsync file undelete notes.atom 4f2a --title Milk --content 'two litres'
";

/// Bring a deleted item of the feed in a file back as it was, or with new content
///
/// Some publishers delete the content with the item. Such an item needs new content.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undelete {
    #[command(flatten)]
    edited: EditedItem,
    #[command(flatten)]
    content: Content,
}

impl Undelete {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let seen = self.edited.seen()?;
        let change = undeletion(self.content, way, &seen).await?;
        let base = Some(Base::from(&seen.winner));
        self.edited
            .change(json, |feed, author| Ok(feed.edit(author, &seen.id, base, change)?.clone()))?;
        Ok(())
    }
}
