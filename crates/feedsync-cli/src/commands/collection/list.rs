//! `feedsync collection list`

use clap::Args;
use feedsync_store::Collection;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync collection list
  feedsync collection list --json
";

/// List the collections
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let collections = context.open().await?.store.collections().await?;
        if context.json {
            return output::json(&collections.iter().map(view::collection).collect::<Value>());
        }
        if collections.is_empty() {
            return output::line(format!(
                "no collections yet; create one: {}",
                context.command("collection create NAME")
            ));
        }
        let row = |collection: &Collection| {
            [
                collection.name.to_string(),
                collection.live.to_string(),
                collection.conflicted.to_string(),
                collection.format.to_string(),
                text::short(&collection.title, 60),
            ]
        };
        let rows: Vec<_> = collections.iter().map(row).collect();
        let headings = ["NAME", "ITEMS", "CONFLICTS", "FORMAT", "TITLE"];
        output::print(&table::table(headings, &rows))
    }
}
