//! `feedsync file move`

use clap::Args;

use super::EditedItem;
use crate::commands::r#move::Destination;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync file move feeds.opml 4f2a --under 77b0
  feedsync file move feeds.opml 4f2a --top
";

/// Move an outline of the feed in a file under another one, or to the top
///
/// It becomes the last there, with the outlines inside it. Where an outline stands is part of it, so a move is an edit
/// like any other.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Move {
    #[command(flatten)]
    edited: EditedItem,
    #[command(flatten)]
    destination: Destination,
}

impl Move {
    pub(crate) fn run(self, json: bool) -> Result<(), Failure> {
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
