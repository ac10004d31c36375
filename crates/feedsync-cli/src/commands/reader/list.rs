//! `feedsync reader list`

use clap::Args;
use feedsync_reading_state::{Folder, Subscription};
use serde_json::{Value, json};

use super::state::read;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, JsonArray, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync reader list
  feedsync reader list --json
";

/// List the subscriptions by folder, in your order
///
/// A folder is at the position of its first feed. To change the order, use `reader subscribe --before` and `--after`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {}

impl List {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = read(context)?;
        let subscriptions = replica.state().view().subscriptions_by_folder();
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

/// JSON value of a subscription.
fn shown(subscription: &Subscription) -> Value {
    let Subscription { address, title, folder, position } = subscription;
    json!({
        "feed": address.as_str(),
        "title": title.as_ref().map(|title| title.as_str()),
        "folder": names(folder),
        "position": position.as_ref().map(|position| position.as_str()),
    })
}

fn row(subscription: &Subscription) -> [String; 3] {
    let Subscription { address, title, folder, .. } = subscription;
    let title = title.as_ref().map_or("-", |title| title.as_str());
    [text::line(&names(folder).join(" / ")), text::short(title, 60), text::line(address.as_str())]
}

fn names(folder: &Folder) -> Vec<&str> {
    folder.names().iter().map(|name| name.as_str()).collect()
}
