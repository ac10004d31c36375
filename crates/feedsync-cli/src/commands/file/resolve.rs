//! `feedsync file resolve`

use clap::{ArgGroup, Args};

use super::edited::EditedItem;
use crate::commands::choice::Choice;
use crate::failure::Failure;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync file conflicts notes.atom
  feedsync file resolve notes.atom 4f2a --keep-winner
  feedsync file resolve notes.atom 4f2a --take 1
  feedsync file resolve notes.atom 4f2a --only 1,3 --content 'three litres, oat'
";

/// Resolve all conflicts of an item of the feed in a file, or some of them
///
/// The resolution is an edit, which others receive when they merge the file. Concurrent edits that are merged later
/// are new conflicts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("keep")
    .args(["keep_winner", "take", "title", "content", "file"]).required(true).multiple(true))]
pub(crate) struct Resolve {
    #[command(flatten)]
    edited: EditedItem,
    #[command(flatten)]
    choice: Choice,
}

impl Resolve {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let seen = self.edited.seen()?;
        let resolution = self.choice.resolution(way, &seen).await?;
        self.edited
            .change(json, |feed, author| Ok(feed.resolve(author, &seen, resolution)?.clone()))?;
        Ok(())
    }
}
