//! `feedsync ls`

use clap::Args;
use feedsync_core::{Item, Payload};
use feedsync_store::{CollectionName, PageLimit, Selection};

use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::output::{self, CONFLICT, DIM, JsonArray, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync ls notes
  feedsync ls notes --search milk
  feedsync ls notes --json | jq -r '.[].title'
";

/// List the items of a collection, newest change first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ls {
    /// Name of the collection
    collection: CollectionName,
    /// Show deleted items too
    #[arg(long)]
    all: bool,
    /// Show the items that a synchronisation discarded; `undelete --discarded` brings them back
    #[arg(long, conflicts_with_all = ["all", "search"])]
    discarded: bool,
    /// Show only items that contain TEXT. Case is ignored for a to z
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

impl Ls {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        // A wrong collection name fails before anything is printed.
        home.endpoint.collection(&self.collection).await?;
        if self.discarded {
            return list_discarded(context, &home, &self.collection).await;
        }
        let mut selection =
            Selection { deleted: self.all, containing: self.search, ..Selection::default() };
        let mut array = JsonArray::default();
        loop {
            let page =
                home.store.listing(&self.collection, &selection, PageLimit::items(500)).await?;
            let mut lines = String::new();
            for stored in &page.items {
                if context.json {
                    array.push(&view::item(stored))?;
                    continue;
                }
                lines.push_str(&row(&stored.item));
            }
            output::print(&lines)?;
            selection.before = page.items.last().map(|stored| stored.number);
            if !page.more {
                break;
            }
        }
        if context.json { array.end() } else { Ok(()) }
    }
}

/// Formats an item as a line of the list.
pub(crate) fn row(item: &Item<Payload>) -> String {
    let title = text::short(&view::title(&item.winner.payload), 72);
    let mut line = format!("{DIM}{}{DIM:#}  {title}", item.id);
    if item.winner.deleted {
        line.push_str(&format!("  {DIM}deleted{DIM:#}"));
    }
    let conflicts = item.conflicts.len() as u64;
    if conflicts > 0 {
        let count = text::count(conflicts, "conflict");
        line.push_str(&format!("  {CONFLICT}{count}{CONFLICT:#}"));
    }
    line.push('\n');
    line
}

async fn list_discarded(
    context: &Context,
    home: &OpenEndpoint,
    collection: &CollectionName,
) -> Result<(), Failure> {
    let list = home.store.discarded(collection).await?;
    if context.json {
        return output::json(&list.iter().map(view::discarded).collect());
    }
    let mut lines = String::new();
    for discarded in &list {
        let title = text::short(&view::title(&discarded.item.winner.payload), 60);
        let (id, reason) = (&discarded.item.id, &discarded.reason);
        lines.push_str(&format!("{DIM}{id}{DIM:#}  {title}  {DIM}{reason}{DIM:#}\n"));
    }
    output::print(&lines)
}
