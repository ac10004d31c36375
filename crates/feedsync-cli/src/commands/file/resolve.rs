//! `feedsync file resolve`

use clap::{ArgGroup, Args};

use super::Edited;
use crate::commands::choice::Choice;
use crate::edited_file;
use crate::failure::Failure;
use crate::source::Way;

const EXAMPLES: &str = "\
Examples:
  feedsync file conflicts notes.atom
  feedsync file resolve notes.atom 4f2a --keep-winner
  feedsync file resolve notes.atom 4f2a --take 1
  feedsync file resolve notes.atom 4f2a --only 1,3 --content 'three litres, oat'
";

/// Resolve all conflicts of an item of the feed in a file, or some of them
///
/// The resolution is an edit like any other: whoever merges the file has it too. Edits that did not know of it are
/// new conflicts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("keep")
    .args(["keep_winner", "take", "title", "content", "file"]).required(true).multiple(true))]
pub(crate) struct Resolve {
    #[command(flatten)]
    edited: Edited,
    /// The item's id, or what it begins with
    item: String,
    #[command(flatten)]
    choice: Choice,
}

impl Resolve {
    pub(crate) async fn run(self, json: bool, way: &Way) -> Result<(), Failure> {
        let file = &self.edited.path;
        let seen = edited_file::find(&edited_file::read_file(file)?, file, &self.item)?.clone();
        let resolution = self.choice.resolution(way, &seen).await?;
        let author = self.edited.author()?;
        let item = edited_file::edit(file, None, |feed| {
            Ok(feed.resolve(&author, &seen, resolution)?.clone())
        })?;
        self.edited.report(json, &item)
    }
}
