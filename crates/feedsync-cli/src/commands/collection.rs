//! `feedsync collection`

mod create;
mod drop;
mod grant;
mod grants;
mod list;
mod publish;
mod rename;
mod revoke;
mod set;
mod settings;
mod undrop;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync collection create notes --title Notes
  feedsync collection list
  feedsync collection set notes public=true
  feedsync collection grant notes anna editor
";

/// Create, list, change, publish and remove collections, and say who may use them
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Collection {
    Create(create::Create),
    List(list::List),
    Rename(rename::Rename),
    Set(set::Set),
    Settings(settings::Settings),
    Publish(publish::Publish),
    Grant(grant::Grant),
    Revoke(revoke::Revoke),
    Grants(grants::Grants),
    Drop(drop::Drop),
    Undrop(undrop::Undrop),
}

impl Collection {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Rename(command) => command.run(context).await,
            Self::Set(command) => command.run(context).await,
            Self::Settings(command) => command.run(context).await,
            Self::Publish(command) => command.run(context).await,
            Self::Grant(command) => command.run(context).await,
            Self::Revoke(command) => command.run(context).await,
            Self::Grants(command) => command.run(context).await,
            Self::Drop(command) => command.run(context).await,
            Self::Undrop(command) => command.run(context).await,
        }
    }
}
