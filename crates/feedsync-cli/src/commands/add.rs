//! `feedsync add`

use clap::Args;
use feedsync_core::{Creation, ItemId};
use feedsync_store::{CollectionName, Environment as _, SystemEnvironment};
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
  feedsync add notes --copy 4f2a
";

/// Add an item, and print its id
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Add {
    /// Name of the collection
    collection: CollectionName,
    #[command(flatten)]
    new: NewItem,
    /// Copy the content of ITEM, named by its id or the beginning of it. The copy has a history of its own
    ///
    /// An item that has as many updates as it can have continues as its copy. ITEM itself stays; `rm` deletes it.
    #[arg(long, value_name = "ITEM")]
    #[arg(conflicts_with_all = ["title", "content", "file", "noconflicts", "id", "deleted"])]
    copy: Option<String>,
}

/// An item that is created.
#[derive(Debug, Args)]
pub(crate) struct NewItem {
    #[command(flatten)]
    pub(crate) content: Content,
    /// Do not keep conflicts of this item: the latest edit wins. This cannot be changed later
    #[arg(long)]
    noconflicts: bool,
    /// Id of the item, which must be unique everywhere [default: a new one]
    #[arg(long, value_name = "ID", value_parser = item_id)]
    id: Option<ItemId>,
    /// Create the item as deleted, so that every endpoint deletes its item with this id
    #[arg(long)]
    deleted: bool,
}

impl NewItem {
    /// Checks that the options give the item some content.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.content.is_empty() {
            true => Err(Failure::usage("nothing to add: give --title, --content or --file")),
            false => Ok(()),
        }
    }

    /// Returns the id that the options name, or a new UUID.
    pub(crate) fn id(&self) -> ItemId {
        let new = || {
            ItemId::new(&SystemEnvironment.uuid())
                .unwrap_or_else(|_| unreachable!("a UUID is an identifier"))
        };
        self.id.clone().unwrap_or_else(new)
    }

    /// Properties of the new item at its creation.
    pub(crate) fn creation(&self) -> Creation {
        Creation { noconflicts: self.noconflicts.then_some(true), deleted: self.deleted }
    }
}

/// Prints the id of an item that was created.
pub(crate) fn report_id(json: bool, id: &ItemId) -> Result<(), Failure> {
    if json {
        return output::json(&json!({ "id": id.as_str() }));
    }
    output::line(id.as_str())
}

fn item_id(text: &str) -> Result<ItemId, String> {
    ItemId::new(text).map_err(|error| error.to_string())
}

impl Add {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if let Some(item) = &self.copy {
            return self.copy(context, item).await;
        }
        self.new.check()?;
        let endpoint = context.open().await?.endpoint;
        let format = endpoint.collection(&self.collection).await?.format;
        let (id, creation) = (self.new.id(), self.new.creation());
        let payload = match self.new.content.entry(&context.way()).await? {
            Some(entry) => entry,
            None => self.new.content.compose(&id, format),
        };
        endpoint.add(&self.collection, id.clone(), creation, payload).await?;
        report_id(context.json, &id)
    }

    async fn copy(&self, context: &Context, item: &str) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, item).await?.item;
        let copy = home.endpoint.copy(&self.collection, &seen.id).await?;
        report_id(context.json, &copy.item.id)
    }
}
