//! `feedsync import`

use clap::Args;
use feedsync_core::{Item, Payload};
use feedsync_endpoint::{Counts, Imported, ItemOutcome, ItemReport, PlainItem, Source as Origin};
use feedsync_formats::{FeedDetails, ReadOptions, read, read_plain, sse};
use feedsync_store::CollectionName;
use serde_json::{Value, json};

use crate::context::{Context, OpenEndpoint};
use crate::failure::{Failure, warn};
use crate::invocation::command;
use crate::output::progress::Progress;
use crate::output::{self, text};
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  feedsync import news https://example.org/feed.atom
  feedsync import feeds subscriptions.opml
  feedsync import news https://example.org/feed.atom --mirror
";

/// Import the items of a feed into a collection
///
/// A feed with FeedSync or SSE elements is merged. The entries of any other feed become new items. The id of an item
/// is derived from its entry, so two people who import the same entry have the same item. A second import updates the
/// items whose entries changed. It deletes nothing without `--mirror`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(override_usage = "feedsync import [OPTIONS] [COLLECTION] <FILE|URL>")]
pub(crate) struct Import {
    /// Name of the collection [default: the only one], then a file, '-' for standard input, or an address
    #[arg(value_names = ["COLLECTION", "FILE|URL"], num_args = 1..=2, required = true)]
    what: Vec<String>,
    /// Delete items that an earlier import created and that the feed no longer contains
    #[arg(long)]
    mirror: bool,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let (collection, source) = match &*self.what {
            [collection, source] => (collection.parse().map_err(Failure::usage)?, source),
            [source] => (only_collection(&home).await?, source),
            _ => return Err(Failure::usage("give a collection and one file or address")),
        };
        home.endpoint.collection(&collection).await?;
        let source = Source::load(source, &context.way()).await?;
        let tolerant = ReadOptions::tolerant();
        let progress = Progress::spinner("importing");
        let outcome = if sse::uses_sse(&source.bytes, &tolerant) {
            self.no_mirror()?;
            let Upgraded { items, details, refused, plain_items } = upgraded(&source)?;
            let left_out = warn_of_plain(plain_items);
            adopt_details(&home, &collection, &details).await?;
            let mut outcome = incorporate(&home, &collection, items, true).await?;
            outcome.counts.refused += refused;
            outcome.left_out = left_out;
            outcome
        } else {
            let reading = read(&source.bytes, None, &tolerant)
                .map_err(|error| Failure::document(&source.name, &error))?;
            for refused in &reading.refused {
                warn(&format!("{}:{}", source.name, refused.reason));
            }
            adopt_details(&home, &collection, &reading.details).await?;
            if reading.feed.items.is_empty() && reading.refused.is_empty() {
                import_plain(&home, &collection, &source, self.mirror).await?
            } else {
                self.no_mirror()?;
                let left_out = warn_of_plain(reading.feed.plain_items);
                if reading.feed.sharing.is_some() {
                    let follow = command(&format!("remote subscribe {collection} URL"));
                    warn(&format!(
                        "its window and related feeds are left out, since this is no subscription: {follow}"
                    ));
                }
                let unread = reading.refused.len() as u64;
                let mut outcome =
                    incorporate(&home, &collection, reading.feed.items, false).await?;
                outcome.counts.refused += unread;
                outcome.left_out = left_out;
                outcome
            }
        };
        drop(progress);
        outcome.report(context)
    }

    fn no_mirror(&self) -> Result<(), Failure> {
        if self.mirror {
            let message = "a feed with sync information says itself what is deleted";
            return Err(Failure::usage(message).hint("leave out --mirror"));
        }
        Ok(())
    }
}

/// Stores the details of a feed, if the collection has none yet.
async fn adopt_details(
    home: &OpenEndpoint,
    collection: &CollectionName,
    details: &FeedDetails,
) -> Result<(), Failure> {
    warn_of_details(details);
    home.endpoint.adopt_details(collection, details).await?;
    Ok(())
}

/// Warns about the parts of the head of a feed that are left out.
pub(crate) fn warn_of_details(details: &FeedDetails) {
    if details.left_out > 0 {
        let parts = text::count(details.left_out as u64, "part");
        warn(&format!(
            "{parts} of the head of the feed left out: too long, or not sound on its own"
        ));
    }
}

/// Returns the collection if there is exactly one.
pub(crate) async fn only_collection(home: &OpenEndpoint) -> Result<CollectionName, Failure> {
    let mut collections = home.store.collections().await?;
    match collections.len() {
        1 => Ok(collections.swap_remove(0).name),
        0 => Err(Failure::not_found("there is no collection yet")
            .hint(format!("create one: {}", command("collection create NAME")))),
        _ => Err(Failure::usage("there are several collections: name one before the file")),
    }
}

/// Warns about items that are left out since they have no sync information, while others have it. Returns
/// their number.
pub(crate) fn warn_of_plain(count: usize) -> u64 {
    let count = count as u64;
    if count > 0 {
        warn(&format!("{} without sync information left out", text::count(count, "item")));
    }
    count
}

#[derive(Default)]
struct Outcome {
    counts: Counts,
    deleted: u64,
    /// Number of entries that repeat another one word for word.
    repeated: u64,
    /// Number of items that were not imported; a warning was printed for each.
    left_out: u64,
    items: Vec<ItemReport>,
}

