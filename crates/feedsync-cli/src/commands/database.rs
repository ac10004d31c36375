//! `feedsync database`

mod at;
mod drop;
mod history;
mod list;
mod past_time;
mod replicate;
mod restore;
mod set;
mod undrop;

use clap::Subcommand;
use feedsync_couch::DatabaseName;
use feedsync_store::{Dropped, Moment};

use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::invocation::see_all;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync database replicate http://127.0.0.1:5984/notes notes --create
  feedsync database set notes --history 30d
  feedsync database restore notes --at 2h --dry-run
";

/// Replicate databases of documents with CouchDB, PouchDB and hubs, and bring back what they were
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Database {
    List(list::List),
    Replicate(replicate::Replicate),
    Set(set::Set),
    History(history::History),
    At(at::At),
    Restore(restore::Restore),
    Drop(drop::Drop),
    Undrop(undrop::Undrop),
}

impl Database {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Replicate(command) => command.run(context).await,
            Self::Set(command) => command.run(context).await,
            Self::History(command) => command.run(context).await,
            Self::At(command) => command.run(context).await,
            Self::Restore(command) => command.run(context).await,
            Self::Drop(command) => command.run(context).await,
            Self::Undrop(command) => command.run(context).await,
        }
    }
}

/// The database of this name, which must exist.
async fn find(
    home: &OpenEndpoint,
    name: &DatabaseName,
) -> Result<feedsync_store::Database, Failure> {
    let found = home.endpoint.databases().database(name).await?;
    let found = found.filter(|database| database.dropped.is_none());
    let missing = || Failure::not_found(format!("{}: there is no database {name}", home.place));
    found.ok_or_else(|| missing().hint(see_all("database list")))
}

/// The database that had this name at a moment. Fails if there is none of the name, now or then.
async fn find_at(
    home: &OpenEndpoint,
    name: &DatabaseName,
    moment: Moment,
) -> Result<feedsync_store::Database, Failure> {
    match home.endpoint.database_at(name, moment).await? {
        Some(database) => Ok(database),
        None => find(home, name).await,
    }
}

/// The last database of this name that was dropped and is kept, and how it was dropped.
async fn last_dropped(
    context: &Context,
    home: &OpenEndpoint,
    name: &DatabaseName,
) -> Result<(feedsync_store::Database, Dropped), Failure> {
    let kept = home.endpoint.dropped_databases(Some(name)).await?.into_iter().next();
    kept.and_then(|kept| Some((kept.clone(), kept.dropped?))).ok_or_else(|| {
        let all = context.command("database undrop");
        Failure::not_found(format!("{}: no dropped database {name} is kept", home.place))
            .hint(format!("to see the dropped databases: {all}"))
    })
}
