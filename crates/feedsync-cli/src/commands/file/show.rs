//! `feedsync file show`

use clap::Args;

use crate::commands::show::shown;
use crate::edited_file::{self, file_command};
use crate::failure::Failure;
use crate::output;
use crate::source::Way;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync file show notes.atom 4f2a
  feedsync file show notes.atom 4f2a --json     # with its history, conflicts and original bytes
";

/// Show an item of the feed in a file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    /// The feed: a file, '-' for standard input, or an address
    #[arg(value_name = "FILE|URL")]
    file: String,
    /// The item's id, or what it begins with
    item: String,
}

impl Show {
    pub(crate) async fn run(self, json: bool, way: &Way) -> Result<(), Failure> {
        let (name, feed) = edited_file::read(&self.file, way).await?;
        let item = edited_file::find(&feed, &name, &self.item)?;
        match json {
            true => output::json(&view::whole_item_of_file(item)),
            false => output::print(&shown(item, &file_command("conflicts", &name, ""))),
        }
    }
}
