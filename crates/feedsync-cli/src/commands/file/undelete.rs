//! `feedsync file undelete`

use clap::Args;
use feedsync::Base;

use super::Edited;
use crate::commands::content::Content;
use crate::commands::undelete::undeletion;
use crate::edited_file;
use crate::failure::Failure;
use crate::source::Way;

const EXAMPLES: &str = "\
Examples:
  feedsync file ls notes.atom --all
  feedsync file undelete notes.atom 4f2a
  feedsync file undelete notes.atom 4f2a --title Milk --content 'two litres'
";

/// Bring a deleted item of the feed in a file back as it was, or with new content
///
/// Some publishers delete the content with the item. Then it has to be given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undelete {
    #[command(flatten)]
    edited: Edited,
    /// The item's id, or what it begins with
    item: String,
    #[command(flatten)]
    content: Content,
}

impl Undelete {
    pub(crate) async fn run(self, json: bool, way: &Way) -> Result<(), Failure> {
        let file = &self.edited.path;
        let seen = edited_file::find(&edited_file::read_file(file)?, file, &self.item)?.clone();
        let change = undeletion(self.content, way, &seen).await?;
        let author = self.edited.author()?;
        let base = Some(Base::from(&seen.winner));
        let item = edited_file::edit(file, None, |feed| {
            Ok(feed.edit(&author, &seen.id, base, change)?.clone())
        })?;
        self.edited.report(json, &item)
    }
}
