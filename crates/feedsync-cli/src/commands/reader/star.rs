//! `feedsync reader star`

use clap::Args;
use feedsync_reader::{Action, ArticleId, FeedAddress, Tag};

use super::act;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::text;

const EXAMPLES: &str = "\
Examples:
  feedsync reader star https://example.org/feed urn:x:1
  feedsync reader star https://example.org/feed urn:x:1 --tag later
  feedsync reader star https://example.org/feed urn:x:1 --remove
";

/// Star articles of a feed, or tag them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Star {
    /// The feed's address
    feed: FeedAddress,
    /// The articles
    #[arg(required = true)]
    articles: Vec<ArticleId>,
    /// Give them this tag, and no star
    #[arg(long, value_name = "TAG")]
    tag: Option<Tag>,
    /// Take the star or the tag away
    #[arg(long)]
    remove: bool,
}

impl Star {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, articles, tag, remove } = self;
        let action = |article: ArticleId| match (&tag, remove) {
            (None, false) => Action::Star { article },
            (None, true) => Action::Unstar { article },
            (Some(tag), false) => Action::Tag { article, tag: tag.clone() },
            (Some(tag), true) => Action::Untag { article, tag: tag.clone() },
        };
        let actions: Vec<_> = articles.into_iter().map(action).collect();
        let articles = text::count(actions.len() as u64, "article");
        act(context, &feed, &actions, &format!("{feed}: {articles}"))
    }
}
