//! `feedsync file show`

use clap::Args;

use super::edited::ShownItem;
use crate::commands::show::shown;
use crate::edited_file::file_command;
use crate::failure::Failure;
use crate::output;
use crate::source::NetworkAccess;
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
    #[command(flatten)]
    shown: ShownItem,
}

impl Show {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let (name, item) = self.shown.read(way).await?;
        match json {
            true => output::json(&view::whole_item_of_file(&item)),
            false => output::print(&shown(&item, &file_command("conflicts", &name, ""))),
        }
    }
}
