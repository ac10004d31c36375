//! `feedsync reader`

mod articles;
mod export;
mod import;
mod list;
mod mark;
mod relocate;
mod star;
mod state;
mod subscribe;
mod sync;
mod tag;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync reader subscribe https://example.org/feed --title News
  feedsync reader list
  feedsync reader sync https://hub.example/logs/reading
";

/// Keep subscriptions and read marks in sync on all of your devices
///
/// Subscriptions, read marks, stars and tags are stored in the data directory. `reader sync` synchronises them with a
/// log that all of your devices use, including changes made offline.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Reader {
    Subscribe(subscribe::Subscribe),
    Unsubscribe(subscribe::Unsubscribe),
    Relocate(relocate::Relocate),
    List(list::List),
    Articles(articles::Articles),
    Mark(mark::Mark),
    Star(star::Star),
    Tag(tag::Tag),
    Import(import::Import),
    Export(export::Export),
    Sync(sync::Sync),
}

impl Reader {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Subscribe(command) => command.run(context),
            Self::Unsubscribe(command) => command.run(context),
            Self::Relocate(command) => command.run(context),
            Self::List(command) => command.run(context),
            Self::Articles(command) => command.run(context),
            Self::Mark(command) => command.run(context),
            Self::Star(command) => command.run(context),
            Self::Tag(command) => command.run(context),
            Self::Import(command) => command.run(context).await,
            Self::Export(command) => command.run(context),
            Self::Sync(command) => command.run(context).await,
        }
    }
}
