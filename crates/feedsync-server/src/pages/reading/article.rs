//! `/pages/reading/articles/{number}`: one article, with links to its neighbours in the list that it was
//! opened from.

use ammonia::Url;
use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::{Enclosure, FeedView, StoredArticle};
use feedsync_http::browser_policy;
use feedsync_reader_api::{ArticleNumber, Continuation, Marking, Selection};
use feedsync_reading_state::Tag;
use http::StatusCode;

use super::articles::said;
use super::folders::Sidebar;
use super::full_text::{self, FullTextPage};
use super::list::{List, ListSource};
use super::{home, reading, time, with};
use crate::access::call::Call;
use crate::http::html::Purpose;
use crate::http::html::content::{RenderedArticle, RenderedContent, short};
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other, sentence};
use crate::pages::assets::READING;
use crate::pages::form::Form;
use crate::reading::Reading;
use crate::reading::articles::{is_web, listed};

/// Content security policy of an article: in addition, media play when the reader starts them. Pictures come from
/// the hub.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                      media-src http: https:; connect-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

#[derive(Template)]
#[template(path = "article.html")]
struct ArticlePage {
    frame: Frame,
    script: &'static str,
    sidebar: Sidebar,
    list_page: String,
    list_title: String,
    /// Address of its forms.
    here: String,
    said: &'static str,
    /// Address of the page with the text of the feed, if the full text is shown.
    feed_text: Option<String>,
    /// Reason why the full text is not shown.
    full_text_fault: String,
    /// Whether a script reports that it was opened.
    opens: bool,
    title: String,
    feed: String,
    /// Page of the feed, while it is subscribed to.
    feed_page: Option<String>,
    author: Option<String>,
    shown: Time,
    updated: Option<Time>,
    link: Option<String>,
    media: Vec<Media>,
    content: RenderedContent,
    is_reduced: bool,
    /// Number of its pictures.
    pictures: usize,
    with_pictures: bool,
    /// Address of the page with pictures, or without.
    other: String,
    is_read: bool,
    is_starred: bool,
    tags: Vec<Tag>,
    tag_error: String,
    categories: Vec<String>,
    previous: Option<String>,
    next: Option<String>,
}

/// Reasons why the request before this page was refused.
#[derive(Default)]
struct Faults {
    tag: String,
    full_text: String,
}

/// Media of an article.
struct Media {
    address: String,
    /// Last segment of its address.
    name: String,
    kind: String,
    size: Option<String>,
    duration: Option<String>,
    is_audio: bool,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    shown(&hub, &call, Faults::default(), StatusCode::OK).await
}

/// `POST`: marks the article.
pub(crate) async fn mark(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(&hub, &call, body).await?;
    let list = List::read(&call.query)?;
    let mut reading = reading(&hub, &call).await?;
    let number = number(&call)?;
    let (article, feed) = found(&reading, number).await?;
    let root = call.base.path();
    if form.text("action") == "full-text" {
        // A slow site must not block the forms of other requests.
        drop(form);
        return match full_text::load(&reading, &article, feed).await {
            Ok(()) => see_other(&List { with_full_text: true, ..list }.article(root, number)),
            Err((fault, status)) => {
                let faults = Faults { full_text: sentence(fault), ..Faults::default() };
                shown(&hub, &call, faults, status).await
            }
        };
    }
    let of = |marking| Marking { articles: vec![number], ..marking };
    let (marking, said) = match form.text("action") {
        "read" => (Marking::read(vec![number], true), "read"),
        "unread" => (Marking::read(vec![number], false), "unread"),
        "star" => (Marking::starred(vec![number], true), "starred"),
        "unstar" => (Marking::starred(vec![number], false), "unstarred"),
        "next" => {
            reading.mark(&Marking::read(vec![number], true)).await?;
            let list = List { with_full_text: false, ..list };
            let next = beside(&reading, &list, &article, true).await?;
            let next = next.map_or_else(|| list.page(root), |next| list.article(root, next));
            return see_other(&next);
        }
        "tag" => match form.text("tag").trim().parse::<Tag>() {
            Ok(tag) => (of(Marking { tag: vec![tag], ..Marking::default() }), "tagged"),
            Err(error) => {
                let faults = Faults { tag: sentence(error), ..Faults::default() };
                return shown(&hub, &call, faults, StatusCode::UNPROCESSABLE_ENTITY).await;
            }
        },
        _ => match form.text("untag").parse::<Tag>() {
            Ok(tag) => (of(Marking { untag: vec![tag], ..Marking::default() }), "untagged"),
            Err(_) => return Err(Problem::bad_request("the form has no such action")),
        },
    };
    reading.mark(&marking).await?;
    reading.refresh().await?;
    // An article of an unsubscribed feed is unreachable without its last star or tag.
    let page = match reading.subscription_view.feed_of(article.feed, number) {
        Some(_) => list.article(root, number),
        None => List { with_full_text: false, ..list }.page(root),
    };
    see_other(&with(&page, "said", said))
}

