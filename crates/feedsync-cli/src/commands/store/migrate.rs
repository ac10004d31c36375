//! `feedsync store migrate`

use clap::Args;
use feedsync_server::configuration::StoreAddress;
use feedsync_store::{StoreError, Transfer, TransferReport, transfer};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};
use crate::store::{self, OpenStore};

const EXAMPLES: &str = "\
Examples:
  feedsync store migrate --to postgres://feedsync@db.example.org/feedsync
  feedsync store migrate --from postgres://feedsync@db.example.org/feedsync --to sqlite:/srv/feedsync
";

/// Move everything from one store to an empty one of any kind
///
/// Copies items with their histories and conflicts, tombstones, logs, settings, databases with their revisions and
/// attachments, remotes, files, users, tokens and the audit record. The new store continues as the same endpoint with
/// a new signature and a new epoch. The old store does not change, but must not be used any more. Stop its hub first.
/// If somebody writes to the old store meanwhile, delete the new one (exit code 1). If the move is interrupted,
/// delete the new store, too: no command opens it (exit code 5).
///
/// A store is `sqlite:DIRECTORY` or `postgres://USER@HOST/DATABASE`. Its password is in PGPASSWORD, in ~/.pgpass, or
/// in FEEDSYNC_STORE. The new store must be empty: a directory or database without a store, or a store with neither
/// collections nor users.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Migrate {
    /// Address of the old store [default: the store that every command uses]
    #[arg(long, value_name = "STORE")]
    from: Option<String>,
    /// Address of the new store
    #[arg(long, value_name = "STORE")]
    to: String,
}

impl Migrate {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let from = match &self.from {
            Some(text) => store::named("--from", text)?,
            None => context.address()?,
        };
        let to = store::named("--to", &self.to)?;
        let (old, new) = (store::shown(&from), store::shown(&to));
        if old == new {
            return Err(Failure::usage("--from and --to are the same store"));
        }
        let Some(source) = OpenStore::open(&from).await? else {
            return Err(Failure::store(format!("{old}: there is no endpoint here yet")));
        };
        let source = source.store();
        let target = target(&to, &*source).await?.store();
        let bar = Progress::bar("moving", all(&*source).await?);
        let reach = |moved: &TransferReport| bar.reach(moved.items + moved.documents);
        let moved = transfer(&*source, &*target, &reach).await;
        drop(bar);
        let moved = moved.map_err(|error| match error {
            error @ StoreError::Transfer(_) => Failure::refused(error),
            error => Failure::from(error)
                .hint(format!("{new} is incomplete: remove it, and try again; {old} is as it was")),
        })?;
        report(context, &old, &new, &moved)
    }
}

/// Counts all items and documents of a store.
async fn all(source: &dyn Transfer) -> Result<u64, StoreError> {
    let mut all = 0;
    for collection in source.collections().await? {
        all += collection.live + collection.deleted;
    }
    for database in source.databases(None, usize::MAX).await? {
        all += database.documents + database.deleted;
    }
    Ok(all)
}

/// Opens the target store; creates it if it does not exist.
async fn target(address: &StoreAddress, source: &dyn Transfer) -> Result<OpenStore, Failure> {
    if let Some(opened) = OpenStore::open(address).await? {
        return Ok(opened);
    }
    let name = source.identity().await?.name;
    Ok(OpenStore::init(address, &name).await?)
}

fn report(context: &Context, old: &str, new: &str, moved: &TransferReport) -> Result<(), Failure> {
    if context.json {
        return output::json(&json!({
            "from": old,
            "to": new,
            "collections": moved.collections,
            "items": moved.items,
            "purged": moved.purged,
            "discarded": moved.discarded,
            "signed": moved.signed,
            "logs": moved.logs,
            "databases": moved.databases,
            "documents": moved.documents,
            "attachments": moved.attachments,
            "remotes": moved.remotes,
            "files": moved.blobs,
            "users": moved.users,
            "tokens": moved.tokens,
            "acts": moved.acts,
        }));
    }
    let collections = text::count(moved.collections, "collection");
    let (items, files) = (text::count(moved.items, "item"), text::count(moved.blobs, "file"));
    let (logs, users) = (text::count(moved.logs, "log"), text::count(moved.users, "user"));
    let databases = text::count(moved.databases, "database");
    let documents = text::count(moved.documents, "document");
    output::line(format!(
        "moved {collections} with {items}, {databases} with {documents}, {files}, {logs} and {users} to \
         {new}\n{old} must not be used any more"
    ))
}
