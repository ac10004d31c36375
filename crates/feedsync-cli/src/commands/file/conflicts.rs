//! `feedsync file conflicts`

use clap::Args;

use crate::commands::conflicts::{end, shown};
use crate::edited_file::{self, file_command};
use crate::failure::Failure;
use crate::output::{self, JsonArray};
use crate::source::NetworkAccess;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync file conflicts notes.atom
  feedsync file resolve notes.atom 4f2a --take 1
";

/// Show the conflicts of the feed in a file
///
/// Two concurrent edits of an item are both kept. All copies show the same one, the winner. The others are numbered
/// from 1, for `file resolve --take`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Conflicts {
    /// Feed: a file, '-' for standard input, or an address
    #[arg(value_name = "FILE|URL")]
    file: String,
}

impl Conflicts {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let (name, feed) = edited_file::read(&self.file, way).await?;
        let mut items = feed.items().iter().filter(|item| !item.conflicts.is_empty()).peekable();
        if json {
            let mut array = JsonArray::default();
            for item in items {
                array.push(&view::conflict(item))?;
            }
            return array.end();
        }
        let any = items.peek().is_some();
        for item in items {
            output::print(&shown(item))?;
        }
        end(any, &file_command("resolve", &name, "ITEM"))
    }
}
