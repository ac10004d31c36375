//! `feedsync reader subscribe` and `unsubscribe`

use clap::Args;
use feedsync_reader::{Action, FeedAddress, Folder, FolderName, Title};

use super::act;
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync reader subscribe https://example.org/feed
  feedsync reader subscribe https://example.org/feed --title News --folder Daily --folder World
";

const UNSUBSCRIBE_EXAMPLES: &str = "\
Examples:
  feedsync reader unsubscribe https://example.org/feed
";

/// Subscribe to a feed, or file a subscription elsewhere
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Subscribe {
    /// The feed's address
    feed: FeedAddress,
    /// Call it T [default: what it calls itself]
    #[arg(long, value_name = "T")]
    title: Option<Title>,
    /// File it in folder F (again for a folder within)
    #[arg(long, value_name = "F")]
    folder: Vec<FolderName>,
}

/// Unsubscribe from a feed; what was read and starred of it is remembered
#[derive(Debug, Args)]
#[command(after_help = UNSUBSCRIBE_EXAMPLES)]
pub(crate) struct Unsubscribe {
    /// The feed's address
    feed: FeedAddress,
}

impl Subscribe {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, title, folder } = self;
        let folder = match folder.is_empty() {
            true => None,
            false => Some(Folder::new(folder).map_err(Failure::usage)?),
        };
        let action = Action::Subscribe { title, folder, position: None };
        act(context, &feed, &[action], &format!("subscribed to {feed}"))
    }
}

impl Unsubscribe {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed } = self;
        act(context, &feed, &[Action::Unsubscribe], &format!("unsubscribed from {feed}"))
    }
}
