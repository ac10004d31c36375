//! `feedsync remote`

use clap::{Args, Subcommand};
use feedsync_client::Session;
use feedsync_endpoint::Period;
use feedsync_fetch::shown_text;
use feedsync_store::{CollectionName, Remote as Stored};

use crate::commands::sync::failure;
use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::output::{self, table, text};
use crate::view;

const LIST_EXAMPLES: &str = "\
Examples:
  feedsync remote list
  feedsync remote list notes
";

const REMOVE_EXAMPLES: &str = "\
Examples:
  feedsync remote remove notes 1
  feedsync remote remove notes http://127.0.0.1:4287/collections/notes
";

/// List or remove what collections are synchronised with
///
/// `sync COLLECTION URL` adds a remote.
#[derive(Debug, Subcommand)]
pub(crate) enum Remote {
    List(List),
    Remove(Remove),
}

/// List the remotes
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct List {
    /// Only those of this collection
    collection: Option<CollectionName>,
}

/// Forget a remote; its items stay
#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct Remove {
    /// The collection
    collection: CollectionName,
    /// The remote's address, or its number as `remote list` shows it
    remote: String,
}

impl Remote {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(list) => list.run(context).await,
            Self::Remove(remove) => remove.run(context).await,
        }
    }
}

impl List {
    async fn run(self, context: &Context) -> Result<(), Failure> {
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

impl Remove {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let remote = find(&home, &self.collection, &self.remote).await?.ok_or_else(|| {
            Failure::not_found(format!("{} has no remote {}", self.collection, self.remote))
                .hint(format!("see them all: {}", context.command("remote list")))
        })?;
        if remote.subscription.is_some() {
            let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
            session.unsubscribe(&remote).await.map_err(|error| failure(&remote, error))?;
        } else {
            home.store.remove_remote(remote.id).await?;
        }
        output::line(format!("removed {}", text::line(&shown_text(&remote.url))))
    }
}

/// Finds the remote with this address, name or number.
pub(crate) async fn find(
    home: &OpenEndpoint,
    collection: &CollectionName,
    named: &str,
) -> Result<Option<Stored>, Failure> {
    home.endpoint.collection(collection).await?;
    let remotes = home.store.remotes(Some(collection)).await?;
    let is_named = |remote: &Stored| {
        remote.url == named
            || remote.name.as_deref() == Some(named)
            || remote.id.0.to_string() == named
    };
    Ok(remotes.into_iter().find(is_named))
}
