//! `feedsync database undrop`

use clap::Args;
use feedsync_couch::DatabaseName;
use feedsync_store::{Database, Dropped};
use serde_json::{Value, json};

use super::find::last_dropped;
use super::list;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync database undrop                      # lists what is kept
  feedsync database undrop notes
";

/// Bring a dropped database back, or list the dropped databases
///
/// A database that kept a history is kept for the period of the history. It comes back as it was, with conflicts, attachments
/// and its history, so that replication goes on. If there is a new database of its name, `database restore --dropped` writes
/// its documents into that one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undrop {
    /// Name of the database; if several had it, the last one comes back [default: list them]
    name: Option<DatabaseName>,
}

impl Undrop {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let Some(name) = self.name else {
            return shown(context, &home.endpoint.dropped_databases(None).await?);
        };
        let (kept, _) = last_dropped(context, &home, &name).await?;
        if !home.endpoint.undrop_database(&kept).await? {
            let taken = format!("there is a new database or a collection {name}");
            let restore = context.command(&format!("database restore {name} --dropped"));
            return Err(Failure::refused(taken).hint(format!(
                "to write the documents of the former database into the new one: {restore}"
            )));
        }
        let back = Database { name: name.clone(), dropped: None, ..kept };
        let documents = text::count(back.documents, "document");
        output::result(
            context.json,
            &list::value(&back),
            format!("{name} is back with {documents}"),
        )
    }
}

fn shown(context: &Context, kept: &[Database]) -> Result<(), Failure> {
    let all: Vec<_> =
        kept.iter().filter_map(|database| Some((database, database.dropped.as_ref()?))).collect();
    if context.json {
        let values = all.iter().map(|(database, dropped)| value(database, dropped));
        return output::json(&values.collect());
    }
    if all.is_empty() {
        return output::line("there is no dropped database");
    }
    let row = |(database, dropped): &(&Database, &Dropped)| {
        [
            dropped.name.to_string(),
            view::shown(dropped.moment),
            dropped.author.as_deref().unwrap_or_default().to_owned(),
            database.documents.to_string(),
            database.bytes.to_string(),
            list::history(database.history),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    output::print(&table::table(["NAME", "DROPPED", "BY", "DOCUMENTS", "BYTES", "KEPT FOR"], &rows))
}

fn value(database: &Database, dropped: &Dropped) -> Value {
    json!({
        "name": dropped.name.as_str(),
        "dropped": view::shown(dropped.moment),
        "by": dropped.author.as_deref(),
        "documents": database.documents,
        "bytes": database.bytes,
        "kept_seconds": database.history.seconds(),
    })
}
