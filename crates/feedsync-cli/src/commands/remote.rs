//! `feedsync remote`

mod discover;
pub(crate) mod find;
mod list;
mod login;
mod logins;
mod logout;
mod remove;
mod subscribe;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync remote list
  feedsync remote subscribe news https://example.org/feed.atom --plain --every 1h
  feedsync remote login https://hub.example
";

/// Remotes of collections: list them, subscribe to them, and log in to their hubs
///
/// A remote is what a collection is synchronised with. `sync COLLECTION URL` adds one that is read and, if it is a
/// collection of a hub, written. `remote subscribe` adds one that is read only.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Remote {
    List(list::List),
    Remove(remove::Remove),
    Subscribe(subscribe::Subscribe),
    Unsubscribe(subscribe::Unsubscribe),
    Discover(discover::Discover),
    Login(login::Login),
    Logout(logout::Logout),
    Logins(logins::Logins),
}

impl Remote {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Remove(command) => command.run(context).await,
            Self::Subscribe(command) => command.run(context).await,
            Self::Unsubscribe(command) => command.run(context).await,
            Self::Discover(command) => command.run(context).await,
            Self::Login(command) => command.run(context).await,
            Self::Logout(command) => command.run(context).await,
            Self::Logins(command) => command.run(context).await,
        }
    }
}
