//! Parses requests by the segments of their path.

use feedsync_reading_state::{FeedAddress, SubscriptionList, Title};

use super::select::selection;
use super::{RefreshTarget, Request, folder};
use crate::fault::Fault;
use crate::marking::Marking;
use crate::members::Members;
use crate::raw_request::RawRequest;
use crate::selection::Stream;
use crate::shown::{ArticleNumber, FeedName, FeedNumber, FolderNumber, Label};

const GET: &[&str] = &["GET"];
const POST: &[&str] = &["POST"];
const PUT: &[&str] = &["PUT"];

/// Parses a request.
pub fn read(raw_request: &RawRequest<'_>) -> Result<Request, Fault> {
    let path = raw_request.path_below(&[]).trim_end_matches('/');
    if matches!(path, "healthcheck" | "version") {
        raw_request.only(GET)?;
        return Ok(if path == "version" { Request::Version } else { Request::Health });
    }
    let path = path.strip_prefix("v1/").ok_or_else(|| raw_request.not_found())?;
    let parts: Vec<&str> = path.splitn(6, '/').collect();
    let not_found = || raw_request.not_found();
    match *parts {
        ["categories", ref rest @ ..] => categories(raw_request, rest)?.ok_or_else(not_found),
        ["feeds", ref rest @ ..] => feeds(raw_request, rest)?.ok_or_else(not_found),
        ["entries", ref rest @ ..] => entries(raw_request, rest)?.ok_or_else(not_found),
        ["import"] => {
            raw_request.only(POST)?;
            let list = SubscriptionList::read(raw_request.body);
            list.map(Request::Import).map_err(|error| Fault::of("the list of subscriptions", error))
        }
        ["discover"] => {
            raw_request.only(POST)?;
            Ok(Request::Discover(address("url", &Members::of_json(raw_request.bounded_body()?)?)?))
        }
        ["icons", icon] => {
            raw_request.only(GET)?;
            Ok(Request::Icon(FeedNumber::new(id(icon).ok_or_else(not_found)?)))
        }
        ["users", user, "mark-all-as-read"] => {
            raw_request.only(PUT)?;
            Ok(Request::MarkAllRead { user: id(user).ok_or_else(not_found)? })
        }
        ["flush-history"] => {
            raw_request.only(&["PUT", "DELETE"])?;
            Ok(Request::FlushHistory)
        }
        ["integrations", "status"] | ["users", "integrations", "status"] => {
            raw_request.only(GET)?;
            Ok(Request::Integrations)
        }
        [name @ ("me" | "version" | "export")] => {
            raw_request.only(GET)?;
            Ok(match name {
                "me" => Request::Me,
                "version" => Request::Version,
                _ => Request::Export,
            })
        }
        _ => Err(not_found()),
    }
}

fn categories(raw_request: &RawRequest<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    let (category, rest) = match parts {
        [] => {
            raw_request.only(&["GET", "POST"])?;
            if raw_request.verb() == "POST" {
                return Ok(Some(Request::CreateCategory(title(raw_request)?)));
            }
            let counts = raw_request.parameters()?;
            let with_counts = counts.first("counts").is_some_and(|counts| counts == "true");
            return Ok(Some(Request::Categories { with_counts }));
        }
        [category, rest @ ..] => (category, rest),
    };
    let Some(folder) = id(category).map(folder) else { return Ok(None) };
    Ok(Some(match rest {
        [] => {
            raw_request.only(&["PUT", "DELETE"])?;
            match raw_request.verb() {
                "PUT" => Request::RenameCategory(folder, title(raw_request)?),
                _ => Request::DeleteCategory(folder),
            }
        }
        ["mark-all-as-read"] => {
            raw_request.only(PUT)?;
            Request::MarkCategoryRead(folder)
        }
        ["refresh"] => {
            raw_request.only(PUT)?;
            Request::Refresh(RefreshTarget::Folder(folder))
        }
        ["feeds"] => {
            raw_request.only(GET)?;
            Request::CategoryFeeds(folder)
        }
        ["entries", rest @ ..] => return listed(raw_request, Stream::Folder(folder), rest),
        _ => return Ok(None),
    }))
}

