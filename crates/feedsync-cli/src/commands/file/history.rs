//! `feedsync file history`

use clap::Args;

use super::edited::ShownItem;
use crate::commands::history::drawn;
use crate::failure::Failure;
use crate::output;
use crate::source::NetworkAccess;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync file history notes.atom 4f2a
";

/// Show who changed an item of the feed in a file and when, as a graph
///
/// The graph is that of `history`. Each edit in a file is signed NAME.file-DIGEST.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    #[command(flatten)]
    shown: ShownItem,
}

impl History {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let (_, item) = self.shown.read(way).await?;
        match json {
            true => output::json(&view::conflict(&item)),
            false => output::print(&drawn(&item)),
        }
    }
}
