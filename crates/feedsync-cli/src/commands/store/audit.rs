//! `feedsync store audit`

use clap::Args;
use feedsync_store::{AuditEntry, AuditSelection, CollectionName, UserName};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, JsonArray, table, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync store audit
  feedsync store audit --user anna --collection notes --limit 1000 --json
";

/// Number of acts per page.
const PAGE: usize = 500;

/// Show who did what, newest first
///
/// Actions from the command line of this machine have the address 'local' and no user.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Audit {
    /// Show only actions of this user
    #[arg(long, value_name = "U")]
    user: Option<UserName>,
    /// Show only actions in this collection
    #[arg(long, value_name = "C")]
    collection: Option<CollectionName>,
    /// Maximum number of actions
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

impl Audit {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let (mut before, mut left) = (None, self.limit);
        let mut array = context.json.then(JsonArray::default);
        let mut rows = Vec::new();
        loop {
            let selection = AuditSelection {
                before,
                user: self.user.as_ref(),
                collection: self.collection.as_ref(),
                limit: left.min(PAGE),
            };
            let acts = home.store.acts(selection).await?;
            for recorded in &acts {
                match &mut array {
                    Some(array) => array.push(&view::people::act(recorded))?,
                    None => rows.push(row(recorded)),
                }
            }
            left -= acts.len().min(left);
            before = acts.last().map(|last| last.place);
            if left == 0 || acts.len() < selection.limit {
                break;
            }
        }
        match array {
            Some(array) => array.end(),
            None if rows.is_empty() => output::line("nothing is recorded"),
            None => {
                let headings = ["WHEN", "WHO", "FROM", "WHAT", "COLLECTION", "DETAIL"];
                output::print(&table::table(headings, &rows))
            }
        }
    }
}

fn row(recorded: &AuditEntry) -> [String; 6] {
    let act = &recorded.act;
    let named = |name: Option<&str>| name.map_or_else(|| "-".to_owned(), text::line);
    let item = act.item.as_ref().map_or(String::new(), |item| format!("{item} "));
    [
        view::shown(recorded.at),
        named(act.user.as_ref().map(|user| user.as_str())),
        named(act.address.as_deref()),
        text::line(&act.action),
        named(act.collection.as_ref().map(|name| name.as_str())),
        text::short(&format!("{item}{}", act.detail), 100),
    ]
}
