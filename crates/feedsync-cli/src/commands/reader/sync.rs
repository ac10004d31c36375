//! `feedsync reader sync`

use clap::Args;
use feedsync_client::{LogError, ReaderFileError, ReaderJoin};
use feedsync_couch::DatabaseName;
use feedsync_log::Stop;
use feedsync_store::CollectionName;
use serde_json::json;

use super::state::open;
use crate::commands::log::access::access;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};

const EXAMPLES: &str = "\
Examples:
  feedsync reader sync https://hub.example/logs/reading
  feedsync reader sync                          # with the same log again
  feedsync sync reading https://hub.example/collections/reading
  feedsync reader sync --collection reading     # with items that `feedsync sync` keeps in step
  feedsync reader sync --database reading       # with documents that `feedsync database replicate` keeps in step
";

/// Synchronise subscriptions and marks with a log, a collection or a database
///
/// The first device creates the log. A device that is up to date needs one small request.
///
/// In a collection each feed is an item, an outline in OPML; `sync` transfers the items to other devices. In a
/// database each feed is a document (docs/reader-schema.md), and replication transfers it to other devices and to
/// applications that support the schema. All three ways give the same result, and can be combined.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sync {
    /// Log: an address, or a collection of this endpoint [default: the last one]
    log: Option<String>,
    /// Switch to another log, or start again with one that was removed; the whole reading state is written to it
    #[arg(long)]
    begin_again: bool,
    /// Synchronise with the items of this collection of the endpoint, not with a log
    #[arg(long, value_name = "NAME", conflicts_with_all = ["log", "begin_again"])]
    collection: Option<CollectionName>,
    /// Synchronise with the documents of this database of the endpoint, not with a log; the database is created if it
    /// does not exist
    #[arg(long, value_name = "NAME", conflicts_with_all = ["log", "begin_again", "collection"])]
    database: Option<DatabaseName>,
}

impl Sync {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match (&self.collection, &self.database) {
            (Some(collection), _) => with_collection(context, collection).await,
            (_, Some(database)) => with_database(context, database).await,
            (None, None) => self.with_log(context).await,
        }
    }

    async fn with_log(self, context: &Context) -> Result<(), Failure> {
        let mut reader = open(context)?;
        let known = reader.replica.log().map(str::to_owned);
        let Some(named) = self.log.or(known) else {
            let sync = context.command("reader sync LOG");
            return Err(Failure::usage(format!("name the log: {sync}")));
        };
        let log = access(context, &named).await?;
        if self.begin_again {
            reader.replica.begin_again();
            reader.replica.set_log(log.address());
        }
        let progress = Progress::spinner(&format!("synchronising with {}", log.name()));
        let done = reader.synchronise(&*log, self.begin_again).await;
        let done = done.map_err(|error| failed(context, &log.name(), error))?;
        drop(progress);
        if done.is_absent {
            let hint = format!(
                "it begins with the first change: {}",
                context.command("reader subscribe FEED")
            );
            return Err(
                Failure::not_found(format!("{}: there is no such log", log.name())).hint(hint)
            );
        }
        if context.json {
            return output::json(&json!({
                "log": log.name(),
                "appended": done.appended,
                "news": done.has_read,
                "compacted": done.was_compacted,
            }));
        }
        let appended = text::count(done.appended as u64, "record");
        let news = if done.has_read { "there was news" } else { "no news" };
        let compacted = if done.was_compacted { ", compacted" } else { "" };
        output::line(format!("{}: {news}, appended {appended}{compacted}", log.name()))
    }
}

/// Converts a failure to synchronise with a log. Without users, all readers of a hub share the log `reading`.
/// When the hub gets its first user, each user has a separate log, and the shared log is removed.
fn failed(context: &Context, log: &str, error: ReaderFileError) -> Failure {
    use Stop::{Gone, Refused, Rejected, Vanished};
    let is_refusal = matches!(
        &error,
        ReaderFileError::Log(LogError::Stopped {
            stop: Refused(_) | Rejected(_) | Gone | Vanished,
            ..
        })
    );
    let failure = Failure::from(error);
    match log.strip_suffix("/logs/reading").filter(|_| is_refusal) {
        None => failure,
        Some(hub) => {
            let log_in = context.command(&format!("remote login {hub} --user NAME"));
            let sync = format!("reader sync {hub}/logs/reading-NAME --begin-again");
            failure.hint(format!(
                "once a hub has users, each of them has a log: log in ({log_in}), then switch to yours ({})",
                context.command(&sync)
            ))
        }
    }
}

async fn with_collection(context: &Context, collection: &CollectionName) -> Result<(), Failure> {
    let home = context.open().await?;
    let mut reader = open(context)?;
    let done = reader.join_collection(&home.endpoint, collection).await?;
    report(context, ("collection", collection.as_str()), "item", &done)
}

async fn with_database(context: &Context, database: &DatabaseName) -> Result<(), Failure> {
    let home = context.open().await?;
    let mut reader = open(context)?;
    let done = reader.join_database(&home.endpoint, database).await?;
    report(context, ("database", database.as_str()), "document", &done)
}

/// Reports the outcome of a join with a collection or a database. `kind` names which of them, `thing` what it
/// contains.
fn report(
    context: &Context,
    (kind, name): (&str, &str),
    thing: &str,
    ReaderJoin { has_read, written, newer }: &ReaderJoin,
) -> Result<(), Failure> {
    if context.json {
        return output::json(&json!({
            kind: name,
            "news": has_read,
            "written": written,
            "newer": newer,
        }));
    }
    for id in newer {
        output::line(format!("{id}: written by a later version of feedsync, left alone"))?;
    }
    let written = text::count(*written, thing);
    let news = if *has_read { "there was news" } else { "no news" };
    output::line(format!("{name}: {news}, wrote {written}"))
}
