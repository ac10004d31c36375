//! `feedsync reader`

mod articles;
mod export;
mod import;
mod list;
mod mark;
mod r#move;
mod star;
mod subscribe;
mod sync;
mod tag;

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use feedsync_client::{ReaderFile, StoredReader};
use feedsync_endpoint::did_you_mean;
use feedsync_log::Millis;
use feedsync_reading_state::{Action, FeedAddress, Replica};
use serde_json::json;

use crate::commands::log::random;
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::output;

/// Keep what you read, and have read, in step on every device
///
/// Subscriptions, read and starred marks and tags are kept in the data directory; `reader sync` brings them in
/// step with a log that all of your devices use. Whatever was done without a network is there afterwards.
#[derive(Debug, Subcommand)]
pub(crate) enum Reader {
    Subscribe(subscribe::Subscribe),
    Unsubscribe(subscribe::Unsubscribe),
    Move(r#move::Move),
    List(list::List),
    Articles(articles::Articles),
    Mark(mark::Mark),
    Star(star::Star),
    Tag(tag::Tag),
    Import(import::Import),
    Export(export::Export),
    Sync(sync::Sync),
}

impl Reader {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Subscribe(command) => command.run(context),
            Self::Unsubscribe(command) => command.run(context),
            Self::Move(command) => command.run(context),
            Self::List(command) => command.run(context),
            Self::Articles(command) => command.run(context),
            Self::Mark(command) => command.run(context),
            Self::Star(command) => command.run(context),
            Self::Tag(command) => command.run(context),
            Self::Import(command) => command.run(context).await,
            Self::Export(command) => command.run(context),
            Self::Sync(command) => command.run(context).await,
        }
    }
}

/// The reader of the data directory, while nobody else changes it.
fn open(context: &Context) -> Result<StoredReader, Failure> {
    let file = ReaderFile::within(&context.data);
    let waiting = || {
        let path = file.path();
        let who = "waiting for another command that uses it, such as a sync";
        failure::note(&format!("{}: {who}", path.display()));
    };
    Ok(file.open(random, waiting)?)
}

/// What the reader of the data directory knows, whoever changes it meanwhile.
fn read(context: &Context) -> Result<Replica, Failure> {
    Ok(ReaderFile::within(&context.data).read(random)?)
}

/// Checks that the reader knows a feed: that it subscribes to it, or has marks of it.
fn known(context: &Context, reader: &StoredReader, feed: &FeedAddress) -> Result<(), Failure> {
    match unknown(reader, feed) {
        Some(message) => Err(Failure::not_found(message)
            .hint(format!("see them all: {}", context.command("reader list")))),
        None => Ok(()),
    }
}

/// Tells that the reader does not know a feed, with the feed that may be meant. `None` if it knows it.
fn unknown(reader: &StoredReader, feed: &FeedAddress) -> Option<String> {
    let view = reader.replica.state().view();
    if reader.replica.state().feed(view.address(feed).as_str()).is_some() {
        return None;
    }
    let names: Vec<&str> = view.feeds().map(|(feed, _)| feed.as_str()).collect();
    Some(format!("this reader knows no feed {feed}{}", did_you_mean(feed.as_str(), names)))
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
    let actions: Vec<_> = actions.iter().map(|action| (feed.clone(), action.clone())).collect();
    finish(context, &mut reader, &actions, done)
}

/// The same to several feeds.
fn finish(
    context: &Context,
    reader: &mut StoredReader,
    actions: &[(FeedAddress, Action)],
    done: &str,
) -> Result<(), Failure> {
    let changed = change(reader, actions)?;
    if context.json {
        let waiting = reader.replica.waiting_count();
        return output::json(&json!({ "changed": changed, "waiting": waiting }));
    }
    match changed {
        0 => output::line("it is so already"),
        _ => output::line(done),
    }
}

/// Does these things and stores them; how many changed anything.
fn change(reader: &mut StoredReader, actions: &[(FeedAddress, Action)]) -> Result<usize, Failure> {
    let now = now();
    let changes = actions.iter().filter(|(feed, action)| reader.replica.act(feed, action, now));
    let changed = changes.count();
    if changed > 0 {
        reader.store()?;
    }
    Ok(changed)
}
