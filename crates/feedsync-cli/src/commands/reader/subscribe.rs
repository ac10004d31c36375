//! `feedsync reader subscribe` and `unsubscribe`

use clap::Args;
use feedsync_reading_state::{Action, FeedAddress, Folder, FolderName, MoveTarget, Title};

use super::state::{finish, known, open};
use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::see_all;

const EXAMPLES: &str = "\
Examples:
  feedsync reader subscribe https://example.org/feed
  feedsync reader subscribe https://example.org/feed --title News --folder Daily --folder World
  feedsync reader subscribe https://example.org/feed --top --no-title
  feedsync reader subscribe https://example.org/feed --after https://example.net/feed
";

const UNSUBSCRIBE_EXAMPLES: &str = "\
Examples:
  feedsync reader unsubscribe https://example.org/feed
";

/// Subscribe to a feed, or move a subscription
///
/// A new subscription becomes the last one. For an existing subscription, only what the options name changes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Subscribe {
    /// Address of the feed
    feed: FeedAddress,
    /// Title of the subscription [default: the title of the feed]
    #[arg(long, value_name = "T")]
    title: Option<Title>,
    /// Use the title of the feed again
    #[arg(long, conflicts_with = "title")]
    no_title: bool,
    /// Folder of the subscription (repeat for a folder inside it)
    #[arg(long, value_name = "F")]
    folder: Vec<FolderName>,
    /// Move the subscription out of all folders
    #[arg(long, conflicts_with = "folder")]
    top: bool,
    /// Place the subscription before this one, in the same folder unless --folder or --top is given
    #[arg(long, value_name = "FEED")]
    before: Option<FeedAddress>,
    /// Place the subscription after this one, in the same way
    #[arg(long, value_name = "FEED", conflicts_with = "before")]
    after: Option<FeedAddress>,
}

/// Unsubscribe from a feed; its marks, stars and tags stay
#[derive(Debug, Args)]
#[command(after_help = UNSUBSCRIBE_EXAMPLES)]
pub(crate) struct Unsubscribe {
    /// Address of the feed
    feed: FeedAddress,
}

impl Subscribe {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let given = match self.top || !self.folder.is_empty() {
            true => Some(Folder::new(self.folder).map_err(Failure::usage)?),
            false => None,
        };
        let mut reader = open(context)?;
        let view = reader.replica.state().view();
        let feed = view.address(&self.feed);
        let known = view.feed(feed);
        let beside = self.before.as_ref().or(self.after.as_ref());
        let place = match (self.before.clone(), self.after.clone()) {
            (Some(other), _) => Some(MoveTarget::Before(other)),
            (None, Some(other)) => Some(MoveTarget::After(other)),
            (None, None) => (!known.is_subscribed()).then_some(MoveTarget::Last),
        };
        let arranged = place.map(|place| view.arrange(std::slice::from_ref(feed), &place));
        let arranged = arranged
            .transpose()
            .map_err(|error| Failure::not_found(error).hint(see_all("reader list")))?;
        let folder = given.or_else(|| beside.map(|beside| view.feed(beside).folder().clone()));
        let (mut position, mut actions) = (None, Vec::new());
        for (moved, to) in arranged.unwrap_or_default() {
            if moved == *feed {
                position = Some(to);
            } else {
                actions.push((moved, Action::Place { position: to }));
            }
        }
        let feed = feed.clone();
        let subscribe = Action::Subscribe { title: self.title, folder, position };
        actions.push((feed.clone(), subscribe));
        if self.no_title {
            actions.push((feed.clone(), Action::Rename { title: None }));
        }
        finish(context, &mut reader, &actions, &format!("subscribed to {feed}"))
    }
}

impl Unsubscribe {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed } = self;
        let mut reader = open(context)?;
        known(context, &reader, &feed)?;
        let done = format!("unsubscribed from {feed}");
        finish(context, &mut reader, &[(feed, Action::Unsubscribe)], &done)
    }
}
