//! `feedsync add`

use clap::Args;
use feedsync::{Creation, ItemId};
use feedsync_store::CollectionName;
use serde_json::json;

use crate::commands::content::Content;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync add notes --title Milk --content 'two litres'
  feedsync add notes --file entry.xml
  id=$(feedsync add notes --title Milk) && feedsync show notes $id
  feedsync add notes --title Milk --id shopping.milk
  feedsync add notes --title Milk --id shopping.milk --deleted
";

/// Add an item, and print its id and nothing else
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Add {
    /// The collection
    collection: CollectionName,
    #[command(flatten)]
    content: Content,
    /// Let the latest edit win without keeping conflicts, for the item's whole life
    #[arg(long)]
    noconflicts: bool,
    /// Give it this id, which no other item of anybody may have [default: a new one]
    #[arg(long, value_name = "ID", value_parser = item_id)]
    id: Option<ItemId>,
    /// Create it as a deleted item, so that whoever has one of this id deletes it
    #[arg(long)]
    deleted: bool,
}

fn item_id(text: &str) -> Result<ItemId, String> {
    ItemId::new(text).map_err(|error| error.to_string())
}

impl Add {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if self.content.is_empty() {
            return Err(Failure::usage("nothing to add: give --title, --content or --file"));
        }
        let endpoint = context.open().await?.endpoint;
        let format = endpoint.collection(&self.collection).await?.format;
        let id = self.id.unwrap_or_else(|| endpoint.new_id());
        let payload = self.content.compose(&context.way(), &endpoint, &id, format).await?;
        let noconflicts = self.noconflicts.then_some(true);
        let creation = Creation { noconflicts, deleted: self.deleted };
        endpoint.add(&self.collection, id.clone(), creation, payload).await?;
        if context.json {
            return output::json(&json!({ "id": id.as_str() }));
        }
        output::line(id.as_str())
    }
}
