//! `feedsync collection undrop`

use clap::Args;
use feedsync_endpoint::Source;
use feedsync_store::{
    Append, Collection, CollectionName, Expected, ItemStore as _, LogOutcome, Logs as _,
    NewCollection, NewRemote, PageLimit, SqliteStore, StoreError,
};
use serde_json::{Value, json};

use crate::context::{Context, OpenEndpoint};
use crate::dropped::{self, Dropped};
use crate::failure::{Failure, warn};
use crate::output::{self, progress::Progress, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync collection undrop                      # lists what is kept
  feedsync collection undrop notes
  feedsync collection undrop notes --as notes-2
";

/// Maximum number and size of the items that are restored in one transaction.
const BATCH: PageLimit = PageLimit { items: 500, bytes: 4 << 20 };

/// Maximum number of bytes of a log that are restored in one transaction.
const LOG_BYTES: usize = 1 << 20;

/// Maximum size of a log that is restored, in bytes.
const MAX_LOG_BYTES: u64 = 1 << 40;

/// Bring a dropped collection back, or list the dropped collections
///
/// Items come back with their histories and conflicts, and so do settings, media, remotes and the log. Remotes are
/// synchronised from the beginning. Users who still exist get the roles that they had.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undrop {
    /// Name of the collection; if several had it, the last one comes back [default: list them]
    collection: Option<CollectionName>,
    /// New name of the collection
    #[arg(long = "as", value_name = "NAME", requires = "collection")]
    name: Option<CollectionName>,
}

/// Counts of the restored items.
#[derive(Default)]
struct Restored {
    items: u64,
    refused: u64,
}

impl Undrop {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        dropped::sweep(&context.data);
        let Some(known_as) = self.collection else { return list(context) };
        let home = context.open().await?;
        let dropped = dropped::find(context, &known_as)?;
        let name = self.name.unwrap_or_else(|| known_as.clone());
        let archive = dropped.open()?;
        let unreadable = |error| dropped.unreadable(error);
        let known = archive.collection(&known_as).await.map_err(unreadable)?;
        let known = known.ok_or(StoreError::NoCollection(known_as))?;
        let progress = Progress::spinner("bringing it back");
        create(context, &home, &known, &name).await?;
        let restored = match fill(&home, (&archive, &dropped), &known, &name).await {
            Ok(restored) => restored,
            Err(failure) => {
                // The dropped copy still exists, so the incomplete collection is removed.
                home.endpoint.drop_collection(&name).await?;
                return Err(failure);
            }
        };
        let roles = dropped.give_roles(&home, &name).await?;
        drop(progress);
        drop(archive);
        if restored.refused == 0 {
            dropped.remove()?;
        }
        let Restored { items, refused } = restored;
        if context.json {
            let name = name.as_str();
            output::json(
                &json!({ "name": name, "items": items, "refused": refused, "roles": roles }),
            )?;
        } else {
            let mut back = format!("{name} is back with {}", text::count(items, "item"));
            if roles > 0 {
                back.push_str(&format!(" and {}", text::count(roles, "role")));
            }
            output::line(back)?;
        }
        if refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let kept = dropped::list(&context.data);
    let mut faults = dropped::faults(&context.data);
    let last = faults.pop().map_or(Ok(()), Err);
    for fault in faults {
        fault.report();
    }
    if context.json {
        output::json(&kept.iter().map(Dropped::value).collect::<Value>())?;
        return last;
    }
    if kept.is_empty() && last.is_ok() {
        return output::line("there is no dropped collection");
    }
    let row = |dropped: &Dropped| {
        [
            dropped.name.clone(),
            dropped.items.to_string(),
            dropped.unshown.to_string(),
            text::count(dropped.days_left(), "day"),
        ]
    };
    let rows: Vec<_> = kept.iter().map(row).collect();
    if !rows.is_empty() {
        output::print(&table::table(["NAME", "ITEMS", "HERE ONLY", "KEPT FOR"], &rows))?;
    }
    last
}

async fn create(
    context: &Context,
    home: &OpenEndpoint,
    known: &Collection,
    name: &CollectionName,
) -> Result<(), Failure> {
    let new = NewCollection {
        name: name.clone(),
        title: known.title.clone(),
        format: known.format,
        settings: known.settings.clone(),
    };
    match home.endpoint.create_collection(new).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let again = context.command(&format!("collection undrop {} --as NAME", known.name));
            let failure = Failure::from(error);
            Err(match home.store.collection(name).await? {
                Some(_) => failure.hint(format!("bring it back under another name: {again}")),
                None => failure,
            })
        }
    }
}

/// Restores the contents of a collection.
async fn fill(
    home: &OpenEndpoint,
    (archive, dropped): (&SqliteStore, &Dropped),
    known: &Collection,
    name: &CollectionName,
) -> Result<Restored, Failure> {
    let unreadable = |error| dropped.unreadable(error);
    let mut restored = Restored::default();
    let mut after = None;
    loop {
        let page =
            archive.items_by_id(&known.name, after.as_ref(), BATCH).await.map_err(unreadable)?;
        after = page.items.last().map(|stored| stored.item.id.clone());
        for digest in page.items.iter().flat_map(|stored| &stored.blobs) {
            if let Some(bytes) = archive.blob(*digest).await.map_err(unreadable)? {
                home.store.put_blob(bytes).await?;
            }
        }
        let items: Vec<_> = page.items.into_iter().map(|stored| stored.item).collect();
        restored.items += items.len() as u64;
        let report = home.endpoint.incorporate(name, Source::Offered, items, None).await?;
        restored.refused += report.counts.refused;
        for (id, reason) in report.items.iter().filter_map(crate::commands::import::refusal) {
            warn(&format!("{id}: {reason}"));
        }
        if !page.more {
            break;
        }
    }
    for remote in archive.remotes(Some(&known.name)).await.map_err(unreadable)? {
        let (url, subscription) = (remote.url, remote.subscription);
        let collection = name.clone();
        let new = NewRemote { collection, name: remote.name, url, subscription };
        home.endpoint.add_remote(new).await?;
    }
    log(home, (archive, dropped), &known.name, name).await?;
    Ok(restored)
}

/// Restores a log as a new one with the same lines.
async fn log(
    home: &OpenEndpoint,
    (archive, dropped): (&SqliteStore, &Dropped),
    known_as: &CollectionName,
    name: &CollectionName,
) -> Result<(), Failure> {
    let unreadable = |error| dropped.unreadable(error);
    let Some(log) = archive.log(known_as).await.map_err(unreadable)?.filter(|log| !log.removed)
    else {
        return Ok(());
    };
    let mut read = 0;
    while read < log.place.length {
        let piece = archive.read_log(known_as, log.place.generation, read, LOG_BYTES).await;
        let piece = piece.map_err(unreadable)?;
        let bytes = piece.filter(|piece| !piece.is_empty()).ok_or_else(|| {
            let place = dropped.directory.display();
            Failure::store(format!("{place}: the log of {known_as} that was kept cannot be read"))
        })?;
        let expected = if read == 0 { Expected::Absent } else { Expected::Present };
        read += bytes.len() as u64;
        let append = Append {
            expected,
            bytes,
            media_type: log.media_type.clone(),
            key: None,
            most: MAX_LOG_BYTES,
            act: None,
        };
        if !matches!(home.store.append_to_log(name, append).await?, LogOutcome::Done(_)) {
            return Err(Failure::refused(format!("the log of {name} changed meanwhile")));
        }
    }
    Ok(())
}
