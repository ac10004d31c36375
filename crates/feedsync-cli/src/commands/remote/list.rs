//! `feedsync remote list`

use clap::Args;
use feedsync_endpoint::Period;
use feedsync_fetch::shown_text;
use feedsync_store::{CollectionName, Remote as Stored};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync remote list
  feedsync remote list notes
";

/// List the remotes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {
    /// List only the remotes of this collection
    collection: Option<CollectionName>,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        if let Some(name) = &self.collection {
            home.endpoint.collection(name).await?;
        }
        let remotes = home.store.remotes(self.collection.as_ref()).await?;
        let collections = home.store.collections().await?;
        if context.json {
            let each = |remote: &Stored| {
                let collection =
                    collections.iter().find(|collection| collection.name == remote.collection);
                view::remote(remote, collection)
            };
            return output::json(&remotes.iter().map(each).collect());
        }
        if remotes.is_empty() {
            let sync = context.command("sync COLLECTION URL");
            return output::line(format!("no remotes yet; add one: {sync}"));
        }
        let row = |remote: &Stored| {
            [
                remote.collection.to_string(),
                remote.id.0.to_string(),
                text::line(&shown_text(&remote.url)),
                remote.subscription.as_ref().map_or_else(String::new, |subscription| {
                    format!("every {}", Period::from(subscription.every))
                }),
            ]
        };
        let rows: Vec<_> = remotes.iter().map(row).collect();
        output::print(&table::table(["COLLECTION", "NUMBER", "URL", "READ"], &rows))
    }
}
