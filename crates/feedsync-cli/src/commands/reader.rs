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

/// Opens the reader of the data directory and locks it against other commands.
fn open(context: &Context) -> Result<StoredReader, Failure> {
    let file = ReaderFile::within(&context.data);
    let waiting = || {
        let path = file.path();
        let who = "waiting for another command that uses it, such as a sync";
        failure::note(&format!("{}: {who}", path.display()));
    };
    Ok(file.open(random, waiting)?)
}

/// Reads the state of the reader of the data directory without a lock; other commands may change it
/// meanwhile.
fn read(context: &Context) -> Result<Replica, Failure> {
    Ok(ReaderFile::within(&context.data).read(random)?)
}

/// Checks that the reader has a feed, as a subscription or by marks of its articles.
fn known(context: &Context, reader: &StoredReader, feed: &FeedAddress) -> Result<(), Failure> {
    match unknown(reader, feed) {
        Some(message) => Err(Failure::not_found(message)
            .hint(format!("see them all: {}", context.command("reader list")))),
        None => Ok(()),
    }
}

/// Message that the reader does not have a feed, with a similar name. `None` if the reader has it.
fn unknown(reader: &StoredReader, feed: &FeedAddress) -> Option<String> {
    let view = reader.replica.state().view();
    if reader.replica.state().feed(view.address(feed).as_str()).is_some() {
        return None;
    }
    let names: Vec<&str> = view.feeds().map(|(feed, _)| feed.as_str()).collect();
    Some(format!("this reader knows no feed {feed}{}", did_you_mean(feed.as_str(), names)))
}

/// Current time.
fn now() -> Millis {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::new(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}

/// Applies actions to a feed, stores the state, and reports how many of them changed it.
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

/// Applies actions to several feeds, stores the state, and reports how many of them changed it.
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

/// Applies actions and stores the state; returns the number of actions that changed it.
fn change(reader: &mut StoredReader, actions: &[(FeedAddress, Action)]) -> Result<usize, Failure> {
    let now = now();
    let changes = actions.iter().filter(|(feed, action)| reader.replica.act(feed, action, now));
    let changed = changes.count();
    if changed > 0 {
        reader.store()?;
    }
    Ok(changed)
}
