//! `feedsync subscribe` and `feedsync unsubscribe`

use clap::Args;
use feedsync_client::{Session, SubscriptionOptions};
use feedsync_endpoint::Period;
use feedsync_fetch::shown_text;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::commands::remote;
use crate::commands::sync::failure;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync subscribe news https://hub.example.org/collections/news
  feedsync subscribe news https://example.org/feed.atom --plain --every 1h
  feedsync sync news                   # reads it now
";

/// Have a collection take in what others publish, again and again
///
/// URL is a collection of a hub, or any FeedSync feed on any web server. It is only read: by a running
/// `serve` each time it is due, and by `sync`. Who reads the collection is told its address, without user
/// and password.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Subscribe {
    /// The collection that takes the items in
    collection: CollectionName,
    /// The address of what is read
    url: String,
    #[command(flatten)]
    how: How,
    /// Import the entries of a feed without sync information, too
    #[arg(long)]
    plain: bool,
}

/// How a feed is subscribed to.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Read it so often, at least every minute: 90s, 15m, 6h, 1d
    #[arg(long, value_name = "PERIOD", default_value = "15m", value_parser = period)]
    every: Period,
    /// Do not tell readers of the collection
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
            "{} takes in {} every {}; to read it now: {}",
            self.collection,
            text::line(&shown_text(&self.url)),
            self.how.every(),
            context.command(&format!("sync {}", self.collection))
        ))
    }
}

const UNSUBSCRIBE_EXAMPLES: &str = "\
Examples:
  feedsync unsubscribe news https://hub.example.org/collections/news
  feedsync unsubscribe news 2          # its number, as `remote list` shows it
";

/// End a subscription; what came from it stays
#[derive(Debug, Args)]
#[command(after_help = UNSUBSCRIBE_EXAMPLES)]
pub(crate) struct Unsubscribe {
    /// The collection
    collection: CollectionName,
    /// The address that is read, or its number
    remote: String,
}

impl Unsubscribe {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let found = remote::find(&home, &self.collection, &self.remote).await?;
        let subscribed = found.filter(|remote| remote.subscription.is_some()).ok_or_else(|| {
            let message = format!("{} does not subscribe to {}", self.collection, self.remote);
            Failure::not_found(message)
                .hint(format!("see them all: {}", context.command("remote list")))
        })?;
        let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
        session.unsubscribe(&subscribed).await.map_err(|error| failure(&subscribed, error))?;
        let url = shown_text(&subscribed.url);
        if context.json {
            let collection = self.collection.as_str();
            return output::json(&json!({ "collection": collection, "unsubscribed": url }));
        }
        output::line(format!("{} no longer takes in {}", self.collection, text::line(&url)))
    }
}
