//! `/pages/reading/offline/list`: the feeds of the reader, and the articles that a browser stores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::{ArticleFilter, FeedView, ListEntry, Selection, SubscriptionView};
use feedsync_reader_api::{FeedNumber, Selection as ReaderSelection, Stream};
use serde::Serialize;

use super::json;
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::form_token;
use crate::pages::reading::reading;
use crate::reading::{Reading, Refusal};

/// Maximum number of articles that a browser stores: the newest of all, and the newest of a feed. Starred articles are
/// additional.
const MAX_ARTICLES: usize = 25_000;
const MAX_ARTICLES_PER_FEED: usize = 500;
const MAX_STARRED: usize = 1_000;

/// Maximum age of stored articles, in days.
const MAX_DAYS: u64 = 365;

const DEFAULT_ARTICLES_PER_FEED: usize = 50;
const DEFAULT_DAYS: u64 = 30;

const DAY: u64 = 24 * 3_600 * 1_000;

/// The list. Times are in milliseconds since 1970.
#[derive(Serialize)]
struct OfflineList {
    /// The signed-in user; absent at a hub without users.
    user: Option<String>,
    /// Token with which the browser sends marks.
    form: String,
    /// Current time of the hub.
    now: u64,
    feeds: Vec<OfflineFeed>,
    /// The newest first.
    articles: Vec<Row>,
}

/// Number, feed, sort date and marks of an article. There may be 26,000 in a list.
type Row = (i64, i64, u64, u8);

#[derive(Serialize)]
struct OfflineFeed {
    number: i64,
    address: String,
    title: String,
    folder: String,
}

/// Bits of the marks.
const READ: u8 = 1;
const STARRED: u8 = 2;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let per_feed = number(&call, "articles", DEFAULT_ARTICLES_PER_FEED as u64)?;
    let days = number(&call, "days", DEFAULT_DAYS)?;
    let reading = reading(&hub, &call).await?;
    let per_feed = usize::try_from(per_feed).unwrap_or(usize::MAX).clamp(1, MAX_ARTICLES_PER_FEED);
    let articles = articles(&reading, per_feed, days.clamp(1, MAX_DAYS)).await?;
    let feeds = reading.subscription_view.feeds().iter().chain(reading.subscription_view.former());
    let list = OfflineList {
        user: call.principal.user().map(ToString::to_string),
        form: form_token::token(&hub, &call),
        now: reading.now.get(),
        feeds: feeds.map(|feed| offline_feed(&reading, feed)).collect(),
        articles,
    };
    json(permit, &call, &list)
}

/// A parameter that is a number.
fn number(call: &Call, name: &str, default: u64) -> Result<u64, Problem> {
    let Some(text) = call.query.text(name) else { return Ok(default) };
    text.parse().map_err(|_| Problem::bad_request(format!("{name} must be a number")))
}

fn offline_feed(reading: &Reading, feed: &FeedView) -> OfflineFeed {
    let folder = reading.folders.shown(&feed.subscription.folder).cloned();
    OfflineFeed {
        number: feed.number().get(),
        address: feed.subscription.address.to_string(),
        title: short(feed.title(), 120),
        folder: folder.map(|folder| folder.name.to_string()).unwrap_or_default(),
    }
}

/// The newest articles of each feed, and the starred ones.
async fn articles(reading: &Reading, per_feed: usize, days: u64) -> Result<Vec<Row>, Problem> {
    let view = &reading.subscription_view;
    let library = reading.newsreading.readers.library();
    let newest = Selection {
        feeds: view.feeds().iter().map(FeedView::number).collect(),
        newer_than: Some(reading.now.before(days * DAY)),
        most: MAX_ARTICLES,
        keep: Some(at_most_per_feed(per_feed, Arc::clone(view))),
        ..Selection::default()
    };
    let mut listed = library.list(newest).await.map_err(Refusal::from)?;
    let starred = ReaderSelection::newest(Stream::Starred, MAX_STARRED);
    let known: BTreeSet<_> = listed.iter().map(|listed| listed.number).collect();
    let starred = reading.select(&starred).await?.listed;
    listed.extend(starred.into_iter().filter(|listed| !known.contains(&listed.number)));
    listed.sort_unstable_by_key(|listed| std::cmp::Reverse(listed.place()));
    let row = |listed: ListEntry| {
        let feed = view.feed_of(listed.feed, listed.number)?;
        let read = if feed.marks.is_read(&listed) { READ } else { 0 };
        let starred = if feed.marks.is_starred(listed.number) { STARRED } else { 0 };
        Some((listed.number.get(), listed.feed.get(), listed.sort_date.get(), read | starred))
    };
    Ok(listed.into_iter().filter_map(row).collect())
}

/// A filter that accepts the first articles of each feed in the order of a list, without hidden ones.
fn at_most_per_feed(most: usize, view: Arc<SubscriptionView>) -> ArticleFilter {
    let counts: Mutex<BTreeMap<FeedNumber, usize>> = Mutex::default();
    Arc::new(move |listed: &ListEntry| {
        let feed = view.feed(listed.feed);
        if feed.is_some_and(|feed| feed.marks.is_left_out(listed.number)) {
            return false;
        }
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(listed.feed).or_default();
        *count += 1;
        *count <= most
    })
}
