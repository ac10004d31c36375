//! `feedsync reader mark`

use clap::{ArgGroup, Args};
use feedsync_core::Timestamp;
use feedsync_log::Millis;
use feedsync_reading_state::{Action, ArticleId, FeedAddress};

use super::state::{finish, now, open, unknown};
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output::text;

const EXAMPLES: &str = "\
Examples:
  feedsync reader mark https://example.org/feed --read urn:x:1 --read urn:x:2
  feedsync reader mark https://example.org/feed --unread urn:x:1
  feedsync reader mark https://example.org/feed --up-to now
  feedsync reader mark https://example.org/feed --up-to 2026-11-20T00:00:00Z
";

/// Mark articles of a feed as read or unread
///
/// The id of an article is its atom:id or guid, or else its link. `--up-to` marks all articles that were published
/// until a time.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("marks").required(true).multiple(true).args(["read", "unread", "up_to"])))]
pub(crate) struct Mark {
    /// Address of the feed
    feed: FeedAddress,
    /// Mark this article as read (can be repeated)
    #[arg(long, value_name = "ARTICLE")]
    read: Vec<ArticleId>,
    /// Mark this article as unread (can be repeated)
    #[arg(long, value_name = "ARTICLE")]
    unread: Vec<ArticleId>,
    /// Mark all articles as read that were published until TIME, or until `now`
    #[arg(long, value_name = "TIME", value_parser = time)]
    up_to: Option<Millis>,
}

impl Mark {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, read, unread, up_to } = self;
        let up_to = up_to.map(|at| Action::ReadUpTo { at });
        let read = read.into_iter().map(|article| Action::Read { article, at: None });
        let unread = unread.into_iter().map(|article| Action::Unread { article, at: None });
        let actions = up_to.into_iter().chain(read).chain(unread);
        let actions: Vec<_> = actions.map(|action| (feed.clone(), action)).collect();
        let marks = text::count(actions.len() as u64, "mark");
        let mut reader = open(context)?;
        // A device that was not synchronised yet may mark articles of feeds to which another device
        // subscribes.
        if let Some(message) = unknown(&reader, &feed) {
            warn(&message);
        }
        finish(context, &mut reader, &actions, &format!("{feed}: {marks}"))
    }
}

/// Parses a time: `now`, or a date in the format of feeds.
fn time(text: &str) -> Result<Millis, String> {
    if text == "now" {
        return Ok(now());
    }
    let date: Timestamp = text.parse().map_err(|error| format!("{error}; or 'now'"))?;
    let seconds = u64::try_from(date.unix_seconds()).unwrap_or_default();
    Ok(Millis::new(seconds.saturating_mul(1_000)))
}
