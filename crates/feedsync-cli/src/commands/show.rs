//! `feedsync show`

use clap::Args;
use feedsync_core::{Item, Payload};
use feedsync_formats::entry;
use feedsync_store::CollectionName;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, BOLD, CONFLICT, DIM, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync show notes 4f2a
  feedsync show notes 4f2a --json     # with its history, conflicts and original bytes
";

/// Show an item
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    /// Name of the collection
    collection: CollectionName,
    /// Id of the item, or the beginning of it
    item: String,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let stored = context.open().await?.item(&self.collection, &self.item).await?;
        if context.json {
            return output::json(&view::whole_item(&stored));
        }
        let conflicts = context.command(&format!("conflicts {}", self.collection));
        output::print(&shown(&stored.item, &conflicts))
    }
}

/// Formats an item for people. `conflicts` is the command that shows its conflicts.
pub(crate) fn shown(item: &Item<Payload>, conflicts: &str) -> String {
    let winner = &item.winner;
    let entry = entry(&winner.payload);
    let mut out = format!("{BOLD}{}{BOLD:#}\n", text::line(&view::title(&winner.payload)));
    out.push_str(&format!("{DIM}{}  {}{DIM:#}\n", item.id, winner.payload.format()));
    let signed = view::signed(winner.dot());
    let state = if winner.deleted { "deleted, update" } else { "update" };
    out.push_str(&format!("{DIM}{state} {}  {signed}{DIM:#}\n", winner.updates.get()));
    for link in &entry.links {
        out.push_str(&format!("{DIM}{}{DIM:#}  {}\n", link.rel, text::line(&link.href)));
    }
    let content = entry.plain_content().or(entry.content).or(entry.summary);
    if let Some(content) = content {
        out.push_str(&format!("\n{}\n", text::lines(content.trim_end())));
    }
    if !item.conflicts.is_empty() {
        let count = text::count(item.conflicts.len() as u64, "conflict");
        out.push_str(&format!("\n{CONFLICT}{count}{CONFLICT:#}: {conflicts}\n"));
    }
    out
}
