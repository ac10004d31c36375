//! `feedsync reader move`

use clap::Args;
use feedsync_reading_state::FeedAddress;

use super::{finish, open};
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync reader move https://example.org/feed https://blog.example/feed
  feedsync reader move https://example.org/feed https://example.org/feed   # it did not move
";

/// Follow a feed to its new address
///
/// Its subscription, its place and all its marks go with it, on every device. To take that back, name the old address
/// twice. To file a feed in another folder, use `subscribe`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Move {
    /// The address that the feed had
    feed: FeedAddress,
    /// The address that it has now
    new_address: FeedAddress,
}

impl Move {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, new_address } = self;
        let mut reader = open(context)?;
        let actions = reader.replica.state().view().move_actions(&feed, &new_address);
        finish(context, &mut reader, &actions, &format!("{feed} is at {new_address} now"))
    }
}
