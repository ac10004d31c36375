//! `feedsync collection drop`

use clap::Args;
use feedsync_endpoint::Period;
use feedsync_store::{Alteration, ChangeNumber, Collection, CollectionName, Origin, PageLimit};
use serde_json::json;

use crate::confirm::confirm;
use crate::context::{Context, OpenEndpoint};
use crate::dropped;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};

const EXAMPLES: &str = "\
Examples:
  feedsync collection drop notes                  # asks if items would be lost
  feedsync collection undrop notes                # brings it back within 30 days
  feedsync collection drop notes --yes --keep 365d
  feedsync collection drop notes --yes --forget
";

/// Remove a collection with its items, log and remotes from this endpoint
///
/// Other endpoints keep their items. If some items or a log exist only here, the command asks for confirmation. The
/// data directory keeps the collection for a time, and `collection undrop` brings it back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Drop {
    /// Name of the collection
    collection: CollectionName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// How long to keep the collection for `collection undrop`, such as 12h or 30d
    #[arg(long, value_name = "PERIOD", default_value = "30d")]
    keep: Period,
    /// Delete the collection for good
    #[arg(long, conflicts_with = "keep")]
    forget: bool,
}

impl Drop {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        dropped::sweep(&context.data);
        let home = context.open().await?;
        let name = &self.collection;
        let collection = home.endpoint.collection(name).await?;
        let unshown = unshown(&home, &collection).await?;
        let log = home.store.log(name).await?.filter(|log| !log.removed);
        let log = log.map_or(0, |log| log.place.length);
        if unshown > 0 || log > 0 {
            confirm(&self.loss(&collection, unshown, log), self.yes)?;
        }
        let progress = Progress::spinner("keeping a copy");
        let kept = match self.forget {
            true => None,
            false => {
                let period = self.keep.duration();
                Some(dropped::keep(context, &home, name, unshown, period).await?)
            }
        };
        drop(progress);
        if let Err(failure) = remove(&home, name, collection.last).await {
            if let Some(kept) = &kept {
                kept.remove()?;
            }
            return Err(failure);
        }
        if context.json {
            let kept = kept.as_ref().map(dropped::Dropped::value);
            return output::json(&json!({ "dropped": name.as_str(), "kept": kept }));
        }
        match kept {
            None => output::line(format!("dropped {name}")),
            Some(_) => output::line(format!(
                "dropped {name}; kept for {}: {}",
                self.keep,
                context.command(&format!("collection undrop {name}"))
            )),
        }
    }

    fn loss(&self, collection: &Collection, unshown: u64, log: u64) -> String {
        let Collection { name, live, deleted, .. } = collection;
        let items = text::count(live + deleted, "item");
        let mut loss = format!("{name} has {items}, of which no remote has {unshown}");
        if log > 0 {
            loss.push_str(&format!(", and a log of {}", text::count(log, "byte")));
        }
        match self.forget {
            true => loss + "; nothing of it is kept",
            false => format!("{loss}; undrop brings it back for {}", self.keep),
        }
    }
}

/// Counts the items that changed here since the collection was last shown to others.
async fn unshown(home: &OpenEndpoint, collection: &Collection) -> Result<u64, Failure> {
    let mut count = 0;
    let mut after = collection.sent;
    loop {
        let limit = PageLimit::items(500);
        let page = home.store.changes(&collection.name, after, None, limit).await?;
        let is_ours = |origin: &Origin| !matches!(origin, Origin::Remote(_));
        count += page.items.iter().filter(|stored| is_ours(&stored.origin)).count() as u64;
        after = page.through;
        if !page.more {
            return Ok(count);
        }
    }
}

/// Removes the collection, unless it has changed since it was copied.
async fn remove(
    home: &OpenEndpoint,
    name: &CollectionName,
    last: ChangeNumber,
) -> Result<(), Failure> {
    let decide =
        move |now: &Collection| if now.last == last { Ok(Alteration::Drop) } else { Err(()) };
    match home.endpoint.alter_collection(name, decide).await? {
        Ok(_) => Ok(()),
        Err(()) => {
            let message = format!("{name} changed meanwhile; nothing was dropped");
            Err(Failure::refused(message).hint("try again"))
        }
    }
}
