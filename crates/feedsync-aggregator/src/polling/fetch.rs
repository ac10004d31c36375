//! Fetches a feed and parses the document.

use std::time::{Duration, SystemTime};

use crate::library::{
    DueFeed, FeedHead, Library, LibraryError, MAX_DOCUMENT_ARTICLES, Poll, PollState,
    PolledDocument,
};
use feedsync_fetch::{FetchError, Fetched, Fetcher, Request, Response, Url, Validators, address};
use feedsync_formats::{PublishedFeed, ReadOptions, charset, read_published};
use feedsync_log::Millis;
use feedsync_reading_state::{FeedAddress, IdentificationState, identify};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use super::article::article;
use super::find::NamedFeed;
use super::host_of;
use super::pace::{
    MAX_POLL_INTERVAL, MAX_REDIRECT_FAILURES, PollOutcome, PublisherRequests, millis,
    next_poll_state,
};
use super::page::WebPage;

/// Maximum size of a document, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

/// Maximum length of the reason of a failure, in bytes.
const MAX_REASON_BYTES: usize = 1_000;

const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, \
     application/rdf+xml;q=0.9, application/json;q=0.9, application/xml;q=0.8, text/xml;q=0.8, */*;q=0.1";

/// Response of a server.
pub(super) enum FetchResult {
    Unchanged,
    /// The document has the same bytes as before.
    Same {
        validators: Validators,
        response_head: ResponseHead,
    },
    Changed {
        bytes: Vec<u8>,
        digest: [u8; 32],
        validators: Validators,
        response_head: ResponseHead,
    },
}

/// Information from the head of a response.
pub(super) struct ResponseHead {
    url: Url,
    moved_to: Option<FeedAddress>,
    charset: Option<String>,
    fresh: Duration,
}

/// Reason why a document is not a feed.
pub(super) struct NotAFeed {
    pub(super) reason: String,
    /// Feeds that the page names, the best first; `None` if the document is not a web page either.
    pub(super) named: Option<Vec<NamedFeed>>,
}

/// Parsed document.
pub(super) struct Document {
    pub(super) feed: PublishedFeed,
    /// Number of entries beyond the maximum, which were omitted.
    surplus: usize,
    names: Vec<feedsync_reading_state::ArticleId>,
    identification_state: IdentificationState,
}

/// Polls a feed. A web page at an address that never was a feed leads to the first readable feed that it names.
/// That feed is polled from now on, as after a permanent redirect. If none is readable, the page is fetched again
/// the next time. A page in place of a known feed counts as a failure at first, since the feed may return.
pub(super) async fn poll(
    fetcher: &Fetcher,
    library: &dyn Library,
    feed: DueFeed,
    now: Millis,
    chance: u64,
) -> Result<Poll, LibraryError> {
    let is_asked_itself = feed.state.redirect_target.is_none();
    let was_a_feed = feed.state.changed.is_some() && feed.state.failures < MAX_REDIRECT_FAILURES;
    let (mut page, named) = once(fetcher, library, feed.clone(), now, chance).await?;
    if !is_asked_itself || was_a_feed {
        return Ok(page);
    }
    let mut fault = None;
    for NamedFeed { address, .. } in named {
        let unknown =
            PollState { etag: None, last_modified: None, digest: None, ..feed.state.clone() };
        let state = PollState { redirect_target: Some(address), ..unknown };
        let due = DueFeed { state, ..feed.clone() };
        let (poll, _) = once(fetcher, library, due, now, chance).await?;
        if poll.state.failures == 0 && !poll.state.gone {
            return Ok(poll);
        }
        fault = fault.or(poll.state.fault);
        page.state.due = page.state.due.max(poll.state.due);
    }
    page.state.fault = fault.or(page.state.fault);
    Ok(page)
}

/// Fetches a feed from its current address. Returns the outcome, and the feeds that a page there names.
async fn once(
    fetcher: &Fetcher,
    library: &dyn Library,
    feed: DueFeed,
    now: Millis,
    chance: u64,
) -> Result<(Poll, Vec<NamedFeed>), LibraryError> {
    let DueFeed { number, address, state } = feed;
    let state = PollState { checked: Some(now), ..state.not_later_than(now) };
    let kept =
        PublisherRequests { polling_hints: state.polling_hints, ..PublisherRequests::default() };
    let pace = |state, heard, wanted| next_poll_state(state, heard, wanted, now, chance);
    let mut named = Vec::new();
    let poll = match ask(fetcher, &address, &state).await {
        Err(error) => {
            if let Some((host, until)) = host_hold(&error, now) {
                library.hold(&host, until, now).await?;
            }
            failed(state, &error, kept, now, chance)
        }
        Ok(FetchResult::Unchanged) => {
            Poll { state: pace(state, PollOutcome::Unchanged, kept), document: None }
        }
        Ok(FetchResult::Same { validators, response_head }) => {
            let wanted = PublisherRequests { fresh: response_head.fresh, ..kept };
            let state = response_head.kept(state, validators);
            Poll { state: pace(state, PollOutcome::Unchanged, wanted), document: None }
        }
        Ok(FetchResult::Changed { bytes, digest, validators, response_head }) => {
            match read(bytes, &response_head, library.identification_state(number).await?).await {
                Err(NotAFeed { reason, named: feeds }) => {
                    named = feeds.unwrap_or_default();
                    let state = PollState { fault: Some(short(reason)), ..state };
                    Poll { state: pace(state, PollOutcome::Failed, kept), document: None }
                }
                Ok(document) => {
                    let polling_hints = document.feed.polling_hints;
                    let fault = incomplete(document.feed.blank, document.surplus);
                    let wanted = PublisherRequests {
                        polling_hints,
                        fresh: response_head.fresh,
                        ..PublisherRequests::default()
                    };
                    let state = response_head.kept(state, validators);
                    let (document, dates) = polled(document);
                    let state = PollState {
                        digest: Some(digest),
                        changed: Some(now),
                        polling_hints,
                        ..state
                    };
                    let state = pace(state, PollOutcome::Changed(&dates), wanted);
                    Poll { state: PollState { fault, ..state }, document: Some(document) }
                }
            }
        }
    };
    Ok((poll, named))
}

pub(super) async fn ask(
    fetcher: &Fetcher,
    feed: &FeedAddress,
    state: &PollState,
) -> Result<FetchResult, FetchError> {
    let given = address(feed.as_str())?;
    let url =
        state.redirect_target.as_ref().map_or(Ok(given.clone()), |to| address(to.as_str()))?;
    let known = Validators { etag: state.etag.clone(), last_modified: state.last_modified.clone() };
    let request = Request::read(url).accept(ACCEPT).within(MAX_DOCUMENT_BYTES).unless(&known);
    // A redirect or a page may lead to the current address; permissions depend on the address that the user gave.
    let response = match fetcher.given(given).fetch(request).await? {
        Fetched::NotModified => return Ok(FetchResult::Unchanged),
        Fetched::Answer(response) => *response,
    };
    let (validators, response_head) = (response.validators(), ResponseHead::of(&response));
    let bytes = response.into_bytes().await?;
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    Ok(match state.digest == Some(digest) {
        true => FetchResult::Same { validators, response_head },
        false => FetchResult::Changed { bytes, digest, validators, response_head },
    })
}

/// Host whose server requests a pause, and the end of the pause, which lasts at most a day.
pub(super) fn host_hold(error: &FetchError, now: Millis) -> Option<(String, Millis)> {
    let FetchError::Status { url, status, retry_after, .. } = error else { return None };
    let is_busy =
        matches!(*status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let pause = retry_after.filter(|_| is_busy)?.from_now(clock(now)).min(MAX_POLL_INTERVAL);
    (!pause.is_zero()).then(|| (host_of(url), now.after(millis(pause))))
}

fn clock(now: Millis) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(now.get())
}

fn failed(
    state: PollState,
    error: &FetchError,
    kept: PublisherRequests,
    now: Millis,
    chance: u64,
) -> Poll {
    let (heard, retry_after) = match error {
        FetchError::Status { status: StatusCode::GONE, .. } => (PollOutcome::Gone, None),
        FetchError::Status { retry_after, .. } => (PollOutcome::Failed, *retry_after),
        _ => (PollOutcome::Failed, None),
    };
    let retry_after = retry_after.map_or(Duration::ZERO, |after| after.from_now(clock(now)));
    let state = PollState { fault: Some(short(fault(error))), ..state };
    Poll {
        state: next_poll_state(
            state,
            heard,
            PublisherRequests { retry_after, ..kept },
            now,
            chance,
        ),
        document: None,
    }
}

/// Reason of a failure, for people.
pub(super) fn fault(error: &FetchError) -> String {
    match error {
        FetchError::Private { .. } => {
            format!(
                "{error}; private addresses must be allowed by the setting private_feeds of the hub"
            )
        }
        _ => error.to_string(),
    }
}

/// Parses a document on a thread for blocking work.
pub(super) async fn read(
    bytes: Vec<u8>,
    response_head: &ResponseHead,
    identification_state: IdentificationState,
) -> Result<Document, NotAFeed> {
    let (url, charset) = (response_head.url.clone(), response_head.charset.clone());
    let reading = spawn_blocking(move || {
        let options = ReadOptions { base: Some(url.as_str()), ..ReadOptions::tolerant() };
        let read = read_published(&bytes, charset.as_deref(), &options);
        let mut feed = read.map_err(|error| match WebPage::read(&bytes, &url) {
            Some(WebPage { feeds }) => {
                let reason = match feeds.is_empty() {
                    true => "the address leads to a web page that does not link to a feed",
                    false => "the address leads to a web page, not to a feed",
                };
                NotAFeed { reason: reason.to_owned(), named: Some(feeds) }
            }
            None => NotAFeed { reason: error.to_string(), named: None },
        })?;
        let surplus = feed.entries.len().saturating_sub(MAX_DOCUMENT_ARTICLES);
        feed.entries.truncate(MAX_DOCUMENT_ARTICLES);
        let (names, identification_state) = identify(&feed.entries, identification_state);
        Ok(Document { feed, surplus, names, identification_state })
    });
    match reading.await {
        Ok(document) => document,
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}

/// Fault of a document with omitted entries: those without content, and those beyond [`MAX_DOCUMENT_ARTICLES`].
fn incomplete(blank: usize, surplus: usize) -> Option<String> {
    let blank = match blank {
        0 => None,
        1 => Some("1 article was skipped: it has neither title, link nor text".to_owned()),
        _ => Some(format!("{blank} articles were skipped: they have neither title, link nor text")),
    };
    let surplus = match surplus {
        0 => None,
        1 => Some("the last article was skipped".to_owned()),
        _ => Some(format!("the last {surplus} articles were skipped")),
    };
    let surplus = surplus.map(|surplus| {
        format!("{surplus}: only the first {MAX_DOCUMENT_ARTICLES} articles of a feed are read")
    });
    let all: Vec<String> = blank.into_iter().chain(surplus).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Converts a document for the library; also returns the dates of its articles.
fn polled(document: Document) -> (PolledDocument, Vec<Millis>) {
    let Document { feed, names, identification_state, .. } = document;
    let entries = names.into_iter().zip(feed.entries);
    let articles: Vec<_> = entries.map(|(name, entry)| article(name, entry)).collect();
    let dates = articles.iter().filter_map(|article| article.published).collect();
    let short = |text: Option<String>| text.map(short);
    let head = FeedHead {
        title: short(feed.title),
        site: short(feed.site),
        description: short(feed.description),
        icon: short(feed.icon),
        ..FeedHead::default()
    };
    (PolledDocument { head, articles, identification_state }, dates)
}

impl ResponseHead {
    fn of(response: &Response) -> Self {
        let media_type = response.header(CONTENT_TYPE).unwrap_or_default();
        let charset = charset(media_type).map(str::to_owned);
        let moved_to = response.moved_to().and_then(|url| url.as_str().parse().ok());
        let fresh = response.header(CACHE_CONTROL).map(fresh).unwrap_or_default();
        Self { url: response.url().clone(), moved_to, charset, fresh }
    }

    /// State after this response. The validators belong to the address of the response.
    fn kept(self, state: PollState, validators: Validators) -> PollState {
        let Validators { etag, last_modified } = validators;
        let redirect_target = self.moved_to.or(state.redirect_target);
        PollState { etag, last_modified, redirect_target, ..state }
    }
}

/// Parses `max-age` of `Cache-Control` (RFC 9111 5.2.2.1).
fn fresh(control: &str) -> Duration {
    let directives = control.split(',').map(|directive| directive.trim().to_ascii_lowercase());
    let seconds = directives
        .filter_map(|directive| directive.strip_prefix("max-age=")?.trim_matches('"').parse().ok());
    Duration::from_secs(seconds.max().unwrap_or(0))
}

pub(super) fn short(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_REASON_BYTES));
    text
}
