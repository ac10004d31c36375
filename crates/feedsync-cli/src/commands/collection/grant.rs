//! `feedsync collection grant`

use clap::Args;
use feedsync_store::{CollectionName, Grant as Granted, Role, UserName};

use crate::context::Context;
use crate::failure::Failure;
use crate::{output, view};

const EXAMPLES: &str = "\
Examples:
  feedsync collection grant notes anna editor
  feedsync collection grant notes otto reader
";

/// Give a user a role in a collection; it replaces an earlier one
///
/// A reader may read the collection. An editor may also edit, merge and resolve. An owner may also change the
/// settings, grant roles and remove the collection.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Grant {
    /// Name of the collection
    collection: CollectionName,
    /// Name of the user
    user: UserName,
    /// Role: reader, editor or owner
    role: Role,
}

impl Grant {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { collection, user, role } = self;
        let said = format!("{user} is {role} of {collection}");
        let granted = Granted { user, collection, role };
        let value = view::people::grant(&granted);
        context.open().await?.endpoint.grant(granted).await?;
        output::result(context.json, &value, said)
    }
}
