//! `feedsync recover`

use clap::Args;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync ls notes --discarded
  feedsync recover notes 4f2a
  feedsync recover notes              # all of them
";

/// Bring back items that a synchronisation discarded
///
/// A collection that lost touch with its remote for too long drops what the remote no longer has and
/// nobody here touched. It can be brought back until it is dropped for good.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Recover {
    /// The collection
    collection: CollectionName,
    /// The item's id, or what it begins with [default: all discarded items]
    item: Option<String>,
}

impl Recover {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        home.endpoint.collection(&self.collection).await?;
        let wanted = self.item.as_deref().unwrap_or("");
        let mut list = home.store.discarded(&self.collection).await?;
        list.retain(|discarded| discarded.item.id.as_str().starts_with(wanted));
        if let (Some(item), true) = (&self.item, list.is_empty()) {
            let message = format!("no discarded item of {} begins with {item}", self.collection);
            let see = context.command(&format!("ls {} --discarded", self.collection));
            return Err(Failure::not_found(message).hint(format!("see them all: {see}")));
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
