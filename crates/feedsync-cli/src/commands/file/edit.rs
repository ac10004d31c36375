//! `feedsync file edit`

use clap::Args;
use feedsync_core::{Base, Edit as Change};

use super::EditedItem;
use crate::commands::content::Content;
use crate::commands::edit::{edited, warn_if_deleted};
use crate::edited_file::file_command;
use crate::failure::Failure;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync file edit notes.atom 4f2a --content 'three litres'
  feedsync file edit notes.atom 4f2a --title 'Oat milk' --by ann
  feedsync file edit notes.atom 4f2a      # opens the content in $VISUAL or $EDITOR
";

/// Change an item of the feed in a file
///
/// Title and content change in their places, everything else the item holds stays. If somebody else changes the item
/// in the file while your editor is open, both edits are kept, as a conflict.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Edit {
    #[command(flatten)]
    edited: EditedItem,
    #[command(flatten)]
    content: Content,
}

impl Edit {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let seen = self.edited.seen()?;
        let payload = edited(self.content, way, &seen.winner.payload).await?;
        let base = Some(Base::from(&seen.winner));
        let item = self.edited.change(json, |feed, author| {
            Ok(feed.edit(author, &seen.id, base, Change::from(payload))?.clone())
        })?;
        let file = &self.edited.edited.path;
        warn_if_deleted(&item, &file_command("undelete", file, item.id.as_str()));
        Ok(())
    }
}