async fn shown(
    hub: &Hub,
    call: &Call,
    faults: Faults,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let own = List::read(&call.query)?;
    let list = List { with_full_text: false, ..own.clone() };
    let reading = reading(hub, call).await?;
    let (article, feed) = found(&reading, number(call)?).await?;
    let frame = Frame::of(hub, call).await?;
    let root = frame.root.clone();
    let said = said(call.query.text("said").unwrap_or_default());
    let previous = beside(&reading, &list, &article, false).await?;
    let next = beside(&reading, &list, &article, true).await?;
    let list_title = list.title(&reading)?;
    let sidebar = Sidebar::of(&reading, &root, &list);
    let other = List { with_pictures: !own.with_pictures, ..own.clone() };
    let is_read = feed.marks.is_read(&listed(&article));
    let is_starred = feed.marks.is_starred(article.number);
    let tags = feed.marks.tags(article.number).cloned().collect();
    let is_subscribed = reading.subscription_view.feed(article.feed).is_some();
    let feed_title = short(feed.title(), 120);
    let with_root = own.with_pictures.then_some(&*root);
    let purpose = purpose(&article, feed, with_root);
    let full_text = match own.with_full_text {
        true => FullTextPage::cached(&reading, &article, feed, with_root).await,
        false => None,
    };
    let is_full_text = full_text.is_some();
    let full_text_fault = match own.with_full_text && !is_full_text && faults.full_text.is_empty() {
        true => "The full text is not stored any more. Load it again.".to_owned(),
        false => faults.full_text,
    };
    let ticket = hub.cleaning.admit().await?;
    let mut answer = page(permit, call, status, move || {
        let StoredArticle { number, text, .. } = article;
        let content = match full_text {
            Some(full) => RenderedArticle::of(&full.text, &full.purpose, &ticket),
            None => RenderedArticle::of(&text, &purpose, &ticket),
        };
        drop(ticket);
        ArticlePage {
            script: &READING.name,
            sidebar,
            list_page: list.page(&root),
            list_title,
            here: own.article(&root, number),
            feed_text: is_full_text.then(|| list.article(&root, number)),
            full_text_fault,
            opens: !is_read && said.is_empty(),
            said,
            title: short(text.title.as_deref().unwrap_or_default(), 400),
            feed: feed_title,
            feed_page: is_subscribed.then(|| List::new(ListSource::Feed(article.feed)).page(&root)),
            author: text.author.map(|author| short(&author, 200)),
            shown: time(article.sort_date),
            updated: text.updated.filter(|at| *at > article.sort_date).map(time),
            link: text.link.filter(|link| is_web(link)),
            media: text.enclosures.into_iter().filter_map(Media::of).collect(),
            content: content.shown,
            is_reduced: content.is_reduced,
            pictures: content.pictures,
            with_pictures: own.with_pictures,
            other: other.article(&root, number),
            is_read,
            is_starred,
            tags,
            tag_error: faults.tag,
            categories: text.categories.iter().map(|name| short(name, 80)).collect(),
            previous: previous.map(|number| list.article(&root, number)),
            next: next.map(|number| list.article(&root, number)),
            frame,
        }
    })
    .await?;
    browser_policy::mark_page(&mut answer, POLICY);
    Ok(answer)
}

