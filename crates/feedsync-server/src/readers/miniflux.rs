//! `/reader/miniflux/`: the API of Miniflux.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_aggregator::{FeedKind, FeedView, FoundFeed, FullText, FullTextError};
use feedsync_reader_api::miniflux::{self, RefreshTarget, Request, User};
use feedsync_reader_api::{
    Article, ArticleNumber, FeedName, FeedNumber, FolderNumber, Label, RawResponse, Selection,
    Stream,
};
use feedsync_reading_state::{Action, FeedAddress, ImportPolicy, Title};
use http::Method;
use tokio::task::spawn_blocking;

use super::{NewsreaderRequest, USER, dialect_response};
use crate::access::Principal;
use crate::access::call::Call;
use crate::http::html::content::for_newsreaders;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::reading::discovery::Discovery;
use crate::reading::{Reading, Refusal};

pub(crate) async fn answer(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let sent = NewsreaderRequest::read(&hub, &call, method, body).await?;
    dialect_response(carry_out(&hub, &call, sent).await, miniflux::refuse)
}

async fn carry_out(
    hub: &Hub,
    call: &Call,
    sent: NewsreaderRequest,
) -> Result<RawResponse, Refusal> {
    let request = miniflux::read(&sent.asked())?;
    match request {
        Request::Health => return Ok(miniflux::health()),
        Request::Version => return Ok(miniflux::version(env!("CARGO_PKG_VERSION"))),
        _ => {}
    }
    if matches!(call.principal, Principal::Anonymous) {
        return Err(Problem::sign_in().into());
    }
    let mut reading = Reading::of(hub, call, &call.principal).await?;
    let done = miniflux::done();
    Ok(match request {
        Request::Me => {
            let name = call.principal.user().map_or("reader", |user| user.as_str());
            miniflux::user(&User {
                number: USER,
                name: name.to_owned(),
                is_administrator: call.principal.administers(),
            })
        }
        // It was handled above.
        Request::Version | Request::Health => miniflux::health(),
        Request::Integrations => miniflux::integrations(),
        Request::Categories { with_counts } => {
            let feeds = reading.subscriptions();
            miniflux::categories(USER, &reading.folders, with_counts.then_some(&feeds))
        }
        Request::CreateCategory(label) => match reading.create_folder(&label) {
            Some(folder) => miniflux::category(USER, &folder),
            None => miniflux::refuse(400, "invalid folder name"),
        },
        Request::RenameCategory(folder, label) => reading.rename_folder(folder, &label).await?,
        Request::DeleteCategory(folder) => match reading.folders.find_by_number(folder).cloned() {
            Some(folder) => {
                reading.replace(&folder, &feedsync_reading_state::Folder::TOP).await?;
                done
            }
            None => miniflux::unknown(),
        },
        Request::MarkCategoryRead(folder) => {
            reading.mark_all(&Stream::Folder(folder), None).await?;
            done
        }
        Request::CategoryFeeds(folder) => match reading.folder(folder) {
            Some(folder) => {
                let inside = |feed: &&FeedView| feed.subscription.folder == folder;
                let feeds = reading.subscription_view.feeds().iter().filter(inside);
                let feeds: Vec<_> = feeds.map(|feed| reading.subscription(feed)).collect();
                miniflux::feeds(USER, &feeds)
            }
            None => miniflux::unknown(),
        },
        Request::Feeds => miniflux::feeds(USER, &reading.subscriptions()),
        Request::Feed(feed) => match reading.subscription_view.feed(feed) {
            Some(feed) => miniflux::feed(USER, &reading.subscription(feed), false),
            None => miniflux::unknown(),
        },
        Request::CreateFeed { address, folder } => {
            // A slow site must not block the reading of other requests.
            drop(sent);
            reading.create(address, folder).await?
        }
        Request::UpdateFeed { feed, title, folder, address } => {
            let folder = folder.map(|number| reading.folder(number).ok_or(number));
            match folder.transpose() {
                Ok(folder) => reading.update(feed, title, folder, address).await?,
                Err(_) => miniflux::refuse(400, NO_CATEGORY),
            }
        }
        Request::DeleteFeed(feed) => match reading.address(&FeedName::Number(feed)) {
            Some(address) => {
                reading.file(vec![(address, Action::Unsubscribe)]).await?;
                done
            }
            None => miniflux::unknown(),
        },
        Request::MarkFeedRead(feed) => {
            reading.mark_all(&Stream::Feed(FeedName::Number(feed)), None).await?;
            done
        }
        Request::Refresh(refreshed) => {
            let stream = match refreshed {
                RefreshTarget::All => Stream::All,
                RefreshTarget::Folder(folder) => Stream::Folder(folder),
                RefreshTarget::Feed(feed) => Stream::Feed(FeedName::Number(feed)),
            };
            let feeds = reading.feeds_of(&stream).unwrap_or_default();
            let feeds: Vec<_> = feeds.into_iter().map(FeedView::number).collect();
            reading.make_due(&feeds).await?;
            done
        }
        Request::Counters => {
            let feeds = reading.subscription_view.feeds().iter();
            miniflux::counters(feeds.map(|feed| {
                let all = feed.listed_articles();
                (feed.number(), all.saturating_sub(feed.unread), feed.unread)
            }))
        }
        Request::Icon(feed) => match reading.icon(feed).await? {
            Some(icon) => miniflux::icon(feed, &icon.media_type, &STANDARD.encode(icon.bytes)),
            None => miniflux::unknown(),
        },
        Request::Discover(address) => {
            drop(sent);
            match reading.discover(&address).await? {
                Ok(feeds) if feeds.is_empty() => miniflux::unknown(),
                Ok(feeds) => miniflux::discovered(feeds.iter().map(|feed| {
                    let address = feed.address.as_str();
                    [feed.title.as_deref().unwrap_or(address), address, kind(feed.kind)]
                })),
                Err(error) => miniflux::refuse(500, &error.to_string()),
            }
        }
        Request::Entries(selection) => reading.entries(selection).await?,
        Request::Entry(article) => match reading.articles(&[article]).await?.first() {
            Some(article) => miniflux::entry(USER, article, &reading.sources()),
            None => miniflux::unknown(),
        },
        Request::Content(article) => {
            // A slow site must not block the reading of other requests.
            drop(sent);
            reading.fetched_content(article).await?
        }
        Request::Mark(marking) => {
            reading.mark(&marking).await?;
            done
        }
        Request::ToggleStar(article) => match reading.is_starred(article).await? {
            Some(is_starred) => {
                reading.person.star(&[article], !is_starred).await?;
                done
            }
            None => miniflux::unknown(),
        },
        Request::MarkAllRead { user: USER } => {
            reading.mark_all(&Stream::All, None).await?;
            done
        }
        Request::MarkAllRead { .. } => miniflux::unknown(),
        Request::Export => miniflux::export(reading.person.opml("Subscriptions").await?),
        Request::Import(list) => {
            reading.person.subscribe(&list, ImportPolicy::KeepExisting).await?;
            reading.refresh().await?;
            miniflux::imported()
        }
        Request::FlushHistory => miniflux::accepted(),
    })
}

