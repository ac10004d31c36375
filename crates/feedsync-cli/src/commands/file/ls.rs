//! `feedsync file ls`

use clap::Args;
use feedsync_core::{Item, Payload};

use crate::commands::ls::row;
use crate::edited_file;
use crate::failure::{Failure, warn};
use crate::output::{self, JsonArray, text};
use crate::source::NetworkAccess;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync file ls notes.atom
  feedsync file ls notes.atom --search milk
  feedsync file ls https://example.org/notes.atom --json | jq -r '.[].title'
";

/// List the items of the feed in a file, in its order
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ls {
    /// Feed: a file, '-' for standard input, or an address
    #[arg(value_name = "FILE|URL")]
    file: String,
    /// Show deleted items too
    #[arg(long)]
    all: bool,
    /// Show only items that contain TEXT. Case is ignored for a to z
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

impl Ls {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let (name, feed) = edited_file::read(&self.file, way).await?;
        for refused in feed.refused() {
            warn(&format!("{name}:{}", refused.reason));
        }
        let search = self.search.map(|text| text.to_ascii_lowercase());
        let selected = |item: &&Item<Payload>| {
            let text = || item.winner.payload.text().to_ascii_lowercase();
            (self.all || !item.winner.deleted)
                && search.as_ref().is_none_or(|search| text().contains(search))
        };
        let items = feed.items().iter().filter(selected);
        if json {
            let mut array = JsonArray::default();
            for item in items {
                array.push(&view::item_of_file(item))?;
            }
            return array.end();
        }
        output::print(&items.map(row).collect::<String>())?;
        if feed.plain_items() > 0 {
            let plain = text::count(feed.plain_items() as u64, "item");
            warn(&format!("{name}: {plain} without sync information left out"));
        }
        Ok(())
    }
}
