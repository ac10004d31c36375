//! `feedsync reader tag`

use clap::Args;
use feedsync_reading_state::{Action, ArticleId, FeedAddress};

use super::act;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::text;

const EXAMPLES: &str = "\
Examples:
  feedsync reader tag https://example.org/feed urn:x:1 later recipes
  feedsync reader tag https://example.org/feed urn:x:1 later --remove
";

/// Give an article of a feed tags
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tag {
    /// The feed's address
    feed: FeedAddress,
    /// The article, as its feed names it
    article: ArticleId,
    /// The tags
    #[arg(required = true, value_name = "TAG")]
    tags: Vec<feedsync_reading_state::Tag>,
    /// Take the tags away
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
