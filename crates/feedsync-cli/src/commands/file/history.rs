//! `feedsync file history`

use clap::Args;

use crate::commands::history::drawn;
use crate::edited_file;
use crate::failure::Failure;
use crate::output;
use crate::source::Way;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync file history notes.atom 4f2a
";

/// Show who changed an item of the feed in a file and when, as a graph
///
/// It is drawn as `history` draws that of a collection. Each edit in a file is signed NAME.file-DIGEST.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    /// The feed: a file, '-' for standard input, or an address
    #[arg(value_name = "FILE|URL")]
    file: String,
    /// The item's id, or what it begins with
    item: String,
}

impl History {
    pub(crate) async fn run(self, json: bool, way: &Way) -> Result<(), Failure> {
        let (name, feed) = edited_file::read(&self.file, way).await?;
        let item = edited_file::find(&feed, &name, &self.item)?;
        match json {
            true => output::json(&view::conflict(item)),
            false => output::print(&drawn(item)),
        }
    }
}
