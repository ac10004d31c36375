//! Parses requests by the segments of their path.

use feedsync_reading_state::{FeedAddress, SubscriptionList, Title};

use super::select::selection;
use super::{Refreshed, Request, folder};
use crate::asked::Asked;
use crate::fault::Fault;
use crate::marking::Marking;
use crate::members::Members;
use crate::selection::Stream;
use crate::shown::{ArticleNumber, FeedName, FeedNumber, FolderNumber, Label};

const GET: &[&str] = &["GET"];
const POST: &[&str] = &["POST"];
const PUT: &[&str] = &["PUT"];

/// Parses a request.
pub fn read(asked: &Asked<'_>) -> Result<Request, Fault> {
    let path = asked.path_below(&[]).trim_end_matches('/');
    if matches!(path, "healthcheck" | "version") {
        asked.only(GET)?;
        return Ok(if path == "version" { Request::Version } else { Request::Health });
    }
    let path = path.strip_prefix("v1/").ok_or_else(|| asked.not_found())?;
    let parts: Vec<&str> = path.splitn(6, '/').collect();
    let not_found = || asked.not_found();
    match *parts {
        ["categories", ref rest @ ..] => categories(asked, rest)?.ok_or_else(not_found),
        ["feeds", ref rest @ ..] => feeds(asked, rest)?.ok_or_else(not_found),
        ["entries", ref rest @ ..] => entries(asked, rest)?.ok_or_else(not_found),
        ["import"] => {
            asked.only(POST)?;
            let list = SubscriptionList::read(asked.body);
            list.map(Request::Import).map_err(|error| Fault::of("the list of subscriptions", error))
        }
        ["discover"] => {
            asked.only(POST)?;
            Ok(Request::Discover(address("url", &Members::of_json(asked.bounded_body()?)?)?))
        }
        ["icons", icon] => {
            asked.only(GET)?;
            Ok(Request::Icon(FeedNumber::new(id(icon).ok_or_else(not_found)?)))
        }
        ["users", user, "mark-all-as-read"] => {
            asked.only(PUT)?;
            Ok(Request::MarkAllRead { user: id(user).ok_or_else(not_found)? })
        }
        ["flush-history"] => {
            asked.only(&["PUT", "DELETE"])?;
            Ok(Request::FlushHistory)
        }
        ["integrations", "status"] | ["users", "integrations", "status"] => {
            asked.only(GET)?;
            Ok(Request::Integrations)
        }
        [name @ ("me" | "version" | "export")] => {
            asked.only(GET)?;
            Ok(match name {
                "me" => Request::Me,
                "version" => Request::Version,
                _ => Request::Export,
            })
        }
        _ => Err(not_found()),
    }
}

fn categories(asked: &Asked<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    let (category, rest) = match parts {
        [] => {
            asked.only(&["GET", "POST"])?;
            if asked.verb() == "POST" {
                return Ok(Some(Request::CreateCategory(title(asked)?)));
            }
            let counts = asked.parameters()?;
            let with_counts = counts.first("counts").is_some_and(|counts| counts == "true");
            return Ok(Some(Request::Categories { with_counts }));
        }
        [category, rest @ ..] => (category, rest),
    };
    let Some(folder) = id(category).map(folder) else { return Ok(None) };
    Ok(Some(match rest {
        [] => {
            asked.only(&["PUT", "DELETE"])?;
            match asked.verb() {
                "PUT" => Request::RenameCategory(folder, title(asked)?),
                _ => Request::DeleteCategory(folder),
            }
        }
        ["mark-all-as-read"] => {
            asked.only(PUT)?;
            Request::MarkCategoryRead(folder)
        }
        ["refresh"] => {
            asked.only(PUT)?;
            Request::Refresh(Refreshed::Folder(folder))
        }
        ["feeds"] => {
            asked.only(GET)?;
            Request::CategoryFeeds(folder)
        }
        ["entries", rest @ ..] => return listed(asked, Stream::Folder(folder), rest),
        _ => return Ok(None),
    }))
}

