//! A hub with a library, and a web server with feeds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use feedsync_aggregator::{
    FeedSchedule, FullTexts, Person, Pictures, Readers, SubscriptionView, WebFinder,
};
use feedsync_aggregator::{Library, SqliteLibrary};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_log::Millis;
use feedsync_reading_state::{ImportPolicy, ListedFeed, SubscriptionList};
use feedsync_store::{EndpointName, Environment, MemoryStore, Moment};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Start of the test clock: 22 November 2026, 12:00.
pub(crate) const BEGIN: u64 = 1_795_348_800_000;

/// A clock that the test sets.
pub(crate) struct Clock {
    millis: AtomicU64,
    random: AtomicU64,
}

impl Environment for Clock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.millis.load(Ordering::Relaxed) * 1_000)
    }

    fn random(&self) -> u64 {
        let next = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        next ^ (next >> 31)
    }
}

pub(crate) struct Scene {
    pub(crate) clock: Arc<Clock>,
    pub(crate) endpoint: Endpoint,
    pub(crate) library: Arc<dyn Library>,
    pub(crate) schedule: FeedSchedule,
    pub(crate) web: Web,
    fetcher: Fetcher,
    _directory: TempDir,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(Policy::new(Private::Allowed)).await
    }

    /// Creates a scene with a fetch policy.
    pub(crate) async fn with(policy: Policy) -> Self {
        let directory = TempDir::new().unwrap();
        let clock = Arc::new(Clock { millis: AtomicU64::new(BEGIN), random: AtomicU64::new(1) });
        let name = EndpointName::new("hub").unwrap();
        let store = MemoryStore::new(&name, clock.clone());
        let endpoint = Endpoint::new(Arc::new(store), clock.clone());
        let library: Arc<dyn Library> = Arc::new(SqliteLibrary::open(directory.path()).unwrap());
        let notifier = Arc::new(Notify::new());
        let fetcher = Fetcher::new(policy).unwrap();
        let schedule =
            FeedSchedule::new(Arc::clone(&library), endpoint.clone(), fetcher.clone(), notifier);
        let web = Web::start().await;
        Self { clock, endpoint, library, schedule, web, fetcher, _directory: directory }
    }

    /// Creates a finder with the policy of the scene.
    pub(crate) fn finder(&self) -> WebFinder {
        let (library, endpoint) = (Arc::clone(&self.library), self.endpoint.clone());
        WebFinder::new(library, endpoint, self.fetcher.clone())
    }

    /// Creates an empty cache of pictures with the policy of the scene.
    pub(crate) fn pictures(&self) -> Pictures {
        Pictures::new(self.endpoint.clone(), self.fetcher.clone())
    }

    /// Creates an empty cache of full texts with the policy of the scene.
    pub(crate) fn full_texts(&self) -> FullTexts {
        FullTexts::new(self.endpoint.clone(), self.fetcher.clone())
    }

    /// Reading of a user in a separate process, that is, another hub on the same store.
    pub(crate) async fn somebody(&self) -> Arc<Person> {
        let library = Arc::clone(&self.library);
        let readers = Readers::new(library, Arc::new(Notify::new()), 1 << 30);
        let first = self.endpoint.store().users().await.unwrap().into_iter().next();
        let reader =
            first.map(|user| feedsync_endpoint::ReadingOwner { name: user.name, id: user.id });
        readers.person(&self.endpoint, reader.as_ref()).await.unwrap().0
    }

    pub(crate) fn wait(&self, millis: u64) {
        self.clock.millis.fetch_add(millis, Ordering::Relaxed);
    }

    /// Sets the clock back.
    pub(crate) fn turn_back(&self, millis: u64) {
        self.clock.millis.fetch_sub(millis, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Millis {
        Millis::new(self.clock.now().micros() / 1_000)
    }

    /// Polls everything that is due; returns the number of feeds.
    pub(crate) async fn poll(&self) -> usize {
        let due = self.schedule.claim(1_000).await.unwrap();
        let count = due.len();
        for feed in due {
            self.schedule.poll(feed).await.unwrap();
        }
        count
    }

    /// Subscribes to feeds of the web server.
    pub(crate) async fn subscribe(&self, person: &Person, paths: &[&str]) {
        let listed = |path: &&str| ListedFeed {
            address: self.web.url(path).parse().unwrap(),
            title: None,
            folder: Default::default(),
        };
        let feeds = paths.iter().map(listed).collect();
        let list = SubscriptionList { feeds, ..SubscriptionList::default() };
        person.subscribe(&list, ImportPolicy::KeepExisting).await.unwrap();
        person.subscription_view().await.unwrap();
    }
}

/// Response of the web server at one path.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// A web server with configurable responses.
pub(crate) struct Web {
    base: String,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    asked: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

impl Web {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let pages: Arc<Mutex<BTreeMap<String, Page>>> = Arc::default();
        let asked: Arc<Mutex<Vec<(String, HeaderMap)>>> = Arc::default();
        let (known, log) = (Arc::clone(&pages), Arc::clone(&asked));
        let served = move |uri: Uri, headers: HeaderMap| {
            log.lock().unwrap().push((uri.path().to_owned(), headers.clone()));
            let page = known.lock().unwrap().get(uri.path()).cloned();
            async move { page.map_or_else(|| answer(404, String::new()), |page| page.answer(&headers)) }
        };
        let router = Router::new().fallback(served);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, pages, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(crate) fn put(&self, path: &str, page: Page) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    /// Sets a feed with items, each given by its name and its date in seconds since 1970.
    pub(crate) fn feed(&self, path: &str, items: &[(&str, u64)]) {
        self.put(path, Page { status: 200, headers: Vec::new(), body: rss(items) });
    }

    /// Requests since the last call: paths and headers.
    pub(crate) fn asked(&self) -> Vec<(String, HeaderMap)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

pub(crate) fn rss(items: &[(&str, u64)]) -> String {
    let item = |(name, at): &(&str, u64)| {
        let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(*at);
        let date = httpdate::fmt_http_date(moment);
        format!(
            "<item><guid isPermaLink='false'>{name}</guid><title>Title of {name}</title>\
             <pubDate>{date}</pubDate><description>Words about {name}</description></item>"
        )
    };
    let items: String = items.iter().map(item).collect();
    format!("<rss version='2.0'><channel><title>News</title>{items}</channel></rss>")
}

impl Page {
    /// Response of a server that supports entity tags.
    fn answer(self, headers: &HeaderMap) -> Response {
        let tag = self.headers.iter().find(|(name, _)| *name == "etag").map(|(_, tag)| tag.clone());
        let known = headers.get("if-none-match").and_then(|value| value.to_str().ok());
        let status = if tag.is_some() && known == tag.as_deref() { 304 } else { self.status };
        let body = if status == 304 { String::new() } else { self.body };
        let mut response = answer(status, body);
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        response
    }
}

fn answer(status: u16, body: String) -> Response {
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

/// Numbers of unread articles of the feeds of a shelf.
pub(crate) fn unread(subscription_view: &SubscriptionView) -> Vec<u64> {
    subscription_view.feeds().iter().map(|feed| feed.unread).collect()
}
