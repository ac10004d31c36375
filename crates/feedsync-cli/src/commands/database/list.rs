//! `feedsync database list`

use std::time::Duration;

use clap::Args;
use feedsync_endpoint::Period;
use feedsync_store::{Database, History};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table};

const EXAMPLES: &str = "\
Examples:
  feedsync database list
";

/// Number of databases that are read at once.
const PAGE: usize = 100;

/// List the databases, with the time for which each keeps its history
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let databases = home.endpoint.databases();
        let mut all: Vec<Database> = Vec::new();
        loop {
            let after = all.last().map(|database| database.name.clone());
            let page = databases.databases(after.as_ref(), PAGE).await?;
            let count = page.len();
            all.extend(page);
            if count < PAGE {
                break;
            }
        }
        all.retain(|database| database.dropped.is_none());
        if context.json {
            return output::json(&all.iter().map(value).collect());
        }
        if all.is_empty() {
            return output::line("no databases");
        }
        let row = |database: &Database| {
            let bytes = database.bytes.to_string();
            [
                database.name.to_string(),
                database.documents.to_string(),
                bytes,
                history(database.history),
            ]
        };
        let rows: Vec<_> = all.iter().map(row).collect();
        output::print(&table::table(["NAME", "DOCUMENTS", "BYTES", "HISTORY"], &rows))
    }
}

/// JSON of a database.
pub(super) fn value(database: &Database) -> Value {
    json!({
        "name": database.name.as_str(),
        "documents": database.documents,
        "deleted": database.deleted,
        "bytes": database.bytes,
        "history_seconds": database.history.seconds(),
    })
}

/// The time for which a history is kept, or `off`.
pub(super) fn history(history: History) -> String {
    let period = history.seconds().map(|seconds| Period::from(Duration::from_secs(seconds)));
    period.map_or("off".to_owned(), |period| period.to_string())
}
