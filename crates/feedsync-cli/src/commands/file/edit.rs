//! `feedsync file edit`

use clap::Args;
use feedsync::{Base, Edit as Change};

use super::Edited;
use crate::commands::content::Content;
use crate::commands::edit::{edited, warn_if_deleted};
use crate::edited_file::{self, file_command};
use crate::failure::Failure;
use crate::source::Way;

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
    edited: Edited,
    /// The item's id, or what it begins with
    item: String,
    #[command(flatten)]
    content: Content,
}

impl Edit {
    pub(crate) async fn run(self, json: bool, way: &Way) -> Result<(), Failure> {
        let file = &self.edited.path;
        let seen = edited_file::find(&edited_file::read_file(file)?, file, &self.item)?.clone();
        let payload = edited(self.content, way, &seen.winner.payload).await?;
        let author = self.edited.author()?;
        let base = Some(Base::from(&seen.winner));
        let item = edited_file::edit(file, None, |feed| {
            Ok(feed.edit(&author, &seen.id, base, Change::from(payload))?.clone())
        })?;
        self.edited.report(json, &item)?;
        warn_if_deleted(&item, &file_command("undelete", file, item.id.as_str()));
        Ok(())
    }
}