/// Miniflux's error for a category that the user does not have.
const NO_CATEGORY: &str = "This category does not exist or does not belong to this user.";

/// Miniflux's name of a format.
fn kind(kind: FeedKind) -> &'static str {
    match kind {
        FeedKind::Rss => "rss",
        FeedKind::Atom => "atom",
        FeedKind::Json => "json",
    }
}

impl Reading {
    /// Subscribes to the feed at an address.
    async fn create(
        &mut self,
        address: FeedAddress,
        folder: FolderNumber,
    ) -> Result<RawResponse, Refusal> {
        let Some(folder) = self.folder(folder) else {
            return Ok(miniflux::refuse(400, NO_CATEGORY));
        };
        Ok(match self.find(&address).await? {
            Discovery::Known(_) => miniflux::refuse(400, "This feed already exists."),
            Discovery::NotFound(error) => miniflux::refuse(500, &error.to_string()),
            Discovery::New(FoundFeed { address, .. }) => {
                self.subscribe(address.clone(), None, Some(folder)).await?;
                let feed = self.subscription_view.feed_at(&address);
                feed.map_or_else(miniflux::unknown, |feed| miniflux::created(feed.number()))
            }
        })
    }

    /// Response with the full text from the web page of an article. The stored article stays as it is.
    async fn fetched_content(&self, number: ArticleNumber) -> Result<RawResponse, Refusal> {
        let (Some(article), Some((_, feed))) =
            (self.articles(&[number]).await?.pop(), self.kept(&[number]).await?.pop())
        else {
            return Ok(miniflux::unknown());
        };
        let Some(link) = &article.address else {
            return Ok(miniflux::refuse(500, "the article has no link to a web page"));
        };
        let html = match self.full_text(&feed.kept.address, link).await {
            Ok(FullText { html, .. }) => html,
            Err(error @ FullTextError::Busy) => {
                return Err(Problem::unavailable(error.to_string()).into());
            }
            Err(error) => return Ok(miniflux::refuse(500, &error.to_string())),
        };
        let ticket = self.cleaning.admit().await?;
        let cleaned = spawn_blocking(move || for_newsreaders(&html, &ticket));
        let content = cleaned.await.map_err(|_| Problem::internal())?;
        Ok(miniflux::content(&Article { content, ..article }))
    }