fn feeds(asked: &Asked<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    let (feed, rest) = match parts {
        [] => {
            asked.only(&["GET", "POST"])?;
            let is_new = asked.verb() == "POST";
            return Ok(Some(if is_new { create_feed(asked)? } else { Request::Feeds }));
        }
        ["counters"] => {
            asked.only(GET)?;
            return Ok(Some(Request::Counters));
        }
        ["refresh"] => {
            asked.only(PUT)?;
            return Ok(Some(Request::Refresh(Refreshed::All)));
        }
        [feed, rest @ ..] => (feed, rest),
    };
    let Some(feed) = id(feed).map(FeedNumber::new) else { return Ok(None) };
    Ok(Some(match rest {
        [] => {
            asked.only(&["GET", "PUT", "DELETE"])?;
            match asked.verb() {
                "GET" => Request::Feed(feed),
                "PUT" => update_feed(asked, feed)?,
                _ => Request::DeleteFeed(feed),
            }
        }
        ["mark-all-as-read"] => {
            asked.only(PUT)?;
            Request::MarkFeedRead(feed)
        }
        ["refresh"] => {
            asked.only(PUT)?;
            Request::Refresh(Refreshed::Feed(feed))
        }
        ["icon"] => {
            asked.only(GET)?;
            Request::Icon(feed)
        }
        ["entries", rest @ ..] => {
            return listed(asked, Stream::Feed(FeedName::Number(feed)), rest);
        }
        _ => return Ok(None),
    }))
}

fn entries(asked: &Asked<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    match parts {
        [] if asked.verb() == "PUT" => mark(&Members::of_json(asked.bounded_body()?)?).map(Some),
        [] => {
            asked.only(&["GET", "PUT"])?;
            listed(asked, Stream::All, parts)
        }
        [article, "bookmark" | "star"] => {
            asked.only(PUT)?;
            Ok(id(article).map(ArticleNumber::new).map(Request::ToggleStar))
        }
        [article, "fetch-content"] => {
            asked.only(GET)?;
            Ok(id(article).map(ArticleNumber::new).map(Request::Content))
        }
        _ => listed(asked, Stream::All, parts),
    }
}

/// Parses a request for the articles of a stream, or for one of them.
fn listed(asked: &Asked<'_>, stream: Stream, rest: &[&str]) -> Result<Option<Request>, Fault> {
    asked.only(GET)?;
    Ok(match rest {
        [] => Some(Request::Entries(selection(stream, &asked.parameters()?)?)),
        [article] => id(article).map(ArticleNumber::new).map(Request::Entry),
        _ => None,
    })
}

fn mark(members: &Members) -> Result<Request, Fault> {
    let articles = members.some_articles("entry_ids")?;
    match &*members.needed_text("status")? {
        "read" => Ok(Request::Mark(Marking::read(articles, true))),
        "unread" => Ok(Request::Mark(Marking::read(articles, false))),
        "removed" => Err(Fault::of("status", "articles are not removed here")),
        _ => Err(Fault::of("status", "neither read nor unread")),
    }
}

fn create_feed(asked: &Asked<'_>) -> Result<Request, Fault> {
    let members = Members::of_json(asked.bounded_body()?)?;
    let category = members.number("category_id")?.filter(|category| *category != 0);
    let folder = category.map_or(FolderNumber::TOP, folder);
    Ok(Request::CreateFeed { address: address("feed_url", &members)?, folder })
}

fn update_feed(asked: &Asked<'_>, feed: FeedNumber) -> Result<Request, Fault> {
    let members = Members::of_json(asked.bounded_body()?)?;
    let folder = members.number("category_id")?.map(folder);
    let title = members.text("title")?.and_then(|title| Title::cleaned(&title));
    let is_moved = members.text("feed_url")?.is_some_and(|url| !url.is_empty());
    let address = is_moved.then(|| address("feed_url", &members)).transpose()?;
    Ok(Request::UpdateFeed { feed, title, folder, address })
}

fn address(name: &'static str, members: &Members) -> Result<FeedAddress, Fault> {
    members.needed_text(name)?.parse().map_err(|error| Fault::of(name, error))
}

fn title(asked: &Asked<'_>) -> Result<Label, Fault> {
    let title = Members::of_json(asked.bounded_body()?)?.needed_text("title")?;
    title.parse().map_err(|error| Fault::of("title", error))
}

/// Parses a number in the path.
fn id(part: &str) -> Option<i64> {
    part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()))
}
