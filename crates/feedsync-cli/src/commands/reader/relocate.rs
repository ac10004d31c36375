//! `feedsync reader relocate`

use clap::Args;
use feedsync_reading_state::FeedAddress;

use super::state::{finish, open};
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  feedsync reader relocate https://example.org/feed https://blog.example/feed
  feedsync reader relocate https://example.org/feed https://example.org/feed   # it did not move
";

/// Change the address of a feed that moved
///
/// The subscription, its position and all its marks move to the new address, on every device. To undo this, give the
/// old address twice. To move a feed to another folder, use `reader subscribe`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Relocate {
    /// Old address of the feed
    feed: FeedAddress,
    /// New address of the feed
    new_address: FeedAddress,
}

impl Relocate {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, new_address } = self;
        let mut reader = open(context)?;
        let actions = reader.replica.state().view().move_actions(&feed, &new_address);
        finish(context, &mut reader, &actions, &format!("{feed} is at {new_address} now"))
    }
}
