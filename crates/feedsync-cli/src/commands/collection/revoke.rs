//! `feedsync collection revoke`

use clap::Args;
use feedsync_store::{CollectionName, UserName};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::see_all;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync collection revoke notes anna
";

/// Remove a user's role in a collection
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Revoke {
    /// Name of the collection
    collection: CollectionName,
    /// Name of the user
    user: UserName,
}

impl Revoke {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { collection, user } = self;
        if !context.open().await?.endpoint.revoke(&user, &collection).await? {
            let message = format!("{user} has no role in {collection}");
            let hint = see_all(&format!("collection grants {collection}"));
            return Err(Failure::not_found(message).hint(hint));
        }
        let value = json!({ "collection": collection.as_str(), "user": user.as_str() });
        output::result(context.json, &value, format!("{user} no longer has a role in {collection}"))
    }
}
