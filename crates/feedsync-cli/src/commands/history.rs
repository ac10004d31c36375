//! `feedsync history`

use clap::Args;
use feedsync_core::{Item, Payload};
use feedsync_store::CollectionName;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, CONFLICT, graph};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync history notes 4f2a
";

/// Show who changed an item and when, as a graph
///
/// Each line is an update, the newest first. Each column is a version, the winner first. Columns join where the
/// versions have an update in common. An update that resolved a conflict has the resolved updates below it in its
/// column.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    /// Name of the collection
    collection: CollectionName,
    /// Id of the item, or the beginning of it
    item: String,
}

impl History {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let stored = context.open().await?.item(&self.collection, &self.item).await?;
        if context.json {
            return output::json(&view::conflict(&stored.item));
        }
        output::print(&drawn(&stored.item))
    }
}

/// Draws the histories of an item as a graph.
pub(crate) fn drawn(item: &Item<Payload>) -> String {
    let numbered = item.ranked_conflicts();
    let histories: Vec<_> = std::iter::once(&item.winner)
        .chain(numbered.iter().map(|(_, conflict)| *conflict))
        .map(|version| (&version.history, version.deleted))
        .collect();
    let only: Vec<_> = histories.iter().map(|(history, _)| *history).collect();
    let mut out = String::new();
    for graph::Row { drawing, update, version } in graph::rows(&only) {
        let Some(update) = update else {
            out.push_str(&format!("{}\n", drawing.trim_end()));
            continue;
        };
        let sequence = update.sequence().get();
        let mut line = format!("{drawing} {sequence:>3}  {}", view::signed(update));
        if let Some(version) = version {
            let deleted = if histories[version].1 { ", deleted" } else { "" };
            line.push_str(&match version {
                0 => format!("  winner{deleted}"),
                n => format!("  {CONFLICT}conflict {n}{CONFLICT:#}{deleted}"),
            });
        }
        out.push_str(&format!("{line}\n"));
    }
    out
}
