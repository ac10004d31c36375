//! `feedsync file rm`

use clap::Args;
use feedsync_core::Edit;

use super::edited::EditedItem;
use crate::commands::rm::{Deletion, check_not_deleted};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync file rm notes.atom 4f2a
  feedsync file rm notes.atom 4f2a --truncate
";

/// Delete an item of the feed in a file
///
/// A tombstone stays, so that a merge deletes the item in other copies, too. `file undelete` brings the item back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rm {
    #[command(flatten)]
    edited: EditedItem,
    #[command(flatten)]
    deletion: Deletion,
}

impl Rm {
    pub(crate) fn run(self, json: bool) -> Result<(), Failure> {
        self.edited.change(json, |feed, author| {
            let seen = self.edited.find(feed, &self.edited.item)?;
            check_not_deleted(seen)?;
            let id = seen.id.clone();
            let deleted = match self.deletion.truncate {
                true => feed.delete_truncated(author, &id)?,
                false => feed.edit(author, &id, None, Edit::delete())?,
            };
            Ok(deleted.clone())
        })?;
        Ok(())
    }
}
