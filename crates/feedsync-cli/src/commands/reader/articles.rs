//! `feedsync reader articles`

use clap::Args;
use feedsync_core::Timestamp;
use feedsync_reading_state::{FeedAddress, FeedState, MarkedArticle, Tag};
use serde_json::{Value, json};

use super::state::read;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, JsonArray, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync reader articles
  feedsync reader articles https://example.org/feed --unread
  feedsync reader articles --starred
  feedsync reader articles --tag later --json
";

/// List the articles with marks, stars or tags
///
/// With several options, only articles that match all of them are listed. Articles that `reader mark --up-to` marked
/// as read are not listed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Articles {
    /// Address of the feed [default: all feeds]
    feed: Option<FeedAddress>,
    /// List only starred articles
    #[arg(long)]
    starred: bool,
    /// List only articles with this tag (can be repeated)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<Tag>,
    /// List only read articles
    #[arg(long)]
    read: bool,
    /// List only articles that were marked as unread
    #[arg(long, conflicts_with = "read")]
    unread: bool,
}

impl Articles {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = read(context)?;
        let view = replica.state().view();
        let wanted = self.feed.as_ref().map(|feed| view.address(feed));
        let (mut array, mut rows) = (JsonArray::default(), Vec::new());
        for (feed, state) in view.feeds() {
            if wanted.is_some_and(|wanted| wanted != feed) {
                continue;
            }
            for article in state.articles().filter(|article| self.fits(article)) {
                if context.json {
                    array.push(&shown(feed, &state, &article))?;
                } else {
                    rows.push(row(feed, &state, &article));
                }
            }
        }
        if context.json {
            return array.end();
        }
        if rows.is_empty() {
            return output::line("no such articles");
        }
        output::print(&table::table(["FEED", "READ", "STAR", "TAGS", "ARTICLE"], &rows))
    }

    fn fits(&self, article: &MarkedArticle<'_>) -> bool {
        (!self.starred || article.is_starred)
            && (!self.read || article.is_read == Some(true))
            && (!self.unread || article.is_read == Some(false))
            && self.tags.iter().all(|tag| article.tags.contains(&tag))
    }
}

/// JSON value of an article.
fn shown(feed: &FeedAddress, state: &FeedState, article: &MarkedArticle<'_>) -> Value {
    let date = article.published.and_then(|at| i64::try_from(at.get() / 1_000).ok());
    let date = date.and_then(Timestamp::from_unix_seconds);
    json!({
        "feed": feed.as_str(),
        "feed_title": state.title().map(|title| title.as_str()),
        "article": article.article.as_str(),
        "published": date.map(|date| date.to_string()),
        "read": article.is_read,
        "starred": article.is_starred,
        "tags": article.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(),
    })
}

fn row(feed: &FeedAddress, state: &FeedState, article: &MarkedArticle<'_>) -> [String; 5] {
    let read = match article.is_read {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let tags: Vec<_> = article.tags.iter().map(|tag| tag.as_str()).collect();
    [
        text::short(state.title().map_or(feed.as_str(), |title| title.as_str()), 40),
        read.to_owned(),
        if article.is_starred { "*" } else { "-" }.to_owned(),
        text::line(&tags.join(", ")),
        text::line(article.article.as_str()),
    ]
}
