//! `feedsync remote subscribe` and `feedsync remote unsubscribe`

use clap::Args;
use feedsync_client::{Session, SubscriptionOptions};
use feedsync_endpoint::Period;
use feedsync_fetch::shown_text;
use feedsync_store::CollectionName;
use serde_json::json;

use super::find::{find, missing_remote};
use crate::commands::sync::failure;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync remote subscribe news https://hub.example.org/collections/news
  feedsync remote subscribe news https://example.org/feed.atom --plain --every 1h
  feedsync sync news                   # reads it now
";

/// Subscribe a collection to a feed, which is read regularly
///
/// URL is a collection of a hub, or a FeedSync feed on any web server. It is only read: by a running `serve` at the
/// given interval, and by `sync`. Feeds of the collection name the address, without user and password.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Subscribe {
    /// Collection that receives the items
    collection: CollectionName,
    /// Address of the feed
    url: String,
    #[command(flatten)]
    how: How,
    /// Also import entries without sync information
    #[arg(long)]
    plain: bool,
}

/// How a feed is subscribed to.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Interval at which the feed is read, at least a minute, such as 90s, 15m, 6h or 1d
    #[arg(long, value_name = "PERIOD", default_value = "15m", value_parser = period)]
    every: Period,
    /// Do not name the address in feeds of the collection
    #[arg(long)]
    unlisted: bool,
}

fn period(text: &str) -> Result<Period, String> {
    let period: Period = text.parse().map_err(|error| format!("{error}"))?;
    if period.duration() < SubscriptionOptions::MIN_INTERVAL {
        return Err("at least a minute: 60s".to_owned());
    }
    Ok(period)
}

impl How {
    pub(crate) fn terms(&self, plain: bool, title: Option<String>) -> SubscriptionOptions {
        SubscriptionOptions {
            every: self.every.duration(),
            plain,
            announced: !self.unlisted,
            title,
        }
    }

    pub(crate) fn every(&self) -> Period {
        self.every
    }
}

impl Subscribe {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let collection = home.endpoint.collection(&self.collection).await?;
        let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
        let terms = self.how.terms(self.plain, None);
        let subscribed = session.subscribe(&self.collection, &self.url, terms, None).await;
        let remote = subscribed?;
        if context.json {
            return output::json(&view::remote(&remote, Some(&collection)));
        }
        output::line(format!(
            "{} is subscribed to {}, which is read every {}; to read it now: {}",
            self.collection,
            text::line(&shown_text(&self.url)),
            self.how.every(),
            context.command(&format!("sync {}", self.collection))
        ))
    }
}

const UNSUBSCRIBE_EXAMPLES: &str = "\
Examples:
  feedsync remote unsubscribe news https://hub.example.org/collections/news
  feedsync remote unsubscribe news 2          # its number, as `remote list` shows it
";

/// End a subscription; the items that came from it stay
#[derive(Debug, Args)]
#[command(after_help = UNSUBSCRIBE_EXAMPLES)]
pub(crate) struct Unsubscribe {
    /// Name of the collection
    collection: CollectionName,
    /// Address of the feed, or its number in `remote list`
    remote: String,
}

impl Unsubscribe {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let found = find(&home, &self.collection, &self.remote).await?;
        let subscribed = found.filter(|remote| remote.subscription.is_some()).ok_or_else(|| {
            let message = format!("{} does not subscribe to {}", self.collection, self.remote);
            missing_remote(message, &self.collection, &self.remote)
        })?;
        let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
        session.unsubscribe(&subscribed).await.map_err(|error| failure(&subscribed, error))?;
        let url = shown_text(&subscribed.url);
        if context.json {
            let collection = self.collection.as_str();
            return output::json(&json!({ "collection": collection, "unsubscribed": url }));
        }
        output::line(format!("{} is no longer subscribed to {}", self.collection, text::line(&url)))
    }
}
