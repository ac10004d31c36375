//! `feedsync revoke`

use clap::Args;
use feedsync_store::{CollectionName, UserName};

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync revoke notes anna
";

/// Take a user's role in a collection away
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Revoke {
    /// The collection
    collection: CollectionName,
    /// The user
    user: UserName,
}

impl Revoke {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { collection, user } = self;
        if !context.open().await?.endpoint.revoke(&user, &collection).await? {
            let message = format!("{user} has no role in {collection}");
            let all = context.command(&format!("grants {collection}"));
            return Err(Failure::not_found(message).hint(format!("see them all: {all}")));
        }
        output::line(format!("{user} has no role in {collection} any more"))
    }
}
