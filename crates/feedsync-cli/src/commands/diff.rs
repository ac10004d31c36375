//! `feedsync diff`

use clap::Args;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, difference};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync diff notes 4f2a
";

/// Show how the conflicts of an item differ from its winner
///
/// Compares title and content as plain text, line by line. Prints nothing if there are no conflicts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diff {
    /// Name of the collection
    collection: CollectionName,
    /// Id of the item, or the beginning of it
    item: String,
}

impl Diff {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let item = context.open().await?.item(&self.collection, &self.item).await?.item;
        let winner = view::readable(&item.winner.payload);
        let mut differences = Vec::new();
        for (index, (_, conflict)) in item.ranked_conflicts().into_iter().enumerate() {
            let name = format!("conflict {}", index + 1);
            let mut text =
                difference::unified("winner", &winner, &name, &view::readable(&conflict.payload));
            if text.is_empty() {
                text = match (item.winner.deleted, conflict.deleted) {
                    (true, false) => format!("{name} is not deleted\n"),
                    (false, true) => format!("{name} is deleted\n"),
                    _ => format!("{name} reads the same as the winner\n"),
                };
            }
            differences.push(text);
        }
        if context.json {
            let plain = |(index, text): (usize, &String)| json!({ "n": index + 1, "diff": anstream::adapter::strip_str(text).to_string() });
            return output::json(&differences.iter().enumerate().map(plain).collect());
        }
        output::print(&differences.join("\n"))
    }
}
