//! `feedsync grant`

use clap::Args;
use feedsync_store::{CollectionName, Grant as Granted, Role, UserName};

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync grant notes anna editor
  feedsync grant notes otto reader
";

/// Give a user a role in a collection, in place of another one
///
/// A reader may read, an editor also edit, merge and resolve, an owner also change the collection's settings,
/// grant roles and remove it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Grant {
    /// The collection
    collection: CollectionName,
    /// The user
    user: UserName,
    /// reader, editor or owner
    role: Role,
}

impl Grant {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { collection, user, role } = self;
        let said = format!("{user} is {role} of {collection}");
        context.open().await?.endpoint.grant(Granted { user, collection, role }).await?;
        output::line(said)
    }
}
