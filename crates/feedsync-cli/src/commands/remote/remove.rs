//! `feedsync remote remove`

use clap::Args;
use feedsync_client::Session;
use feedsync_fetch::shown_text;
use feedsync_store::CollectionName;
use serde_json::json;

use super::find::{find, no_remote};
use crate::commands::sync::failure;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync remote remove notes 1
  feedsync remote remove notes http://127.0.0.1:4287/collections/notes
";

/// Remove a remote; its items stay
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Remove {
    /// Name of the collection
    collection: CollectionName,
    /// Address of the remote, or its number in `remote list`
    remote: String,
}

impl Remove {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let remote = find(&home, &self.collection, &self.remote)
            .await?
            .ok_or_else(|| no_remote(&self.collection, &self.remote))?;
        if remote.subscription.is_some() {
            let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
            session.unsubscribe(&remote).await.map_err(|error| failure(&remote, error))?;
        } else {
            home.endpoint.remove_remote(remote.id).await?;
        }
        let url = shown_text(&remote.url);
        let value = json!({ "collection": self.collection.as_str(), "removed": url });
        output::result(context.json, &value, format!("removed {}", text::line(&url)))
    }
}
