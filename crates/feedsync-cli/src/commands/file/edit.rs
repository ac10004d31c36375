//! `feedsync file edit`

use clap::Args;
use feedsync_core::{Base, Edit as Change};

use super::edited::EditedItem;
use crate::commands::content::Content;
use crate::commands::destination::Destination;
use crate::commands::edit::{edited, warn_if_deleted};
use crate::edited_file::file_command;
use crate::failure::Failure;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync file edit notes.atom 4f2a --content 'three litres'
  feedsync file edit notes.atom 4f2a --title 'Oat milk' --by ann
  feedsync file edit notes.atom 4f2a      # opens the content in $VISUAL or $EDITOR
  feedsync file edit feeds.opml 4f2a --under 77b0
  feedsync file edit feeds.opml 4f2a --top
";

/// Change an item of the feed in a file
///
/// Only the title, the content or the position of an outline changes; everything else in the item stays. If somebody
/// else changes the item in the file while your editor is open, both edits are kept as a conflict.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Edit {
    #[command(flatten)]
    edited: EditedItem,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    destination: Destination,
    /// Refuses a command line without a new position: `move`, the old name, does nothing else
    #[arg(long = "only-move", hide = true, requires = "Destination")]
    _only_move: bool,
}

impl Edit {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        if self.destination.is_given() {
            return self.relocate(json);
        }
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

    /// Moves an outline.
    fn relocate(self, json: bool) -> Result<(), Failure> {
        self.edited.change(json, |feed, author| {
            let find = |named: &str| self.edited.find(feed, named);
            let seen = find(&self.edited.item)?.id.clone();
            let under = self.destination.under.as_deref().map(find).transpose()?;
            let under = under.map(|item| item.id.clone());
            Ok(feed.move_outline(author, &seen, under.as_ref())?.clone())
        })?;
        Ok(())
    }
}
