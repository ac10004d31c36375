//! `feedsync collection grants`

use clap::Args;
use feedsync_store::{CollectionName, Grant, GrantFilter};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync collection grants
  feedsync collection grants notes --json
";

/// List the roles of users in collections
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Grants {
    /// List only the roles in this collection
    collection: Option<CollectionName>,
}

impl Grants {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let collections = match self.collection {
            Some(name) => vec![home.endpoint.collection(&name).await?.name],
            None => home.store.collections().await?.into_iter().map(|each| each.name).collect(),
        };
        let mut grants = Vec::new();
        for name in &collections {
            grants.extend(home.store.grants(GrantFilter::Collection(name)).await?);
        }
        if context.json {
            return output::json(&grants.iter().map(view::people::grant).collect());
        }
        if grants.is_empty() {
            let grant = context.command("collection grant COLLECTION USER ROLE");
            return output::line(format!("nobody has a role yet; to give one: {grant}"));
        }
        let row = |grant: &Grant| {
            [grant.collection.to_string(), grant.user.to_string(), grant.role.to_string()]
        };
        let rows: Vec<_> = grants.iter().map(row).collect();
        output::print(&table::table(["COLLECTION", "USER", "ROLE"], &rows))
    }
}
