//! `feedsync undelete`

use clap::Args;
use feedsync_core::{Base, Edit, Item, Payload};
use feedsync_formats::entry;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::commands::content::Content;
use crate::commands::edit::report;
use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::see_all;
use crate::output::{self, text};
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync ls notes --all
  feedsync undelete notes 4f2a
  feedsync undelete notes 4f2a --title Milk --content 'two litres'
  feedsync ls notes --discarded
  feedsync undelete notes --discarded        # all of them
  feedsync undelete notes 4f2a --discarded
";

/// Bring a deleted item back as it was, or with new content
///
/// Some publishers delete the content with the item. Such an item needs new content.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undelete {
    /// Name of the collection
    collection: CollectionName,
    /// The item's id, or the beginning of it; with --discarded all items if none is named
    #[arg(required_unless_present = "discarded")]
    item: Option<String>,
    #[command(flatten)]
    content: Content,
    /// Bring back items that a synchronisation discarded, as `ls --discarded` lists them
    ///
    /// A collection that was out of touch with its remote for too long discards items that the remote no longer has
    /// and that nobody changed here. They can be brought back until they are deleted for good.
    #[arg(long, conflicts_with_all = ["title", "content", "file"])]
    discarded: bool,
}

impl Undelete {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Some(item) = self.item.as_deref().filter(|_| !self.discarded) else {
            return self.recover(context).await;
        };
        let home = context.open().await?;
        let seen = home.item(&self.collection, item).await?.item;
        let edit = undeletion(self.content, &context.way(), &seen).await?;
        let base = Some(Base::from(&seen.winner));
        let edited = home.endpoint.edit(&self.collection, &seen.id, base, edit).await?;
        report(context, &self.collection, &edited.item)
    }

    /// Brings discarded items back.
    async fn recover(&self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        home.endpoint.collection(&self.collection).await?;
        let wanted = self.item.as_deref().unwrap_or("");
        let mut list = home.store.discarded(&self.collection).await?;
        list.retain(|discarded| discarded.item.id.as_str().starts_with(wanted));
        if let (Some(item), true) = (&self.item, list.is_empty()) {
            let message = format!("no discarded item of {} begins with {item}", self.collection);
            let hint = see_all(&format!("ls {} --discarded", self.collection));
            return Err(Failure::not_found(message).hint(hint));
        }
        let mut recovered = Vec::new();
        for discarded in &list {
            if let Some(edited) = home.endpoint.recover(&self.collection, discarded.id).await? {
                recovered.push(edited.item.id.to_string());
            }
        }
        if context.json {
            return output::json(&json!(recovered));
        }
        output::line(format!("recovered {}", text::count(recovered.len() as u64, "item")))
    }
}

/// Creates the edit that restores an item. It needs new content if the old content was deleted with the item.
pub(crate) async fn undeletion(
    content: Content,
    way: &NetworkAccess,
    seen: &Item<Payload>,
) -> Result<Edit<Payload>, Failure> {
    if !seen.winner.deleted {
        return Err(Failure::refused(format!("{} is not deleted", seen.id)));
    }
    if !content.is_empty() {
        let payload = Some(content.revise(way, &seen.winner.payload).await?);
        return Ok(Edit { payload, ..Edit::undelete() });
    }
    match entry(&seen.winner.payload).is_blank() {
        false => Ok(Edit::undelete()),
        true => Err(Failure::usage(format!("{} was deleted with its content", seen.id))
            .hint("give the new content: --title, --content or --file")),
    }
}