    /// Whether an article is starred; `None` if it does not belong to a subscription.
    pub(super) async fn is_starred(&self, article: ArticleNumber) -> Result<Option<bool>, Refusal> {
        Ok(self.articles(&[article]).await?.first().map(|article| article.is_starred))
    }

    async fn rename_folder(
        &mut self,
        folder: FolderNumber,
        label: &Label,
    ) -> Result<RawResponse, Refusal> {
        let Some(from) = self.folders.find_by_number(folder).cloned() else {
            return Ok(miniflux::unknown());
        };
        let Ok(to) = label.folder() else {
            return Ok(miniflux::refuse(400, "invalid folder name"));
        };
        self.replace(&from, &to).await?;
        let shown = self.folders.shown(&to);
        Ok(shown.map_or_else(miniflux::unknown, |folder| miniflux::category(USER, folder)))
    }

    async fn update(
        &mut self,
        feed: FeedNumber,
        title: Option<Title>,
        folder: Option<feedsync_reading_state::Folder>,
        address: Option<FeedAddress>,
    ) -> Result<RawResponse, Refusal> {
        let Some(here) = self.address(&FeedName::Number(feed)) else {
            return Ok(miniflux::unknown());
        };
        let mut actions = Vec::new();
        if title.is_some() {
            actions.push((here.clone(), Action::Rename { title }));
        }
        actions.extend(folder.map(|folder| (here.clone(), Action::Move { folder })));
        let moved = address.filter(|to| *to != here);
        actions.extend(moved.clone().map(|to| (here.clone(), Action::FeedMoved { to })));
        self.file(actions).await?;
        let feed = self.subscription_view.feed_at(&moved.unwrap_or(here));
        let shown = feed.map(|feed| miniflux::feed(USER, &self.subscription(feed), true));
        Ok(shown.unwrap_or_else(miniflux::unknown))
    }

    /// Part of a list, and the length of the whole list.
    async fn entries(&self, asked: Selection) -> Result<RawResponse, Refusal> {
        let total = self.total(&asked).await?;
        let (articles, _) = self.shown(&self.select(&asked).await?).await?;
        Ok(miniflux::entries(USER, total, &articles, &self.sources()))
    }
}
