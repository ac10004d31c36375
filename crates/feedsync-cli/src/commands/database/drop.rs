//! `feedsync database drop`

use clap::Args;
use feedsync_couch::DatabaseName;
use feedsync_endpoint::bridge::BridgeStatus;
use feedsync_store::Database;
use serde_json::json;

use super::find::find;
use super::list;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync database drop notes                  # asks first
  feedsync database undrop notes                # brings it back, if it kept a history
  feedsync database drop notes --yes --forget
";

/// Remove a database with its documents
///
/// A database that keeps a history is kept for the period of the history, and `database undrop` brings it back until then.
/// With --forget, it is deleted for good, and so are former databases of that name that are still kept.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Drop {
    /// Name of the database
    name: DatabaseName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Delete the database for good
    #[arg(long)]
    forget: bool,
}

impl Drop {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let (endpoint, name) = (&home.endpoint, &self.name);
        let mut former = match self.forget {
            true => endpoint.dropped_databases(Some(name)).await?,
            false => Vec::new(),
        };
        if name.as_str() == DatabaseName::USERS {
            return Err(Failure::refused("the database of users cannot be dropped"));
        }
        let present = match endpoint.databases().database(name).await? {
            // Only former ones are deleted.
            None if !former.is_empty() => None,
            _ => Some(find(&home, name).await?),
        };
        if let Some(database) = &present
            && let BridgeStatus::Collection(collection) = endpoint.bridge_status(database).await?
        {
            let message = format!("{name} mirrors the collection {collection}");
            let drop = context.command(&format!("collection drop {collection}"));
            return Err(Failure::refused(message).hint(format!("drop the collection: {drop}")));
        }
        confirm(&self.loss(present.as_ref(), former.len()), self.yes)?;
        let mut is_kept = false;
        match (present, self.forget) {
            (Some(database), false) => is_kept = endpoint.drop_database(&database, None).await?,
            (present, _) => former.extend(present),
        }
        for database in former {
            endpoint.databases().drop_database(&database.name, database.epoch).await?;
        }
        while endpoint.databases().sweep_databases().await? {}
        let undrop = context.command(&format!("database undrop {name}"));
        let said = match is_kept {
            true => format!("dropped {name}; to bring it back: {undrop}"),
            false => format!("dropped {name}"),
        };
        output::result(context.json, &json!({ "dropped": name.as_str(), "kept": is_kept }), said)
    }

    fn loss(&self, present: Option<&Database>, former: usize) -> String {
        let name = &self.name;
        let mut loss = match present {
            None => name.to_string(),
            Some(database) => {
                format!("{name} has {}", text::count(database.documents, "document"))
            }
        };
        if former > 0 {
            let former = text::count(former as u64, "former database");
            loss.push_str(&format!(", and {former} of that name"));
        }
        match present.filter(|database| !self.forget && database.is_kept_when_dropped()) {
            Some(database) => {
                let period = list::history(database.history);
                format!("{loss}; undrop brings it back for {period}")
            }
            None => loss + "; nothing of it is kept",
        }
    }
}
