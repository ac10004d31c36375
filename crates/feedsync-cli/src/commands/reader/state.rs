//! The state of the reader in the data directory, and changes of it.

use std::time::{SystemTime, UNIX_EPOCH};

use feedsync_client::{ReaderFile, StoredReader};
use feedsync_endpoint::did_you_mean;
use feedsync_log::Millis;
use feedsync_reading_state::{Action, FeedAddress, Replica};
use serde_json::json;

use crate::commands::log::access::random;
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::output;

/// Opens the reader of the data directory and locks it against other commands.
pub(super) fn open(context: &Context) -> Result<StoredReader, Failure> {
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
pub(super) fn read(context: &Context) -> Result<Replica, Failure> {
    Ok(ReaderFile::within(&context.data).read(random)?)
}

/// Checks that the reader has a feed, as a subscription or by marks of its articles.
pub(super) fn known(
    context: &Context,
    reader: &StoredReader,
    feed: &FeedAddress,
) -> Result<(), Failure> {
    match unknown(reader, feed) {
        Some(message) => Err(Failure::not_found(message)
            .hint(format!("see them all: {}", context.command("reader list")))),
        None => Ok(()),
    }
}

/// Message that the reader does not have a feed, with a similar name. `None` if the reader has it.
pub(super) fn unknown(reader: &StoredReader, feed: &FeedAddress) -> Option<String> {
    let view = reader.replica.state().view();
    if view.has(feed) {
        return None;
    }
    let names: Vec<&str> = view.feeds().map(|(feed, _)| feed.as_str()).collect();
    Some(format!("this reader knows no feed {feed}{}", did_you_mean(feed.as_str(), names)))
}

/// Current time.
pub(super) fn now() -> Millis {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::new(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}

/// Applies actions to a feed, stores the state, and reports how many of them changed it.
pub(super) fn act(
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
pub(super) fn finish(
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
        0 => output::line("there is nothing to change"),
        _ => output::line(done),
    }
}

/// Applies actions and stores the state; returns the number of actions that changed it.
pub(super) fn change(
    reader: &mut StoredReader,
    actions: &[(FeedAddress, Action)],
) -> Result<usize, Failure> {
    let now = now();
    let changes = actions.iter().filter(|(feed, action)| reader.replica.act(feed, action, now));
    let changed = changes.count();
    if changed > 0 {
        reader.store()?;
    }
    Ok(changed)
}
