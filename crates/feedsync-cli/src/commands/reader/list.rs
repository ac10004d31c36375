//! `feedsync reader list`

use clap::Args;
use feedsync_reader::Subscription;

use super::{open, shown};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, JsonArray, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync reader list
  feedsync reader list --json
";

/// List the subscriptions, folder by folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {}

impl List {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let reader = open(context)?;
        let mut subscriptions = reader.replica.state().view().subscriptions();
        subscriptions.sort_by(|one, other| one.folder.cmp(&other.folder));
        if context.json {
            let mut array = JsonArray::default();
            for subscription in &subscriptions {
                array.push(&shown(subscription))?;
            }
            return array.end();
        }
        if subscriptions.is_empty() {
            return output::line("no subscriptions");
        }
        let rows: Vec<_> = subscriptions.iter().map(row).collect();
        output::print(&table::table(["FOLDER", "TITLE", "FEED"], &rows))
    }
}

fn row(subscription: &Subscription) -> [String; 3] {
    let Subscription { address, title, folder, .. } = subscription;
    let names: Vec<_> = folder.names().iter().map(|name| name.as_str()).collect();
    let title = title.as_ref().map_or("-", |title| title.as_str());
    [text::line(&names.join(" / ")), text::short(title, 60), text::line(address.as_str())]
}
