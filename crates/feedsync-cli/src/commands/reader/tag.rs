//! `feedsync reader tag`

use clap::Args;
use feedsync_reading_state::{Action, ArticleId, FeedAddress};

use super::state::act;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::text;

const EXAMPLES: &str = "\
Examples:
  feedsync reader tag https://example.org/feed urn:x:1 later recipes
  feedsync reader tag https://example.org/feed urn:x:1 later --remove
";

/// Add tags to an article of a feed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tag {
    /// Address of the feed
    feed: FeedAddress,
    /// Id of the article
    article: ArticleId,
    /// Tags
    #[arg(required = true, value_name = "TAG")]
    tags: Vec<feedsync_reading_state::Tag>,
    /// Remove the tags
    #[arg(long)]
    remove: bool,
}

impl Tag {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { feed, article, tags, remove } = self;
        let action = |tag| match remove {
            false => Action::Tag { article: article.clone(), tag },
            true => Action::Untag { article: article.clone(), tag },
        };
        let actions: Vec<_> = tags.into_iter().map(action).collect();
        let tags = text::count(actions.len() as u64, "tag");
        act(context, &feed, &actions, &format!("{feed}: {tags}"))
    }
}
