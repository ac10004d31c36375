//! `feedsync reader import`

use clap::Args;
use feedsync_client::StoredReader;
use feedsync_reading_state::{ImportPolicy, ReaderState, Snapshot, SubscriptionList};
use serde_json::json;

use super::state::{change, open};
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::output::{self, text};
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  feedsync reader import subscriptions.opml
  feedsync reader import https://example.org/blogroll.opml
  feedsync reader import subscriptions.opml --refile
  feedsync reader import everything.jsonl      # what `reader export --all` wrote
";

/// Import an OPML list of feeds, or everything that `reader export --all` wrote
///
/// New feeds follow the existing ones, in the folders and the order of the list. Existing subscriptions keep their
/// position, title and folder without `--refile`. Where marks differ, the newer one is kept.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// List: a file, '-' for standard input, or an address
    source: String,
    /// Give existing subscriptions the titles and folders of the list
    #[arg(long)]
    refile: bool,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let source = Source::load(&self.source, &context.way()).await?;
        let mut reader = open(context)?;
        let (feeds, changed, refused, repeated) = if source.bytes.starts_with(b"{") {
            let snapshot = Snapshot::read(&source.bytes)
                .map_err(|error| Failure::refused(format!("{}: {error}", source.name)))?;
            let feeds = snapshot.state.feeds().count();
            (feeds, merge_state(&mut reader, snapshot.state)?, 0, 0)
        } else {
            let list = SubscriptionList::read(&source.bytes)
                .map_err(|error| Failure::document(&source.name, &error))?;
            let filing = if self.refile {
                ImportPolicy::ReplaceExisting
            } else {
                ImportPolicy::KeepExisting
            };
            let actions = list.actions(&reader.replica.state().view(), filing);
            for refused in &list.refused {
                failure::warn(&text::line(&refused.to_string()));
            }
            (list.feeds.len(), change(&mut reader, &actions)?, list.refused.len(), list.repeated)
        };
        if context.json {
            output::json(&json!({
                "feeds": feeds, "changes": changed, "refused": refused, "repeated": repeated,
            }))?;
        } else {
            let (feeds, changes) =
                (text::count(feeds as u64, "feed"), text::count(changed as u64, "change"));
            let again =
                if repeated > 0 { format!(", {repeated} listed again") } else { String::new() };
            output::line(format!("{}: {feeds}, {changes}{again}", source.name))?;
        }
        if refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

/// Merges a state into the reader and stores it; returns the number of changes.
fn merge_state(reader: &mut StoredReader, state: ReaderState) -> Result<usize, Failure> {
    let changes = state.changes_missing_in(reader.replica.state()).len();
    if !reader.replica.merge_state(state) {
        return Ok(0);
    }
    reader.store()?;
    // Members that a later version defines are in none of these changes. If only they change, that is one change.
    Ok(changes.max(1))
}
