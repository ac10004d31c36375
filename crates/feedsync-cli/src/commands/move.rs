//! `feedsync move`

use clap::Args;
use feedsync_store::CollectionName;

use crate::commands::edit::report;
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync move feeds 4f2a --under 77b0
  feedsync move feeds 4f2a --top
";

/// Move an outline under another one, or to the top
///
/// For collections of outlines (format opml). The outline becomes the last there, with the outlines inside it. Where
/// an outline stands is part of it, so a move is an edit like any other: it travels, and a concurrent edit of the
/// same outline is a conflict.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Move {
    /// The collection
    collection: CollectionName,
    /// The outline's id, or what it begins with
    item: String,
    #[command(flatten)]
    destination: Destination,
}

/// The new place of an outline.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Destination {
    /// Move it into the item with this id, or whose id begins so
    #[arg(long, value_name = "OUTLINE")]
    pub(crate) under: Option<String>,
    /// Move it to the top
    #[arg(long)]
    top: bool,
}

impl Move {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        let under = match &self.destination.under {
            Some(parent) => Some(home.item(&self.collection, parent).await?.item.id),
            None => None,
        };
        let edited = home.endpoint.move_outline(&self.collection, &seen, under.as_ref()).await?;
        report(context, &self.collection, &edited.item)
    }
}