fn feeds(raw_request: &RawRequest<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    let (feed, rest) = match parts {
        [] => {
            raw_request.only(&["GET", "POST"])?;
            let is_new = raw_request.verb() == "POST";
            return Ok(Some(if is_new { create_feed(raw_request)? } else { Request::Feeds }));
        }
        ["counters"] => {
            raw_request.only(GET)?;
            return Ok(Some(Request::Counters));
        }
        ["refresh"] => {
            raw_request.only(PUT)?;
            return Ok(Some(Request::Refresh(RefreshTarget::All)));
        }
        [feed, rest @ ..] => (feed, rest),
    };
    let Some(feed) = id(feed).map(FeedNumber::new) else { return Ok(None) };
    Ok(Some(match rest {
        [] => {
            raw_request.only(&["GET", "PUT", "DELETE"])?;
            match raw_request.verb() {
                "GET" => Request::Feed(feed),
                "PUT" => update_feed(raw_request, feed)?,
                _ => Request::DeleteFeed(feed),
            }
        }
        ["mark-all-as-read"] => {
            raw_request.only(PUT)?;
            Request::MarkFeedRead(feed)
        }
        ["refresh"] => {
            raw_request.only(PUT)?;
            Request::Refresh(RefreshTarget::Feed(feed))
        }
        ["icon"] => {
            raw_request.only(GET)?;
            Request::Icon(feed)
        }
        ["entries", rest @ ..] => {
            return listed(raw_request, Stream::Feed(FeedName::Number(feed)), rest);
        }
        _ => return Ok(None),
    }))
}

fn entries(raw_request: &RawRequest<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    match parts {
        [] if raw_request.verb() == "PUT" => {
            mark(&Members::of_json(raw_request.bounded_body()?)?).map(Some)
        }
        [] => {
            raw_request.only(&["GET", "PUT"])?;
            listed(raw_request, Stream::All, parts)
        }
        [article, "bookmark" | "star"] => {
            raw_request.only(PUT)?;
            Ok(id(article).map(ArticleNumber::new).map(Request::ToggleStar))
        }
        [article, "fetch-content"] => {
            raw_request.only(GET)?;
            Ok(id(article).map(ArticleNumber::new).map(Request::Content))
        }
        _ => listed(raw_request, Stream::All, parts),
    }
}

/// Parses a request for the articles of a stream, or for one of them.
fn listed(
    raw_request: &RawRequest<'_>,
    stream: Stream,
    rest: &[&str],
) -> Result<Option<Request>, Fault> {
    raw_request.only(GET)?;
    Ok(match rest {
        [] => Some(Request::Entries(selection(stream, &raw_request.parameters()?)?)),
        [article] => id(article).map(ArticleNumber::new).map(Request::Entry),
        _ => None,
    })
}

fn mark(members: &Members) -> Result<Request, Fault> {
    let articles = members.some_articles("entry_ids")?;
    match &*members.needed_text("status")? {
        "read" => Ok(Request::Mark(Marking::read(articles, true))),
        "unread" => Ok(Request::Mark(Marking::read(articles, false))),
        "removed" => Err(Fault::of("status", "articles cannot be removed")),
        _ => Err(Fault::of("status", "must be read or unread")),
    }
}

fn create_feed(raw_request: &RawRequest<'_>) -> Result<Request, Fault> {
    let members = Members::of_json(raw_request.bounded_body()?)?;
    let category = members.number("category_id")?.filter(|category| *category != 0);
    let folder = category.map_or(FolderNumber::TOP, folder);
    Ok(Request::CreateFeed { address: address("feed_url", &members)?, folder })
}

fn update_feed(raw_request: &RawRequest<'_>, feed: FeedNumber) -> Result<Request, Fault> {
    let members = Members::of_json(raw_request.bounded_body()?)?;
    let folder = members.number("category_id")?.map(folder);
    let title = members.text("title")?.and_then(|title| Title::cleaned(&title));
    let is_moved = members.text("feed_url")?.is_some_and(|url| !url.is_empty());
    let address = is_moved.then(|| address("feed_url", &members)).transpose()?;
    Ok(Request::UpdateFeed { feed, title, folder, address })
}

fn address(name: &'static str, members: &Members) -> Result<FeedAddress, Fault> {
    members.needed_text(name)?.parse().map_err(|error| Fault::of(name, error))
}

fn title(raw_request: &RawRequest<'_>) -> Result<Label, Fault> {
    let title = Members::of_json(raw_request.bounded_body()?)?.needed_text("title")?;
    title.parse().map_err(|error| Fault::of("title", error))
}

/// Parses a number in the path.
fn id(part: &str) -> Option<i64> {
    part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()))
}