impl Outcome {
    fn report(self, context: &Context) -> Result<(), Failure> {
        let Self { counts, deleted, repeated, left_out, items } = self;
        if context.json {
            let mut value = counts_value(counts);
            value["deleted"] = deleted.into();
            value["repeated"] = repeated.into();
            value["left_out"] = left_out.into();
            output::json(&json!({ "counts": value, "items": item_values(&items) }))?;
        } else {
            let mut line = summary(counts);
            if deleted > 0 {
                line.push_str(&format!(", {deleted} deleted"));
            }
            if repeated > 0 {
                line.push_str(&format!(", {repeated} repeated word for word"));
            }
            if left_out > 0 {
                line.push_str(&format!(", {left_out} left out"));
            }
            output::line(line)?;
            for (id, reason) in items.iter().filter_map(refusal) {
                warn(&format!("{id}: {reason}"));
            }
        }
        if counts.refused + left_out > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

async fn import_plain(
    home: &OpenEndpoint,
    collection: &CollectionName,
    source: &Source,
    mirror: bool,
) -> Result<Outcome, Failure> {
    let plain = read_plain(&source.bytes, &source.plain())
        .map_err(|error| Failure::document(&source.name, &error))?;
    let entries = PlainItem::of_feed(plain.payloads);
    let imported = home.endpoint.import(collection, entries, mirror).await?;
    for id in &imported.left_out {
        warn(&format!("{id}: left out: an earlier item has the same id and other content"));
    }
    let Imported { counts, deleted, repeated, left_out, items } = imported;
    Ok(Outcome { counts, deleted, repeated, left_out: left_out.len() as u64, items })
}

/// Incorporates items in batches, as offered items of FeedSync or of SSE.
async fn incorporate(
    home: &OpenEndpoint,
    collection: &CollectionName,
    items: Vec<Item<Payload>>,
    is_sse: bool,
) -> Result<Outcome, Failure> {
    let endpoint = &home.endpoint;
    let mut outcome = Outcome::default();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        let batch = items.by_ref().take(500).collect();
        let report = match is_sse {
            true => endpoint.incorporate_sse(collection, Origin::Offered, batch, None).await?,
            false => endpoint.incorporate(collection, Origin::Offered, batch, None).await?,
        };
        outcome.counts += report.counts;
        outcome.items.extend(report.items);
    }
    Ok(outcome)
}

/// Items of an SSE document, converted to FeedSync.
pub(crate) struct Upgraded {
    pub(crate) items: Vec<Item<Payload>>,
    /// Details of the feed apart from its title.
    pub(crate) details: FeedDetails,
    /// Number of items that could not be converted; a warning was printed for each.
    pub(crate) refused: u64,
    /// Number of items without sync information, which `items` does not contain.
    pub(crate) plain_items: usize,
}

/// Converts an SSE document to FeedSync; prints a warning about each refused item and each loss.
pub(crate) fn upgraded(source: &Source) -> Result<Upgraded, Failure> {
    let document = sse::Document::read(&source.bytes, &ReadOptions::tolerant())
        .map_err(|error| Failure::document(&source.name, &error))?;
    for refused in document.refused() {
        warn(&format!("{}:{}", source.name, refused.reason));
    }
    let mut refused = document.refused().len() as u64;
    let mut items = Vec::new();
    for upgraded in document.upgraded() {
        match upgraded {
            Ok(upgraded) => {
                for loss in &upgraded.losses {
                    warn(&format!("{}: lost: {loss}", upgraded.item.id));
                }
                items.push(upgraded.item);
            }
            Err((id, error)) => {
                warn(&format!("{id}: refused: {error}"));
                refused += 1;
            }
        }
    }
    let details = document.details().clone();
    Ok(Upgraded { items, details, refused, plain_items: document.plain_items() })
}

/// JSON object of the counts: `{"added":...}`.
pub(crate) fn counts_value(counts: Counts) -> Value {
    let Counts { added, unchanged, updated, conflict, refused } = counts;
    json!({
        "added": added,
        "unchanged": unchanged,
        "updated": updated,
        "conflict": conflict,
        "refused": refused,
    })
}

/// JSON array of the items: `[{"id","outcome","reason"}]`.
pub(crate) fn item_values(items: &[ItemReport]) -> Value {
    let value = |report: &ItemReport| {
        let reason = refusal(report).map(|(_, reason)| reason);
        json!({ "id": report.id.as_str(), "outcome": report.outcome.name(), "reason": reason })
    };
    items.iter().map(value).collect()
}

/// Returns the id and the reason if an item was refused.
pub(crate) fn refusal(report: &ItemReport) -> Option<(&str, String)> {
    match report.outcome {
        ItemOutcome::Refused(refusal) => Some((report.id.as_str(), refusal.to_string())),
        _ => None,
    }
}

/// Summary of the counts: `2 added, 1 updated`, or `nothing new`.
pub(crate) fn summary(counts: Counts) -> String {
    let parts = [
        (counts.added, "added"),
        (counts.updated, "updated"),
        (counts.conflict, "in conflict"),
        (counts.refused, "refused"),
    ];
    let said = parts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> = said.map(|(count, word)| format!("{count} {word}")).collect();
    if said.is_empty() { "nothing new".to_owned() } else { said.join(", ") }
}
