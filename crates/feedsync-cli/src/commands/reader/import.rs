//! `feedsync reader import`

use clap::Args;
use feedsync_reader::{Snapshot, SubscriptionList};
use serde_json::json;

use super::{now, open};
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::output::{self, text};
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  feedsync reader import subscriptions.opml
  feedsync reader import https://example.org/blogroll.opml
  feedsync reader import everything.jsonl      # what `reader export --all` wrote
";

/// Subscribe to the feeds of an OPML list, or take in what `export --all` wrote
///
/// Folders are kept. What is there already stays as it is; of a whole state, the newest mark counts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// A file, `-` for standard input, or an address
    source: String,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let source = Source::load(&self.source, &context.way()).await?;
        let mut reader = open(context)?;
        let before = reader.replica.waiting_count();
        let (feeds, refused) = if source.bytes.starts_with(b"{") {
            let snapshot = Snapshot::read(&source.bytes)
                .map_err(|error| Failure::refused(format!("{}: {error}", source.name)))?;
            let feeds = snapshot.state.feeds().count();
            reader.replica.take_in(snapshot.state);
            (feeds, 0)
        } else {
            let list = SubscriptionList::read(&source.bytes)
                .map_err(|error| Failure::document(&source.name, &error))?;
            let actions = list.actions(&reader.replica.state().view());
            let now = now();
            for (feed, action) in &actions {
                reader.replica.act(feed, action, now);
            }
            for refused in &list.refused {
                failure::warn(&text::line(&refused.to_string()));
            }
            (list.feeds.len(), list.refused.len())
        };
        reader.store()?;
        let changed = reader.replica.waiting_count().saturating_sub(before);
        if context.json {
            return output::json(&json!({
                "feeds": feeds, "changes": changed, "refused": refused,
            }));
        }
        let (feeds, changes) =
            (text::count(feeds as u64, "feed"), text::count(changed as u64, "change"));
        output::line(format!("{}: {feeds}, {changes}", source.name))
    }
}
