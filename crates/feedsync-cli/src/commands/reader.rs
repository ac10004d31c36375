//! `feedsync reader`

mod export;
mod import;
mod list;
mod mark;
mod star;
mod subscribe;
mod sync;

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use feedsync_client::{ReaderFile, StoredReader};
use feedsync_log::Millis;
use feedsync_reader::{Action, FeedAddress};
use serde_json::{Map, Value, json};

use crate::commands::log::random;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Keep what you read, and have read, in step on every device
///
/// Subscriptions, read and starred marks and tags are kept in the data directory; `reader sync` brings them in
/// step with a log that all of your devices use. Whatever was done without a network is there afterwards.
#[derive(Debug, Subcommand)]
pub(crate) enum Reader {
    Subscribe(subscribe::Subscribe),
    Unsubscribe(subscribe::Unsubscribe),
    List(list::List),
    Mark(mark::Mark),
    Star(star::Star),
    Import(import::Import),
    Export(export::Export),
    Sync(sync::Sync),
}

impl Reader {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Subscribe(command) => command.run(context),
            Self::Unsubscribe(command) => command.run(context),
            Self::List(command) => command.run(context),
            Self::Mark(command) => command.run(context),
            Self::Star(command) => command.run(context),
            Self::Import(command) => command.run(context).await,
            Self::Export(command) => command.run(context),
            Self::Sync(command) => command.run(context).await,
        }
    }
}

/// The reader of the data directory, while nobody else changes it.
fn open(context: &Context) -> Result<StoredReader, Failure> {
    Ok(ReaderFile::within(&context.data).open(random)?)
}

/// What the clock says.
fn now() -> Millis {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::new(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}

/// Does these things to a feed, stores that, and says how many changed anything.
fn act(
    context: &Context,
    feed: &FeedAddress,
    actions: &[Action],
    done: &str,
) -> Result<(), Failure> {
    let mut reader = open(context)?;
    let now = now();
    let changed = actions.iter().filter(|action| reader.replica.act(feed, action, now)).count();
    if changed > 0 {
        reader.store()?;
    }
    if context.json {
        let waiting = reader.replica.waiting_count();
        return output::json(&json!({ "changed": changed, "waiting": waiting }));
    }
    match changed {
        0 => output::line("it is so already"),
        _ => output::line(done),
    }
}

/// A subscription, for programs.
fn shown(subscription: &feedsync_reader::Subscription) -> Value {
    let feedsync_reader::Subscription { address, title, folder, position, .. } = subscription;
    let mut object = Map::new();
    object.insert("feed".to_owned(), address.as_str().into());
    object.insert("title".to_owned(), title.as_ref().map(|title| title.as_str()).into());
    let names: Vec<_> = folder.names().iter().map(|name| name.as_str()).collect();
    object.insert("folder".to_owned(), names.into());
    object.insert("position".to_owned(), position.as_ref().map(|place| place.as_str()).into());
    Value::Object(object)
}
