//! `feedsync reader star`

use clap::Args;
use feedsync_reading_state::{Action, ArticleId, FeedAddress};

use super::state::act;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::text;

const EXAMPLES: &str = "\
Examples:
  feedsync reader star https://example.org/feed urn:x:1
  feedsync reader star https://example.org/feed urn:x:1 urn:x:2
  feedsync reader star https://example.org/feed urn:x:1 --remove
";

/// Star articles of a feed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Star {
    /// Address of the feed
    feed: FeedAddress,
    /// Ids of the articles
    #[arg(required = true)]
    articles: Vec<ArticleId>,
    /// Remove the stars
    #[arg(long)]
    remove: bool,
}

impl Star {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, articles, remove } = self;
        let action = |article: ArticleId| match remove {
            false => Action::Star { article },
            true => Action::Unstar { article },
        };
        let actions: Vec<_> = articles.into_iter().map(action).collect();
        let articles = text::count(actions.len() as u64, "article");
        act(context, &feed, &actions, &format!("{feed}: {articles}"))
    }
}