pub(super) fn number(call: &Call) -> Result<ArticleNumber, Problem> {
    call.segment("number").parse().map_err(|_| unknown())
}

pub(super) fn unknown() -> Problem {
    Problem::not_found("none of your subscriptions has this article")
}

/// An article of a subscribed feed, or a starred or tagged one of another.
pub(super) async fn found(
    reading: &Reading,
    number: ArticleNumber,
) -> Result<(StoredArticle, &FeedView), Problem> {
    reading.kept(&[number]).await?.pop().ok_or_else(unknown)
}

/// Neighbours of an article in a list. In a list of unread articles the next one is unread, but the previous
/// one may have been read meanwhile.
async fn beside(
    reading: &Reading,
    list: &List,
    article: &StoredArticle,
    is_behind: bool,
) -> Result<Option<ArticleNumber>, Problem> {
    let place = article.place();
    let shows_read = list.shows_read || !is_behind;
    let asked = List { shows_read, ..list.clone() }.selection(1);
    let asked = Selection {
        from: Some(Continuation { at: place.sort_date, article: place.number }),
        descending: asked.descending == is_behind,
        ..asked
    };
    Ok(reading.select(&asked).await?.listed.first().map(|listed| listed.number))
}

/// Purpose of cleaning the content of an article. With the root of the hub, pictures are loaded from there.
pub(super) fn purpose(article: &StoredArticle, feed: &FeedView, root: Option<&str>) -> Purpose {
    let of_feed = [feed.kept.head.site.as_deref(), Some(feed.kept.address.as_str())];
    let own = [article.text.base.as_deref(), article.text.link.as_deref()];
    // The best base for relative addresses is first.
    let base = own.into_iter().chain(of_feed).flatten().find_map(web);
    Purpose::Article { base, pictures: root.map(|root| pictures(root, article.number)) }
}

/// Address below which the hub serves the pictures of an article.
pub(super) fn pictures(root: &str, article: ArticleNumber) -> String {
    format!("{}/articles/{article}/pictures/", home(root))
}

pub(super) fn web(address: &str) -> Option<Url> {
    Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

impl Media {
    fn of(enclosure: Enclosure) -> Option<Self> {
        let Enclosure { address, media_type, length, duration } = enclosure;
        let url = web(&address)?;
        let name = url.path().rsplit('/').find(|segment| !segment.is_empty());
        let kind = media_type.unwrap_or_default();
        Some(Self {
            name: short(name.or(url.host_str()).unwrap_or("media"), 80),
            size: length.filter(|length| *length > 0).map(size),
            duration: duration.map(clock),
            is_audio: kind.to_ascii_lowercase().starts_with("audio/"),
            kind: short(&kind, 80),
            address: url.into(),
        })
    }
}

/// A duration in seconds, for people.
fn clock(seconds: u32) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A size in bytes, for people.
fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_in_units_that_fit() {
        let cases = [(0, "0 bytes"), (999, "999 bytes"), (1_999, "1 kB"), (52_489_000, "52.4 MB")];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size(u64::MAX), "18446744073.7 GB");
    }

    #[test]
    fn media_of_articles_have_web_addresses() {
        let of = |address: &str, kind: &str| {
            let (address, media_type) = (address.to_owned(), Some(kind.to_owned()));
            Media::of(Enclosure { address, media_type, length: Some(0), duration: Some(3_723) })
        };
        let media = of("https://example.org/a/talk.mp3?x", "Audio/MPEG").unwrap();
        assert!(media.name == "talk.mp3" && media.is_audio && media.size.is_none());
        assert_eq!((media.duration.as_deref(), &*clock(61)), (Some("1:02:03"), "1:01"));
        assert_eq!(of("https://example.org", "").unwrap().name, "example.org");
        for other in ["javascript:alert(1)", "data:audio/mpeg,x", "/talk.mp3", ""] {
            assert!(of(other, "audio/mpeg").is_none(), "{other}");
        }
    }
}
